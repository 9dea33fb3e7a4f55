"""What the author of an exercise writes hidden tests with: how much a test is worth, and what it tells the learner."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["LearnerError", "Mistake", "points", "points_of"]

F = TypeVar("F", bound=Callable[..., Any])


class Mistake(AssertionError):  # noqa: N818 - an author reads `raise Mistake(...)` as a sentence
    """A sentence for the learner that names their mistake, never the answer.

    Only this text leaves the instructor's side: the text of a plain ``assert`` would show expected values.
    """


class LearnerError(Mistake):
    """The learner's own code failed, or gave back something that is not plain data."""


def points(worth: float, /) -> Callable[[F], F]:
    """Say how many points a hidden test is worth; a parametrized test is worth that much for each case.

    Parameters
    ----------
    worth : float
        Points, above zero.

    Examples
    --------
    >>> @points(2)
    ... def test_gradient_of_the_bias(learner):
    ...     "The gradient of the bias is right."
    >>> points_of(test_gradient_of_the_bias)
    2
    """
    if isinstance(worth, bool) or not isinstance(worth, (int, float)):
        raise TypeError(f"a hidden test must be worth a number of points, not a {type(worth).__name__}: @points(2)")
    if not 0 < worth < math.inf:
        raise ValueError(f"a hidden test must be worth more than zero points, not {worth}; leave @points out for none")

    def mark(test: F) -> F:
        test.course_points = worth  # type: ignore[attr-defined] # functions take any
        return test

    return mark


def points_of(test: Callable[..., Any]) -> float:
    """Return what a test is worth: 0 without ``@points``."""
    return getattr(test, "course_points", 0)
