"""``course mark``: mark one's own notebook by the exercise's hidden tests."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["mark"]


def mark(
    notebook: Annotated[Path, typer.Argument(help="The exercise notebook you work in, under any name.")],
    *,
    exercises: Annotated[
        Path | None, typer.Option(help="The folder of exercises.", show_default="those of the installed course")
    ] = None,
) -> None:
    """Mark your own exercise notebook: every part with its points, and what the hidden tests say.

    Only answers count, as in grading, and they run in a sandbox where this machine can make one. An exercise whose
    hidden tests are private is marked by its visible checks alone. What your course records, it grades itself.

    Exit status 0 when all is right, 1 when not, 2 when the file is not an exercise notebook. The notebook is not
    changed.
    """
    from course_grader.cli.mark_table import mark_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.learner.child_process import mark_file
    from course_grader.learner.public_key import PUBLIC_EXERCISES

    result = mark_file(notebook, exercises or PUBLIC_EXERCISES)
    make_console().print(mark_table(result))
    raise typer.Exit(0 if result.passed else 1)
