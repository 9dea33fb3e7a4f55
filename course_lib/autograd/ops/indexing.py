"""Indexing, and its transpose: adding a cotangent into zeros at the same places."""

import operator
import warnings
from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias, TypeGuard

import numpy as np

from course_lib.autograd.ops.broadcasting import expand_to
from course_lib.autograd.ops.primitive import Primitive
from course_lib.autograd.ops.shape import normalize_dim, view_as
from course_lib.autograd.variable import Shape, Tensor, Variable
from course_lib.errors import AutogradIndexError
from course_lib.types import Array

__all__ = ["gather", "index_select"]

Part: TypeAlias = int | slice | EllipsisType | Array | None
"""A part of an index, once lists and tensors are arrays."""
Index: TypeAlias = "Part | Tensor | Sequence[Index]"
"""Index of a tensor: whatever may stand between the brackets of ``x[...]``."""


def _add_at(g: Array, index: tuple[Part, ...], shape: Shape) -> Array:
    """Add into zeros; an element that was picked twice gets both cotangents."""
    x = np.zeros(shape, g.dtype)
    if _name_operation(index) == "index":
        np.add.at(x, index, g)  # type: ignore[arg-type] # of which one is an array
    else:
        x[index] = g
    return x


def _name_operation(index: tuple[Part, ...]) -> str:
    """Name the indexing operation as torch does, after the last part of the index."""
    if any(isinstance(i, np.ndarray) for i in index):
        return "index"
    last = [..., *(i for i in index if i not in (slice(None), ...))][-1]
    return "unsqueeze" if last is None else "select" if isinstance(last, int) else "slice"


_put_into_zeros = Primitive("index_put", _add_at, lambda g, index: _picks["index"](g, index))
_picks: dict[str, Primitive] = {
    name: Primitive(
        name, lambda x, index: x[index], lambda g, index, x_shape: _put_into_zeros(g, index, x_shape), frees=arrays
    )
    for arrays, names in ((False, ("select", "slice", "unsqueeze")), (True, ("index", "index_select", "gather")))
    for name in names
}


def _list_parts(index: Index) -> tuple[Index, ...]:
    """List the parts of an index: those of a tuple, and, as in torch, of a short list that holds more than numbers."""
    if isinstance(index, tuple):
        return index
    if not isinstance(index, list) or len(index) >= 32 or all(isinstance(i, (int, float, np.generic)) for i in index):
        return (index,)
    warnings.warn(
        "an index should be a tuple, an array or a list of numbers, but it is a list of parts, which is read as a "
        "tuple: as several indices, not as one array. Write x[tuple(index)], or x[tensor(index)] for the array.",
        stacklevel=4,
    )
    return tuple(index)


def _convert_part(part: Index) -> Part:
    """Convert a part of an index to an integer, a boolean, a slice, None, Ellipsis or an array.

    Arrays are copied, so that later writes to them do not matter.
    """
    if part is None or part is Ellipsis or type(part) in (int, bool):
        return part  # type: ignore[return-value] # one of these
    if isinstance(part, slice):
        return slice(*(n if n is None else operator.index(n) for n in (part.start, part.stop, part.step)))
    try:
        x = np.array(part.value if isinstance(part, Variable) else part)
    except ValueError as error:
        raise _index_error(f"a {type(part).__name__}, and {error}") from None
    if not x.size and x.dtype.kind == "f":
        x = x.astype(np.int64)
    if x.dtype.kind not in "bi" and (x.dtype.kind != "u" or x.itemsize == 1):
        raise _index_error(f"a {type(part).__name__} of {x.dtype}")
    return x if x.ndim else x.item()


def _index_error(came: str) -> AutogradIndexError:
    """Build the error that says what an index is made of."""
    return AutogradIndexError(
        "an index is made of integers, slices, None, Ellipsis, and arrays, lists or tensors of integers or booleans, "
        f"but a part of it is {came}. Convert it, with .long() where numbers are meant and .bool() where a mask is."
    )


def _count_dims(part: Part) -> int:
    """Count the dimensions that a part of an index consumes."""
    if part is None or part is Ellipsis or type(part) is bool:
        return 0
    return int(part.ndim) if _is_mask(part) else 1


def _is_mask(part: Part) -> TypeGuard[Array]:
    """Return whether a part of an index is a boolean mask."""
    return isinstance(part, np.ndarray) and part.dtype == bool


