"""Hand-ins: a notebook comes in and its job is queued in one transaction; where it stands, and what it earned."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, exists, func, literal, literal_column, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.gradebook.database import retry_and_explain
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.grading.gradebook.notebook_store import keep_notebook, load_notebook
from course_grader.grading.gradebook.sql_tables import AttemptRow, NotebookRow
from course_grader.grading.text import quote
from course_grader.service.database import GRADE, GRADE_QUEUE, libpq_address, make_queue
from course_grader.service.refusals import check_attempts, unknown_exercise
from course_grader.service.tables import ExerciseRow, HandInRow, PersonRow, State
from course_lib.errors import InputError

__all__ = ["Counts", "HandIn", "HandIns"]

# Nothing is queued for a hand-in, or being done.
NO_JOB = text(
    "NOT EXISTS (SELECT FROM procrastinate_jobs WHERE task_name = 'grade' AND status IN ('todo', 'doing') "
    "AND (args->>'hand_in')::bigint = hand_ins.id)"
)


@dataclass(frozen=True)
class HandIn:
    """A notebook that was handed in, and how far it has come.

    ``place`` is how many are graded before it, itself included; 0 once it is through. ``message`` says why grading
    failed, if it did.
    """

    id: int
    learner: str
    exercise: str
    notebook_hash: str
    submitted_at: datetime
    last_submitted_at: datetime
    state: State
    message: str = ""
    place: int = 0


@dataclass(frozen=True)
class Counts:
    """How many learners have handed in an exercise, how many notebooks, and how many of these wait or failed."""

    learners: int = 0
    hand_ins: int = 0
    waiting: int = 0
    failed: int = 0


class HandIns:
    """The hand-ins in a service's database.

    Parameters
    ----------
    engine : Engine
        Of that database.
    """

    def __init__(self, engine: Engine) -> None:
        self.address, self._engine = str(engine.url), engine
        self._queue = make_queue(libpq_address(engine))

    @retry_and_explain
    def accept(
        self, learner: str, exercise: str, raw: bytes, *, at: datetime, policy: Policy, again: bool = False
    ) -> int:
        """Take a notebook in and queue it, all or nothing; return its number.

        The same bytes again are the same hand-in, which is not graded again, unless grading it had failed, or ``again``
        asks for it.

        Raises
        ------
        InputError
            If there is no such exercise, or the course's rules do not allow another attempt now.
        """
        notebook_hash = hash_notebook(raw)
        mine = (HandInRow.learner == learner, HandInRow.exercise == exercise)
        with Session(self._engine) as session, session.begin():
            # One at a time for each learner, so that two at once are not both the last attempt.
            if session.scalar(select(PersonRow.name).where(PersonRow.name == learner).with_for_update()) is None:
                raise InputError(f"expected someone of this course, found {quote(learner, chars=60)}; add them first")
            if session.get(ExerciseRow, exercise) is None:
                raise unknown_exercise(session, exercise)
            row = session.scalar(select(HandInRow).where(*mine, HandInRow.notebook_hash == notebook_hash))
            if row is None:
                check_attempts(session, learner, exercise, at, policy)
                keep_notebook(session, raw)
                row = HandInRow(learner=learner, exercise=exercise, notebook_hash=notebook_hash, submitted_at=at)
                row.state, row.last_submitted_at, row.message = State.WAITING, at, ""
                session.add(row)
                session.flush()
                self._defer(session, [row.id])
            else:
                row.last_submitted_at = max(row.last_submitted_at, at)
                _note_time(session, row.id)
                if row.state == State.FAILED or (again and row.state == State.GRADED):
                    row.state, row.message = State.WAITING, ""
                    self._defer(session, [row.id])
            return row.id

    @retry_and_explain
    def find(self, number: int, *, learner: str | None = None) -> HandIn | None:
        """Return a hand-in; None if there is none, or if it is not this learner's."""
        query = select(HandInRow).where(HandInRow.id == number)
        with Session(self._engine) as session:
            row = session.scalar(query if learner is None else query.where(HandInRow.learner == learner))
            return None if row is None else _read(session, row)

    @retry_and_explain
    def finished(self, numbers: Iterable[int]) -> list[HandIn]:
        """Return those of these hand-ins that are through."""
        query = select(HandInRow).where(HandInRow.id.in_([*numbers]), HandInRow.state != State.WAITING)
        with Session(self._engine) as session:
            return [_read(session, row) for row in session.scalars(query).all()]

    @retry_and_explain
    def of(self, learner: str, exercise: str | None = None) -> list[HandIn]:
        """Return a learner's hand-ins, the last one first: all, or those for one exercise."""
        query = select(HandInRow).where(HandInRow.learner == learner).order_by(HandInRow.last_submitted_at.desc())
        with Session(self._engine) as session:
            rows = session.scalars(query if exercise is None else query.where(HandInRow.exercise == exercise)).all()
            return [_read(session, row) for row in rows]

    @retry_and_explain
    def notebook(self, notebook_hash: str) -> bytes | None:
        """Return the bytes that were handed in, or None if they are not kept."""
        with Session(self._engine) as session:
            return load_notebook(session, notebook_hash)

    @retry_and_explain
    def finish(self, number: int, state: State, message: str = "") -> bool:
        """Record that a hand-in was graded, or that grading it failed, and why; return whether it is still there."""
        with Session(self._engine) as session, session.begin():
            change = update(HandInRow).where(HandInRow.id == number).values(state=state, message=message)
            there = session.scalar(change.returning(HandInRow.id)) is not None
            _note_time(session, number)
            return there

    @retry_and_explain
    def regrade(self, exercise: str) -> int:
        """Queue all attempts at an exercise whose notebooks are kept, also those of ``course grade``; count them."""
        kept = exists().where(NotebookRow.hash == AttemptRow.notebook_hash)
        names = ("learner", "exercise", "notebook_hash", "submitted_at", "last_submitted_at")
        theirs = [getattr(AttemptRow, name) for name in names]
        source = select(*theirs, literal(State.GRADED.value), literal("")).where(AttemptRow.exercise == exercise, kept)
        with Session(self._engine) as session, session.begin():
            theirs_alone = PersonRow.name.in_(select(AttemptRow.learner).where(AttemptRow.exercise == exercise))
            session.execute(select(PersonRow.name).where(theirs_alone).order_by(PersonRow.name).with_for_update())
            adopt = postgresql.insert(HandInRow).from_select([*names, "state", "message"], source)
            session.execute(adopt.on_conflict_do_nothing())
            again = update(HandInRow).where(HandInRow.exercise == exercise).values(state=State.WAITING, message="")
            numbers = session.scalars(again.where(NO_JOB).returning(HandInRow.id)).all()
            self._defer(session, numbers)
            return len(numbers)

    @retry_and_explain
    def counts(self) -> dict[str, Counts]:
        """Return how many were handed in, by exercise."""
        in_state = [func.count().filter(HandInRow.state == state) for state in (State.WAITING, State.FAILED)]
        columns = (func.count(HandInRow.learner.distinct()), func.count(), *in_state)
        with Session(self._engine) as session:
            rows = session.execute(select(HandInRow.exercise, *columns).group_by(HandInRow.exercise))
            return {slug: Counts(*numbers) for slug, *numbers in rows}

    @retry_and_explain
    def sweep(self) -> int:
        """Queue what waits and has no job, which a queue that lost one would leave waiting; return how many."""
        with Session(self._engine) as session, session.begin():
            waiting = select(HandInRow.id).where(HandInRow.state == State.WAITING, NO_JOB)
            numbers = session.scalars(waiting.with_for_update(skip_locked=True)).all()
            self._defer(session, numbers)
            return len(numbers)

    @retry_and_explain
    def publish(self, rows: Iterable[ExerciseRow]) -> None:
        """Write down the exercises that a worker can grade."""
        columns = [{column.key: getattr(row, column.key) for column in ExerciseRow.__table__.columns} for row in rows]
        if not columns:
            return
        with Session(self._engine) as session, session.begin():
            statement = postgresql.insert(ExerciseRow).values(columns)
            changed = {name: statement.excluded[name] for name in ("title", "max_points", "key_hash")}
            session.execute(statement.on_conflict_do_update(index_elements=["slug"], set_=changed))

    @retry_and_explain
    def exercises(self) -> dict[str, ExerciseRow]:
        """Return the exercises there are, by name."""
        with Session(self._engine, expire_on_commit=False) as session:
            return {row.slug: row for row in session.scalars(select(ExerciseRow).order_by(ExerciseRow.title))}

    def _defer(self, session: Session, numbers: Iterable[int]) -> None:
        """Put jobs into the queue, in the session's own transaction."""
        jobs: list[dict[str, Any]] = [{"hand_in": number} for number in numbers]
        if jobs:
            driver = session.connection().connection.driver_connection
            self._queue.configure_task(GRADE, queue=GRADE_QUEUE, connection=driver).batch_defer(*jobs)


def _note_time(session: Session, number: int) -> None:
    """Tell the attempt, if there is one, when its notebook came in last: that decides which is the last attempt."""
    session.flush()
    mine = [getattr(AttemptRow, name) == getattr(HandInRow, name) for name in ("learner", "exercise", "notebook_hash")]
    came = func.greatest(AttemptRow.last_submitted_at, HandInRow.last_submitted_at)
    session.execute(update(AttemptRow).where(*mine, HandInRow.id == number).values(last_submitted_at=came))


def _read(session: Session, row: HandInRow) -> HandIn:
    # As a literal: the index of what waits is used for no parameter.
    waiting = (HandInRow.state == literal_column("'waiting'"), HandInRow.id <= row.id)
    place = session.scalar(select(func.count()).where(*waiting)) if row.state == State.WAITING else 0
    names = ("id", "learner", "exercise", "notebook_hash", "submitted_at", "last_submitted_at", "message")
    return HandIn(**{name: getattr(row, name) for name in names}, state=State(row.state), place=place or 0)
