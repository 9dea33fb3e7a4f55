"""``course grade``: grade a class's submissions."""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_grader.cli.options import Book, Exercises, Key, Out, Rules, Sandbox, Submissions

if TYPE_CHECKING:
    from course_grader.service.queued_graders import QueuedGraders

__all__ = ["grade"]

_Slug = Annotated[str | None, typer.Option(help="Grade only this exercise; needed when the files are <learner>.ipynb.")]
_Submitted = Annotated[
    Path | None,
    typer.Option(
        help="When notebooks were handed in (CSV: learner, exercise, submitted).", show_default="the files' own times"
    ),
]
_Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Submissions to grade at once.", show_default="processors and one more"),
]
_Regrade = Annotated[
    bool,
    typer.Option("--regrade", help="Grade again all that the gradebook has: every attempt whose notebook it keeps."),
]
_Queue = Annotated[
    bool,
    typer.Option("--queue", help="Have it graded by the workers of `course serve`, whose database is the --gradebook."),
]
_Reports = Annotated[
    list[str] | None,
    typer.Option("--report", help="Also write: html, junit, canvas, moodle, gradescope, json.", show_default="html"),
]


def grade(
    submissions: Submissions,
    *,
    out: Out = Path("grades"),
    exercise: _Slug = None,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    gradebook: Book = None,
    rules: Rules = None,
    submitted: _Submitted = None,
    jobs: _Jobs = None,
    regrade: _Regrade = False,
    queue: _Queue = False,
    report: _Reports = None,
    sandbox: Sandbox = True,
) -> None:
    """Grade a folder of submissions into a gradebook and reports, and print a table.

    A notebook that the gradebook has already is not graded again, unless its key changed: a run that was broken off
    goes on with the same command. The table has those who came in this run, the reports all in the gradebook; files
    of learners whose grades are still the same are left as they are.

    Exit status 0 when the run is complete, however the learners did; 2 when it cannot start; 130 when it is broken off
    by Ctrl-C.
    """
    from course_grader.grading.grade_class.worker_pool import COLLECT_AT
    from course_lib.extras import load

    gc.set_threshold(COLLECT_AT)  # while all is loaded, none of which becomes garbage
    load("nbval", extra="grade")
    from course_grader.grading.grade_class.find_submissions import find_submissions
    from course_grader.grading.grade_class.graders import Graders
    from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, NONE

    # Those that grade load what they need at the same time as this process.
    with _queue(gradebook) if queue else Graders(jobs=jobs, sandbox=BUBBLEWRAP if sandbox else NONE) as graders:
        tasks = find_submissions(submissions, exercises=exercises, slug=exercise, key=key)
        if not regrade:  # else there is more to grade, which the gradebook tells
            graders.prepare(tasks)
        from course_grader.cli.interruptible_grading import GradingRun

        run = GradingRun(
            tasks, submissions, out=out, gradebook=gradebook, reports=report or ["html"], exercises=exercises, key=key
        )
        run.read_rules(rules, submitted)
        run.grade(graders, regrade=regrade, only=exercise)
    run.report()


def _queue(gradebook: str | None) -> "QueuedGraders":
    """Return the workers of the service that has this database."""
    from course_grader.service.queued_graders import QueuedGraders
    from course_lib.errors import InputError
    from course_lib.extras import load

    load("procrastinate", extra="serve")
    if gradebook is None:
        raise InputError("expected --gradebook postgresql://... with --queue, found none; give the service's database")
    return QueuedGraders(gradebook)
