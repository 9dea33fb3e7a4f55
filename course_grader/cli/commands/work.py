"""``course work``: a worker of the hand-in service."""

import os
from pathlib import Path
from typing import Annotated

import typer

from course_grader.cli.options import Exercises, Key

__all__ = ["work"]


def work(
    *,
    database: Annotated[
        str, typer.Option(envvar="COURSE_DATABASE", help="The service's database: postgresql://USER@HOST/DATABASE.")
    ],
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Submissions to grade at once.", show_default="processors"),
    ] = None,
) -> None:
    """Grade what is handed in: run as many of these as you like, on any machines that reach the database.

    It grades as `course grade` does, in the same sandbox, and says on the standard error what it does. SIGTERM or
    Ctrl-C end it when what it has begun is graded; if it is killed, another worker grades that within half a minute.
    When a key changes, it starts anew by itself.
    """
    from course_lib.extras import load

    load("nbval", extra="grade")
    load("procrastinate", extra="serve")
    from course_grader.cli.service_log import log_to_stderr
    from course_grader.service.worker import run_worker

    log_to_stderr()
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if run_worker(database, exercises=exercises, key=key, jobs=jobs or processors):
        restart()


def restart() -> None:
    """Replace this process by a new one of the same command, which reads keys afresh."""
    import sys

    os.execv(sys.executable, [sys.executable, "-m", "course_grader.cli", *sys.argv[1:]])  # noqa: S606 - our own words
