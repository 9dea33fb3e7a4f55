"""Write attempts and manual points down, each in one transaction, and read them back."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.connect import connect, explained
from course_grader.grading.gradebook.records import Attempt, ManualPoints
from course_grader.grading.gradebook.tables import AttemptRow, ManualRow, ResultRow, ToldRow

__all__ = ["Gradebook"]


class Gradebook:
    """A gradebook that is open; use it in a ``with`` statement.

    Parameters
    ----------
    address : str
        A file (SQLite), or ``postgresql://USER@HOST/DATABASE``.
    create : bool
        Whether to make one that is empty or missing.

    Raises
    ------
    InputError
        If it cannot be opened, or is something else.

    Examples
    --------
    >>> with Gradebook(":memory:") as book:
    ...     book.attempts(exercise="two_layer_gradients")
    []
    """

    def __init__(self, address: str, *, create: bool = True) -> None:
        self._engine: Engine = connect(address, create=create)

    def __enter__(self) -> "Gradebook":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._engine.dispose()

    def record(self, attempt: Attempt) -> None:
        """Write an attempt down; the same notebook of the same learner replaces what it had, and keeps its place.

        All of it is written, or nothing: a process killed here leaves the gradebook as it was.
        """
        with explained():
            with contextlib.suppress(IntegrityError):  # another grader was first: then there is one to replace
                self._record(attempt)
                return
            self._record(attempt)

    def _record(self, attempt: Attempt) -> None:
        values = _values(attempt)
        with Session(self._engine) as session, session.begin():
            row = session.scalar(_same(attempt))
            if row is None:
                session.add(row := AttemptRow(**values))
            else:
                values["submitted_at"] = min(row.submitted_at, attempt.submitted_at)
                values["last_submitted_at"] = max(row.last_submitted_at, attempt.last_submitted_at)
                for name, value in values.items():
                    setattr(row, name, value)
                session.execute(delete(ResultRow).where(ResultRow.attempt_id == row.id))
            session.flush()
            # One statement for all: an object for each row takes as long as all the rest of this.
            results = enumerate(attempt.report.rows)
            if rows := [{"attempt_id": row.id, "position": position, **vars(result)} for position, result in results]:
                session.execute(insert(ResultRow), rows)

    def seen(self, attempt: Attempt, *, submitted_at: datetime) -> None:
        """Note that a notebook was handed in at this time as well."""
        with explained(), Session(self._engine) as session, session.begin():
            row = session.scalar(_same(attempt))
            if row is not None and not row.submitted_at <= submitted_at <= row.last_submitted_at:
                row.submitted_at = min(row.submitted_at, submitted_at)
                row.last_submitted_at = max(row.last_submitted_at, submitted_at)

    def tell(self, times: Mapping[tuple[str, str, str], datetime]) -> None:
        """Write down when notebooks were handed in, by learner, exercise and hash: it takes the place of what was told.

        What was told takes precedence over all other times, whatever is recorded or seen after it, so that a time that
        was wrong once can be put right.
        """
        with explained(), Session(self._engine) as session, session.begin():
            for key, time in times.items():
                learner, exercise, notebook_hash = key
                row = ToldRow(learner=learner, exercise=exercise, notebook_hash=notebook_hash, submitted_at=time)
                session.merge(row)

    def attempts(self, *, exercise: str, learner: str | None = None) -> list[Attempt]:
        """Return the attempts at an exercise, of everyone or of one learner, by the time they were handed in."""
        query = select(AttemptRow).where(AttemptRow.exercise == exercise)
        if learner is not None:
            query = query.where(AttemptRow.learner == learner)
        with explained(), Session(self._engine) as session:
            told = session.scalars(select(ToldRow).where(ToldRow.exercise == exercise))
            times = {(row.learner, row.notebook_hash): row.submitted_at for row in told}
            rows = session.scalars(query.order_by(AttemptRow.id))
            found = [_attempt(row, times.get((row.learner, row.notebook_hash))) for row in rows]
        return sorted(found, key=lambda attempt: attempt.submitted_at)

    def exercises(self) -> list[str]:
        """Return every exercise with an attempt or with points given by hand, by name."""
        with explained(), Session(self._engine) as session:
            return sorted({slug for row in (AttemptRow, ManualRow) for slug in session.scalars(select(row.exercise))})

    def learners(self) -> list[str]:
        """Return everyone with an attempt, by name."""
        with explained(), Session(self._engine) as session:
            return sorted(session.scalars(select(AttemptRow.learner).distinct()))

    def add_points(self, points: ManualPoints) -> float:
        """Write points given by hand down; return the sum of those this learner has for this exercise."""
        with explained(), Session(self._engine) as session, session.begin():
            session.add(ManualRow(**asdict(points)))
            session.flush()
            mine = (ManualRow.learner == points.learner, ManualRow.exercise == points.exercise)
            return float(session.scalar(select(func.sum(ManualRow.points)).where(*mine)) or 0)

    def manual_points(self, *, exercise: str) -> list[ManualPoints]:
        """Return all points given by hand for an exercise, in the order they were given."""
        with explained(), Session(self._engine) as session:
            rows = session.scalars(select(ManualRow).where(ManualRow.exercise == exercise).order_by(ManualRow.id))
            return [ManualPoints(row.learner, row.exercise, row.points, row.why, row.given_at) for row in rows]


def _same(attempt: Attempt) -> Any:
    return select(AttemptRow).where(
        AttemptRow.learner == attempt.report.learner,
        AttemptRow.exercise == attempt.report.exercise,
        AttemptRow.notebook_hash == attempt.notebook_hash,
    )


def _values(attempt: Attempt) -> dict[str, Any]:
    """Return an attempt as the columns of its row."""
    report = attempt.report
    return {
        "learner": report.learner,
        "exercise": report.exercise,
        "notebook_hash": attempt.notebook_hash,
        "key_hash": attempt.key_hash,
        "submitted_at": attempt.submitted_at,
        "last_submitted_at": attempt.last_submitted_at,
        "graded_at": attempt.graded_at,
        "grader_version": attempt.grader_version,
        "sandbox": report.sandbox,
        "status": report.status,
        "points": report.points,
        "max_points": report.max_points,
        "messages": list(report.messages),
    }


def _attempt(row: AttemptRow, told: datetime | None) -> Attempt:
    names = ("name", "kind", "status", "points", "max_points", "title", "message", "detail")
    results = tuple(Row(**{name: getattr(result, name) for name in names}) for result in row.results)
    report = SubmissionReport(
        row.learner, row.exercise, row.status, row.points, row.max_points, tuple(row.messages), results, row.sandbox
    )
    hashes = (row.notebook_hash, row.key_hash)
    times = (row.submitted_at, row.last_submitted_at, row.graded_at)
    attempt = Attempt(report, *hashes, *times, row.grader_version)
    return attempt if told is None else replace(attempt, submitted_at=told, last_submitted_at=told)
