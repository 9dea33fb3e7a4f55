"""Run a hidden test on right versions of what the learner's function rests on: one mistake costs its own points."""

import copy
import functools
from collections.abc import Callable
from typing import Any

from course_grader.grading.authoring.points import Mistake

__all__ = ["rests_on"]

Test = Callable[..., None]


def rests_on(source: str, /) -> Callable[[Test], Test]:
    """Let a hidden test pass if it passes with these functions in place of the learner's own.

    The test is run on the learner's functions first, so an answer that shares more than the exercise asks for passes,
    too. If it fails, it is run again while each name that ``source`` defines is replaced by the right version. If that
    fails as well, the learner is told the first mistake.

    The second run takes the right version of these functions wherever it is called, so put their own tests elsewhere;
    and above this one, since the source is sent to the learner's process, where their code could keep it.

    Parameters
    ----------
    source : str
        Python text that defines the right versions, with its own imports.

    Examples
    --------
    >>> @rests_on("def double(x): return 2 * x")
    ... def test_quadruple(learner):
    ...     if learner.call("quadruple", 3) != 12:
    ...         raise Mistake("`quadruple` is wrong")
    """

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(learner: Any, **fixtures: Any) -> None:
            again = copy.deepcopy(fixtures)  # the generator's state, too
            try:
                test(learner=learner, **fixtures)
            except Mistake as first:
                try:
                    test(learner=learner.resting_on(source), **again)
                except Mistake:
                    raise first from None

        return run

    return decorate
