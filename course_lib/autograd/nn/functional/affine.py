"""The product and sum of a layer, in one operation, and the plain form of both."""

from functools import lru_cache
from typing import Any

import numpy as np

from course_lib.autograd.ops.elementwise import add
from course_lib.autograd.ops.linalg import matmul, one_dtype
from course_lib.autograd.ops.primitive import Primitive, Tensor, no_tensor, wrapped
from course_lib.autograd.silence import silent

__all__ = ["linear"]

SMALL = 1 << 14  # elements; ``dot`` fills its result with zeros first, and ``@`` takes six times as long for one row


def times(x: Any, y: Any) -> Any:
    """Multiply two matrices; for small arrays ``dot`` computes the same product in half the time of ``@``."""
    return x.dot(y) if type(x) is np.ndarray and y.size < SMALL else x @ y


def product_and_sum(x: Any, w: Any, b: Any) -> Any:
    """Compute ``x @ w.T + b``, adding in place."""
    out = x.dot(w.T)
    if b is not None:
        out += b
    return out


@lru_cache(maxsize=4)
def ones(n: int, dtype: Any) -> Any:
    """Make a vector of ones, once for each batch size."""
    return np.ones(n, dtype)


affine: Primitive = Primitive(
    "addmm",
    product_and_sum,
    lambda g, _x, w: g.dot(w) if type(g) is np.ndarray else g @ w,
    lambda g, x, _w: times(g.T, x),
    # the sum of rows; for arrays, a product with ones, which takes a third of the time of ``sum``
    lambda g, _x, _w: ones(len(g), g.dtype).dot(g) if type(g) is np.ndarray else g.sum(0),
)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias`` in one operation; ``weight`` has shape ``(out_features, in_features)``.

    :math:`Y = X W^T + b`, :math:`G_X = G W`, :math:`G_W = G^T X`, and :math:`g_b` sums the rows of :math:`G`.
    """
    try:
        x, w, b = input.value, weight.value, None if bias is None else bias.value
    except AttributeError:
        raise no_tensor("linear", input, weight, bias) from None
    rows, columns = input.dims, weight.dims
    if len(rows) != 2 or len(columns) != 2 or rows[1] != columns[1] or x.dtype is not w.dtype:
        return plain_linear(input, weight, bias)
    if b is not None and (b.dtype is not x.dtype or b.shape != columns[:1]):
        return plain_linear(input, weight, bias)
    out = silent.copy().run(product_and_sum, x, w, b)
    p, q, r = input.node, weight.node, None if bias is None else bias.node
    return wrapped(affine, out, (p, q, r), (None if q is None else x, None if p is None else w))


def plain_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Compute the same, for inputs of any number of dimensions, from separate operations."""
    out = matmul(input, weight.T if weight.ndim == 2 else weight)
    if bias is None:
        return out
    one_dtype("linear", out, bias)
    return add(out, bias)
