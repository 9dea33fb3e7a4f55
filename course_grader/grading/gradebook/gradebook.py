"""The gradebook: record attempts and points given by hand, each in one transaction, and read them back."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime

from sqlalchemy import Engine, Select, delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.database import explain, open_database, retry_and_explain
from course_grader.grading.gradebook.sql_tables import AttemptRow, ManualPointsRow, ResultRow, SubmissionTimeRow

__all__ = ["Gradebook"]


class Gradebook:
    """An open gradebook; use it in a ``with`` statement.

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
        self.address = address
        self._engine: Engine = open_database(address, create=create)

    def __enter__(self) -> "Gradebook":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._engine.dispose()

    @retry_and_explain
    def record(self, attempt: Attempt) -> None:
        """Record an attempt; the same notebook of the same learner replaces its former results, and keeps its place.

        All of it is written, or nothing: a process killed here leaves the gradebook as it was.
        """
        with contextlib.suppress(IntegrityError):  # another grader was first: then there is one to replace
            self._record(attempt)
            return
        self._record(attempt)

    def _record(self, attempt: Attempt) -> None:
        values = _attempt_columns(attempt)
        with Session(self._engine) as session, session.begin():
            row = session.scalar(_select_attempt(attempt))
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
            results = enumerate(each.as_record() for each in attempt.report.rows)
            if rows := [{"attempt_id": row.id, "position": position, **result} for position, result in results]:
                session.execute(insert(ResultRow), rows)

    @retry_and_explain
    def record_resubmission(self, attempt: Attempt, *, submitted_at: datetime) -> None:
        """Record that a notebook was handed in again, at this time."""
        with Session(self._engine) as session, session.begin():
            row = session.scalar(_select_attempt(attempt))
            if row is not None and not row.submitted_at <= submitted_at <= row.last_submitted_at:
                row.submitted_at = min(row.submitted_at, submitted_at)
                row.last_submitted_at = max(row.last_submitted_at, submitted_at)

    @retry_and_explain
    def set_submission_times(self, times: Mapping[tuple[str, str, str], datetime]) -> None:
        """Set when notebooks were handed in, by learner, exercise and hash, in place of what was set before.

        These times take precedence over all others, also over those recorded later, so that a time that was wrong once
        can be put right.
        """
        with Session(self._engine) as session, session.begin():
            for key, time in times.items():
                learner, exercise, notebook_hash = key
                row = SubmissionTimeRow(
                    learner=learner, exercise=exercise, notebook_hash=notebook_hash, submitted_at=time
                )
                session.merge(row)

    @retry_and_explain
    def attempts(self, *, exercise: str, learner: str | None = None) -> list[Attempt]:
        """Return the attempts at an exercise, of everyone or of one learner, by the time they were handed in."""
        query = select(AttemptRow).where(AttemptRow.exercise == exercise)
        if learner is not None:
            query = query.where(AttemptRow.learner == learner)
        with Session(self._engine) as session:
            set_times = session.scalars(select(SubmissionTimeRow).where(SubmissionTimeRow.exercise == exercise))
            times = {(row.learner, row.notebook_hash): row.submitted_at for row in set_times}
            rows = session.scalars(query.order_by(AttemptRow.id))
            found = [_read_attempt(row, times.get((row.learner, row.notebook_hash))) for row in rows]
        return sorted(found, key=lambda attempt: attempt.submitted_at)

    @retry_and_explain
    def exercises(self) -> list[str]:
        """Return every exercise with an attempt or with points given by hand, by name."""
        with Session(self._engine) as session:
            return sorted(
                {slug for row in (AttemptRow, ManualPointsRow) for slug in session.scalars(select(row.exercise))}
            )

    @retry_and_explain
    def learners(self) -> list[str]:
        """Return every learner with an attempt, by name."""
        with Session(self._engine) as session:
            return sorted(session.scalars(select(AttemptRow.learner).distinct()))

    @retry_and_explain
    def add_points(self, points: ManualPoints) -> float:
        """Record points given by hand; return the sum of those this learner has for this exercise.

        Given at the same instant, the same points are the same ones.
        """
        with Session(self._engine) as session, session.begin():
            if session.scalar(select(ManualPointsRow.id).filter_by(**asdict(points))) is None:
                session.add(ManualPointsRow(**asdict(points)))
                session.flush()
            mine = (ManualPointsRow.learner == points.learner, ManualPointsRow.exercise == points.exercise)
            return float(session.scalar(select(func.sum(ManualPointsRow.points)).where(*mine)) or 0)

    @explain
    def undo_points(self, learner: str, exercise: str) -> ManualPoints | None:
        """Take back the points that were given last to a learner for an exercise; return them, or None."""
        mine = (ManualPointsRow.learner == learner, ManualPointsRow.exercise == exercise)
        with Session(self._engine) as session, session.begin():
            row = session.scalar(select(ManualPointsRow).where(*mine).order_by(ManualPointsRow.id.desc()).limit(1))
            if row is None:
                return None
            session.delete(row)
            return _read_points(row)

    @retry_and_explain
    def manual_points(self, *, exercise: str | None = None, learner: str | None = None) -> list[ManualPoints]:
        """Return points given by hand in the order they were given: all, or those of an exercise or a learner."""
        query = select(ManualPointsRow).order_by(ManualPointsRow.id)
        if exercise is not None:
            query = query.where(ManualPointsRow.exercise == exercise)
        if learner is not None:
            query = query.where(ManualPointsRow.learner == learner)
        with Session(self._engine) as session:
            return [_read_points(row) for row in session.scalars(query)]


def _read_points(row: ManualPointsRow) -> ManualPoints:
    return ManualPoints(row.learner, row.exercise, row.points, row.why, row.given_at)


def _select_attempt(attempt: Attempt) -> Select[AttemptRow]:
    return select(AttemptRow).where(
        AttemptRow.learner == attempt.report.learner,
        AttemptRow.exercise == attempt.report.exercise,
        AttemptRow.notebook_hash == attempt.notebook_hash,
    )


def _attempt_columns(attempt: Attempt) -> dict[str, object]:
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


def _read_attempt(row: AttemptRow, submitted_at: datetime | None) -> Attempt:
    """Build an attempt from its row, with the submission time that was set for it, if any."""
    names = ("name", "kind", "status", "points", "max_points", "title", "message", "detail")
    results = tuple(Row(**{name: getattr(result, name) for name in names}) for result in row.results)
    report = SubmissionReport(
        row.learner, row.exercise, row.status, row.points, row.max_points, tuple(row.messages), results, row.sandbox
    )
    hashes = (row.notebook_hash, row.key_hash)
    times = (row.submitted_at, row.last_submitted_at, row.graded_at)
    attempt = Attempt(report, *hashes, *times, row.grader_version)
    if submitted_at is None:
        return attempt
    return replace(attempt, submitted_at=submitted_at, last_submitted_at=submitted_at)
