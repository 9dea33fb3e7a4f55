"""Build a course's notebooks and grade submissions; hidden tests import ``points``, ``Mistake`` and ``expect`` here.

These load on first use: they need NumPy, which the ``course`` command does without.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_grader.grading.authoring import expect
    from course_grader.grading.authoring.points import LearnerError, Mistake, points

__all__ = ["LearnerError", "Mistake", "expect", "points"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "expect":
        return importlib.import_module("course_grader.grading.authoring.expect")
    return getattr(importlib.import_module("course_grader.grading.authoring.points"), name)
