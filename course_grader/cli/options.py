"""The options that several commands share, each described once."""

import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Book", "Exercises", "Key", "Out", "Rules", "Sandbox", "Submissions"]

Submissions = Annotated[Path, typer.Argument(help="A folder with <learner>/<exercise>.ipynb.")]


def _find_exercises(folder: Path) -> Path:
    """Return the folder of exercises: where none is here, that of the package, as an installed one has no other."""
    if folder.is_dir() or folder != Path("exercises"):
        return folder
    from course_grader.learner.public_key import PUBLIC_EXERCISES

    print("note: no folder exercises here; taking those that come with the package", file=sys.stderr)
    return PUBLIC_EXERCISES


Exercises = Annotated[
    Path,
    typer.Option(
        help="The folder of exercises.",
        callback=_find_exercises,
        show_default="exercises; without one here, those that come with the package",
    ),
]
Key = Annotated[
    Path | None,
    typer.Option(help="Where the keys are, if not beside the exercises: KEY/<exercise>/source.md, or KEY/source.md."),
]
Sandbox = Annotated[
    bool,
    typer.Option("--sandbox/--no-sandbox", help="Run learners' code in a sandbox. Without one, every report says so."),
]
Out = Annotated[Path, typer.Option(help="Folder for grades.csv, details/, the gradebook and the other reports.")]
Book = Annotated[
    str | None,
    typer.Option(
        "--gradebook",
        help="The gradebook, if not gradebook.sqlite among the grades: a file, or postgresql://USER@HOST/DATABASE.",
    ),
]
Rules = Annotated[
    Path | None,
    typer.Option("--course", help="The course's rules (TOML).", show_default="course.toml here, if there is one"),
]
