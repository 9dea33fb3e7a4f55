"""Measure how far two gradients differ, and decide whether they are equal in the precision they came in."""

from collections.abc import Iterable, Mapping

import numpy as np

from course_lib.types import Array

__all__ = [
    "EPS",
    "clip_by_norm",
    "find_rounded_dtype",
    "global_norm",
    "is_close",
    "is_rounding",
    "largest_entry",
    "relative_error",
    "worst_index",
]

ROUNDING = 1e-14  # of the largest gradient: a right one below it is 0, but for the rounding of float64
EPS = {"float64": 1e-7, "float32": 1e-4, "float16": 2e-2, "bfloat16": 6e-2, "differences": 1e-5}


def relative_error(found: Array, right: Array) -> float:
    """Return the largest difference of an entry over the largest right entry; inf if the shapes differ."""
    if found.shape != right.shape:
        return float("inf")
    if not found.size:
        return 0.0
    largest = float(np.max(np.abs(right)))
    return float(np.max(_distance(found, right))) / (largest or 1.0)


def _distance(found: Array, right: Array) -> Array:
    """Return the distance of each entry: 0 for two infinities or NaNs, infinite for a NaN in only one."""
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(np.abs(found - right), nan=np.inf, posinf=np.inf)
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    return np.where(same, 0.0, away)


def global_norm(grads: Mapping[str, Array], names: Iterable[str]) -> float:
    """Return the global norm of some gradients."""
    return float(np.sqrt(sum(float(np.sum(grads[n] * grads[n])) for n in names)))


def clip_by_norm(grads: Mapping[str, Array], names: Iterable[str], max_norm: float) -> dict[str, Array]:
    """Scale all gradients by min(1, max_norm / norm), where the norm is that of those named."""
    factor = min(1.0, max_norm / (global_norm(grads, names) or max_norm))
    return {n: g * factor for n, g in grads.items()}


def largest_entry(grads: Mapping[str, Array]) -> float:
    """Return the largest entry of all gradients: what is negligible beside it is rounding."""
    return max((float(np.max(np.abs(g))) for g in grads.values() if g.size), default=0.0)


def is_close(found: Array, right: Array, eps: float, scale: float) -> bool:
    """Return whether two gradients agree to ``eps`` times the larger of the right one's largest entry and eps * scale.

    Where the right one is 0, what is found is what rounding left of larger numbers that cancel.
    """
    if found.shape != right.shape:
        return False
    largest = float(np.max(np.abs(right))) if right.size else 0.0
    floor = max(10 * eps, 1e-2) if is_rounding(right, scale) else eps
    return bool(np.all(_distance(found, right) <= eps * max(largest, floor * scale)))


def is_rounding(right: Array, scale: float) -> bool:
    """Return whether a gradient in float64 is zero but for rounding."""
    return not right.size or float(np.max(np.abs(right))) <= ROUNDING * scale


def find_rounded_dtype(found: Array, right: Array) -> str | None:
    """Find the narrower dtype that a gradient was rounded to, if it is as close to the right one as that allows."""
    largest = float(np.max(np.abs(right))) if right.size else 0.0
    for dtype in ("float16", "float32"):
        with np.errstate(over="ignore"):
            exact = np.array_equal(found.astype(dtype).astype(np.float64), found)
        if exact and bool(np.all(_distance(found, right) <= EPS[dtype] / 10 * largest)):
            return dtype
    return None


def worst_index(found: Array, right: Array) -> tuple[int, ...]:
    """Return the index at which two gradients differ most."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(_distance(found, right))), right.shape))
