"""Describe a wrong gradient that no known bug gives."""

import numpy as np

from course_lib.oracle.closeness import EPS, find_rounded_dtype
from course_lib.oracle.diagnosis.comparison import Comparison

__all__ = ["describe_gradient"]

MOST_SLICES, FEW_SLICES = 256, 12  # compared, written out
PARALLEL = 0.999  # cosine


def describe_gradient(name: str, comparison: Comparison) -> str:
    """Describe how a wrong gradient differs, where no known bug gives its numbers."""
    wrong, right = comparison.found[name], comparison.right[name]
    if wrong.shape != right.shape:
        return "The shape is wrong, and neither a sum nor another order of its axes gives the right gradient."
    if not np.isfinite(wrong).all():
        return f"{int((~np.isfinite(wrong)).sum())} of {wrong.size} entries are not finite."
    if not np.isfinite(right).all():
        return f"{int((~np.isfinite(right)).sum())} of {right.size} entries of the right gradient are not finite."
    if dtype := find_rounded_dtype(wrong, right):
        return f"Its entries are {dtype} numbers, and as exact as {dtype} allows. Compute them in float64."
    if factor := comparison.factor(name):
        return f"Every entry is {factor:.6g} times the right one, and no size in this network is that number."
    return (
        _describe_total(name, comparison)
        or _describe_holes(name, comparison)
        or _describe_order(name, comparison)
        or _describe_entries(name, comparison)
    )


def _describe_total(name: str, comparison: Comparison) -> str | None:
    """Describe entries that all hold the sum of all."""
    wrong, right = comparison.found[name], comparison.right[name]
    if right.size > 1 and comparison.is_same(name, wrong, np.full_like(right, right.sum())):
        return "Each entry is the sum of all the right ones: it is summed over more axes than were broadcast."
    return None


def _describe_holes(name: str, comparison: Comparison) -> str | None:
    """Describe wrong entries that are all zero."""
    wrong, right = comparison.found[name], comparison.right[name]
    holes = (wrong == 0) & (right != 0)
    if not comparison.is_same(name, np.where(holes, right, wrong), right):
        return None
    return f"It is right but for {int(holes.sum())} of {holes.size} entries, which are 0: nothing arrives there."


def _describe_order(name: str, comparison: Comparison) -> str | None:
    """Describe the order of rows, columns or other slices, if only their order is wrong."""
    wrong, right = comparison.found[name], comparison.right[name]
    for axis, n in enumerate(wrong.shape):
        rows, wanted = (np.moveaxis(a, axis, 0) for a in (wrong, right))
        if not 1 < n <= MOST_SLICES or not wanted.any():
            continue
        nearest = [int(np.argmin([np.abs(row - w).max() for w in wanted])) for row in rows]
        if sorted(nearest) == list(range(n)) and comparison.is_same(name, rows, wanted[nearest]):
            order = f"the order {nearest}" if n <= FEW_SLICES else "another order"
            return f"Along axis {axis} it holds the right entries, but in {order}."
    return None


def _describe_entries(name: str, comparison: Comparison) -> str:
    """Count the entries that differ, and measure the angle to the right gradient."""
    wrong, right, eps = comparison.found[name], comparison.right[name], comparison.eps[name]
    differs = np.abs(wrong - right) > eps * max(float(np.max(np.abs(right))), 1e-300)
    cosine = float(np.sum(wrong * right)) / float(np.linalg.norm(wrong) * np.linalg.norm(right) or 1)
    text = f"{int(differs.sum())} of {differs.size} entries differ"
    text += f"; the cosine between found and right is {cosine:.4g}."
    if eps > EPS["float32"] and cosine > PARALLEL:
        return f"{text} The gradient has 16 bits, where rounding alone may open or close a ReLU. Repeat it in float32."
    return f"{text} No known mistake gives these numbers."
