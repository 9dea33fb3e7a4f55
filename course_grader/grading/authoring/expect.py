"""Check what a learner's function returned, in hidden tests: each check raises a mistake with its sentence.

NumPy is loaded by the functions that use it: this module comes with the package, even where nothing is graded.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from course_grader.grading.authoring.points import LearnerError, Mistake

if TYPE_CHECKING:
    import numpy as np

    from course_grader.grading.authoring.learner import Learner

__all__ = ["array", "blame_dependency", "by_hand", "depends_on_input", "describe", "pair"]

NUMERIC_KINDS = "biufc"  # of NumPy: what a number can be
PATH_CHARS = 60
MOST_STARRED = 10  # modules that answers may import all names of: each name may then come from each of them


def array(value: object, *, name: str, shape: tuple[int, ...] | None = None) -> "np.ndarray[Any, np.dtype[Any]]":
    """Check that a learner returned numbers, of this shape, and return them as an array.

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

    if not _is_numeric(value):
        raise Mistake(f"`{name}` is {describe(value)}; it must be an array of numbers")
    try:
        result = np.asarray(value)
    except ValueError:
        raise Mistake(f"`{name}` is a list whose rows have different lengths; it must be an array") from None
    if result.dtype.kind not in NUMERIC_KINDS:
        raise Mistake(f"`{name}` is {describe(value)}; it must be an array of numbers")
    if shape is not None and result.shape != shape:
        raise Mistake(f"`{name}` has shape {result.shape}; it must have shape {shape}")
    return result


def pair(value: object, what: str, *, name: str) -> Any:
    """Check that a function returned two things, and return them.

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
    >>> loss, grads = pair([0.5, {"w": 1.0}], "the loss and the gradients", name="whole")
    >>> pair(0.5, "the loss and the gradients", name="whole")
    Traceback (most recent call last):
    course_grader...Mistake: `whole` must return two things, the loss and the gradients; it returned a float
    """
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise Mistake(f"`{name}` must return two things, {what}; it returned {describe(value)}")
    return value


def depends_on_input(first: object, second: object, *, name: str) -> None:
    """Check that a function returns different results for different arguments.

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
    >>> depends_on_input([0, 0], [0, 0], name="clip")
    Traceback (most recent call last):
    course_grader...Mistake: `clip` returns the same whatever it is given: this point is for one that works
    """
    from course_grader.grading.protocol.codec import encode

    if first is None and second is None:
        raise Mistake(f"`{name}` returns {describe(None)}")
    if encode(first) == encode(second):
        raise Mistake(f"`{name}` returns the same whatever it is given: this point is for one that works")


def _is_numeric(value: object) -> bool:
    """Tell whether there are only numbers: NumPy would give every element as much room as the longest text."""
    import numpy as np

    if isinstance(value, (list, tuple)):
        return all(map(_is_numeric, value))
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype.kind in NUMERIC_KINDS
    return isinstance(value, (int, float, complex))


@contextmanager
def blame_dependency(name: str, needed: Mapping[str, Callable[[], object]], *, maybe: bool = False) -> Iterator[None]:
    """Name the function to mend first where a call raises because of another function of the learner's.

    Parameters
    ----------
    name : str
        The function that is called in the block.
    needed : mapping of str to callable
        The functions it calls, the first one first, and for each a check that raises :class:`Mistake` if it is wrong.
    maybe : bool
        Whether an answer may also do without them.

    Examples
    --------
    >>> def check():
    ...     raise Mistake("`norm` returned None; it must return one number")
    >>> with blame_dependency("clip", {"norm": check}):
    ...     raise LearnerError("`clip` raised TypeError: unsupported operand", function="clip", raised="TypeError")
    Traceback (most recent call last):
    course_grader...Mistake: `norm` returned None; it must return one number. `clip` rests on it, so mend `norm` first
    """
    try:
        yield
    except LearnerError as error:
        if error.function == name and error.raised:
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
    r"""Check that answers use no library call that does their work for them, as far as their text can tell.

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
    sources = tuple((cell, learner.source(cell)) for cell in among)
    if used := _find_library_call(sources, tuple(names), tuple(instead_of)):
        pattern, path = used
        why = instead_of.get(pattern, f"from more than {MOST_STARRED} modules; import what you use by its name")
        raise Mistake(f"`{next(iter(names))}` uses `{path[:PATH_CHARS]}`: {why}")


@lru_cache(maxsize=64)
def _find_library_call(
    sources: tuple[tuple[str, str], ...], names: tuple[str, ...], patterns: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return the first pattern that is found in the names which answers use, and that name; a text is searched once."""
    from course_grader.grading.exercises.name_analysis import CellNames, reachable_cells, used_names

    cells = {cell: CellNames.of(source) for cell, source in sources}
    reached = reachable_cells(cells, names)
    if len({module for read in reached for module in read.starred}) > MOST_STARRED:
        return "", "import *"
    found = sorted(used_names(reached), key=lambda path: (path.startswith("."), path))
    return next(((pattern, path) for pattern in patterns for path in found if re.search(pattern, path)), None)


def describe(value: object) -> str:
    """Say what a learner returned, by its type and length.

    Examples
    --------
    >>> describe([1, 2]), describe(None)
    ('a list of 2', 'None, as happens when a `return` is missing')
    """
    if value is None:
        return "None, as happens when a `return` is missing"
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, (tuple, list)) else "")
