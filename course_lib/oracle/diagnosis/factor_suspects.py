"""Suspect bugs that multiply all gradients by one factor: a mean for a sum, a loss scale, a wrong clip."""

from collections.abc import Iterator
from itertools import combinations, product
from math import prod

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.closeness import global_norm
from course_lib.oracle.diagnosis.comparison import Comparison, Suspect

__all__ = ["suspect_clipping", "suspect_factors"]

MOST_PASSES = 16  # more are not added up by mistake
LEAST_NORM = 0.1  # a smaller global norm is no sign of a clip
LEAST_SCALE = 128  # a smaller factor is no sign of a loss scale
USUAL_SCALES = (
    *(2.0**k for k in (16, 15, 14, 13, 12, 11, 10, 9, 8, *range(17, 25), *range(7, 0, -1))),
    *(10.0**k for k in range(2, 7)),
)
USUAL_NORMS = (
    *(1.0, 0.5, 5.0, 0.1, 2.0, 10.0, 0.25, 0.2, 0.3, 0.4, 0.6, 0.7, 0.75),
    *(0.8, 0.9, 1.5, 3.0, 4.0, 15.0, 20.0, 0.05, 0.01),
)


def suspect_factors(comparison: Comparison) -> Iterator[Suspect]:
    """Suspect a loss scale, a mean or added passes, if one factor is between all wrong gradients and the right ones."""
    factors = [comparison.factor(name) for name in comparison.differing]
    factor, eps = factors[0], max(comparison.eps.values())
    if factor is None or any(f is None or abs(f / factor - 1) > eps for f in factors):
        return
    nonzero = {n for n in comparison.found if comparison.right[n].any()}
    concerns_all = nonzero <= set(comparison.differing)
    yield from _suspect_loss_scale(factor, comparison, eps)
    if concerns_all:
        yield from _suspect_early_clip(factor, comparison, eps)
    yield from _suspect_mean(factor, comparison, eps)
    passes = round(factor)
    if 2 <= passes <= MOST_PASSES and concerns_all and abs(factor / passes - 1) <= eps:
        words = f"All gradients are {passes} times the right ones: one factor too many, or {passes} passes added up."
        yield Suspect(BugKind.PASSES_ADDED_UP, words, tuple(comparison.differing))


def _suspect_loss_scale(factor: float, comparison: Comparison, eps: float) -> Iterator[Suspect]:
    """Compare the factor with the loss scale that was passed."""
    scale, differing = comparison.loss_scale or 1.0, comparison.differing
    for wrong, done in ((scale, "is still in {}"), (1 / scale, "was divided out of {} twice")) if scale != 1 else ():
        if abs(factor / wrong - 1) <= eps:
            these = "all gradients" if set(differing) == set(comparison.found) else ", ".join(differing)
            words = f"The loss scale, {scale:g}, {done.format(these)}."
            yield Suspect(BugKind.LOSS_SCALE_LEFT, words, tuple(differing))


def _suspect_early_clip(factor: float, comparison: Comparison, eps: float) -> Iterator[Suspect]:
    """Clip to max_norm while the loss scale is still in, then divide by it: the norm is max_norm / scale."""
    same, size = tuple(comparison.differing), global_norm(comparison.found, _learned(comparison))
    for limit in USUAL_NORMS if comparison.max_norm is None else ():
        if abs(size / limit - 1) <= eps and limit >= LEAST_NORM:
            words = f"The global norm is {limit:g}, as if clipped to it. If that is meant, pass max_norm={limit:g}."
            yield Suspect(BugKind.CLIPPED_TO_UNKNOWN_LIMIT, words, same)
            return
    scales = USUAL_SCALES if comparison.loss_scale is None else (comparison.loss_scale,)
    limits = USUAL_NORMS if comparison.max_norm is None else (comparison.max_norm,)
    for limit, scale in product(limits, scales):
        if abs(size * scale / limit - 1) <= eps and factor < 1:
            words = (
                f"The direction is right, but the global norm is {size:.4g} = {limit:g} / {scale:g}: clipped to "
                f"{limit:g} with the loss scale {scale:g} still in the gradients, then divided by it. "
                f"Unscale, then clip." + ("" if comparison.loss_scale else " (Others with that quotient would do too.)")
            )
            yield Suspect(BugKind.CLIPPED_BEFORE_UNSCALED, words, same)
            return
    for scale in scales:
        if abs(factor / scale - 1) <= eps and scale >= LEAST_SCALE:
            words = f"All are {scale:g} times too large: the loss scale was not divided out."
            yield Suspect(BugKind.LOSS_NOT_UNSCALED, words, same)


