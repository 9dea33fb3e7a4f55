"""``course collect``: make the folders that grading expects from a learning system's download."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_grader.cli.options import Exercises, Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from course_grader.grading.grade_class.roster import RosterEntry

__all__ = ["collect"]


def collect(
    download: Annotated[Path, typer.Argument(help="All submissions of one assignment: the zip file, or its folder.")],
    *,
    exercise: Annotated[str, typer.Option(help="The exercise that was handed in.")],
    roster: Annotated[
        Path | None,
        typer.Option(
            help="The learners of the course (CSV), as a learning system exports them.",
            show_default="that of course.toml here",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for <learner>/<exercise>.ipynb.")] = Path("submissions"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite notebooks of an earlier download that differ.")
    ] = False,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
) -> None:
    """Collect notebooks from what Canvas, Moodle or Gradescope let you download, for `course grade`.

    Learners get the names that the roster has for them. A table says who has a notebook, who has none, and what is in
    the download of people whom the roster does not know. Nothing is overwritten unless you say so.
    """
    from course_lib.extras import load

    load("nbformat", extra="grade")
    from course_grader.cli.result_tables import collected_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.collect import collect_class, open_download
    from course_grader.grading.exercises.exercise import find_exercise
    from course_grader.grading.grade_class.roster import read_roster
    from course_lib.errors import InputError

    slug = find_exercise(exercise, exercises=exercises, key=key).slug
    if out.resolve().is_relative_to(download.resolve()):
        raise InputError(f"expected --out outside of the download, found {out}; name another folder with --out")
    learners = read_roster(roster) if roster else _read_roster_of_course()
    with open_download(download) as files:
        system, lines = collect_class(files, learners, exercise=slug, out=out, overwrite=replace)
    console = make_console()
    console.print(f"{slug}, from {system}, into {out}", markup=False, soft_wrap=True)
    console.print(collected_table(lines))
    if system != "Gradescope":
        typer.echo(
            f"note: {system}'s download does not say when notebooks were handed in, and files have its own time; where "
            "a deadline counts, give the times with `course grade --submitted`",
            err=True,
        )


def _read_roster_of_course() -> "Sequence[RosterEntry]":
    """Return the roster that the course's rules name."""
    from course_grader.grading.gradebook import find_policies
    from course_lib.errors import InputError

    if roster := find_policies(None).roster:
        return roster
    raise InputError("expected a roster, found none in course.toml here; name the CSV file with --roster, or there")
