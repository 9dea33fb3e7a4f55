"""Gradients that are a JAX pytree: nothing asks for a value, so that it can be jitted and vmapped."""

import math
import sys
from collections.abc import Iterator, MappingView
from functools import cache
from typing import Any

import numpy as np

from course_lib.clipping.bounds import Nonfinite, is_traced, refusal
from course_lib.clipping.gradients import FLOATS, unsupported
from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["JaxGradients", "is_jax"]


def is_jax(target: Any) -> bool:
    """Tell whether a target is a pytree with a JAX array in it, without importing JAX."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    try:
        leaves = jax.tree_util.tree_leaves(target, is_leaf=lambda x: isinstance(x, (Iterator, MappingView)))
    except ValueError:  # keys that cannot be sorted, so it is not a pytree; it may still be torch's or NumPy's
        return False
    return any(isinstance(leaf, jax.Array) for leaf in leaves)


class JaxGradients:
    """A pytree of arrays, traced or not; where each device runs the same program, one device's part of it."""

    def __init__(self, tree: Any, axis_name: Any = None) -> None:
        jax, self.axis_name = load("jax", extra="jax"), axis_name
        places, self.structure = jax.tree_util.tree_flatten_with_path(tree)
        self.names = ["target" + jax.tree_util.keystr(path) for path, _ in places]
        self.leaves = [leaf for _, leaf in places]
        self.differentiable = [getattr(leaf, "dtype", None) != jax.dtypes.float0 for leaf in self.leaves]
        for name, leaf in zip(self.names, self.leaves, strict=True):
            dtype = getattr(leaf, "dtype", type(leaf))
            if dtype != jax.dtypes.float0 and str(dtype) not in FLOATS:
                raise unsupported(name, getattr(dtype, "__name__", str(dtype)), "Convert it, or leave it out.")
            if too_large(jax, leaf):
                instead = "Divide it by a number first, or jax.config.update('jax_enable_x64', True)."
                raise unsupported(name, "float64 with entries beyond float32, to which JAX converts it", instead)

    def clip_norm(self, bound: Any, nonfinite: Nonfinite) -> Any:
        """Bound the global norm."""
        jnp = load("jax.numpy", extra="jax")
        fraction, exponent = jnp.frexp(jnp.asarray(bound)) if is_traced(bound) else math.frexp(bound)
        if is_traced(bound):
            fraction = jnp.where(jnp.asarray(bound) > 0, fraction, jnp.nan)
        return self._clip("norm", (fraction, exponent), nonfinite)

    def clip_value(self, bound: Any, nonfinite: Nonfinite) -> Any:
        """Bound each entry."""
        if is_traced(bound):
            jnp = load("jax.numpy", extra="jax")
            bound = jnp.where(bound > 0, bound, jnp.nan)
        return self._clip("value", bound, nonfinite)

    def _clip(self, how: str, bound: Any, nonfinite: Nonfinite) -> Any:
        arrays = [leaf for leaf, wanted in zip(self.leaves, self.differentiable, strict=True) if wanted]
        if not arrays:
            raise InputError("there must be something to clip, but no gradient of the tree is floating point.")
        names = [name for name, wanted in zip(self.names, self.differentiable, strict=True) if wanted]
        options = {"how": how, "nonfinite": nonfinite, "axis_name": self.axis_name}
        clipped, norm, units = compiled()(arrays, bound, **options)
        if nonfinite == "error" and not is_traced(units):
            found = np.asarray(units).tolist()
            if not all(map(math.isfinite, found)):
                raise refusal(names, found)
        new = iter(clipped)
        leaves = [next(new) if wanted else leaf for leaf, wanted in zip(self.leaves, self.differentiable, strict=True)]
        return self.structure.unflatten(leaves), norm


def too_large(jax: Any, leaf: Any) -> bool:
    """Tell whether finite entries of a NumPy array become infinite in the type that JAX computes with."""
    if not isinstance(leaf, (np.ndarray, np.generic)) or leaf.dtype != np.float64:
        return False
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype)
    with np.errstate(over="ignore"):
        return bool(np.any(np.isfinite(leaf) & ~np.isfinite(leaf.astype(dtype))))


@cache
def compiled() -> Any:
    """Compile the clipping of a list of arrays, once for each structure and shape."""
    jax = load("jax", extra="jax")
    return jax.jit(clip, static_argnames=("how", "nonfinite", "axis_name"))


