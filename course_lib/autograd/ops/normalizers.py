"""Softmax, log-softmax, log-sum-exp and vector norms."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from course_lib.autograd.ops.broadcasting import cast_to, cast_to_floating, require_floating
from course_lib.autograd.ops.elementwise import abs, exp, power, select, sign
from course_lib.autograd.ops.primitive import Primitive
from course_lib.autograd.ops.reductions import (
    Dim,
    normalize_dims,
    require_elements,
    restore_dims,
    share_among_extremes,
    spread,
    sum_over,
)
from course_lib.autograd.ops.shape import normalize_dim
from course_lib.autograd.variable import Shape, Tensor, Value
from course_lib.types import Array

__all__ = ["log_softmax", "logsumexp", "softmax", "vector_norm"]


def _stable_logsumexp(x: Array, dim: Shape, keepdim: bool) -> Array:
    """Compute log-sum-exp with the largest element factored out, so that no exponential overflows."""
    top = np.maximum.reduce(x, dim, keepdims=True, initial=-np.inf)
    top = np.where(np.isinf(top), x.dtype.type(0), top)
    out = np.log(np.add.reduce(np.exp(x - top), dim, keepdims=True)) + top
    return out if keepdim else out.squeeze(dim)


def _stable_softmax(x: Array, dim: int) -> Array:
    """Compute softmax with the largest element factored out; NumPy accepts axis 0 even of a 0-d array."""
    y: Array = np.exp(x - np.maximum.reduce(x, dim, keepdims=True, initial=-np.inf))
    return y / np.add.reduce(y, dim, keepdims=True)


def _stable_log_softmax(x: Array, dim: int) -> Array:
    """Compute log-softmax with the largest element factored out."""
    x = x - np.maximum.reduce(x, dim, keepdims=True, initial=-np.inf)
    return x - np.log(np.add.reduce(np.exp(x), dim, keepdims=True))


def _sum_along(x: Value, dim: int) -> Value:
    """Add up along one dimension, and keep it."""
    return sum_over(x, dim, True)


_logsumexp_of = Primitive(
    "logsumexp",
    _stable_logsumexp,
    lambda g, x, out, dim, keepdim: (
        spread(g, x.shape, dim, keepdim) * exp(x - restore_dims(out, x.shape, dim, keepdim))
    ),
)
softmax_of = Primitive("softmax", _stable_softmax, lambda g, out, dim: out * (g - _sum_along(g * out, dim)))
_log_softmax_of = Primitive("log_softmax", _stable_log_softmax, lambda g, out, dim: g - _sum_along(g, dim) * exp(out))
_p_norm = Primitive(
    "linalg_vector_norm",
    lambda x, dim, keepdim, p: _compute_norm(np.abs(x), dim, keepdim, p),
    lambda g, x, out, dim, keepdim, p: _norm_vjp(g, x, out, dim, keepdim, p),
)


def _compute_norm(a: Array, dim: Shape, keepdim: Any, p: float) -> Any:
    """Compute the p-norm of absolute values."""
    if math.isinf(p):
        return (np.maximum if p > 0 else np.minimum).reduce(a, dim, keepdims=keepdim)
    if p == 0:
        return np.add.reduce(a != 0, dim, a.dtype, keepdims=keepdim)
    return np.add.reduce(a**p, dim, keepdims=keepdim) ** (1 / p)


def _norm_vjp(g: Value, x: Value, out: Value, dim: Shape, keepdim: bool, p: float) -> Value:
    """Compute the vjp of the norm: 0 where the norm is 0, or does not depend on an element."""
    a = abs(x)
    if math.isinf(p):
        a, out = (select(x, -1, x == x) for x in (a, out))  # let NaN be equal to NaN, as torch does here
        return sign(x) * share_among_extremes(g, a, out, dim, keepdim)
    g, out = spread(g, x.shape, dim, keepdim), restore_dims(out, x.shape, dim, keepdim)
    if p in (0, 1):
        return sign(x) * (g * p)
    if p == 2:
        return g * select(0, x / out, out == 0)
    return sign(x) * select(0, power(a, p - 1), a == 0) * select(0, g * power(out, 1 - p), out == 0)


def logsumexp(input: Tensor, dim: Dim, keepdim: bool = False) -> Tensor:
    r"""Log-sum-exp :math:`y = \ln \sum_i e^{x_i}`, :math:`g_{x_i} = g\, e^{x_i - y}`, without overflow.

    Examples
    --------
    >>> from course_lib.autograd import logsumexp, tensor
    >>> logsumexp(tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    return _logsumexp_of(cast_to_floating(input), normalize_dims(dim, input.ndim), keepdim)


def softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Softmax :math:`y_i = e^{x_i} / \sum_j e^{x_j}`, :math:`g_{x_i} = y_i (g_i - \sum_j g_j y_j)`.

    Examples
    --------
    >>> from course_lib.autograd import softmax, tensor
    >>> softmax(tensor([[0.0, 0.0], [1000.0, 0.0]]), 1)
    tensor([[0.5000, 0.5000],
            [1.0000, 0.0000]])
    """
    input = input if dtype is None else cast_to(input, dtype)
    return softmax_of(require_floating(input, "softmax"), normalize_dim(dim, input.ndim))


def log_softmax(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Log-softmax :math:`y_i = x_i - \ln \sum_j e^{x_j}`, :math:`g_{x_i} = g_i - e^{y_i} \sum_j g_j`.

    Examples
    --------
    >>> from course_lib.autograd import log_softmax, tensor
    >>> log_softmax(tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    input = input if dtype is None else cast_to(input, dtype)
    return _log_softmax_of(require_floating(input, "log_softmax"), normalize_dim(dim, input.ndim))


def vector_norm(
    x: Tensor, ord: float = 2, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    r"""Vector norm :math:`\|x\|_p = (\sum_i |x_i|^p)^{1/p}`; p may be infinite. At a norm of 0 its gradient is 0.

    Examples
    --------
    >>> import math
    >>> from course_lib.autograd import tensor, vector_norm
    >>> x = tensor([3.0, -4.0])
    >>> vector_norm(x), vector_norm(x, 1), vector_norm(x, math.inf)
    (tensor(5.), tensor(7.), tensor(4.))
    """
    x, dim = require_floating(x, "vector_norm"), normalize_dims(dim, x.ndim)
    if ord < 0 or math.isinf(ord):
        require_elements(x, dim, "vector_norm")
    return _p_norm(x if dtype is None else cast_to(x, dtype), dim, keepdim, ord)
