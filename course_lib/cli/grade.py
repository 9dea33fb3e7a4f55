"""``course grade``: a class's submissions into grades."""

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["grade"]


def grade(
    submissions: Annotated[Path, typer.Argument(help="A folder with <learner>/<exercise>.ipynb.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder for grades.csv and grades.json.")] = Path("grades"),
    exercise: Annotated[
        str | None, typer.Option(help="Grade this exercise alone; needed when the files are <learner>.ipynb.")
    ] = None,
    exercises: Annotated[Path, typer.Option(help="The folder of exercises.")] = Path("exercises"),
    key: Annotated[
        Path | None,
        typer.Option(
            help="Where the keys are, if not beside the exercises: KEY/<exercise>/source.md, or KEY/source.md."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Submissions to grade at once.", show_default="processors")
    ] = None,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox/--no-sandbox", help="Run learners' code in a sandbox. Without one, every report says so."
        ),
    ] = True,
) -> None:
    """Grade a folder of submissions into grades.csv and grades.json, and print a table.

    Exit status 0 when the run is complete, however the learners did; 2 when it cannot start.
    """
    from course_lib.extras import load

    load("nbval", extra="grade")
    from course_lib.cli.console import make_console
    from course_lib.cli.table import grades_table
    from course_lib.grading import output
    from course_lib.grading.classroom import find_submissions, grade_class
    from course_lib.grading.sandbox import BUBBLEWRAP, NONE, require

    output.check_folder(out)
    tasks = find_submissions(submissions, exercises=exercises, slug=exercise, key=key)
    if sandbox:
        require()
    graded = list(_shown(grade_class(tasks, jobs=jobs, sandbox=BUBBLEWRAP if sandbox else NONE), total=len(tasks)))
    table, data = output.write(graded, out)
    console = make_console()
    console.print(grades_table(graded))
    console.print(f"written: {table} and {data}", markup=False, soft_wrap=True)


def _shown(reports: Any, *, total: int) -> Any:
    """Pass the reports through, with a progress bar on a terminal's standard error."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        return reports
    return track(reports, description="grading", total=total, console=console, transient=True)
