"""The norm of JAX arrays, traced or not: two passes over them only where squares overflow or underflow."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from course_lib.extras import load
from course_lib.norms import exponent_limit

if TYPE_CHECKING:
    import jax

__all__ = ["jax_norm"]

AxisName: TypeAlias = str | tuple[str, ...] | None
Norm: TypeAlias = "tuple[jax.Array, jax.Array, jax.Array]"

MOST = 1e11  # entries, whose squares may all have been too small to count
SCALES = {4: 90, 8: 800}  # by bytes: exponents that take the squares of all entries into range, from either end


def jax_norm(
    arrays: "Sequence[jax.Array]", dtype: "np.dtype[Any] | type[Any]", axis_name: AxisName = None, p: float = 2
) -> Norm:
    """Return an exponent e, the p-norm of all arrays divided by 2^e, and whether all their entries are finite.

    The Euclidean norm is that of plain squares where their sum is neither infinite nor so small that squares which
    count may have vanished; else the squares are those of entries times a power of two (Blue, 1978, *A portable Fortran
    program to find the Euclidean norm of a vector*). Other norms divide by the largest entry first.

    Parameters
    ----------
    arrays : sequence of array
        Floating point.
    dtype : dtype
        What to compute in: float32 or float64.
    axis_name : str or tuple of str, optional
        The axes of devices over which to add up.
    p : float
        Above 0; infinity for the largest entry.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> exponent, scaled, finite = jax_norm([jnp.array([3e19, 4e19])], jnp.float32)
    >>> f"{float(jnp.ldexp(scaled, exponent)):.3g}", bool(finite)
    ('5e+19', True)
    """
    return _compiled_norm()(list(arrays), dtype=np.dtype(dtype), axis_name=axis_name, p=p)


@cache
def _compiled_norm() -> Callable[..., Norm]:
    """Compile the norm of a list of arrays, once for each structure and shape."""
    jit: Callable[..., Callable[..., Norm]] = load("jax", extra="jax").jit
    return jit(
        lambda arrays, *, dtype, axis_name, p: (_euclidean if p == 2 else _other)(arrays, dtype, axis_name, p),
        static_argnames=("dtype", "axis_name", "p"),
    )


def _euclidean(arrays: "list[jax.Array]", dtype: "np.dtype[Any]", axis_name: AxisName, _p: float) -> Norm:
    lax, jnp = load("jax.lax", extra="jax"), load("jax.numpy", extra="jax")
    arrays = lax.optimization_barrier(arrays)  # for constants XLA would multiply the squares first, which overflow
    info = jnp.finfo(dtype)

    def add_up(scale: "jax.Array") -> "jax.Array":
        return _add_up([jnp.sum(jnp.square(x.astype(dtype) * scale)) for x in arrays], axis_name)

    def again() -> "tuple[jax.Array, jax.Array]":
        up = jnp.where(total < 1, SCALES[dtype.itemsize], -SCALES[dtype.itemsize])
        return -up, add_up(jnp.ldexp(jnp.ones((), dtype), up))

    total = add_up(jnp.ones((), dtype))
    well = (total < jnp.inf) & (total > float(info.tiny) / float(info.eps) * MOST)
    exponent, total = lax.cond(well, lambda: (jnp.zeros((), int), total), again)
    return exponent, _root(total, 2), jnp.isfinite(total)


def _other(arrays: "list[jax.Array]", dtype: "np.dtype[Any]", axis_name: AxisName, p: float) -> Norm:
    jnp, limit = load("jax.numpy", extra="jax"), exponent_limit(dtype.itemsize)
    largest = jnp.max(jnp.stack([jnp.max(jnp.abs(x.astype(dtype)), initial=0) for x in arrays]))
    if axis_name is not None:
        largest = _largest_of_all(largest, axis_name)
    exponent = jnp.clip(jnp.frexp(jnp.where(jnp.isfinite(largest), largest, 1))[1], -limit, limit)
    down = jnp.ldexp(jnp.ones((), dtype), -exponent)
    if p == math.inf:
        return exponent, largest * down, jnp.isfinite(largest)
    total = _add_up([jnp.sum(jnp.abs(x.astype(dtype) * down) ** p) for x in arrays], axis_name)
    return exponent, _root(total, p), jnp.isfinite(largest)


def _add_up(parts: "list[jax.Array]", axis_name: AxisName) -> "jax.Array":
    """Add up numbers, and those of all devices."""
    total: jax.Array = sum(parts[1:], parts[0])
    return total if axis_name is None else load("jax.lax", extra="jax").psum(total, axis_name)


def _root(total: "jax.Array", p: float) -> "jax.Array":
    """Return the p-th root, which has no slope at 0: NaN would get into gradients that are taken through this."""
    jnp = load("jax.numpy", extra="jax")
    some = total > 0
    safe = jnp.where(some, total, 1)
    root: jax.Array = jnp.where(some, jnp.sqrt(safe) if p == 2 else safe ** (1 / p), total)
    return root


def _largest_of_all(largest: "jax.Array", axis_name: AxisName) -> "jax.Array":
    """Return the largest of all devices, NaN if one is: on a CPU pmax loses that. Neither has a slope to lose."""
    jnp, lax = load("jax.numpy", extra="jax"), load("jax.lax", extra="jax")
    largest = lax.stop_gradient(largest)
    broken = lax.pmax(jnp.isnan(largest).astype(jnp.int32), axis_name)
    of_all: jax.Array = jnp.where(broken > 0, jnp.nan, lax.pmax(largest, axis_name))
    return of_all
