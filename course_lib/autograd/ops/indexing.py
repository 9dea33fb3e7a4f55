"""Picking elements, and the transpose of that: adding a cotangent into zeros at the same places."""

from typing import Any

import numpy as np

from course_lib.autograd.ops.primitive import AutogradError, Primitive, Tensor, Variable
from course_lib.autograd.ops.shape import axis

__all__ = ["gather", "index_select"]


def added_at(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Add into zeros; an element that was picked twice gets both cotangents."""
    x = np.zeros(shape, g.dtype)
    if is_basic(index):
        x[index] = g
    else:
        np.add.at(x, index, g)
    return x


def is_basic(index: Any) -> bool:
    """Say whether an index picks each element at most once, and so makes a view."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(i is None or i is Ellipsis or (isinstance(i, (int, slice)) and not isinstance(i, bool)) for i in parts)


put = Primitive("index_put", added_at, lambda g, index: picks["index"](g, index))
picks: dict[str, Primitive] = {
    name: Primitive(name, lambda x, index: x[index], lambda g, index, x_shape: put(g, index, x_shape))
    for name in ("select", "slice", "index", "index_select", "gather")
}


def plain(index: Any) -> Any:
    """Make arrays of the tensors and lists in an index."""
    if isinstance(index, tuple):
        return tuple(plain(i) for i in index)
    if isinstance(index, Variable):
        index = index.value
    elif isinstance(index, list):
        index = np.asarray(index, None if index else np.int64)
    number = isinstance(index, np.integer) or (
        isinstance(index, np.ndarray) and not index.ndim and index.dtype.kind in "iu"
    )
    return int(index) if number else index


def parted(index: Any) -> list[Any]:
    """Part an index in which integers stand beside arrays: NumPy takes them for arrays, torch lets them pick first."""
    parts = index if isinstance(index, tuple) else ()
    arrays = [isinstance(i, np.ndarray) for i in parts]
    if not (any(arrays) and any(type(i) is int for i in parts)):
        return [index]
    first: list[Any] = []
    for i, is_array in zip(parts, arrays, strict=True):
        first += [slice(None)] * (i.ndim if i.dtype == bool else 1) if is_array else [i]
    rest = [i if is_array or i is Ellipsis else slice(None) for i, is_array in zip(parts, arrays, strict=True)]
    return [tuple(first), tuple(r for r, i in zip(rest, parts, strict=True) if type(i) is not int)]


def picked(x: Any, indices: list[Any]) -> Any:
    """Apply one index after another."""
    for index in indices:
        x = x[index]
    return x


def getitem(input: Tensor, index: Any) -> Tensor:
    """``x[index]`` with integers, slices, None, Ellipsis, and integer or boolean arrays, lists and tensors."""
    *before, index = parted(plain(index))
    input = picked(input, before)
    kind = "index" if not is_basic(index) else "select" if isinstance(index, int) else "slice"
    try:
        return picks[kind](input, index)
    except IndexError as error:
        raise AutogradError(f"the index must fit the shape {input.shape}, but {error}. Look at .shape.") from None


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick along one dimension, with a 1-D tensor of integers."""
    return picks["index_select"](input, (slice(None),) * axis(dim, input.ndim) + (np.atleast_1d(plain(index)),))


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick one element for each element of ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``."""
    places = list(np.indices(index.shape, sparse=True))
    places[axis(dim, input.ndim)] = plain(index)
    return picks["gather"](input, tuple(places))
