"""Suspect bugs that show in one tensor at a time: its axes, its shape, its sign, or another tensor's gradient."""

from collections.abc import Iterator
from itertools import permutations

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.diagnosis.comparison import Comparison, Suspect

__all__ = ["suspect_tensors"]


def suspect_tensors(comparison: Comparison) -> Iterator[Suspect]:
    """Look at each wrong gradient by itself."""
    for kind, explain in (
        (BugKind.AXIS_NOT_SUMMED, _explain_by_sum),
        (BugKind.AXES_PERMUTED, _explain_by_permutation),
        (BugKind.RESHAPED, _explain_by_shape),
        (BugKind.GRADIENTS_SWAPPED, _explain_by_other_tensor),
        (BugKind.ZERO_EVERYWHERE, _explain_by_zeros),
        (BugKind.SIGN_FLIPPED, _explain_by_sign),
    ):
        words = {name: said for name in comparison.differing if (said := explain(name, comparison))}
        if words:
            yield Suspect(kind, next(iter(words.values())), tuple(words))


def _explain_by_sum(name: str, comparison: Comparison) -> str | None:
    """Sum over leading and broadcast axes."""
    wrong, right = comparison.found[name], comparison.right[name]
    if wrong.shape == right.shape or wrong.ndim < right.ndim:
        return None
    lead = wrong.ndim - right.ndim
    axes = tuple(a for a in range(wrong.ndim) if a < lead or right.shape[a - lead] != wrong.shape[a])
    if any(a >= lead and right.shape[a - lead] != 1 for a in axes):
        return None
    if not comparison.is_same(name, wrong.sum(axes).reshape(right.shape), right):
        return None
    return f"Summed over axes {axes}, which were broadcast, it is the right gradient."


def _explain_by_permutation(name: str, comparison: Comparison) -> str | None:
    """Permute the axes."""
    wrong, right = comparison.found[name], comparison.right[name]
    if wrong.ndim != right.ndim or wrong.ndim < 2 or wrong.ndim > 4:
        return None
    for axes in permutations(range(wrong.ndim)):
        if axes != tuple(range(wrong.ndim)) and comparison.is_same(name, wrong.transpose(axes), right):
            return f"With its axes in the order {axes} it is the right gradient."
    return None


def _explain_by_shape(name: str, comparison: Comparison) -> str | None:
    """Reshape the entries."""
    wrong, right = comparison.found[name], comparison.right[name]
    if wrong.shape == right.shape or wrong.size != right.size or _explain_by_sum(name, comparison):
        return None
    if not comparison.is_same(name, wrong.reshape(right.shape), right):
        return None
    return f"Its entries are right, but their shape is not: reshape it to {right.shape}."


def _explain_by_other_tensor(name: str, comparison: Comparison) -> str | None:
    """Look for the right gradient of another tensor, unless that one has its own."""
    found, right = comparison.found, comparison.right
    for other in comparison.names:
        if other == name or (other in found and comparison.is_same(other, found[other], right[other])):
            continue
        if right[other].any() and comparison.is_same(name, found[name], right[other]):
            return f"It is the right gradient of {other}: results are returned in another order."
    return None


def _explain_by_zeros(name: str, comparison: Comparison) -> str | None:
    """Look for a gradient that did not arrive."""
    wrong = comparison.found[name]
    if wrong.any() or wrong.shape != comparison.right[name].shape:
        return None
    return "It is zero everywhere: no cotangent arrives."


def _explain_by_sign(name: str, comparison: Comparison) -> str | None:
    """Flip the sign."""
    if not comparison.is_same(name, -comparison.found[name], comparison.right[name]):
        return None
    return "It is the right gradient with the other sign."
