"""Write torch's functions in JAX, where a name is missing or means another thing: no error would tell."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from course_lib.types import AnyArray

__all__ = ["make_torch_functions"]


class _JaxArray(AnyArray, Protocol):
    """``jax.Array``, whose methods are not listed here."""

    def __getattr__(self, name: str, /) -> Any: ...


class _ValuesAndIndices(NamedTuple):
    """Entries along an axis, and their places, as torch returns them."""

    values: _JaxArray
    indices: _JaxArray


def make_torch_functions(jax: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return functions of JAX with torch's names, arguments, defaults and results."""
    jnp, nn = jax.numpy, jax.nn
    return {
        **_functions_that_differ(jnp),
        **_functions_renamed(jnp),
        "cross_entropy": partial(_cross_entropy, jnp, nn.log_softmax),
        "mse_loss": lambda x, y, reduction="mean": _reduce_losses(jnp, (x - y) ** 2, reduction),
        "gelu": lambda x, approximate="none": nn.gelu(x, approximate=approximate == "tanh"),
        "softmax": lambda x, dim: nn.softmax(x, axis=dim),
        "log_softmax": lambda x, dim: nn.log_softmax(x, axis=dim),
        "logsumexp": lambda x, dim, keepdim=False: nn.logsumexp(x, axis=dim, keepdims=keepdim),
        "linear": lambda x, w, b=None: x @ w.T if b is None else x @ w.T + b,
        "clamp": lambda x, min=None, max=None: jnp.clip(x, min, max),
        "cat": lambda xs, dim=0: jnp.concatenate(xs, axis=dim),
        "tensor": jnp.asarray,
        "erf": jax.scipy.special.erf,
        "rsqrt": jax.lax.rsqrt,
    }


