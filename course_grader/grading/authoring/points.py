"""Give points to a hidden test, and name the mistake it finds: ``@points(2)``, ``raise Mistake(...)``."""

import math
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LearnerError", "Mistake", "points", "points_of"]

F = TypeVar("F", bound=Callable[..., object])


class Mistake(AssertionError):  # noqa: N818 - an author reads `raise Mistake(...)` as a sentence
    """A sentence for the learner that names their mistake, never the answer.

    Only this text leaves the instructor's side: the text of a plain ``assert`` would show expected values.

    Attributes
    ----------
    function, raised : str
        Of a :class:`LearnerError`; else empty. So a test that catches a mistake can ask ``if mistake.raised``.
    """

    function: str = ""
    raised: str = ""

    def reworded(self, message: str, *, function: str = "") -> "Mistake":
        """Return the same mistake in other words, and in the name of another function, if one is given."""
        return Mistake(message)


class LearnerError(Mistake):
    """The learner's own code failed, or gave back something that is not plain data.

    Parameters
    ----------
    message : str
        For the learner.
    function : str
        The name that was called or read.
    raised : str
        The type of exception that it raised; empty if it raised none, or is a stub that is not written yet.
    missing : tuple of str
        Names that it lacks: not defined, or not written yet.
    reads : tuple of str
        The notebook's data that it reads, where the message says so.
    unwritten : bool
        Whether it is a stub, or calls one.
    """

    def __init__(
        self,
        message: str,
        *,
        function: str = "",
        raised: str = "",
        missing: tuple[str, ...] = (),
        reads: tuple[str, ...] = (),
        unwritten: bool = False,
    ) -> None:
        super().__init__(message)
        self.function, self.raised, self.missing, self.reads = function, raised, missing, reads
        self.unwritten = unwritten

    def reworded(self, message: str, *, function: str = "") -> "LearnerError":
        """Return the same error in other words: what was raised, missing and read stays.

        Examples
        --------
        >>> error = LearnerError("`probe` raised ValueError: no", function="probe", raised="ValueError")
        >>> error.reworded("`clip` raised ValueError: no", function="clip").raised
        'ValueError'
        """
        return LearnerError(
            message,
            function=function or self.function,
            raised=self.raised,
            missing=self.missing,
            reads=self.reads,
            unwritten=self.unwritten,
        )


def points(worth: float, /, *, part: str = "") -> Callable[[F], F]:
    """Give a hidden test its points; a parametrized test is worth that much for each case.

    Parameters
    ----------
    worth : float
        Points, above zero.
    part : str
        The answer cell that the notebook counts them for; that of the function that the test calls if left out.

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
        test.course_points = worth  # type: ignore[attr-defined] # functions take any; `part` is read from the text
        return test

    return mark


def points_of(test: Callable[..., object]) -> float:
    """Return what a test is worth: 0 without ``@points``."""
    worth: float = getattr(test, "course_points", 0)
    return worth
