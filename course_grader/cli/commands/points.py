"""``course points``: add points by hand, apart from what the tests gave."""

import math
from pathlib import Path
from typing import Annotated

import typer

from course_grader.cli.options import Book, Exercises, Key

__all__ = ["points"]


def points(
    learner: Annotated[str, typer.Argument(help="Whose, as named in the table.")],
    exercise: Annotated[str, typer.Argument(help="The exercise's name.")],
    number: Annotated[float, typer.Argument(metavar="POINTS", help="How many; below zero to take some.")],
    *,
    why: Annotated[str, typer.Option(help="The reason. The learner is told.")],
    gradebook: Book = "grades/gradebook.sqlite",
    absent: Annotated[bool, typer.Option("--absent", help="The learner handed nothing in.")] = False,
    exercises: Exercises = Path("exercises"),
    key: Key = None,
) -> None:
    """Add points by hand for a learner; grading again keeps them.

    Each call adds to what was given before. Run `course grade` once more to have them in the reports.
    """
    from course_lib.extras import load

    load("sqlalchemy", extra="grade")
    from datetime import UTC, datetime

    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.gradebook.attempts import ManualPoints
    from course_grader.grading.gradebook.gradebook import Gradebook
    from course_grader.grading.text import normalize_name, one_line
    from course_lib.errors import InputError

    learner, reason = normalize_name(learner), one_line(why)
    if not reason or not math.isfinite(number):
        wrong = f"found {number:g} points" if reason else "found no reason"
        raise InputError(f"expected a number of points and a reason for them, {wrong}; give both")
    with Gradebook(str(gradebook), create=False) as book:
        if not absent and not book.attempts(exercise=exercise, learner=learner):
            raise InputError(_unknown_learner(learner, exercise, book.learners()))
        if not book.attempts(exercise=exercise):
            _check_exercise(exercise, exercises, key)
        total = book.add_points(ManualPoints(learner, exercise, number, reason, datetime.now(UTC)))
    make_console().print(f"{learner}, {exercise}: {number:+g}, by hand {total:+g} in all", markup=False)


def _check_exercise(slug: str, exercises: Path, key: Path | None) -> None:
    """Refuse an exercise that does not exist: points under a misspelled name would be lost."""
    from course_lib.extras import load

    load("nbformat", extra="grade")
    from course_grader.grading.exercises.exercise import find_exercise

    find_exercise(slug, exercises=exercises, key=key)


def _unknown_learner(learner: str, exercise: str, learners: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(learner, [name for name in learners if name != learner], n=1)
    meant = f"did you mean {near[0]}?" if near else f"the gradebook has {len(learners)} learners"
    return (
        f"expected an attempt of {learner} at {exercise}, found none ({meant}); correct the name or the exercise, "
        "or pass --absent if nothing was handed in"
    )
