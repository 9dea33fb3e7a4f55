"""The gradebook: record attempts and points given by hand, each in one transaction, and read them back."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Engine, delete, exists, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from course_grader.grading.gradebook.attempts import Attempt, AttemptHeader, ManualPoints
from course_grader.grading.gradebook.database import explain, open_database, retry_and_explain
from course_grader.grading.gradebook.notebook_store import keep_notebook, load_notebook
from course_grader.grading.gradebook.read_rows import read_attempt, read_results, read_standings, select_pairs
from course_grader.grading.gradebook.sql_tables import (
    AttemptRow,
    ManualPointsRow,
    NotebookRow,
    ResultRow,
    SubmissionTimeRow,
)
from course_grader.grading.gradebook.standing import KeptStanding
from course_grader.grading.gradebook.write_rows import note_change, save_standings, select_attempt, write_attempt

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
    def record(self, attempt: Attempt, notebook: bytes | None = None) -> None:
        """Record an attempt; the same notebook of the same learner replaces its former results, and keeps its place.

        All of it is written, or nothing: a process killed here leaves the gradebook as it was.

        Parameters
        ----------
        attempt : Attempt
            With its report.
        notebook : bytes, optional
            What was handed in, to be kept, so that it can be graded again when the file is gone.
        """
        with contextlib.suppress(IntegrityError):  # another grader was first: then there is one to replace
            self._record(attempt, notebook)
            return
        self._record(attempt, notebook)

    def _record(self, attempt: Attempt, notebook: bytes | None) -> None:
        with Session(self._engine) as session, session.begin():
            write_attempt(session, attempt, notebook)

    @retry_and_explain
    def discard(self, attempt: Attempt) -> None:
        """Delete an attempt and its results, as if it had never been recorded."""
        with Session(self._engine) as session, session.begin():
            if (row := session.scalar(select_attempt(attempt))) is not None:
                session.execute(delete(ResultRow).where(ResultRow.attempt_id == row.id))
                session.delete(row)
                note_change(session, row.learner, row.exercise)

    @retry_and_explain
    def record_resubmission(self, attempt: Attempt, *, submitted_at: datetime, notebook: bytes | None = None) -> None:
        """Record that a notebook was handed in again, at this time; keep its bytes, if given."""
        with Session(self._engine) as session, session.begin():
            if notebook is not None:
                keep_notebook(session, notebook)
            row = session.scalar(select_attempt(attempt))
            if row is not None and not row.submitted_at <= submitted_at <= row.last_submitted_at:
                row.submitted_at = min(row.submitted_at, submitted_at)
                row.last_submitted_at = max(row.last_submitted_at, submitted_at)
                note_change(session, row.learner, row.exercise)

    @retry_and_explain
    def set_submission_times(self, times: Mapping[tuple[str, str, str], datetime]) -> None:
        """Set when notebooks were handed in, by learner, exercise and hash, in place of what was set before.

        These times take precedence over all others, also over those recorded later, so that a time that was wrong once
        can be put right.
        """
        with Session(self._engine) as session, session.begin():
            for key, time in sorted(times.items()):  # in one order, so that two graders wait for each other only once
                row = session.get(SubmissionTimeRow, key)
                if row is not None and row.submitted_at == time:
                    continue
                names = dict(zip(("learner", "exercise", "notebook_hash"), key, strict=True))
                session.merge(SubmissionTimeRow(**names, submitted_at=time))
                note_change(session, *key[:2])

    @retry_and_explain
    def attempts(
        self, *, exercise: str | None = None, learner: str | Collection[str] | None = None, with_rows: bool = True
    ) -> list[Attempt]:
        """Return attempts, by the time they were handed in.

        Parameters
        ----------
        exercise : str, optional
            At this exercise alone.
        learner : str or collection of str, optional
            Of this learner alone, or of these.
        with_rows : bool
            Whether with the results of tests and cells, which are most of what there is to read.
        """
        mine = select_pairs(AttemptRow, exercise, learner)
        with Session(self._engine) as session:
            told = select(SubmissionTimeRow).where(*select_pairs(SubmissionTimeRow, exercise, learner))
            times = {(row.learner, row.exercise, row.notebook_hash): row.submitted_at for row in session.scalars(told)}
            results = read_results(session, mine) if with_rows else {}
            rows = session.execute(select(*AttemptRow.__table__.columns).where(*mine).order_by(AttemptRow.id))
            found = [
                read_attempt(row, results.get(row.id, ()), times.get((row.learner, row.exercise, row.notebook_hash)))
                for row in rows
            ]
        return sorted(found, key=lambda attempt: attempt.submitted_at)

    @retry_and_explain
    def notebook(self, notebook_hash: str) -> bytes | None:
        """Return the notebook with this hash, as it was handed in, or None if it is not kept or is damaged."""
        with Session(self._engine) as session:
            return load_notebook(session, notebook_hash)

    @retry_and_explain
    def attempt_headers(
        self, *, exercise: str | None = None, learner: str | Collection[str] | None = None
    ) -> list[AttemptHeader]:
        """Return attempts without their reports, in the order they were first recorded: all, or some of them."""
        names = ("learner", "notebook_hash", "key_hash", "submitted_at", "last_submitted_at")
        kept = exists().where(NotebookRow.hash == AttemptRow.notebook_hash).label("notebook_kept")
        query = select(*(getattr(AttemptRow, name) for name in names), kept).where(
            *select_pairs(AttemptRow, exercise, learner)
        )
        with Session(self._engine) as session:
            return [AttemptHeader(**row._asdict()) for row in session.execute(query.order_by(AttemptRow.id))]

    @retry_and_explain
    def count_outdated(self, *, exercise: str, key_hash: str) -> int:
        """Count the attempts at an exercise that another key graded, and that can be graded again."""
        kept = exists().where(NotebookRow.hash == AttemptRow.notebook_hash)
        query = select(func.count()).where(AttemptRow.exercise == exercise, AttemptRow.key_hash != key_hash, kept)
        with Session(self._engine) as session:
            return session.scalar(query) or 0

    @retry_and_explain
    def exercises(self) -> list[str]:
        """Return every exercise with an attempt or with points given by hand, by name."""
        with Session(self._engine) as session:
            found = [session.scalars(select(row.exercise).distinct()) for row in (AttemptRow, ManualPointsRow)]
            return sorted({slug for slugs in found for slug in slugs})

    @retry_and_explain
    def max_points(self) -> dict[str, float]:
        """Return what each exercise is worth: what the attempt at it that was graded last could have had."""
        of_one = select(AttemptRow.max_points).order_by(AttemptRow.graded_at.desc()).limit(1)
        with Session(self._engine) as session:
            slugs = session.scalars(select(AttemptRow.exercise).distinct()).all()
            return {slug: session.scalars(of_one.where(AttemptRow.exercise == slug)).one() for slug in slugs}

    @retry_and_explain
    def standings(self, *, after: tuple[str, str] = ("", ""), many: int) -> list[KeptStanding]:
        """Return so many standings as they were computed last, by learner and exercise, from the first after one on."""
        with Session(self._engine) as session:
            return read_standings(session, after, many)

    @retry_and_explain
    def save_standings(self, kept: Sequence[KeptStanding]) -> None:
        """Keep standings that were computed, for the next time that they are read."""
        with Session(self._engine) as session, session.begin():
            save_standings(session, kept)

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
                note_change(session, points.learner, points.exercise)
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
            note_change(session, learner, exercise)
            return _read_points(row)

    @retry_and_explain
    def manual_points(
        self, *, exercise: str | None = None, learner: str | Collection[str] | None = None
    ) -> list[ManualPoints]:
        """Return points given by hand in the order they were given: all, or those of an exercise or of learners."""
        mine = select_pairs(ManualPointsRow, exercise, learner)
        with Session(self._engine) as session:
            rows = session.scalars(select(ManualPointsRow).where(*mine).order_by(ManualPointsRow.id))
            return [_read_points(row) for row in rows]


def _read_points(row: ManualPointsRow) -> ManualPoints:
    return ManualPoints(row.learner, row.exercise, row.points, row.why, row.given_at)
