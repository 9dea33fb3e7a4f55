"""In-place operations: write to a tensor's memory, and record the write for the nodes that saved the old elements."""

from functools import partial
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph import hooks, write_clock
from course_lib.autograd.ops import elementwise
from course_lib.autograd.ops.broadcasting import as_tensor_like, cast_to, sum_to
from course_lib.autograd.ops.indexing import Index, Part, pick, split_index
from course_lib.autograd.ops.primitive import Op, Primitive
from course_lib.autograd.variable import Operand, Tensor, new_tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["add_", "copy_", "div_", "fill_", "mul_", "sub_", "zero_"]


def _write_in_place(x: Tensor, what: str, op: Op, *args: Any) -> Tensor:
    """Replace the elements of ``x`` by ``op(x, *args)``, and its place in the graph by that of the result."""
    recorded, kept = False, False
    if grad_mode.is_grad_enabled():
        _refuse_if_leaf(x, what)
        recorded = x.node is not None or any(getattr(a, "node", None) for a in args)
    if recorded:
        _refuse_if_shared(x, what)
        kept = x.retains_grad
    old = new_tensor(x.value.copy(), x.node) if recorded else new_tensor(x.value)  # what is saved must not change
    new = op(old, *args)
    if new.shape != x.shape or not np.can_cast(new.dtype, x.dtype, "same_kind"):
        raise AutogradError(
            f"{what}() keeps shape and dtype, {x.shape} and {x.dtype}, but the result has {new.shape} and {new.dtype}. "
            "Use the function without the underscore, which returns a new tensor."
        )
    if recorded:
        new = cast_to(new, x.dtype)
        if kept:  # as in torch, ``.grad`` is that of the latest value, and hooks stay with the one they were set on
            hooks.hooks_of(x.node).tensor = lambda: None
        x.node = new.node
        if kept:
            hooks.retain_grad(x)
    x.value[...] = new.value
    write_clock.record_write(what + "()", x)
    return x


def _refuse_if_leaf(x: Tensor, what: str) -> None:
    """Raise if a write would change a leaf, itself or through a view of it."""
    whole = write_clock.views[id(x)][0]() if id(x) in write_clock.views else None
    if any(t is not None and t.is_leaf and t.requires_grad for t in (x, whole)):
        raise AutogradError(
            f"a leaf that requires grad must keep the value that its gradient is for, but {what}() would change it. Do "
            "it under no_grad(), as optimizers do, or write it out of place."
        )


def _refuse_if_shared(x: Tensor, what: str) -> None:
    """Raise if a recorded write would also change a tensor that does not record it."""
    if x.value.base is not None or any(whole() is x for whole, _ in write_clock.views.values()):
        raise AutogradError(
            f"{what}() can be recorded only for a tensor whose memory no other tensor of the graph shares, but this "
            "one is, or has, a view. Write it out of place, or on a .clone()."
        )


def add_(self: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """Add in place: ``self += alpha * other``."""
    return _write_in_place(self, "add_", partial(elementwise.add, alpha=alpha), other)


def sub_(self: Tensor, other: Operand, *, alpha: float = 1) -> Tensor:
    """Subtract in place: ``self -= alpha * other``."""
    return _write_in_place(self, "sub_", partial(elementwise.sub, alpha=alpha), other)


def mul_(self: Tensor, other: Operand) -> Tensor:
    """Multiply in place."""
    return _write_in_place(self, "mul_", elementwise.mul, other)


def div_(self: Tensor, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """Divide in place; see :func:`div`."""
    return _write_in_place(self, "div_", partial(elementwise.div, rounding_mode=rounding_mode), other)


_index_put: Primitive = Primitive(
    "index_put",
    lambda x, y, first, last: _assign_elements(np.array(x), first, last, y),
    lambda g, y_shape, first, last: _index_put(
        g, np.zeros((), g.dtype), first, last
    ),  # what was overwritten is cut off
    lambda g, y_shape, first, last: sum_to(pick(g, first, last), y_shape),
)


def _assign_elements(x: Array, first: tuple[Part, ...], last: tuple[Part, ...], y: Array) -> Array:
    """Assign to a view, or to what is picked from it, and return the array."""
    x[(*first, ...)][last or ...] = y
    return x


def _assign(x: Tensor, what: str, y: Operand, first: tuple[Part, ...] = (), last: tuple[Part, ...] = ()) -> Tensor:
    """Assign ``y`` to elements, cast to their dtype; it may broadcast, and have extra leading dimensions of size 1."""
    y = cast_to(as_tensor_like(y, x), x.dtype)
    while y.dims[:1] == (1,):
        y = y[0]
    return _write_in_place(x, what, _index_put, y, first, last)


def fill_(self: Tensor, value: float | Tensor) -> Tensor:
    """Set every element."""
    return _assign(self, "fill_", value)


def zero_(self: Tensor) -> Tensor:
    """Set every element to 0."""
    return _write_in_place(self, "zero_", _index_put, 0, (), ())


def copy_(self: Tensor, src: Tensor) -> Tensor:
    """Copy the elements of another tensor, which may broadcast."""
    return _assign(self, "copy_", src)


def set_item(self: Tensor, index: Index, value: Operand) -> None:
    """Assign elements: ``x[index] = value``."""
    _assign(self, "__setitem__", value, *split_index(index, self.shape))
