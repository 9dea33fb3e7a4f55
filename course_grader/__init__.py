"""Run a course: build notebooks, grade what learners hand in. Hidden tests import their tools from here.

The tools load on first use: they need NumPy, and the ``course`` command does without.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_grader.grading.authoring import expect
    from course_grader.grading.authoring.points import LearnerError, Mistake, points

__all__ = ["LearnerError", "Mistake", "expect", "points"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if name == "expect":
        return importlib.import_module("course_grader.grading.authoring.expect")
    return getattr(importlib.import_module("course_grader.grading.authoring.points"), name)
