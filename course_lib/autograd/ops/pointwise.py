"""Builders for elementwise functions: the same as a :class:`Primitive`, with a shorter way to the result.

On small arrays the bookkeeping around a forward function costs more than the function, so here it is written out.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.ops.operands import as_tensor_like, mismatch, promoted, sum_to
from course_lib.autograd.ops.primitive import Op, Primitive, Variable, new_tensor, no_tensor, record
from course_lib.autograd.silence import silent

__all__ = ["binary", "unary"]

silently = silent.copy


def unary(name: str, forward: Callable[..., Any], vjp: Callable[..., Any], doc: str, *, floating: bool = True) -> Op:
    """Define a function of one tensor, whose vjp reads ``x`` or ``out`` or neither."""
    primitive = Primitive(name, forward, vjp, takes="x")
    saves_x, saves_out = "x" in primitive.saves, "out" in primitive.saves

    def op(input: Any) -> Any:
        try:
            parent = input.node
        except AttributeError:
            if not isinstance(input, (np.ndarray, np.generic, float, int)):
                raise no_tensor(name, input) from None
            return forward(input)  # a vjp at work on arrays
        x = input.value
        if parent is None and floating and x.dtype.kind != "f":  # a tensor with a node is floating point already
            x = x.astype(np.float32)
        try:
            z = silently().run(forward, x)
        except TypeError as error:
            raise mismatch(name, x.shape, x.shape, error=error) from None
        if parent is None or (grad_mode.unusual and not grad_mode.here.mode.recording):
            return new_tensor(z)
        return record(primitive, z, (parent,), (x,) if saves_x else (z,) if saves_out else (), input.dims)

    return named(op, name, doc)


def binary(name: str, forward: Callable[..., Any], *vjps: Callable[..., Any], doc: str, floating: bool = False) -> Op:
    """Define a function of two tensors that broadcast, whose vjps read ``x`` and ``y`` or neither."""
    alike = Primitive(name, forward, *vjps, takes="x y")
    summed = (unbroadcast(vjp, i) for i, vjp in enumerate(vjps))
    unlike = Primitive(name, forward, *summed, takes="x y", saves=("x_shape", "y_shape", *alike.saves))
    saves = bool(alike.saves)
    x_by_first, y_by_second = saves and 0 in alike.readers[0], saves and 1 in alike.readers[1]

    def op(input: Any, other: Any) -> Any:
        try:
            p, q = input.node, other.node
            x, y = input.value, other.value
            s, t = input.dims, other.dims
        except AttributeError:
            if isinstance(input, Variable) or isinstance(other, Variable):
                return op(as_tensor_like(input, other), as_tensor_like(other, input))
            return forward(input, other)  # a vjp at work on arrays
        if x.dtype is not y.dtype or (floating and x.dtype.kind != "f"):
            input, other = promoted(input, other, floating=floating)
            p, q, x, y = input.node, other.node, input.value, other.value
        try:
            z = silently().run(forward, x, y)
        except (TypeError, ValueError) as error:
            raise mismatch(name, x.shape, y.shape, error=error) from None
        if (p is None and q is None) or (grad_mode.unusual and not grad_mode.here.mode.recording):
            return new_tensor(z)
        saved: tuple[Any, ...] = ()
        if saves:  # an array that only the vjp of an input without gradient would read is not kept
            saved = (x if x_by_first or q is not None else None, y if y_by_second or p is not None else None)
        if s == t:
            return record(alike, z, (p, q), saved, s)
        return record(unlike, z, (p, q), (s, t, *saved))

    return named(op, name, doc)


def unbroadcast(vjp: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Sum what a vjp returns down to the shape of its input."""
    return lambda g, x_shape, y_shape, *saved: sum_to(vjp(g, *saved), (x_shape, y_shape)[i])


def named(op: Any, name: str, doc: str) -> Op:
    """Give a function its name and docstring."""
    op.__name__ = op.__qualname__ = name
    op.__doc__ = doc
    return op  # type: ignore[no-any-return] # made here