def split_index(index: Index, shape: Shape) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Split an index into what makes a view, which torch does first, and the arrays that pick from that view.

    NumPy would treat integers beside arrays as arrays. A boolean is a new dimension, of which element 0 or none is
    picked.
    """
    parts = [*map(_convert_part, _list_parts(index))]
    first: list[Part] = []
    last: list[Part] = []
    at, rest = 0, len(shape) - sum(map(_count_dims, parts))
    for i in parts:
        n = _count_dims(i)
        if i is Ellipsis:
            n, rest = rest, 0
            first += [slice(None)] * n
            last += [slice(None)] * n
        elif isinstance(i, np.ndarray):
            _check_mask(i, shape[at : at + n])
            first += [slice(None)] * n
            last.append(i)
        elif type(i) is bool:
            first.append(None)
            last.append(np.zeros(int(i), np.int64))
        else:
            first.append(i)
            last += [] if type(i) is int else [slice(None)]
        at += n
    return tuple(first), tuple(last) if any(isinstance(i, np.ndarray) for i in last) else ()


def _check_mask(part: Part, shape: Shape) -> None:
    """Refuse a mask of another shape than what it masks; NumPy takes any that has no elements."""
    if _is_mask(part) and part.shape != shape:
        raise AutogradIndexError(
            f"a mask must have the shape of the dimensions that it masks, {shape}, but it has {part.shape}. Look at "
            ".shape, or index with the numbers of the elements."
        )


def pick(input: Tensor, first: tuple[Part, ...], last: tuple[Part, ...]) -> Tensor:
    """Index with slices, which makes a view, and then with arrays."""
    if not last or any(i != slice(None) for i in first):
        input = _picks[_name_operation(first)](input, (*first, ...))
    return _picks["index"](input, last) if last else input


def getitem(input: Tensor, index: Index) -> Tensor:
    """Index: ``x[index]`` with integers, slices, None, Ellipsis, and integer or boolean arrays, lists and tensors."""
    return pick(input, *split_index(index, input.shape))


def _check_positions(index: Tensor, shape: Shape, dim: int, *, fits: bool, needs: str) -> Array:
    """Return the positions along ``dim``; refuse negative ones, and an index that does not fit."""
    i, n = index.value, shape[dim] if shape else 1
    if not fits or i.dtype.kind not in "iu" or (i.size and not 0 <= i.min() <= i.max() < n):
        raise AutogradIndexError(
            f"{needs}, all integers from 0 to {n - 1} for dim {dim} of the shape {shape}, but its dtype is {i.dtype}, "
            f"its shape {i.shape}, and it holds {i.ravel()[:9].tolist()}. x[index] may broadcast or count from the end."
        )
    return i.copy()


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Select entries along one dimension, with a 1-D tensor of integers.

    Examples
    --------
    >>> from course_lib.autograd import index_select, tensor
    >>> index_select(tensor([[1, 2, 3]]), 1, tensor([2, 0]))
    tensor([[3, 1]])
    """
    dim = normalize_dim(dim, input.ndim)
    needs = "index_select() needs an index of one dimension"
    i = np.atleast_1d(_check_positions(index, input.shape, dim, fits=index.ndim < 2, needs=needs))
    return _picks["index_select"](input, (slice(None),) * dim + (i,)) if input.ndim else view_as(input, ())


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Gather one element for each element of ``index``: ``out[i][j] = input[index[i][j]][j]`` for ``dim=0``.

    Examples
    --------
    >>> from course_lib.autograd import gather, tensor
    >>> gather(tensor([[1, 2], [3, 4]]), 1, tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    dim = normalize_dim(dim, input.ndim)
    if input.ndim and not index.value.size:  # of any shape and dtype
        return _picks["gather"](input, (np.zeros(index.shape, np.int64),) * input.ndim)
    fits = index.ndim == input.ndim and all(
        n <= m for d, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)) if d != dim
    )
    needs = "gather() needs an index with as many dimensions as the input, no larger in any but dim"
    i = _check_positions(index, input.shape, dim, fits=fits or not input.ndim, needs=needs)
    places: list[Array] = list(np.indices(i.shape, sparse=True))
    places[dim : dim + 1] = [i]
    return _picks["gather"](input, tuple(places)) if input.ndim else expand_to(input, i.shape)
