"""Find similar pairs among what was handed in: asked for by the web server, done by a worker, which has the key."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session

from course_grader.grading.exercises.answers import answers_of, collect_answers
from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.exercises.submitted_notebook import parse_submission
from course_grader.grading.grade_class.similarity import Pair, find_similar_answers
from course_grader.grading.gradebook.database import retry_and_explain
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.service.database import COMPARE, GRADE_QUEUE, libpq_address, make_queue
from course_grader.service.tables import ComparisonRow
from course_lib.errors import NotebookError

__all__ = ["Comparison", "Comparisons", "compare_notebooks"]


@dataclass(frozen=True)
class Comparison:
    """The pairs that were found last, None where no worker could look; ``is_waiting`` while one is to look again."""

    pairs: Sequence[Pair] | None
    compared_at: datetime | None
    is_waiting: bool


class Comparisons:
    """The similar pairs in a service's database."""

    def __init__(self, engine: Engine) -> None:
        self.address, self._engine = str(engine.url), engine
        self._queue = make_queue(libpq_address(engine))

    @retry_and_explain
    def ask(self, exercise: str) -> None:
        """Have a worker compare what was handed in for an exercise."""
        with Session(self._engine) as session, session.begin():
            now = datetime.now(UTC)
            row = postgresql.insert(ComparisonRow).values(exercise=exercise, asked_at=now)
            session.execute(row.on_conflict_do_update(index_elements=["exercise"], set_={"asked_at": now}))
            driver = session.connection().connection.driver_connection
            self._queue.configure_task(COMPARE, queue=GRADE_QUEUE, connection=driver).batch_defer(
                {"exercise": exercise}
            )

    @retry_and_explain
    def write(self, exercise: str, pairs: Sequence[Pair] | None) -> None:
        """Write down what was found, or, with None, that no worker could look."""
        with Session(self._engine) as session, session.begin():
            if (row := session.get(ComparisonRow, exercise)) is not None:
                row.pairs = None if pairs is None else [asdict(pair) for pair in pairs]
                row.compared_at = datetime.now(UTC)

    @retry_and_explain
    def find(self, exercise: str) -> Comparison | None:
        """Return what was found last, or None if nobody has asked."""
        with Session(self._engine) as session:
            row = session.get(ComparisonRow, exercise)
            if row is None:
                return None
            pairs = None if row.pairs is None else [Pair(**each) for each in row.pairs]
            return Comparison(pairs, row.compared_at, row.compared_at is None or row.compared_at < row.asked_at)


def compare_notebooks(book: Gradebook, exercise: Exercise) -> list[Pair]:
    """Compare the newest notebook of each learner."""
    newest = {
        each.report.learner: each.notebook_hash for each in book.attempts(exercise=exercise.slug, with_rows=False)
    }
    names, submissions = answers_of(exercise.pristine()), {}
    for learner, notebook_hash in newest.items():
        if (raw := book.notebook(notebook_hash)) is not None:
            with suppress(NotebookError):
                submissions[learner], _ = collect_answers(parse_submission(raw), names)
    return find_similar_answers(submissions, exercise)
