"""How does a gradebook grow? What one more notebook costs beside its grading, and what a whole export costs.

A class of 30 to 10,000 learners at ten exercises each is one graded submission, copied. Each step is a process of its
own, which does what ``course grade`` does, but for the grading: ``first`` writes all files of everyone, ``one more``
takes a notebook of one learner and writes the pages and Canvas's table, ``export`` writes ``grades.json`` as well.

    python -m benchmarks.gradebook                  # about ten minutes, and 6 GB of disk
    python -m benchmarks.gradebook --learners 3000 --gradebook postgresql://USER@HOST/EMPTY_DATABASE
"""

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import func, insert, literal, select
from sqlalchemy.orm import Session

from course_grader.cli.interruptible_grading import GradingRun
from course_grader.grading.exercises.exercise import Exercise, find_exercise
from course_grader.grading.exercises.hashes import hash_key
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.worker_pool import COLLECT_AT
from course_grader.grading.grade_one.grade_submission import hidden_tests
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import Attempt, Gradebook
from course_grader.grading.gradebook.sql_tables import AttemptRow, ResultRow, StandingRow

__all__ = ["main"]

LEARNERS = (30, 300, 3_000, 10_000)
EXERCISES_EACH = 10
SLUG = "two_layer_gradients"
EXERCISES = Path(__file__).parents[1] / "exercises"
RESULTS = Path(__file__).parent / "results" / "gradebook.json"
NOW = datetime(2026, 10, 5, 12, tzinfo=UTC)
DETAIL = "E   assert False\n" * 100
STEPS = {"first": ["html"], "one more": ["html", "canvas"], "export": ["html", "json"]}


class Graders:
    """A grader that takes no time: all it is given has the same report."""

    sandbox = "bubblewrap"

    def __init__(self, report: SubmissionReport) -> None:
        self._report = report

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Prepare nothing."""

    def hide(self, folders: Iterable[Path]) -> None:
        """Hide nothing: no code runs."""

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
    """Fill an empty gradebook with one report under many names, at ten exercises."""
    slugs = [report.exercise, *(f"exercise{number}" for number in range(1, EXERCISES_EACH))]
    names = [f"learner{number:06}" for number in range(learners)]
    book.record(Attempt(replace(report, learner=names[0]), "0" * 64, key, NOW, NOW, NOW))
    with Session(book._engine) as session, session.begin():
        values = session.execute(select(*AttemptRow.__table__.columns)).mappings().one()
        attempt = {name: value for name, value in values.items() if name != "id"}
        pairs = [{"learner": name, "exercise": slug} for name in names for slug in slugs][1:]
        session.execute(insert(AttemptRow), [attempt | pair for pair in pairs])
        session.execute(insert(StandingRow), [pair | {"changed": 1} for pair in pairs])
        rows = session.execute(select(*ResultRow.__table__.columns)).mappings().all()
        for row in rows:  # read before: a join with the table that grows would go over all of it again and again
            names = [name for name in row if name != "attempt_id"]
            same = select(AttemptRow.id, *(literal(row[name]) for name in names))
            session.execute(
                insert(ResultRow).from_select(["attempt_id", *names], same.where(AttemptRow.id > row["attempt_id"]))
            )
        assert session.scalar(select(func.count()).select_from(AttemptRow)) == learners * EXERCISES_EACH


def fill(address: str, learners: int) -> None:
    """Make the gradebook of a class."""
    exercise = find_exercise(SLUG, exercises=EXERCISES)
    with Gradebook(address) as book:
        copy_attempts(book, make_report(exercise), hash_key(exercise), learners)


def take_step(address: str, folder: Path, step: str) -> dict[str, float]:
    """Do what ``course grade`` does with a notebook of one learner, in this process; return seconds and memory."""
    exercise = find_exercise(SLUG, exercises=EXERCISES)
    report = make_report(exercise)
    (path := folder / "class" / "learner000007" / f"{SLUG}.ipynb").parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"another attempt: {step}")
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - the table, for as long as this process lives
    gc.set_threshold(COLLECT_AT)  # as the command does
    start, cpu_start = time.perf_counter(), time.process_time()
    task = Task(path.parent.name, exercise, path)
    run = GradingRun([task], folder / "class", folder / "grades", address, STEPS[step], exercises=EXERCISES)
    run.grade(Graders(report), regrade=False)
    run.report()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    sys.stdout = sys.__stdout__
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 2), "cpu_seconds": round(cpu_seconds, 2), "peak_mib": round(memory)}


def measure(address: str, folder: Path, learners: int) -> dict[str, object]:
    """Measure a class, each step in a process of its own."""
    found: dict[str, object] = {"database": address.split(":")[0] if "://" in address else "sqlite"}
    found |= {"learners": learners, "attempts": learners * EXERCISES_EACH, "load": round(os.getloadavg()[0], 1)}
    command = [sys.executable, "-m", "benchmarks.gradebook", "--learners", str(learners), "--gradebook", address]
    for step in ("fill", *STEPS):
        options = ["--step", step, "--folder", str(folder)]
        done = subprocess.run([*command, *options], check=True, stdout=subprocess.PIPE, text=True)
        if step != "fill":
            found[step] = json.loads(done.stdout)
    return found | {"json_mib": round((folder / "grades" / "grades.json").stat().st_size / 2**20, 1)}


def main() -> None:
    """Measure each size, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learners", type=int, nargs="+", default=LEARNERS)
    parser.add_argument("--gradebook", help="an empty database of PostgreSQL, for one size; else SQLite")
    parser.add_argument("--save", action="store_true", help=f"add what was measured to {RESULTS.name}")
    parser.add_argument("--step", choices=["fill", *STEPS], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.gradebook and len(arguments.learners) > 1:
        parser.error("expected one size for an empty database, found several; give --learners one number")
    if arguments.step == "fill":
        fill(arguments.gradebook, arguments.learners[0])
    elif arguments.step:
        print(json.dumps(take_step(arguments.gradebook, arguments.folder, arguments.step)))
    else:
        for learners in arguments.learners:
            with tempfile.TemporaryDirectory() as folder:
                address = arguments.gradebook or f"{folder}/gradebook.sqlite"
                print(json.dumps(found := measure(address, Path(folder), learners)), flush=True)
            if arguments.save:
                save(found)


def save(found: dict[str, object]) -> None:
    """Put one class's figures into the file of results, in the place of earlier ones of the same kind."""
    kept = json.loads(RESULTS.read_text())["classes"] if RESULTS.is_file() else []
    same = ("database", "learners")
    others = [each for each in kept if any(each[name] != found[name] for name in same)]
    classes = sorted([*others, found], key=lambda each: [each[name] for name in same])
    about = {"date": datetime.now(UTC).date().isoformat(), "cores": len(os.sched_getaffinity(0))}
    about |= {"versions": {"sqlalchemy": version("sqlalchemy"), "python": platform.python_version()}}
    about |= {"units": "seconds: wall clock, which other work on the machine lengthens; cpu_seconds: of the process"}
    RESULTS.write_text(json.dumps(about | {"classes": classes}, indent=1) + "\n")


if __name__ == "__main__":
    main()