def _suspect_mean(factor: float, comparison: Comparison, eps: float) -> Iterator[Suspect]:
    """Compare the factor with the sizes that a mean could have divided by."""
    kind = BugKind.FACTOR_IS_RESULT_SIZE if comparison.tape else BugKind.FACTOR_IS_INPUT_SIZE
    for n, what in _name_sizes(comparison).items():
        for size, done in ((float(n), "multiplied by"), (1 / n, "divided by")):
            if abs(factor / size - 1) <= eps:
                words = f"All gradients that differ are {done} {n}, which is {what}."
                yield Suspect(kind, words, tuple(comparison.differing))


def _name_sizes(comparison: Comparison) -> dict[int, str]:
    """Name the sizes that a mean could have divided by: axes of results, or, if these are not known, of inputs."""
    sizes: dict[int, str] = {}
    right, tape = comparison.right, comparison.tape
    shapes = {f"{name} {right[name].shape}": right[name].shape for name in comparison.names}
    if tape:  # a mean over an axis that only weights have is not a mean over results
        leaves = set(tape.leaves.values())
        of_results = [arrived[0].shape for k, arrived in tape.arrived.items() if k not in leaves]
        shapes = {f"a result {shape}": shape for shape in dict.fromkeys(of_results)}
    for r, (said, shape) in product((1, 2, 3), shapes.items()):
        for some in combinations([a for a, n in enumerate(shape) if n > 1], r):
            sizes.setdefault(prod(shape[a] for a in some), f"axis {', '.join(map(str, some))} of {said}")
    return sizes


def suspect_clipping(comparison: Comparison) -> Iterator[Suspect]:
    """Suspect a clip of each gradient by itself, no clip, or one by another power of the norm."""
    yield from _suspect_separate_clips(comparison)
    if comparison.max_norm is not None:
        yield from _suspect_missing_clip(comparison, comparison.max_norm)


def _suspect_separate_clips(comparison: Comparison) -> Iterator[Suspect]:
    """Clip each gradient by its own norm, or its entries."""
    found, same, raw = comparison.found, tuple(comparison.differing), comparison.right_before_clipping
    raw = comparison.right if raw is None else raw
    names = [n for n in found if n in raw and found[n].shape == raw[n].shape and found[n].size]
    if not set(same) <= set(names) or not all(np.isfinite(found[n]).all() for n in names):
        return
    norms = [global_norm(found, [n]) for n in names]
    if not any(norms):  # all are zero, which clipping cannot cause
        return
    limit = comparison.max_norm or max(norms)
    apart = {n: raw[n] * min(1.0, limit / (global_norm(raw, [n]) or limit)) for n in names}
    at_limit = sum(abs(size / limit - 1) < 1e-6 for size in norms)
    if at_limit > 1 and all(comparison.is_same(n, found[n], apart[n]) for n in names):
        words = (
            f"Each gradient is clipped to {limit:.4g} by its own norm. Clip all of them by the norm of all together."
        )
        yield Suspect(BugKind.CLIPPED_SEPARATELY, words, same)
    limit = max(float(np.max(np.abs(found[n]))) for n in names)
    at_limit = sum(int((np.abs(found[n]) >= limit * (1 - 1e-9)).sum()) for n in names)
    if at_limit > 1 and all(comparison.is_same(n, found[n], np.clip(raw[n], -limit, limit)) for n in names):
        words = f"Each entry is cut to between {-limit:.4g} and {limit:.4g}: clipped by value."
        yield Suspect(BugKind.CLIPPED_SEPARATELY, words, same)


def _suspect_missing_clip(comparison: Comparison, limit: float) -> Iterator[Suspect]:
    """Do not clip at all, clip even below the limit, or by another power of the norm."""
    raw, found = comparison.right_before_clipping, comparison.found
    if raw is None:
        return
    names = [n for n in found if n in raw and found[n].shape == raw[n].shape]
    size = global_norm(raw, [n for n in comparison.learned if n in raw])
    for factor, words in (
        (1.0, f"They are right, but for the clipping: their global norm is {size:.4g}, and max_norm is {limit:g}."),
        (limit / (size or 1), f"A norm of {size:.4g} is enlarged to {limit:g}: scale by min(1, max_norm / norm)."),
        (limit / (size**2 or 1), "They are scaled by max_norm over the square of the norm: its root is missing."),
        (limit / (size + 1e-6), "They are right, but for the 1e-6 that is added to the norm, as in PyTorch."),
    ):
        if names and all(comparison.is_same(n, found[n], raw[n] * factor) for n in names):
            yield Suspect(BugKind.NOT_CLIPPED, words, tuple(comparison.differing))
            return


def _learned(comparison: Comparison) -> list[str]:
    """List the tensors found whose gradients count for the norm."""
    return [n for n in comparison.learned if n in comparison.found]
