"""``course points``: add points by hand, apart from what the tests gave; list them, or take them back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_grader.cli.options import Book, Exercises, Key

if TYPE_CHECKING:
    from course_grader.grading.gradebook.gradebook import Gradebook

__all__ = ["points"]

MOST = 1_000_000  # so that no sum of points is infinite
_Listed = Annotated[bool, typer.Option("--list", help="List what was given: to all, to LEARNER, or for EXERCISE.")]
_Undo = Annotated[bool, typer.Option("--undo", help="Take back what LEARNER was given last for EXERCISE.")]


def points(
    learner: Annotated[
        str, typer.Argument(metavar="LEARNER", help="Whose, as named in the table.", show_default=False)
    ] = "",
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="The exercise's name.", show_default=False)] = "",
    number: Annotated[float | None, typer.Argument(metavar="POINTS", help="How many; below zero to take some.")] = None,
    *,
    why: Annotated[str, typer.Option(help="The reason. The learner is told.", show_default=False)] = "",
    listed: _Listed = False,
    undo: _Undo = False,
    gradebook: Book = "grades/gradebook.sqlite",
    absent: Annotated[bool, typer.Option("--absent", help="The learner handed nothing in.")] = False,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
) -> None:
    """Add points by hand for a learner; grading again keeps them.

    Each call adds to what was given before; --list shows it, and --undo takes back the last. Run `course grade` once
    more to have them in the reports.
    """
    from course_lib.extras import load

    load("sqlalchemy", extra="grade")
    from course_grader.cli.result_tables import manual_points_table
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.gradebook.gradebook import Gradebook
    from course_grader.grading.text import normalize_name, one_line

    learner, reason, console = normalize_name(learner), one_line(why), make_console()
    _check_words(learner, exercise, number, reason, listed=listed, undo=undo)
    with Gradebook(str(gradebook), create=False) as book:
        if listed:
            given = book.manual_points(exercise=exercise or None, learner=learner or None)
            console.print(manual_points_table(given) if given else "no points were given by hand")
            return
        if undo:
            line = _undo_points(book, learner, exercise)
        else:
            if not absent and not book.attempts(exercise=exercise, learner=learner, with_rows=False):
                raise _unknown_learner(learner, exercise, book.learners())
            if exercise not in book.max_points():
                _check_exercise(exercise, exercises, key)
            line = _add_points(book, learner, exercise, number or 0, reason)
    console.print(line, markup=False)


def _check_words(learner: str, exercise: str, number: float | None, reason: str, *, listed: bool, undo: bool) -> None:
    """Refuse words that do not go together, and numbers that no sum could hold."""
    from course_lib.errors import InputError

    if listed or undo:
        if listed and undo:
            raise InputError("expected --list or --undo, found both; give one")
        if number is not None or reason:
            option, came = "--list" if listed else "--undo", "a reason" if number is None else f"{number:g} points"
            raise InputError(f"expected {option} without points and a reason, found {came}; leave them out")
    if not listed and not exercise:
        came = f"{learner!r} alone" if learner else "neither"
        raise InputError(f"expected LEARNER and EXERCISE, found {came}; give both, or --list to see all points by hand")
    if not listed and not undo:
        if number is None or not reason:
            came = "no number" if number is None else "no reason"
            raise InputError(f"expected a number of points and a reason for them, found {came}; give both")
        if not abs(number) <= MOST:
            raise InputError(f"expected points from {-MOST:,} to {MOST:,}, found {number:g} points; correct the number")


def _add_points(book: "Gradebook", learner: str, exercise: str, number: float, reason: str) -> str:
    from datetime import UTC, datetime

    from course_grader.grading.gradebook.attempts import ManualPoints

    total = book.add_points(ManualPoints(learner, exercise, number, reason, datetime.now(UTC)))
    return f"{learner}, {exercise}: {number:+g}, by hand {total:+g} in all"


def _undo_points(book: "Gradebook", learner: str, exercise: str) -> str:
    from course_lib.errors import InputError

    undone = book.undo_points(learner, exercise)
    if undone is None:
        raise InputError(
            f"expected points by hand of {learner} for {exercise}, found none; `course points --list` shows all"
        )
    total = sum(each.points for each in book.manual_points(exercise=exercise, learner=learner))
    return f"{learner}, {exercise}: {undone.points:+g} taken back ({undone.why}), by hand {total:+g} in all"


def _check_exercise(slug: str, exercises: Path, key: Path | None) -> None:
    """Refuse an exercise that does not exist: points under a misspelled name would be lost."""
    from course_lib.extras import load

    load("nbformat", extra="grade")
    from course_grader.grading.exercises.exercise import find_exercise

    find_exercise(slug, exercises=exercises, key=key)


def _unknown_learner(learner: str, exercise: str, learners: list[str]) -> Exception:
    from difflib import get_close_matches

    from course_lib.errors import InputError

    near = get_close_matches(learner, [name for name in learners if name != learner], n=1)
    meant = f"did you mean {near[0]}?" if near else f"the gradebook has {len(learners)} learners"
    return InputError(
        f"expected an attempt of {learner} at {exercise}, found none ({meant}); correct the name or the exercise, "
        "or pass --absent if nothing was handed in"
    )
