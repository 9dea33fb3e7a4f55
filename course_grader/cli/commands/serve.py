"""``course serve``: the hand-in service."""

from pathlib import Path
from typing import Annotated

import typer

from course_grader.cli.options import Exercises, Key, Rules

__all__ = ["serve"]

_Worker = Annotated[
    bool, typer.Option("--worker/--no-worker", help="Grade here, too; else run `course work` elsewhere.")
]
_Jobs = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Submissions to grade at once.", show_default="processors")
]


def serve(
    *,
    data: Annotated[Path, typer.Option(help="Where PostgreSQL, which comes along, keeps the data.")] = Path("service"),
    database: Annotated[
        str | None,
        typer.Option(envvar="COURSE_DATABASE", help="A database of your own instead: postgresql://USER@HOST/DATABASE."),
    ] = None,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    rules: Rules = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 for every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8000,
    url: Annotated[
        str | None,
        typer.Option(help="The address that learners see, behind a proxy.", show_default="http://HOST:PORT"),
    ] = None,
    worker: _Worker = True,
    jobs: _Jobs = None,
    instructor: Annotated[str, typer.Option(help="Whom the printed link lets in.")] = "instructor",
) -> None:
    """Take in notebooks, grade them and show marks: learners hand in from Colab or by a page.

    It prints its address, and a link that lets the instructor in, once. Everything is kept in one PostgreSQL database,
    which is also a gradebook for `course grade`. Ctrl-C or SIGTERM end it; nothing that was handed in is lost, however
    it ends.
    """
    from course_lib.extras import load

    for package in ("fastapi", "uvicorn", "procrastinate"):
        load(package, extra="serve")
    from course_grader.cli.service_log import log_to_stderr
    from course_grader.service.serve import Settings, run_service

    log_to_stderr()
    settings = Settings(
        host=host, port=port, url=url, rules=rules, instructor=instructor, exercises=exercises, key=key,
        worker=worker, jobs=jobs,
    )  # fmt: skip
    run_service(settings, data=data, database=database, say=typer.echo)
