"""When two gradients count as equal: the precision they came in decides, not one tolerance for all."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["EPS", "error", "is_close", "is_rounding", "norm", "rounded_to", "scale_of", "worst"]

Array = np.ndarray[Any, Any]

ROUNDING = 1e-14  # of the largest gradient: a right one below it is 0, but for the rounding of float64
EPS = {"float64": 1e-7, "float32": 1e-4, "float16": 2e-2, "bfloat16": 6e-2, "differences": 1e-5}


def error(found: Array, right: Array) -> float:
    """Divide the largest difference of an entry by the largest right entry; inf if the shapes differ."""
    if found.shape != right.shape:
        return float("inf")
    if not found.size:
        return 0.0
    largest = float(np.max(np.abs(right)))
    return float(np.max(gap(found, right))) / (largest or 1.0)


def gap(found: Array, right: Array) -> Array:
    """Take the distance of each entry; equal infinities and NaNs are equal, a NaN in only one is infinitely far off."""
    with np.errstate(invalid="ignore"):
        away = np.nan_to_num(np.abs(found - right), nan=np.inf, posinf=np.inf)
    same = (found == right) | (np.isnan(found) & np.isnan(right))
    return np.where(same, 0.0, away)


def norm(grads: Mapping[str, Array], names: Iterable[str]) -> float:
    """Take the global norm of some gradients."""
    return float(np.sqrt(sum(float(np.sum(grads[n] * grads[n])) for n in names)))


def scale_of(grads: Mapping[str, Array]) -> float:
    """Largest entry of all gradients: what is negligible beside it is rounding."""
    return max((float(np.max(np.abs(g))) for g in grads.values() if g.size), default=0.0)


def is_close(found: Array, right: Array, eps: float, scale: float) -> bool:
    """Tell whether two gradients agree to ``eps`` times the larger of the right one's largest entry and eps * scale.

    Where the right one is 0, what is found is what rounding left of larger numbers that cancel.
    """
    if found.shape != right.shape:
        return False
    largest = float(np.max(np.abs(right))) if right.size else 0.0
    floor = max(10 * eps, 1e-2) if is_rounding(right, scale) else eps
    return bool(np.all(gap(found, right) <= eps * max(largest, floor * scale)))


def is_rounding(right: Array, scale: float) -> bool:
    """Tell whether a gradient in float64 is zero but for rounding."""
    return not right.size or float(np.max(np.abs(right))) <= ROUNDING * scale


def rounded_to(found: Array, right: Array) -> str | None:
    """Name the narrower dtype whose numbers these are, if they are as close to the right ones as it allows."""
    largest = float(np.max(np.abs(right))) if right.size else 0.0
    for dtype in ("float16", "float32"):
        with np.errstate(over="ignore"):
            exact = np.array_equal(found.astype(dtype).astype(np.float64), found)
        if exact and bool(np.all(gap(found, right) <= EPS[dtype] / 10 * largest)):
            return dtype
    return None


def worst(found: Array, right: Array) -> tuple[int, ...]:
    """Say where two gradients differ most."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(gap(found, right))), right.shape))
