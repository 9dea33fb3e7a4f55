"""Clip a JAX pytree of gradients: nothing asks for a value, so that it can be jitted and vmapped."""

import math
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from course_lib.clipping.arguments import AxisName, Bound, Nonfinite, nonfinite_error
from course_lib.clipping.clipper import FLOATS, unsupported_error
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_jax_tracer, is_numpy_array
from course_lib.jax_norm import jax_norm
from course_lib.norms import exponent_limit

if TYPE_CHECKING:
    import jax

__all__ = ["JaxClipper"]

SplitBound: TypeAlias = "tuple[jax.Array | float, jax.Array | int]"  # fraction and exponent of a bound


class JaxClipper:
    """A pytree of arrays, traced or not; where each device runs the same program, one device's part of it."""

    def __init__(self, tree: object, axis_name: AxisName = None) -> None:
        jax, self.axis_name = load("jax", extra="jax"), axis_name
        places, self.structure = jax.tree_util.tree_flatten_with_path(tree)
        self.names = ["target" + jax.tree_util.keystr(path) for path, _ in places]
        self.leaves = [leaf for _, leaf in places]
        self.differentiable = [getattr(leaf, "dtype", None) != jax.dtypes.float0 for leaf in self.leaves]
        for name, leaf in zip(self.names, self.leaves, strict=True):
            dtype = getattr(leaf, "dtype", type(leaf))
            if dtype != jax.dtypes.float0 and str(dtype) not in FLOATS:
                raise unsupported_error(name, getattr(dtype, "__name__", str(dtype)), "Convert it, or leave it out.")
            if _is_beyond_float32(jax, leaf):
                instead = "Divide it by a number first, or jax.config.update('jax_enable_x64', True)."
                raise unsupported_error(name, "float64 with entries beyond float32, to which JAX converts it", instead)

    def clip_norm(self, bound: Bound, nonfinite: Nonfinite, p: float) -> tuple[object, "jax.Array"]:
        """Bound the global p-norm."""
        jnp = load("jax.numpy", extra="jax")
        fraction, exponent = jnp.frexp(jnp.asarray(bound)) if is_jax_tracer(bound) else math.frexp(float(bound))
        if is_jax_tracer(bound):
            fraction = jnp.where(jnp.asarray(bound) > 0, fraction, jnp.nan)
        return self._clip((fraction, exponent), nonfinite, p)

    def clip_value(self, bound: Bound, nonfinite: Nonfinite) -> tuple[object, "jax.Array"]:
        """Bound each entry."""
        if is_jax_tracer(bound):
            jnp = load("jax.numpy", extra="jax")
            bound = jnp.where(bound > 0, bound, jnp.nan)
        return self._clip(bound, nonfinite)

    def _clip(self, bound: "Bound | SplitBound", nonfinite: Nonfinite, p: float = 2) -> tuple[object, "jax.Array"]:
        arrays = [leaf for leaf, wanted in zip(self.leaves, self.differentiable, strict=True) if wanted]
        if not arrays:
            raise InputError("there must be something to clip, but no gradient of the tree is floating point.")
        names = [name for name, wanted in zip(self.names, self.differentiable, strict=True) if wanted]
        options = {"nonfinite": nonfinite, "axis_name": self.axis_name, "p": p}
        clipped, norm, finite = _compiled_clip()(arrays, bound, **options)
        if nonfinite == "error" and not is_jax_tracer(finite) and not finite:
            raise nonfinite_error(names, [float(abs(x).max(initial=0)) for x in arrays])
        new = iter(clipped)
        leaves = [next(new) if wanted else leaf for leaf, wanted in zip(self.leaves, self.differentiable, strict=True)]
        return self.structure.unflatten(leaves), norm


def _is_beyond_float32(jax: ModuleType, leaf: object) -> bool:
    """Return whether finite entries of a NumPy array become infinite in the type that JAX computes with."""
    if not is_numpy_array(leaf) or leaf.dtype != np.float64:
        return False
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype)
    with np.errstate(over="ignore"):
        return bool(np.any(np.isfinite(leaf) & ~np.isfinite(leaf.astype(dtype))))


@cache
def _compiled_clip() -> Callable[..., tuple[list[Any], "jax.Array", "jax.Array"]]:
    """Compile the clipping of a list of arrays, once for each structure and shape."""
    jit: Callable[..., Callable[..., tuple[list[Any], jax.Array, jax.Array]]] = load("jax", extra="jax").jit
    return jit(_clip_arrays, static_argnames=("nonfinite", "axis_name", "p"))


def _clip_arrays(
    arrays: "list[jax.Array]", bound: "Bound | SplitBound", *, nonfinite: Nonfinite, axis_name: AxisName, p: float
) -> "tuple[list[jax.Array], jax.Array, jax.Array]":
    """Return clipped arrays, the norm before, and whether all entries are finite."""
    jnp = load("jax.numpy", extra="jax")
    wide = jnp.float64 if any(x.dtype == jnp.float64 for x in arrays) else jnp.float32
    exponent, scaled, finite = jax_norm(arrays, wide, axis_name, p)
    if isinstance(bound, tuple):
        clipped = _multiply(arrays, bound, scaled, exponent, wide)
    else:
        bounds = [jnp.asarray(bound, x.dtype) for x in arrays]  # a float still, where jit is off
        clipped = [jnp.clip(x, -b, b) for x, b in zip(arrays, bounds, strict=True)]
    fill = {"error": jnp.full_like, "zero": lambda x, _: jnp.zeros_like(x), "skip": lambda x, _: x}[nonfinite]
    settled = [jnp.where(finite, new, fill(x, jnp.nan)) for x, new in zip(arrays, clipped, strict=True)]
    return settled, jnp.ldexp(scaled, exponent), finite


def _multiply(
    arrays: "list[jax.Array]", bound: "SplitBound", scaled: "jax.Array", exponent: "jax.Array", wide: type[Any]
) -> "list[jax.Array]":
    """Multiply by bound / (scaled * 2^exponent), where that is below 1; in steps none of which underflows."""
    jnp = load("jax.numpy", extra="jax")
    limit = exponent_limit(np.dtype(wide).itemsize)
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

    def product(x: "jax.Array") -> "jax.Array":
        y = x.astype(wide)
        for step in steps:
            y = y * step
        return y.astype(x.dtype)

    return [jnp.where(within & ~jnp.isnan(b), x, product(x)) for x in arrays]
