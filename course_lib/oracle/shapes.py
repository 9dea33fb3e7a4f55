"""Mistakes that show in one tensor at a time: axes in another order, not summed, or another tensor's gradient."""

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from course_lib.oracle.closeness import is_rounding

if TYPE_CHECKING:
    from course_lib.oracle.diagnosis import Case

__all__ = ["holed", "ratio", "reordered", "reshaped", "totalled"]

MOST_SLICES, FEW_SLICES = 256, 12

Found = tuple[str | None, str, tuple[str, ...], float]


def reshaped(differing: list[str], case: "Case") -> Iterator[Found]:
    """Look at each wrong gradient by itself."""
    for test in (unsummed, turned, refitted, swapped, absent, flipped):
        words = {name: said for name in differing if (said := test(name, case))}
        if words:
            cause, text, rank = next(iter(words.values()))
            yield cause, text, tuple(words), rank


def unsummed(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """Summed to the right shape, it is the right gradient."""
    wrong, right = case.found[name], case.right[name]
    if wrong.shape == right.shape or wrong.ndim < right.ndim:
        return None
    lead = wrong.ndim - right.ndim
    axes = tuple(a for a in range(wrong.ndim) if a < lead or right.shape[a - lead] != wrong.shape[a])
    if any(a >= lead and right.shape[a - lead] != 1 for a in axes):
        return None
    if not case.same(name, wrong.sum(axes).reshape(right.shape), right):
        return None
    return "missing unbroadcast", f"Summed over axes {axes}, which were broadcast, it is the right gradient.", 0


def turned(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """Another order of the axes gives the right gradient."""
    wrong, right = case.found[name], case.right[name]
    if wrong.ndim != right.ndim or wrong.ndim < 2 or wrong.ndim > 4:
        return None
    for axes in permutations(range(wrong.ndim)):
        if axes != tuple(range(wrong.ndim)) and case.same(name, wrong.transpose(axes), right):
            return "missing transpose", f"With its axes in the order {axes} it is the right gradient.", 0.5
    return None


def refitted(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """The entries are right, in another shape."""
    wrong, right = case.found[name], case.right[name]
    if wrong.shape == right.shape or wrong.size != right.size or unsummed(name, case):
        return None
    if not case.same(name, wrong.reshape(right.shape), right):
        return None
    return None, f"Its entries are right, but their shape is not: reshape it to {right.shape}.", 0.6


def swapped(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """It is the right gradient of something else."""
    wrong = case.found[name]
    for other in case.names:
        if other == name or (other in case.found and case.same(other, case.found[other], case.right[other])):
            continue  # what is in its own place was not mixed up with this
        if case.right[other].any() and case.same(name, wrong, case.right[other]):
            return "wrong order", f"It is the right gradient of {other}: results are returned in another order.", 0.7
    return None


def absent(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """Nothing arrived."""
    wrong = case.found[name]
    if wrong.any() or wrong.shape != case.right[name].shape:
        return None
    return "detached path", "It is zero everywhere: no cotangent arrives.", 1


def flipped(name: str, case: "Case") -> tuple[str | None, str, float] | None:
    """The sign is wrong."""
    if not case.same(name, -case.found[name], case.right[name]):
        return None
    return None, "It is the right gradient with the other sign.", 15


def reordered(name: str, case: "Case") -> str | None:
    """Say which order rows, columns or other slices are in, if only their order is wrong."""
    wrong, right = case.found[name], case.right[name]
    for axis, n in enumerate(wrong.shape):
        rows, wanted = (np.moveaxis(a, axis, 0) for a in (wrong, right))
        if not 1 < n <= MOST_SLICES or not wanted.any():
            continue
        nearest = [int(np.argmin([np.abs(row - w).max() for w in wanted])) for row in rows]
        if sorted(nearest) == list(range(n)) and case.same(name, rows, wanted[nearest]):
            order = f"the order {nearest}" if n <= FEW_SLICES else "another order"
            return f"Along axis {axis} it holds the right entries, but in {order}."
    return None


def holed(name: str, case: "Case") -> str | None:
    """Say if all the wrong entries are zero."""
    wrong, right = case.found[name], case.right[name]
    holes = (wrong == 0) & (right != 0)
    if not case.same(name, np.where(holes, right, wrong), right):
        return None
    return f"It is right but for {int(holes.sum())} of {holes.size} entries, which are 0: nothing arrives there."


def totalled(name: str, case: "Case") -> str | None:
    """Say if each entry holds the sum of all of them."""
    wrong, right = case.found[name], case.right[name]
    if right.size > 1 and case.same(name, wrong, np.full_like(right, right.sum())):
        return "Each entry is the sum of all the right ones: it is summed over more axes than were broadcast."
    return None


def ratio(name: str, case: "Case") -> float | None:
    """Find the one factor between found and right, if there is one."""
    wrong, right = case.found[name], case.right[name]
    size = float(np.sum(right * right))
    if wrong.shape != right.shape or is_rounding(right, case.scale) or not np.isfinite(wrong).all():
        return None
    factor = float(np.sum(wrong * right)) / size
    return factor if factor and case.same(name, wrong / factor, right) else None
