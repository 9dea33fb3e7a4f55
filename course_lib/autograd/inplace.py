"""Methods that change a tensor in place, and date the write so that a node that saved the old elements notices."""

from typing import Any

import numpy as np

from course_lib.autograd import clock, grad_mode
from course_lib.autograd.ops import elementwise
from course_lib.autograd.ops.indexing import getitem, parted, plain
from course_lib.autograd.ops.operands import as_tensor_like, sum_to, to
from course_lib.autograd.ops.primitive import Primitive
from course_lib.autograd.variable import Tensor, new_tensor
from course_lib.errors import AutogradError

__all__ = ["add_", "copy_", "div_", "fill_", "mul_", "sub_", "zero_"]


def write(x: Tensor, what: str, op: Any, *args: Any) -> Tensor:
    """Replace the elements of ``x`` by ``op(x, *args)``, and its place in the graph by that of the result."""
    recorded = grad_mode.recording and (x.node or any(getattr(a, "node", None) for a in args))
    if recorded:
        refuse_if_shared(x, what)
    old = new_tensor(x.value.copy(), x.node) if recorded else new_tensor(x.value)  # what is saved must not change
    new = op(old, *args)
    if new.shape != x.shape or not np.can_cast(new.dtype, x.dtype, "same_kind"):
        raise AutogradError(
            f"{what}() keeps shape and dtype, {x.shape} and {x.dtype}, but the result has {new.shape} and {new.dtype}. "
            "Use the function without the underscore, which returns a new tensor."
        )
    if recorded:
        new = to(new, x.dtype)
        x.node = new.node
    x.value[...] = new.value
    clock.stamp(what + "()", x)
    return x


def refuse_if_shared(x: Tensor, what: str) -> None:
    """Raise if a recorded write would also change a tensor that does not record it."""
    if x.is_leaf and x.requires_grad:
        raise AutogradError(
            f"a leaf that requires grad must keep the value that its gradient is for, but {what}() would change it. Do "
            "it under no_grad(), as optimizers do, or write it out of place."
        )
    if x.value.base is not None or any(clock.owner(v.value) is x.value for v in clock.views):
        raise AutogradError(
            f"{what}() can be recorded only for a tensor whose memory no other tensor of the graph shares, but this "
            "one is, or has, a view. Write it out of place, or on a .clone()."
        )


def add_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Add in place: ``self += alpha * other``."""
    return write(self, "add_", elementwise.add, other if alpha == 1 else other * alpha)


def sub_(self: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """Subtract in place: ``self -= alpha * other``."""
    return write(self, "sub_", elementwise.sub, other if alpha == 1 else other * alpha)


def mul_(self: Tensor, other: Any) -> Tensor:
    """Multiply in place."""
    return write(self, "mul_", elementwise.mul, other)


def div_(self: Tensor, other: Any) -> Tensor:
    """Divide in place."""
    return write(self, "div_", elementwise.div, other)


put_in: Primitive = Primitive(
    "index_put",
    lambda x, y, index: assigned(np.array(x), index, y),
    lambda g, y_shape, index: put_in(g, np.zeros((), g.dtype), index),  # what was overwritten is cut off
    lambda g, y_shape, index: sum_to(getitem(g, index), y_shape),
)


def assigned(x: Any, index: Any, y: Any) -> Any:
    """Assign, and return the array."""
    first, last = parted(index)
    (x if first is None else x[first])[last] = y
    return x


def put(x: Tensor, what: str, y: Any, index: Any = ...) -> Tensor:
    """Set elements, keeping their dtype, to ``y``, which may broadcast and have extra leading dimensions of size 1."""
    y = to(as_tensor_like(y, x), x.dtype)
    while y.dims[:1] == (1,):
        y = y[0]
    return write(x, what, put_in, y, index)


def fill_(self: Tensor, value: float | Tensor) -> Tensor:
    """Set every element."""
    return put(self, "fill_", value)


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return write(self, "zero_", put_in, 0, ...)


def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Copy the elements of another tensor, which may broadcast."""
    return put(self, "copy_", src)


def set_item(self: Tensor, index: Any, value: Any) -> None:
    """``x[index] = value``."""
    put(self, "__setitem__", value, plain(index))
