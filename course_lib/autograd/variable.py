"""Base class of ``Tensor``, an array with a node in the graph; and the types that signatures share."""

import operator
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from course_lib.types import AnyArray, Array

if TYPE_CHECKING:
    from course_lib.autograd.graph.node import Node
    from course_lib.autograd.tensor import Tensor

__all__ = [
    "Cotangents", "Operand", "Parents", "Shape", "Tensor", "Value", "Variable", "as_tensor", "list_tensors",
    "new_tensor", "tensor_class",
]  # fmt: skip

_ndarray, _new = np.ndarray, object.__new__

Shape: TypeAlias = tuple[int, ...]
Parents: TypeAlias = "tuple[Node | None, ...]"
"""The nodes of the inputs of an operation: none for a leaf, None for an input without gradient."""


class Value(AnyArray, Protocol):
    """Value in a vjp: an array, or a tensor if the gradient is to be differentiated again."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> "Value": ...
    def __neg__(self) -> "Value": ...
    def __add__(self, other: Any, /) -> "Value": ...
    def __radd__(self, other: Any, /) -> "Value": ...
    def __sub__(self, other: Any, /) -> "Value": ...
    def __rsub__(self, other: Any, /) -> "Value": ...
    def __mul__(self, other: Any, /) -> "Value": ...
    def __rmul__(self, other: Any, /) -> "Value": ...
    def __truediv__(self, other: Any, /) -> "Value": ...
    def __rtruediv__(self, other: Any, /) -> "Value": ...
    def __matmul__(self, other: Any, /) -> "Value": ...
    def __pow__(self, other: Any, /) -> "Value": ...
    def __lt__(self, other: Any, /) -> "Value": ...
    def __gt__(self, other: Any, /) -> "Value": ...
    def __ge__(self, other: Any, /) -> "Value": ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...


class Variable:
    """An array with a place in a graph; without a node it is a constant."""

    __slots__ = ("__weakref__", "dims", "node", "stored_grad", "value")

    value: Array
    node: Any  # a Node; None unless it requires grad
    stored_grad: "Tensor | None"  # .grad
    dims: Shape  # .shape: the array itself makes a new tuple whenever it is asked

    shape: Shape = property(operator.attrgetter("dims"))  # type: ignore[assignment] # read-only; quicker than def

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.value.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self.value.dtype


if not TYPE_CHECKING:
    Tensor = Variable  # the name for annotations in modules that tensor.py itself imports

Operand: TypeAlias = Tensor | Array | np.generic | float
"""Operand beside a tensor; a number gets the dtype that torch would give it."""
Cotangents: TypeAlias = Tensor | Sequence[Tensor | None] | None
"""The upstream gradient of each of several outputs; None stands for 1."""


@cache
def tensor_class() -> "type[Tensor]":
    """Import the class of what operations return: late, because operations are its methods."""
    from course_lib.autograd.tensor import Tensor

    return Tensor


def new_tensor(value: Array | np.generic, node: "Node | None" = None) -> Tensor:
    """Wrap an array, or a NumPy scalar, without a copy."""
    out: Tensor = _new(tensor_class())
    if type(value) is not _ndarray:
        value = np.asarray(value)
    out.value = value
    out.dims = value.shape
    out.node = node
    out.stored_grad = None
    return out


def as_tensor(x: Any) -> Any:
    """Wrap a bare array; a tensor, or None, stays what it is."""
    return new_tensor(x) if type(x) is np.ndarray or not (x is None or isinstance(x, Variable)) else x


def list_tensors(x: Tensor | Iterable[Tensor]) -> list[Tensor]:
    """List one tensor, or several."""
    return [x] if isinstance(x, Variable) else list(x)
