"""Reductions: sum, mean, variance, product, extremes. Each vjp spreads the cotangent over what was reduced."""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from course_lib.autograd.ops.broadcasting import cast_to, repeat_to, require_floating
from course_lib.autograd.ops.elementwise import select
from course_lib.autograd.ops.elementwise_primitive import set_name
from course_lib.autograd.ops.examples import add_example
from course_lib.autograd.ops.primitive import Op, Primitive
from course_lib.autograd.ops.shape import normalize_dim, view_as
from course_lib.autograd.variable import Shape, Tensor, Value, Variable, new_tensor
from course_lib.errors import AutogradError

__all__ = ["amax", "amin", "argmax", "cumsum", "mean", "prod", "std", "sum", "var"]

Dim = int | Shape | list[int] | None


def normalize_dims(dim: Dim, ndim: int) -> Shape:
    """Normalize the dimensions to reduce: all of them for None or an empty tuple."""
    if dim is None or dim == () or dim == []:
        return tuple(range(ndim))
    dims = [normalize_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(dims)) < len(dims):
        raise AutogradError(f"each dim can be reduced once, but dim is {dim} for {ndim} dimensions. Name each once.")
    return tuple(dims) if ndim else ()


def restore_dims(g: Value, shape: Shape, dim: Shape, keepdim: bool) -> Value:
    """Give a reduced tensor its dimensions back, with size 1."""
    return g if keepdim or not dim else view_as(g, tuple(1 if i in dim else n for i, n in enumerate(shape)))


def spread(g: Value, shape: Shape, dim: Shape, keepdim: bool) -> Value:
    """Repeat a reduced tensor over what was reduced."""
    return repeat_to(restore_dims(g, shape, dim, keepdim), shape)


def count_reduced(shape: Shape, dim: Shape) -> int:
    """Count the elements that each result is made of."""
    return math.prod(shape[d] for d in dim)


def share_among_extremes(g: Value, x: Value, out: Value, dim: Shape, keepdim: bool) -> Value:
    """Share a cotangent equally among the extreme elements."""
    hit = x == restore_dims(out, x.shape, dim, keepdim)
    hit = hit.value if isinstance(hit, Variable) else hit
    shares = hit / np.add.reduce(hit, dim, keepdims=True).astype(x.dtype)
    found: Value = spread(g, x.shape, dim, keepdim) * shares
    return found


sum_over = Primitive(
    "sum",
    lambda x, dim, keepdim: np.add.reduce(x, dim, None if x.dtype.kind == "f" else np.int64, keepdims=keepdim),
    lambda g, x_shape, dim, keepdim: spread(g, x_shape, dim, keepdim),
)
mean_over = Primitive(
    "mean",
    lambda x, dim, keepdim: np.add.reduce(x, dim, keepdims=keepdim) / x.dtype.type(count_reduced(x.shape, dim)),
    lambda g, x_shape, dim, keepdim: spread(g / count_reduced(x_shape, dim), x_shape, dim, keepdim),
)
var_over = Primitive(
    "var",
    lambda x, dim, keepdim, dof: np.add.reduce(_subtract_mean(x, dim) ** 2, dim, keepdims=keepdim) / x.dtype.type(dof),
    lambda g, x, dim, keepdim, dof: (
        spread(g, x.shape, dim, keepdim) * (_subtract_mean(x, dim) * (2 / dof if dof else np.inf))
    ),
)
_std_over = Primitive(
    "std",
    lambda x, dim, keepdim, dof: np.sqrt(var_over(x, dim, keepdim, dof)),
    lambda g, x, out, dim, keepdim, dof: var_over.vjps[0](select(0, g / (2 * out), out == 0), x, dim, keepdim, dof),
)
_prod_over = Primitive(
    "prod",
    lambda x, dim, keepdim: np.multiply.reduce(x, dim, None if x.dtype.kind == "f" else np.int64, keepdims=keepdim),
    lambda g, x, out, dim, keepdim: spread(g, x.shape, dim, keepdim) * _product_of_others(x, out, dim, keepdim),
)
_cumsum_over: Primitive = Primitive(
    "cumsum",
    lambda x, dim: np.cumsum(x, dim, None if x.dtype.kind == "f" else np.int64) if x.ndim else x,
    lambda g, dim: _flip(_cumsum_over(_flip(g, dim), dim), dim),
)
_amax_over = Primitive(
    "amax", lambda x, dim, keepdim: np.maximum.reduce(x, dim, keepdims=keepdim), share_among_extremes
)
_amin_over = Primitive(
    "amin", lambda x, dim, keepdim: np.minimum.reduce(x, dim, keepdims=keepdim), share_among_extremes
)


def _subtract_mean(x: Any, dim: Shape) -> Any:
    """Subtract the mean."""
    return x - mean_over(x, dim, True)


def _flip(x: Value, dim: int) -> Value:
    """Reverse a dimension."""
    return x[(slice(None),) * dim + (slice(None, None, -1),)] if x.ndim else x


