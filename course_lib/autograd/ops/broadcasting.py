"""Broadcasting and its transpose: what was repeated in the forward pass is summed in the backward pass."""

from typing import Any

import numpy as np

from course_lib.autograd.ops.primitive import Primitive
from course_lib.errors import AutogradError

__all__ = ["expand_to", "mismatch", "repeat_to", "sum_to"]


def summed(x: Any, shape: tuple[int, ...]) -> Any:
    """Sum an array down to a shape that broadcasts to its own."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and x.shape[i + lead] != 1))
    return np.add.reduce(x, axis=dims, keepdims=True).reshape(shape) if dims else x


sum_to: Primitive = Primitive("sum_to_size", summed, lambda g, x_shape: expand_to(g, x_shape))
expand_to: Primitive = Primitive(
    "expand", lambda x, shape: np.broadcast_to(x, shape), lambda g, x_shape: sum_to(g, x_shape)
)
repeat_to: Primitive = Primitive("expand", lambda x, shape: repeated(x, shape), lambda g, x_shape: sum_to(g, x_shape))


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast into memory of its own: for a cotangent, as BLAS is slow on views with strides of 0."""
    out = np.empty(shape, x.dtype)
    out[...] = x
    return out


def mismatch(name: str, *shapes: tuple[int, ...]) -> AutogradError:
    """Say why shapes do not go together, and what would make them."""
    width = max(map(len, shapes))
    a, b = ((1,) * (width - len(s)) + s for s in shapes)
    dim = next(i for i in range(width - 1, -1, -1) if a[i] != b[i] and 1 not in (a[i], b[i])) - width
    return AutogradError(
        f"{name} pairs dimensions from the last to the first, and two sizes must be equal or one of them 1, but the "
        f"shapes are {shapes[0]} and {shapes[1]}: sizes {a[dim]} and {b[dim]} at dimension {dim}. Insert a dimension "
        "of size 1 with unsqueeze(), or transpose one of them."
    )
