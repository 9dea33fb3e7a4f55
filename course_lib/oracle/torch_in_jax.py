"""Names that mean one thing in torch and another in ``jax.numpy``: no error would tell, only other gradients."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

__all__ = ["called_otherwise", "cross_entropy", "meant_otherwise", "reduced"]


class Selected(NamedTuple):
    """Entries along an axis, and where they stood, as torch returns them."""

    values: Any
    indices: Any


def meant_otherwise(jnp: Any) -> dict[str, Callable[..., Any]]:
    """Return functions of ``jax.numpy`` with torch's arguments, defaults and results.

    Variances divide by n - 1; what selects along an axis returns a pair; ``split`` takes sizes, ``pad`` begins with the
    last axis, a grid has the axes of its arguments, differences come in a tuple, and places that are not 0 in rows.
    """
    return {
        "std": spread(jnp.std),
        "var": spread(jnp.var),
        "max": extreme(jnp, jnp.max, jnp.maximum, jnp.argmax),
        "min": extreme(jnp, jnp.min, jnp.minimum, jnp.argmin),
        "sort": partial(sort, jnp),
        "median": partial(median, jnp),
        "nanmedian": partial(nanmedian, jnp),
        "gradient": partial(gradient, jnp),
        "nonzero": partial(nonzero, jnp),
        "split": partial(split, jnp),
        "pad": partial(pad, jnp),
        "meshgrid": lambda *axes, indexing="ij": jnp.meshgrid(*axes, indexing=indexing),
    }


def called_otherwise(jnp: Any) -> dict[str, Callable[..., Any]]:
    """Return functions of ``jax.numpy`` under torch's names, or with torch's order of arguments."""
    reductions = ("sum", "mean", "prod", "amax", "amin", "all", "any")
    return {
        **{name: reduction(getattr(jnp, name)) for name in reductions},
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
        "flatten": flatten,
        "gather": partial(gather, jnp),
        "index_select": lambda x, dim, index: jnp.take(x, index, dim),
        "layer_norm": partial(layer_norm, jnp),
    }


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``dim`` and ``keepdim``, in this order, where ``jax.numpy`` has a dtype between them."""

    def call(x: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
        return function(x, **{"axis": dim, "keepdims": keepdim, **options})

    return call


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Join the axes from one to another."""
    first, last = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return x.reshape(*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def gather(jnp: Any, x: Any, dim: int, index: Any) -> Any:
    """Take entries along an axis; along the others an index may be shorter than the array."""
    within = tuple(slice(None) if d == dim % x.ndim else slice(n) for d, n in enumerate(index.shape))
    return jnp.take_along_axis(x[within], index, dim)


def layer_norm(jnp: Any, x: Any, shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Normalize the last axes, as many as ``shape`` has."""
    axes = tuple(range(-len(shape), 0))
    centred = x - x.mean(axes, keepdims=True)
    out = centred / jnp.sqrt((centred**2).mean(axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def cross_entropy(
    jnp: Any, log_softmax: Any, scores: Any, target: Any, *, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """Take classes along the second axis, leave out what is to be ignored, and accept probabilities as a target too."""
    axis = min(1, scores.ndim - 1)
    logs = log_softmax(scores, axis=axis)
    if jnp.issubdtype(target.dtype, jnp.floating):
        return reduced(jnp, -(target * logs).sum(axis), reduction)
    counts = target != ignore_index
    index = jnp.expand_dims(jnp.where(counts, target, 0), axis)
    losses = jnp.where(counts, -jnp.take_along_axis(logs, index, axis).squeeze(axis), 0)
    return losses.sum() / counts.sum() if reduction == "mean" else reduced(jnp, losses, reduction)


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Divide by n - 1, unless asked otherwise."""
    return lambda x, dim=None, correction=1, keepdim=False: function(x, dim, ddof=correction, keepdims=keepdim)


def extreme(jnp: Any, all_of: Any, pairwise: Any, where: Any) -> Callable[..., Any]:
    """Take the largest, or the smallest: of all, along an axis, or of each pair in two arrays."""

    def call(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return all_of(x)
        if not isinstance(dim, int):
            return pairwise(x, dim)  # torch takes a second tensor in its place
        return selected(jnp, x, where(x, dim), dim, keepdim)

    return call


def sort(jnp: Any, x: Any, dim: int = -1, descending: bool = False) -> Selected:
    """Sort along an axis, and say where each stood."""
    order = jnp.argsort(x, dim, descending=descending)
    return Selected(jnp.take_along_axis(x, order, dim), order)


def median(jnp: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Take the lower of the two in the middle, where ``jax.numpy`` takes their mean."""
    if dim is None:
        return median(jnp, x.ravel(), 0).values
    return selected(jnp, x, jnp.take(jnp.argsort(x, dim), (x.shape[dim] - 1) // 2, dim), dim, keepdim)


def nanmedian(jnp: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    """Take the lower of the two in the middle of those that are not NaN, which are sorted to the end."""
    if dim is None:
        return nanmedian(jnp, x.ravel(), 0).values
    middle = jnp.maximum((~jnp.isnan(x)).sum(dim, keepdims=True) - 1, 0) // 2
    index = jnp.take_along_axis(jnp.argsort(x, dim), middle, dim)
    return selected(jnp, x, jnp.squeeze(index, dim), dim, keepdim)


def gradient(jnp: Any, x: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Return one array of differences for each axis, in a tuple even if there is one."""
    if edge_order != 1 or not isinstance(spacing, (int, float)):
        raise NotImplementedError("gradient() is here for an edge_order of 1 and one number as spacing.")
    found = jnp.gradient(x, spacing, axis=dim)
    return tuple(found) if isinstance(found, (list, tuple)) else (found,)


def nonzero(jnp: Any, x: Any, *, as_tuple: bool = False) -> Any:
    """Return the places in rows, where ``jax.numpy`` returns one array for each axis."""
    return jnp.nonzero(x) if as_tuple else jnp.argwhere(x)


def split(jnp: Any, x: Any, sizes: int | Sequence[int], dim: int = 0) -> Any:
    """Cut into pieces of the sizes given, where ``jax.numpy`` would take the number of pieces."""
    ends = range(sizes, x.shape[dim], sizes) if isinstance(sizes, int) else [*accumulate(sizes)][:-1]
    return jnp.split(x, list(ends), dim)


def pad(jnp: Any, x: Any, pad: Sequence[int], value: float = 0.0) -> Any:
    """Add numbers before and after, first along the last axis."""
    given = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - len(given)) + given, constant_values=value)


def selected(jnp: Any, x: Any, index: Any, dim: int, keepdim: bool) -> Selected:
    """Take one entry along an axis: the whole cotangent goes there, though others may equal it."""
    index = jnp.expand_dims(index, dim)
    pair = Selected(jnp.take_along_axis(x, index, dim), index)
    return pair if keepdim else Selected(*(jnp.squeeze(part, dim) for part in pair))


def reduced(jnp: Any, losses: Any, reduction: str) -> Any:
    """Reduce losses as torch's option of that name says."""
    return {"mean": jnp.mean, "sum": jnp.sum, "none": jnp.asarray}[reduction](losses)
