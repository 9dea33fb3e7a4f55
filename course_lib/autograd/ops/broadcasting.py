"""Broadcasting and type promotion of operands, and the sum of a broadcast gradient back to its input's shape.

torch's rules for mixed dtypes: a float beats an integer, a vector beats a 0-d tensor or a number of its kind.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from course_lib.autograd import grad_mode
from course_lib.autograd.ops.primitive import Primitive, no_tensor_error
from course_lib.autograd.variable import Operand, Shape, Tensor, Variable, new_tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = [
    "as_tensor_like",
    "cast_to",
    "cast_to_floating",
    "expand_to",
    "mismatch_error",
    "promote",
    "repeat_to",
    "require_floating",
    "sum_to",
    "take_arrays",
    "take_constant",
]

_cast: Primitive = Primitive(
    "to_copy", lambda x, dtype, old: x.astype(dtype), lambda g, dtype, old: _cast(g, old, dtype)
)
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2}


def promote(x: Tensor, y: Tensor, *, floating: bool = False) -> tuple[Tensor, Tensor]:
    """Cast two tensors to their common dtype, to float32 if it must be ``floating`` and is not."""
    a, b = ((_RANK[t.value.dtype.kind], t.value.ndim > 0) for t in (x, y))
    dtype = np.promote_types(x.dtype, y.dtype) if a == b else x.dtype if a > b else y.dtype
    if floating and dtype.kind != "f":
        dtype = np.dtype(np.float32)
    return cast_to(x, dtype), cast_to(y, dtype)


def cast_to(x: Tensor, dtype: DTypeLike) -> Tensor:
    """Cast to a dtype, unless the tensor has it; a result that is integer or boolean has no gradient."""
    if x.value.dtype == dtype:
        return x
    return _cast(x if np.dtype(dtype).kind == "f" else new_tensor(x.value), dtype, x.value.dtype)


def cast_to_floating(input: Tensor) -> Tensor:
    """Cast integers to float32, as torch does where they meet a fractional number."""
    return input if input.value.dtype.kind == "f" else _cast(input, np.float32, input.value.dtype)


def require_floating(input: Tensor, name: str) -> Tensor:
    """Return a floating point tensor, and refuse integers, as torch does."""
    if input.value.dtype.kind != "f":
        raise AutogradError(
            f"{name}() needs a floating point tensor, but the dtype is {input.dtype}. Convert it first: x.float()."
        )
    return input


def as_tensor_like(x: Operand, like: Any) -> Tensor:
    """Convert the other operand to a tensor: a number gets the dtype torch would give it, an array keeps its own."""
    if isinstance(x, Variable):
        return x
    if isinstance(x, (bool, int, float)):
        kind = like.value.dtype.kind
        keeps = kind == "f" or (kind in "iu" and not isinstance(x, float)) or isinstance(x, bool)
        dtype = like.value.dtype if keeps else np.float32 if isinstance(x, float) else np.int64
        return new_tensor(np.asarray(x, dtype))
    if isinstance(x, (np.ndarray, np.generic)):
        return new_tensor(x)
    raise AutogradError(
        f"the other operand must be a tensor, a NumPy array or a number, but it is a {type(x).__name__}. Make a tensor "
        "of it first: tensor(...)."
    )


def take_arrays(name: str, x: Tensor, y: Tensor, z: Tensor | None = None) -> tuple[Array, Array, Array | None]:
    """Return the arrays of two tensors, and of a third if there is one; refuse anything else."""
    try:
        return x.value, y.value, None if z is None else z.value
    except AttributeError:
        raise no_tensor_error(name, *(a for a in (x, y, z) if a is not None)) from None


def take_constant(name: str, what: str, x: Tensor | None) -> Array | None:
    """Return the array of a tensor that gets no gradient here, or None for None; refuse one that requires grad."""
    if x is not None and x.node is not None and grad_mode.is_grad_enabled():
        raise AutogradError(
            f"{what} must not require grad, because {name}() has no gradient for it, but it does. Pass "
            f"{what}.detach(), or, to train it, write the loss from operations: log_softmax(), indexing, sum()."
        )
    return None if x is None else x.value


def _sum_down(x: Array, shape: Shape) -> Array:
    """Sum an array over the dimensions in which ``shape`` was broadcast to its own."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1))
    return np.add.reduce(x, axis=dims, keepdims=True).reshape(shape) if dims else x


sum_to: Primitive = Primitive("sum_to_size", _sum_down, lambda g, x_shape: expand_to(g, x_shape))
expand_to: Primitive = Primitive("expand", np.broadcast_to, lambda g, x_shape: sum_to(g, x_shape), takes="x shape")
repeat_to: Primitive = Primitive(
    "expand", lambda x, shape: _repeat_array(x, shape), lambda g, x_shape: sum_to(g, x_shape)
)


def _repeat_array(x: Array, shape: Shape) -> Array:
    """Broadcast into new memory: for a cotangent, since BLAS is slow on views with strides of 0."""
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def mismatch_error(name: str, x: Shape, y: Shape, *, error: Exception) -> AutogradError:
    """Build the error that says why two shapes do not broadcast, or, if they do, what NumPy objects to."""
    for i, (m, n) in enumerate(zip(reversed(x), reversed(y), strict=False), 1):
        if m != n and 1 not in (m, n):
            return AutogradError(
                f"{name} pairs dimensions from the last to the first, and two sizes must be equal or one of them 1, "
                f"but the shapes are {x} and {y}: sizes {m} and {n} at dimension -{i}. Insert a dimension of size 1 "
                "with unsqueeze(), or transpose one of them."
            )
    return AutogradError(
        f"{name} must be defined for these numbers, but: {str(error).rstrip('.')}. Convert them first."
    )
