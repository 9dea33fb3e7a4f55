"""Picking elements, and the transpose of that: adding a cotangent into zeros at the same places."""

from typing import Any

import numpy as np

from course_lib.autograd.ops.operands import expand_to
from course_lib.autograd.ops.primitive import AutogradError, Primitive, Tensor, Variable
from course_lib.autograd.ops.shape import axis, viewed

__all__ = ["gather", "index_select"]


def added_at(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Add into zeros; an element that was picked twice gets both cotangents."""
    x = np.zeros(shape, g.dtype)
    if kind_of(index) == "index":
        np.add.at(x, index, g)
    else:
        x[index] = g
    return x


def kind_of(index: Any) -> str:
    """Name the operation as torch does, where each part of an index is an operation, and the last gives its name.

    All but "index" make a view, which has each element at most once.
    """
    parts = index if isinstance(index, tuple) else (index,)
    if not all(i is None or i is Ellipsis or (isinstance(i, (int, slice)) and not isinstance(i, bool)) for i in parts):
        return "index"
    last = [..., *(i for i in parts if i not in (slice(None), ...))][-1]
    return "unsqueeze" if last is None else "select" if isinstance(last, int) else "slice"


put = Primitive("index_put", added_at, lambda g, index: picks["index"](g, index))
picks: dict[str, Primitive] = {
    name: Primitive(name, lambda x, index: x[index], lambda g, index, x_shape: put(g, index, x_shape), frees=arrays)
    for arrays, names in ((False, ("select", "slice", "unsqueeze")), (True, ("index", "index_select", "gather")))
    for name in names
}


def plain(index: Any) -> Any:
    """Turn the tensors and lists in an index into arrays: copies, so that later writes to them do not matter."""
    if isinstance(index, tuple):
        return tuple(map(plain, index))
    index = index.value if isinstance(index, Variable) else index
    if isinstance(index, (list, np.ndarray, np.integer)):
        index = np.array(index, np.int64 if isinstance(index, list) and not index else None)
        return index if index.ndim or index.dtype.kind not in "iu" else int(index)
    return index


def parted(index: Any) -> tuple[Any, Any]:
    """Split off the integers that are beside arrays: NumPy would treat them as arrays, torch applies them first."""
    if not isinstance(index, tuple) or not {int, np.ndarray} <= set(map(type, index)):
        return None, index
    first: list[Any] = []
    for i in index:
        first += [slice(None)] * (i.ndim if i.dtype == bool else 1) if isinstance(i, np.ndarray) else [i]
    rest = [i if isinstance(i, np.ndarray) or i is Ellipsis else slice(None) for i in index if type(i) is not int]
    return tuple(first), tuple(rest)


def getitem(input: Tensor, index: Any) -> Tensor:
    """``x[index]`` with integers, slices, None, Ellipsis, and integer or boolean arrays, lists and tensors."""
    first, index = parted(plain(index))
    return picks[kind_of(index)](input if first is None else input[first], index)


def numbers(index: Tensor, shape: tuple[int, ...], dim: int, *, fits: bool, needs: str) -> Any:
    """Return the positions along ``dim``; refuse negative ones, and an index that does not fit."""
    i, n = index.value, shape[dim] if shape else 1
    if not fits or i.dtype.kind not in "iu" or (i.size and not 0 <= i.min() <= i.max() < n):
        raise AutogradError(
            f"{needs}, all integers from 0 to {n - 1} for dim {dim} of the shape {shape}, but its dtype is {i.dtype}, "
            f"its shape {i.shape}, and it holds {i.ravel()[:9].tolist()}. x[index] may broadcast or count from the end."
        )
    return i.copy()


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick along one dimension, with a 1-D tensor of integers."""
    dim = axis(dim, input.ndim)
    needs = "index_select() needs an index of one dimension"
    i = np.atleast_1d(numbers(index, input.shape, dim, fits=index.ndim < 2, needs=needs))
    return picks["index_select"](input, (slice(None),) * dim + (i,)) if input.ndim else viewed(input, ())


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick one element for each element of ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``."""
    dim = axis(dim, input.ndim)
    fits = index.ndim == input.ndim and all(
        n <= m for d, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)) if d != dim
    )
    needs = "gather() needs an index with as many dimensions as the input, no larger in any but dim"
    i = numbers(index, input.shape, dim, fits=fits or not input.ndim, needs=needs)
    places = list(np.indices(i.shape, sparse=True))
    places[dim : dim + 1] = [i]
    return picks["gather"](input, tuple(places)) if input.ndim else expand_to(input, i.shape)
