"""Build a course's notebooks, mark one's own and grade submissions.

Learners call ``check`` and ``hand_in``, and their notebooks ``explain_checks``; hidden tests import ``points``,
``rests_on``, ``Mistake`` and ``expect``.
These load on first use: they need NumPy, which the ``course`` command does without.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_grader.grading.authoring import expect
    from course_grader.grading.authoring.dependents import rests_on
    from course_grader.grading.authoring.points import LearnerError, Mistake, points
    from course_grader.learner import check, explain_checks, hand_in

__all__ = ["LearnerError", "Mistake", "check", "expect", "explain_checks", "hand_in", "points", "rests_on"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "expect":
        return importlib.import_module("course_grader.grading.authoring.expect")
    if name in ("check", "explain_checks", "hand_in"):
        return getattr(importlib.import_module("course_grader.learner"), name)
    home = "dependents" if name == "rests_on" else "points"
    return getattr(importlib.import_module(f"course_grader.grading.authoring.{home}"), name)
