"""Fast twins of elementwise operations: on small arrays the bookkeeping around NumPy costs more than NumPy."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.ops.broadcasting import as_tensor_like
from course_lib.autograd.ops.primitive import Op, Primitive, record
from course_lib.autograd.variable import Variable, new_tensor

__all__ = ["fast_binary", "fast_relu", "fast_relu_vjp", "fast_unary"]

_copy_context = quiet_context.copy
_FLOAT32 = np.dtype(np.float32)
_ZERO = np.zeros((), _FLOAT32)  # NumPy converts a Python 0 at each use, which costs 0.4 us
_FEW = 512  # elements, of which ``np.where`` is the quicker choice
_BITS = {dtype.itemsize: dtype for dtype in map(np.dtype, ("i2", "i4", "i8"))}


def fast_unary(primitive: Primitive) -> Callable[[Op], Op]:
    """Compute a function of one floating point tensor; ``plain`` computes anything else."""
    forward, saves_x, saves_out = primitive.forward, "x" in primitive.saves, "out" in primitive.saves

    def decorate(plain: Op) -> Op:
        @wraps(plain)
        def op(input: Any) -> Any:
            try:
                parent, x = input.node, input.value
            except AttributeError:  # a vjp at work on arrays, or a mistake
                return forward(input) if isinstance(input, np.ndarray) else plain(input)
            if parent is None and x.dtype.kind != "f":  # a tensor with a node is floating point already
                return plain(input)
            z = _copy_context().run(forward, x)
            if parent is None or (grad_mode.unusual_modes and not grad_mode.here.mode.recording):
                return new_tensor(z)
            return record(primitive, z, (parent,), (x,) if saves_x else (z,) if saves_out else (), input.dims)

        return op

    return decorate


def fast_binary(broadcasting: Primitive, of_one_shape: Primitive, *, floating: bool) -> Callable[[Op], Op]:
    """Compute a function of two tensors of one dtype; the vjps of two of one shape have nothing to sum."""
    forward, saves, readers = of_one_shape.forward, bool(of_one_shape.saves), of_one_shape.readers
    x_by_first, y_by_second = saves and 0 in readers[0], saves and 1 in readers[1]

    def decorate(plain: Op) -> Op:
        @wraps(plain)
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
                return plain(input, other)
            try:
                z = _copy_context().run(forward, x, y)
            except (TypeError, ValueError):
                return plain(input, other)  # which says what is wrong
            if (p is None and q is None) or (grad_mode.unusual_modes and not grad_mode.here.mode.recording):
                return new_tensor(z)
            saved: tuple[Any, ...] = ()
            if saves:  # an array that only the vjp of an input without gradient would read is not kept
                saved = (x if x_by_first or q is not None else None, y if y_by_second or p is not None else None)
            if s == t:
                return record(of_one_shape, z, (p, q), saved, s)
            return record(broadcasting, z, (p, q), (s, t, *saved))

        return op

    return decorate


def fast_relu(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Compute relu with a zero that is a float32 array already."""
    return lambda x: np.maximum(x, _ZERO) if x.dtype is _FLOAT32 else plain(x)


def fast_relu_vjp(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Compute the vjp of relu by masking bits, up to thirty times as fast as ``np.where``.

    The bits of ``g`` are multiplied by 1 or 0 as if they were integers: 0 times infinity would be NaN.
    """

    @wraps(plain)
    def vjp(g: Any, out: Any) -> Any:
        if type(g) is not np.ndarray:
            return plain(g, out)
        zero = _ZERO if out.dtype is _FLOAT32 else 0
        if g.size <= _FEW:
            return np.where(out, g, zero)
        bits = (out != zero).astype(_BITS[g.itemsize])
        bits *= g.view(bits.dtype)
        return bits.view(g.dtype)

    return vjp
