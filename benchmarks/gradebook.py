"""How does a gradebook grow? What a run with one more notebook costs beside its grading, and what a first run does.

A class of 300, of 3,000 and of 30,000 is one graded submission, copied. Each size is measured in a process of its own:
finding what is graded already, standings and reports, first all of them, then with one more notebook handed in.

    python -m benchmarks.gradebook                  # about ten minutes, and 2 GB of disk
    python -m benchmarks.gradebook --learners 3000 --gradebook postgresql://USER@HOST/EMPTY_DATABASE
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import insert
from sqlalchemy.orm import Session

from course_grader.grading import reports
from course_grader.grading.exercises.exercise import Exercise, find_exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_one.grade_submission import hidden_tests
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import Gradebook, Outcome, Policies, compute_final_grades, grade_into
from course_grader.grading.gradebook.sql_tables import AttemptRow, ResultRow

__all__ = ["main"]

SIZES = (300, 3_000, 30_000)
SLUG = "two_layer_gradients"
EXERCISES = Path(__file__).parents[1] / "exercises"
NOW = datetime(2026, 10, 5, 12, tzinfo=UTC)
DETAIL = "E   assert False\n" * 100
ROWS_AT_ONCE = 1_000


class Graders:
    """A grader that takes no time: all it is given has the same report."""

    sandbox = "bubblewrap"

    def __init__(self, report: SubmissionReport) -> None:
        self._report = report

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Yield the report for each task."""
        yield from ((task, replace(self._report, learner=task.learner)) for task in tasks)


def make_report(exercise: Exercise) -> SubmissionReport:
    """Return a report like that of a submission in which two tests fail."""
    cells = [Row(cell.id, "answer", "passed") for cell in exercise.pristine().cells if cell.cell_type == "code"]
    tests = [replace(row, status="passed", points=row.max_points) for row in hidden_tests(exercise)]
    failed = [replace(row, status="failed", points=0, message=row.title, detail=DETAIL) for row in tests[:2]]
    rows = (*cells, *failed, *tests[2:])
    points, worth = sum(row.points for row in rows), sum(row.max_points for row in rows)
    said = tuple(row.message for row in failed)
    return SubmissionReport("", exercise.slug, "graded", points, worth, said, rows, "bubblewrap, warm")


def copy_attempts(book: Gradebook, report: SubmissionReport, key: str, learners: int) -> None:
    """Fill a gradebook with one report under many names."""
    attempt = {name: getattr(report, name) for name in ("exercise", "sandbox", "status", "points", "max_points")}
    attempt |= {"key_hash": key, "submitted_at": NOW, "last_submitted_at": NOW, "graded_at": NOW}
    attempt |= {"messages": list(report.messages), "grader_version": "0"}
    results = [row.as_record() | {"position": position} for position, row in enumerate(report.rows)]
    with Session(book._engine) as session, session.begin():
        for start in range(1, learners + 1, ROWS_AT_ONCE):
            ids = range(start, min(start + ROWS_AT_ONCE, learners + 1))
            # Numbered from 1 on by the database, which is empty.
            rows = [attempt | {"learner": f"learner{n:06}", "notebook_hash": f"{n:064}"} for n in ids]
            session.execute(insert(AttemptRow), rows)
            session.execute(insert(ResultRow), [row | {"attempt_id": n} for n in ids for row in results])


def measure(address: str, folder: Path, learners: int) -> dict[str, float]:
    """Measure one class, in this process."""
    exercise = find_exercise(SLUG, exercises=EXERCISES)
    report, seconds, out = make_report(exercise), dict[str, float](), folder / "grades"
    with Gradebook(address) as book:
        copy_attempts(book, report, hash_key(exercise), learners)

    def run(name: str, texts: dict[str, str]) -> None:
        tasks = [Task(learner, exercise, folder / f"{learner}.ipynb") for learner in texts]
        for task, text in zip(tasks, texts.values(), strict=True):
            task.path.write_text(text)
        with Gradebook(address) as book:
            outcomes: list[Outcome] = timed(f"{name}: grade", lambda: [*grade_into(book, tasks, Graders(report))])
            came = [outcome.report for outcome in outcomes]
            grades = timed(f"{name}: standings", lambda: compute_final_grades(book, came, Policies()))
        timed(f"{name}: reports", lambda: reports.write_reports(grades, out, kinds=["html"], titles={}))

    def timed(name: str, work: Callable[[], object]) -> object:
        start = time.perf_counter()
        result = work()
        seconds[name] = round(time.perf_counter() - start, 2)
        return result

    run("first", {})
    run("one more", {"learner000001": "another attempt"})
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"learners": learners, **seconds, "peak_mib": round(memory), "json_mib": size_mib(out / "grades.json")}


def size_mib(path: Path) -> float:
    """Return a file's size."""
    return round(path.stat().st_size / 2**20, 1)


def main() -> None:
    """Measure each size in a process of its own, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, nargs="+", default=SIZES)
    parser.add_argument("--gradebook", help="an empty database of PostgreSQL, for one size; else SQLite")
    arguments = parser.parse_args()
    if arguments.gradebook and len(arguments.learners) > 1:
        parser.error("expected one size for an empty database, found several; give --learners one number")
    if len(arguments.learners) == 1:
        with tempfile.TemporaryDirectory() as folder:
            address = arguments.gradebook or f"{folder}/gradebook.sqlite"
            print(json.dumps(measure(address, Path(folder), arguments.learners[0])), flush=True)
        return
    for learners in arguments.learners:
        subprocess.run([sys.executable, "-m", "benchmarks.gradebook", "--learners", str(learners)], check=True)


if __name__ == "__main__":
    main()
