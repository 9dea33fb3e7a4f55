"""``course package``: build an autograder for Gradescope or GitHub Classroom."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from course_grader.cli.options import Exercises, Key, Rules

__all__ = ["package"]


class _Place(StrEnum):
    """The system that it grades on."""

    GRADESCOPE = "gradescope"
    CLASSROOM = "classroom"


def package(
    place: Annotated[_Place, typer.Argument(help="gradescope: an autograder zip. classroom: a private repository.")],
    exercise: Annotated[str, typer.Argument(help="The exercise's name.")],
    *,
    out: Annotated[Path, typer.Option(help="The zip file, or the folder; it must not be there yet.")],
    exercises: Exercises = Path("exercises"),
    key: Key = None,
    rules: Rules = None,
    sandbox: Annotated[
        bool,
        typer.Option("--sandbox/--no-sandbox", help="Gradescope: without one, grade all the same, and say so."),
    ] = True,
) -> None:
    """Write what grades an exercise on Gradescope, or a GitHub Classroom from a repository learners cannot touch.

    Of a course's rules, Gradescope gets gradescope_visibility. The key is in it: keep it as you keep the key.
    """
    from course_lib.extras import load

    load("nbformat", extra="grade")
    from course_grader.cli.terminal_output import make_console
    from course_grader.grading.exercises.exercise import find_exercise
    from course_grader.grading.grade_one.grade_submission import hidden_tests
    from course_grader.grading.gradebook.course_toml import find_policies
    from course_grader.grading.packages import build_autograder, build_classroom
    from course_lib.errors import InputError

    policy = find_policies(rules).of(exercise)
    found = find_exercise(exercise, exercises=exercises, key=key)
    hidden_tests(found)  # a key that cannot be used is better found here than there
    if place is _Place.GRADESCOPE:
        build_autograder(found, out, sandbox=sandbox, visibility=policy.gradescope_visibility)
    elif not sandbox:
        raise InputError(
            "expected classroom without --no-sandbox, found both; GitHub's machines can make a sandbox, so leave it out"
        )
    else:
        build_classroom(found, out)
    make_console().print(f"written: {out}, with the key in it", markup=False, soft_wrap=True)
