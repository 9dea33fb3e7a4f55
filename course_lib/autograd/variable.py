"""What the graph needs to know about a tensor: its array and its node. ``tensor.py`` adds torch's interface."""

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from course_lib.autograd.tensor import Tensor

__all__ = ["Tensor", "Variable", "as_tensor", "list_tensors", "new_tensor", "tensor_class"]

ndarray, new = np.ndarray, object.__new__


class Variable:
    """An array with a place in a graph; without a node it is a constant."""

    __slots__ = ("__weakref__", "dims", "node", "stored_grad", "value")

    value: Any  # a NumPy array, always
    node: Any  # None, unless it requires grad
    stored_grad: "Tensor | None"  # .grad
    dims: tuple[int, ...]  # .shape: the array itself makes a new tuple whenever it is asked
    shape: Any
    dtype: Any


if not TYPE_CHECKING:
    Tensor = Variable  # the name for annotations in modules that tensor.py itself imports


@cache
def tensor_class() -> "type[Tensor]":
    """Import the class of what operations return: late, because operations are its methods."""
    from course_lib.autograd.tensor import Tensor

    return Tensor


def new_tensor(value: Any, node: Any = None) -> Tensor:
    """Wrap an array, or a NumPy scalar, without a copy."""
    out: Tensor = new(tensor_class())
    if type(value) is not ndarray:
        value = np.asarray(value)
    out.value = value
    out.dims = value.shape
    out.node = node
    out.stored_grad = None
    return out


def as_tensor(x: Any) -> Any:
    """Wrap a bare array; a tensor, or None, stays what it is."""
    return new_tensor(x) if type(x) is np.ndarray or not (x is None or isinstance(x, Variable)) else x


def list_tensors(x: Any) -> list[Tensor]:
    """List one tensor or several alike."""
    return [x] if isinstance(x, Variable) else list(x)  # type: ignore[list-item] # Tensor is the only Variable