def clip(
    arrays: list[Any], bound: Any, *, how: str, nonfinite: Nonfinite, axis_name: Any
) -> tuple[list[Any], Any, Any]:
    """Return clipped arrays, the norm before, and the largest entry of each array."""
    jax, jnp = load("jax", extra="jax"), load("jax.numpy", extra="jax")
    arrays = jax.lax.optimization_barrier(arrays)  # for constants XLA would multiply the squares first, which overflow
    wide = jnp.float64 if any(x.dtype == jnp.float64 for x in arrays) else jnp.float32
    units = jnp.stack([jnp.max(jnp.abs(x.astype(wide)), initial=0) for x in arrays])
    unit = units.max() if axis_name is None else largest_of_all(units.max(), axis_name)
    exponent, scaled = scaled_norm(arrays, unit, wide, axis_name)
    if how == "norm":
        clipped = multiplied(arrays, bound, scaled, exponent, wide)
    else:
        bounds = [jnp.asarray(bound, x.dtype) for x in arrays]  # a float still, where jit is off
        clipped = [jnp.clip(x, -b, b) for x, b in zip(arrays, bounds, strict=True)]
    finite = jnp.isfinite(unit)
    fill = {"error": jnp.full_like, "zero": lambda x, _: jnp.zeros_like(x), "skip": lambda x, _: x}[nonfinite]
    settled = [jnp.where(finite, new, fill(x, jnp.nan)) for x, new in zip(arrays, clipped, strict=True)]
    return settled, jnp.where(finite, jnp.ldexp(scaled, exponent), unit), units


def largest_of_all(unit: Any, axis_name: Any) -> Any:
    """Return the largest unit of all devices, NaN if one is: on a CPU pmax loses that. Neither has a slope to lose."""
    jnp, lax = load("jax.numpy", extra="jax"), load("jax.lax", extra="jax")
    unit = lax.stop_gradient(unit)
    broken = lax.pmax(jnp.isnan(unit).astype(jnp.int32), axis_name)
    return jnp.where(broken > 0, jnp.nan, lax.pmax(unit, axis_name))


def scaled_norm(arrays: list[Any], unit: Any, wide: Any, axis_name: Any) -> tuple[Any, Any]:
    """Return e and the norm of the arrays divided by 2^e, where squares neither overflow nor underflow."""
    jnp = load("jax.numpy", extra="jax")
    limit = exponent_limit(wide)
    exponent = jnp.clip(jnp.frexp(jnp.where(jnp.isfinite(unit), unit, 1))[1], -limit, limit)
    down = jnp.ldexp(jnp.ones((), wide), -exponent)
    square = sum(jnp.sum(jnp.square(x.astype(wide) * down)) for x in arrays)
    square = square if axis_name is None else load("jax.lax", extra="jax").psum(square, axis_name)
    some = square > 0  # the root has no slope at 0, and NaN would get into gradients that are taken through this
    return exponent, jnp.where(some, jnp.sqrt(jnp.where(some, square, 1)), square)


def multiplied(arrays: list[Any], bound: Any, scaled: Any, exponent: Any, wide: Any) -> list[Any]:
    """Multiply by bound / (scaled * 2^exponent), where that is below 1; in steps none of which underflows."""
    jnp = load("jax.numpy", extra="jax")
    limit = exponent_limit(wide)
    b, b_exponent = bound
    s, s_exponent = jnp.frexp(jnp.where(scaled > 0, scaled, 1))
    ratio, power = (b / s).astype(wide), b_exponent - exponent - s_exponent  # the factor is ratio * 2^power
    within = (power > 0) | ((power == 0) & (ratio >= 1)) | jnp.isinf(b) | (scaled == 0)
    steps = []
    for _ in range(2):
        step = jnp.clip(power, -limit, 0)
        steps.append(jnp.ldexp(jnp.ones((), wide), step))
        power = power - step
    steps.append(jnp.ldexp(ratio, power))

    def product(x: Any) -> Any:
        y = x.astype(wide)
        for step in steps:
            y = y * step
        return y.astype(x.dtype)

    return [jnp.where(within & ~jnp.isnan(b), x, product(x)) for x in arrays]


def exponent_limit(wide: Any) -> int:
    """Return an exponent whose power of two is far from both ends of the type."""
    return 1000 if np.dtype(wide).itemsize == 8 else 100