def _functions_that_differ(jnp: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return functions whose names ``jax.numpy`` has with other arguments, defaults or results.

    Variances divide by n - 1; what selects along an axis returns a pair; ``split`` takes sizes, ``pad`` begins with the
    last axis, a grid has the axes of its arguments, differences come in a tuple, and places that are not 0 in rows.
    """
    return {
        "std": _divide_by_n_minus_1(jnp.std),
        "var": _divide_by_n_minus_1(jnp.var),
        "max": _make_extremum(jnp, jnp.max, jnp.maximum, jnp.argmax),
        "min": _make_extremum(jnp, jnp.min, jnp.minimum, jnp.argmin),
        "sort": partial(_sort, jnp),
        "median": partial(_median, jnp),
        "nanmedian": partial(_nanmedian, jnp),
        "gradient": partial(_gradient, jnp),
        "nonzero": partial(_nonzero, jnp),
        "split": partial(_split, jnp),
        "pad": partial(_pad, jnp),
        "meshgrid": lambda *axes, indexing="ij": jnp.meshgrid(*axes, indexing=indexing),
    }


def _functions_renamed(jnp: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return functions that ``jax.numpy`` has under other names, or with another order of arguments."""
    reductions = ("sum", "mean", "prod", "amax", "amin", "all", "any")
    return {
        **{name: _make_reduction(getattr(jnp, name)) for name in reductions},
        "mul": jnp.multiply,
        "sub": jnp.subtract,
        "div": jnp.divide,
        "neg": jnp.negative,
        "bmm": jnp.matmul,
        "mm": jnp.matmul,
        "mv": jnp.matmul,
        "transpose": jnp.swapaxes,
        "permute": jnp.transpose,
        "unsqueeze": lambda x, dim: jnp.expand_dims(x, dim),
        "flatten": _flatten,
        "gather": partial(_gather, jnp),
        "index_select": lambda x, dim, index: jnp.take(x, index, dim),
        "layer_norm": partial(_layer_norm, jnp),
    }


def _make_reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``dim`` and ``keepdim``, in this order, where ``jax.numpy`` has a dtype between them."""

    def call(x: _JaxArray, dim: int | None = None, keepdim: bool = False, **options: Any) -> Any:
        return function(x, **{"axis": dim, "keepdims": keepdim, **options})

    return call


def _flatten(x: _JaxArray, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Join the axes from one to another."""
    first, last = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def _gather(jnp: ModuleType, x: _JaxArray, dim: int, index: _JaxArray) -> Any:
    """Take entries along an axis; along the others an index may be shorter than the array."""
    within = tuple(slice(None) if d == dim % x.ndim else slice(n) for d, n in enumerate(index.shape))
    return jnp.take_along_axis(x[within], index, dim)


def _layer_norm(
    jnp: ModuleType,
    x: _JaxArray,
    shape: Sequence[int],
    weight: _JaxArray | None = None,
    bias: _JaxArray | None = None,
    eps: float = 1e-5,
) -> Any:
    """Normalize the last axes, as many as ``shape`` has."""
    axes = tuple(range(-len(shape), 0))
    centred = x - x.mean(axes, keepdims=True)
    out = centred / jnp.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def _cross_entropy(
    jnp: ModuleType,
    log_softmax: Callable[..., Any],
    scores: _JaxArray,
    target: _JaxArray,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Any:
    """Take classes along the second axis, leave out what is to be ignored, and accept probabilities as a target too."""
    axis = min(1, scores.ndim - 1)
    logs = log_softmax(scores, axis=axis)
    if jnp.issubdtype(target.dtype, jnp.floating):
        return _reduce_losses(jnp, -(target * logs).sum(axis), reduction)
    counts = jnp.not_equal(target, ignore_index)
    index = jnp.expand_dims(jnp.where(counts, target, 0), axis)
    losses = jnp.where(counts, -jnp.take_along_axis(logs, index, axis).squeeze(axis), 0)
    return losses.sum() / counts.sum() if reduction == "mean" else _reduce_losses(jnp, losses, reduction)


def _divide_by_n_minus_1(function: Callable[..., Any]) -> Callable[..., Any]:
    """Divide by n - 1, unless asked otherwise."""
    return lambda x, dim=None, correction=1, keepdim=False: function(x, dim, ddof=correction, keepdims=keepdim)


def _make_extremum(
    jnp: ModuleType, all_of: Callable[..., Any], pairwise: Callable[..., Any], where: Callable[..., Any]
) -> Callable[..., Any]:
    """Take the largest, or the smallest: of all, along an axis, or of each pair in two arrays."""

    def call(x: _JaxArray, dim: int | _JaxArray | None = None, keepdim: bool = False) -> Any:
        if dim is None:
            return all_of(x)
        if not isinstance(dim, int):
            return pairwise(x, dim)  # torch takes a second tensor in its place
        return _select_along(jnp, x, where(x, dim), dim, keepdim)

    return call


def _sort(jnp: ModuleType, x: _JaxArray, dim: int = -1, descending: bool = False) -> _ValuesAndIndices:
    """Sort along an axis, and say where each stood."""
    order = jnp.argsort(x, dim, descending=descending)
    return _ValuesAndIndices(jnp.take_along_axis(x, order, dim), order)


def _median(jnp: ModuleType, x: _JaxArray, dim: int | None = None, keepdim: bool = False) -> Any:
    """Take the lower of the two in the middle, where ``jax.numpy`` takes their mean."""
    if dim is None:
        return _median(jnp, x.ravel(), 0).values
    return _select_along(jnp, x, jnp.take(jnp.argsort(x, dim), (x.shape[dim] - 1) // 2, dim), dim, keepdim)


def _nanmedian(jnp: ModuleType, x: _JaxArray, dim: int | None = None, keepdim: bool = False) -> Any:
    """Take the lower of the two in the middle of those that are not NaN, which are sorted to the end."""
    if dim is None:
        return _nanmedian(jnp, x.ravel(), 0).values
    middle = jnp.maximum((~jnp.isnan(x)).sum(dim, keepdims=True) - 1, 0) // 2
    index = jnp.take_along_axis(jnp.argsort(x, dim), middle, dim)
    return _select_along(jnp, x, jnp.squeeze(index, dim), dim, keepdim)


def _gradient(
    jnp: ModuleType, x: _JaxArray, *, spacing: object = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Any, ...]:
    """Return one array of differences for each axis, in a tuple even if there is one."""
    if edge_order != 1 or not isinstance(spacing, (int, float)):
        raise NotImplementedError("gradient() is here for an edge_order of 1 and one number as spacing.")
    found = jnp.gradient(x, spacing, axis=dim)
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def _nonzero(jnp: ModuleType, x: _JaxArray, *, as_tuple: bool = False) -> Any:
    """Return the places in rows, where ``jax.numpy`` returns one array for each axis."""
    return jnp.nonzero(x) if as_tuple else jnp.argwhere(x)


def _split(jnp: ModuleType, x: _JaxArray, sizes: int | Sequence[int], dim: int = 0) -> Any:
    """Cut into pieces of the sizes given, where ``jax.numpy`` would take the number of pieces."""
    ends = range(sizes, x.shape[dim], sizes) if isinstance(sizes, int) else [*accumulate(sizes)][:-1]
    return jnp.split(x, list(ends), dim)


def _pad(jnp: ModuleType, x: _JaxArray, pad: Sequence[int], value: float = 0.0) -> Any:
    """Add numbers before and after, first along the last axis."""
    given = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(given)) + given, constant_values=value)


def _select_along(jnp: ModuleType, x: _JaxArray, index: _JaxArray, dim: int, keepdim: bool) -> _ValuesAndIndices:
    """Take one entry along an axis: the whole cotangent goes there, though others may equal it."""
    index = jnp.expand_dims(index, dim)
    pair = _ValuesAndIndices(jnp.take_along_axis(x, index, dim), index)
    return pair if keepdim else _ValuesAndIndices(*(jnp.squeeze(part, dim) for part in pair))


def _reduce_losses(jnp: ModuleType, losses: _JaxArray, reduction: str) -> Any:
    """Reduce losses as torch's option of that name says."""
    return {"mean": jnp.mean, "sum": jnp.sum, "none": jnp.asarray}[reduction](losses)
