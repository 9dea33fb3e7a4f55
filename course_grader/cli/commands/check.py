"""``course check``: run the visible checks of a learner's notebook."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["check"]


def check(notebook: Annotated[Path, typer.Argument(help="The exercise notebook you work in.")]) -> None:
    """Run the visible checks of your exercise notebook and say what each found; `course mark` shows points, too.

    Exit status 0 when all pass, 1 when not, 2 when the file is not an exercise notebook. The notebook is not changed.
    """
    from course_grader.cli.mark_table import mark_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.learner.child_process import check_file

    result = check_file(notebook)
    make_console().print(mark_table(result), "Points come from further tests, with other numbers: `course mark`.")
    raise typer.Exit(0 if result.passed else 1)