def _product_of_others(x: Any, out: Value, dim: Shape, keepdim: bool) -> Any:
    """Multiply, for each element, all others along ``dim``: divide the product, or, if there are zeros, start over."""
    if not dim:  # a number has no others
        return 1
    if np.all(x.value if isinstance(x, Variable) else x):
        return restore_dims(out, x.shape, dim, keepdim) / x
    i, n = dim[0], x.shape[dim[0]]
    own = np.eye(n, dtype=bool).reshape((n, n) + (1,) * (x.ndim - i - 1))  # leave out element j in row j
    return _prod_over(select(1, view_as(x, (*x.shape[: i + 1], 1, *x.shape[i + 1 :])), own), (i,), False)


def require_elements(input: Tensor, dim: Shape, name: str) -> Shape:
    """Return ``dim`` if there is something to choose from along it: an empty set has no extreme."""
    if count_reduced(input.shape, dim) == 0:
        raise AutogradError(
            f"{name}() needs at least one element to choose from, but the shape {input.shape} has none along "
            f"dim={dim}. Check that the tensor is what you expect before you reduce it."
        )
    return dim


def _reduce_in_dtype(reduce: Op, input: Tensor, *args: Any, dtype: DTypeLike) -> Tensor:
    """Reduce in another dtype: convert the input, and a result that NumPy made int64."""
    return cast_to(reduce(cast_to(input, dtype), *args), dtype)


def sum(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Sum :math:`y = \sum_i x_i`, :math:`g_{x_i} = g`.

    Examples
    --------
    >>> from course_lib.autograd import sum, tensor
    >>> x = tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> sum(x), sum(x, 0), sum(x, 1, keepdim=True).shape
    (tensor(10.), tensor([4., 6.]), (2, 1))
    """
    if dtype is not None:
        return _reduce_in_dtype(sum, input, dim, keepdim, dtype=dtype)
    return sum_over(input, normalize_dims(dim, input.ndim), keepdim)


@add_example
def mean(input: Tensor, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Mean :math:`y = \frac1n \sum_i x_i`, :math:`g_{x_i} = g / n`."""
    if dtype is not None:
        return _reduce_in_dtype(mean, input, dim, keepdim, dtype=dtype)
    return mean_over(require_floating(input, "mean"), normalize_dims(dim, input.ndim), keepdim)


def _measure_spread(operation: Primitive, name: str, doc: str) -> Op:
    """Define variance or standard deviation; a boolean ``dim`` is ``unbiased``, as in torch."""

    def measure(
        input: Tensor,
        dim: Dim = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        dims = normalize_dims(dim, input.ndim)
        n = count_reduced(input.shape, dims)
        return operation(require_floating(input, name), dims, keepdim, max(n - _correct(unbiased, correction), 0))

    return set_name(measure, name, doc)


def _correct(unbiased: bool | None, correction: float | None) -> float:
    """Return what is subtracted from the number of elements to give the degrees of freedom."""
    if unbiased is not None and correction is not None:
        raise AutogradError(
            f"unbiased=True is short for correction=1 and unbiased=False for 0, so one of them is enough, but "
            f"unbiased={unbiased} came with correction={correction}. Leave out unbiased."
        )
    if correction is None:
        correction = 0 if unbiased is False else 1
    return correction


var: Op = _measure_spread(
    var_over,
    "var",
    r"""Variance :math:`y = \sum_i (x_i - \bar x)^2 / (n - c)`, :math:`g_{x_i} = 2 g (x_i - \bar x) / (n - c)`.

    c is the ``correction``: 1 unless another is given, or 0 if ``unbiased`` is False.
    """,
)
std: Op = _measure_spread(
    _std_over, "std", "Standard deviation, the square root of :func:`var`; where it is 0, its gradient is 0."
)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Product :math:`y = \prod_i x_i`, :math:`g_{x_i} = g \prod_{j \ne i} x_j`, even where elements are 0.

    Examples
    --------
    >>> from course_lib.autograd import prod, tensor
    >>> x = tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> prod(x).backward()
    >>> x.grad
    tensor([0., 6., 0.])
    """
    if dtype is not None:
        return _reduce_in_dtype(prod, input, dim, keepdim, dtype=dtype)
    if dim is None:
        input, dim = view_as(input, (input.numel(),)) if input.ndim else input, 0
    if not isinstance(dim, int):
        raise AutogradError(f"prod() multiplies along one dimension, but dim is {dim}. Call it once for each.")
    return _prod_over(input, normalize_dims(dim, input.ndim), keepdim)


@add_example
def amax(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """Find the largest element; equal ones share the gradient."""
    return _amax_over(input, require_elements(input, normalize_dims(dim, input.ndim), "amax"), keepdim)


@add_example
def amin(input: Tensor, dim: Dim = None, keepdim: bool = False) -> Tensor:
    """Find the smallest element; equal ones share the gradient."""
    return _amin_over(input, require_elements(input, normalize_dims(dim, input.ndim), "amin"), keepdim)


@add_example
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Find where the largest element is; it has no gradient."""
    require_elements(input, normalize_dims(dim, input.ndim), "argmax")
    return new_tensor(np.argmax(input.value, dim, keepdims=keepdim))


@add_example
def cumsum(input: Tensor, dim: int, *, dtype: DTypeLike | None = None) -> Tensor:
    r"""Running sum: :math:`y_i = \sum_{j \le i} x_j`, :math:`g_{x_j} = \sum_{i \ge j} g_i`."""
    if dtype is not None:
        return _reduce_in_dtype(cumsum, input, dim, dtype=dtype)
    return _cumsum_over(input, normalize_dim(dim, input.ndim))
