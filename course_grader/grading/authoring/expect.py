"""Checks for hidden tests that already speak to the learner.

NumPy is loaded by the functions that use it: this module comes with the package, even where nothing is graded.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from course_grader.grading.authoring.points import Mistake

if TYPE_CHECKING:
    import numpy as np

    from course_grader.grading.authoring.learner import Learner

__all__ = ["array", "by_hand", "described", "reaction", "resting", "two"]

KINDS = "biufc"  # of NumPy: what a number can be
PATH_CHARS = 60


def array(value: Any, *, name: str, shape: tuple[int, ...] | None = None) -> "np.ndarray[Any, np.dtype[Any]]":
    """Return what a learner gave as an array of numbers.

    Parameters
    ----------
    value : array or nested lists of numbers
        What came back from ``learner.call``.
    name : str
        What the learner knows it by.
    shape : tuple of int, optional
        The shape it must have; pass it only where the prompt states it too.

    Raises
    ------
    Mistake
        If it is not an array of numbers, or has another shape.

    Examples
    --------
    >>> array([[1, 2], [3, 4]], name="dw", shape=(2, 2)).sum()
    np.int64(10)
    >>> array([1, 1, 1], name="db", shape=(4,))
    Traceback (most recent call last):
    course_grader...Mistake: `db` has shape (3,); it must have shape (4,)
    """
    import numpy as np

    if not _numeric(value):
        raise Mistake(f"`{name}` is {described(value)}; it must be an array of numbers")
    try:
        result = np.asarray(value)
    except ValueError:
        raise Mistake(f"`{name}` is a list whose rows have different lengths; it must be an array") from None
    if result.dtype.kind not in KINDS:
        raise Mistake(f"`{name}` is {described(value)}; it must be an array of numbers")
    if shape is not None and result.shape != shape:
        raise Mistake(f"`{name}` has shape {result.shape}; it must have shape {shape}")
    return result


def two(value: Any, what: str, *, name: str) -> Any:
    """Return what a learner's function gave, if it is two things.

    Parameters
    ----------
    value : plain data
        What came back from ``learner.call``.
    what : str
        Both things, in their order.
    name : str
        The function.

    Raises
    ------
    Mistake
        If it is something else.

    Examples
    --------
    >>> loss, grads = two([0.5, {"w": 1.0}], "the loss and the gradients", name="whole")
    >>> two(0.5, "the loss and the gradients", name="whole")
    Traceback (most recent call last):
    course_grader...Mistake: `whole` must return two things, the loss and the gradients; it returned a float
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise Mistake(f"`{name}` must return two things, {what}; it returned {described(value)}")
    return value


def reaction(first: Any, second: Any, *, name: str) -> None:
    """Check that a function gave different results for different arguments.

    A test that looks for what a function must *not* do needs this too: one that does nothing at all would pass it.

    Parameters
    ----------
    first, second : plain data
        What came back from two calls of ``learner.call`` whose right results differ.
    name : str
        The function.

    Raises
    ------
    Mistake
        If they are equal, or there are none.

    Examples
    --------
    >>> reaction([0, 0], [0, 0], name="clip")
    Traceback (most recent call last):
    course_grader...Mistake: `clip` returns the same whatever it is given: this point is for one that works
    """
    from course_grader.grading.protocol.codec import encode

    if first is None and second is None:
        raise Mistake(f"`{name}` returns {described(None)}")
    if encode(first) == encode(second):
        raise Mistake(f"`{name}` returns the same whatever it is given: this point is for one that works")


def _numeric(value: Any) -> bool:
    """Tell whether there is nothing but numbers: NumPy would give every element as much room as the longest text."""
    import numpy as np

    if isinstance(value, (list, tuple)):
        return all(map(_numeric, value))
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype.kind in KINDS
    return isinstance(value, (int, float, complex))


@contextmanager
def resting(name: str, needed: Mapping[str, Callable[[], Any]], *, maybe: bool = False) -> Iterator[None]:
    """Where a call raises because of another function of the learner's, say which to mend first.

    Parameters
    ----------
    name : str
        The function that is called in the block.
    needed : mapping of str to callable
        What it rests on, the first one first, and for each a check that raises :class:`Mistake` if that is wrong.
    maybe : bool
        Whether an answer may also do without them.

    Examples
    --------
    >>> def check():
    ...     raise Mistake("`norm` returned None; it must return one number")
    >>> with resting("clip", {"norm": check}):
    ...     raise Mistake("`clip` raised TypeError: unsupported operand")
    Traceback (most recent call last):
    course_grader...Mistake: `norm` returned None; it must return one number. `clip` rests on it, so mend `norm` first
    """
    try:
        yield
    except Mistake as mistake:
        if f"`{name}` raised " in str(mistake):
            for other, check in needed.items():
                try:
                    check()
                except Mistake as cause:
                    rests = f"If `{name}` rests on it, mend" if maybe else f"`{name}` rests on it, so mend"
                    raise Mistake(f"{cause}. {rests} `{other}` first") from None
        raise


def by_hand(
    learner: "Learner", names: Collection[str], *, among: Collection[str], instead_of: Mapping[str, str]
) -> None:
    r"""Check that answers use nothing that does their work for them, as far as reading their text can tell.

    Parameters
    ----------
    learner : Learner
        Whose answers they are.
    names : collection of str
        The functions that are looked at, the one to name first.
    among : collection of str
        All answer cells. One whose import or function is used is looked at, too; the other answers themselves are not.
    instead_of : mapping of str to str
        What must not be used, as a pattern that is searched in names with dots: ``"torch.func.grad"``, whatever it was
        imported as; ``"loss.backward"``, and ``".backward"`` where what comes before is not a name;
        ``".requires_grad"`` for an argument. Methods that an answer defines do not count. The value says why not.

    Raises
    ------
    Mistake
        If any of these is used.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> ada = SimpleNamespace(source={"slope": "from jax import grad as d\nslope = d(abs)"}.get)
    >>> by_hand(ada, ["slope"], among=["slope"], instead_of={r"^jax\.grad$": "derive it yourself"})
    Traceback (most recent call last):
    course_grader...Mistake: `slope` uses `jax.grad`: derive it yourself
    """
    from course_grader.grading.exercises.name_analysis import Reading, reached, used

    cells = {cell: Reading.of(learner.source(cell)) for cell in among}
    found = sorted(used(reached(cells, names)), key=lambda path: (path.startswith("."), path))
    for pattern, why in instead_of.items():
        for path in found:
            if re.search(pattern, path):
                raise Mistake(f"`{next(iter(names))}` uses `{path[:PATH_CHARS]}`: {why}")


def described(value: Any) -> str:
    """Say what something is.

    Examples
    --------
    >>> described([1, 2]), described(None)
    ('a list of 2', 'None, as happens when a `return` is missing')
    """
    if value is None:
        return "None, as happens when a `return` is missing"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")
