"""Plant bugs in sums and means: a wrong divisor, a wrong axis, one row kept of many, a factor at one operation."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product
from math import prod

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.edge_bug import MATRIX_PRODUCTS, BackwardStep, EdgeBug
from course_lib.oracle.planted_bugs.replay import sum_cotangents
from course_lib.types import Array

__all__ = ["wrong_reductions"]

NEGLIGIBLE = 1e-5  # a row that contributes less cannot be what is left
MEANS = ("mean", "nllloss", "mseloss")
GATHERS = ("index", "indexselect", "embedding", "gather")
MOST_GATHERED = 4096  # entries; each is sent back by itself to see where it goes
_Shape = tuple[int, ...]


def wrong_reductions(step: BackwardStep) -> Iterator[EdgeBug]:
    """Yield wrong divisors, axes and counts of what one operation sends."""
    yield from _scale_by_size(step)
    yield from _sum_over_wrong_axis(step)
    yield from _keep_one_row(step)
    if step.op in GATHERS and step.upstream.size <= MOST_GATHERED:
        yield from _assign_gathered(step)
    yield from _miscount(step)


def _scale_by_size(step: BackwardStep) -> Iterator[EdgeBug]:
    """Divide or multiply by the number of entries that are summed or averaged."""
    g, right = step.upstream, step.downstream
    sizes: dict[int, str] = {}
    large: _Shape = ()
    if step.op in MATRIX_PRODUCTS:
        if step.leads_to_leaf:
            sizes = {n: f"dim {axis} of {g.shape}" for axis, n in enumerate(g.shape) if n > 1}
    elif g.size != right.size:
        large, axes = (
            (g.shape, _broadcast_axes(right.shape, g.shape))  # a broadcast, else a reduction
            if right.size < g.size
            else (right.shape, _reduced_axes(g.shape, right.shape))
        )
        for some in (c for r in range(1, len(large) + 1) for c in combinations(axes, r)):
            sizes.setdefault(prod(large[a] for a in some), f"dim {', '.join(map(str, some))} of {large}")
    for n, what in sizes.items():
        kind = BugKind.AVERAGED_OR_SUMMED if n > 2 else BugKind.AVERAGED_OR_SUMMED_TWO
        for factor, done in ((float(n), "multiplied by"), (1.0 / n, "divided by")):
            words = f"The cotangent at {step.op} is {done} {n}, the size of {what}."
            yield step.scaled_bug(kind, words, factor, "scaled by size", factor)
    if step.op in MEANS and large:
        yield from _divide_by_other_size(step, large[0] if step.op == "nllloss" else right.size // g.size, large)


def _divide_by_other_size(step: BackwardStep, due: int, large: _Shape) -> Iterator[EdgeBug]:
    """Divide a mean by the size of a dimension other than the one that was reduced."""
    for axis, n in enumerate(large):
        factor = due / n
        if n > 1 and factor not in (1.0, float(due)) and due not in (factor, 1):
            is_whole = max(factor, 1 / factor) % 1 == 0
            kind = BugKind.AVERAGED_OVER_WRONG_AXIS_BY_WHOLE_FACTOR if is_whole else BugKind.AVERAGED_OVER_WRONG_AXIS
            words = f"What {step.op} sends is divided by {n}, the size of dim {axis} of {large}, and not by {due}."
            yield step.scaled_bug(kind, words, factor, "divided by other size", n)


def _broadcast_axes(small: _Shape, large: _Shape) -> tuple[int, ...]:
    """List the axes along which one shape was broadcast to the other; all that could be, if several choices fit."""
    lead = len(large) - len(small)
    kept = [n == 1 or (lead <= a and small[a - lead] == n) for a, n in enumerate(large)]
    stretched = all(n in (1, large[lead + a]) for a, n in enumerate(small))
    return tuple(a for a, n in enumerate(large) if n > 1 and not (stretched and kept[a]))


def _reduced_axes(small: _Shape, large: _Shape) -> tuple[int, ...]:
    """List the axes that a sum took away; of several choices that fit, the last axes."""
    if len(small) == len(large):
        return _broadcast_axes(small, large)
    for axes in reversed([*combinations(range(len(large)), len(large) - len(small))]):
        if tuple(n for a, n in enumerate(large) if a not in axes) == small:
            return tuple(a for a in axes if large[a] > 1)
    return tuple(a for a, n in enumerate(large) if n > 1)


def _sum_over_wrong_axis(step: BackwardStep) -> Iterator[EdgeBug]:
    """Sum over an axis other than the one that was broadcast."""
    g, right = step.upstream, step.downstream
    if prod(right.shape) >= prod(g.shape) or step.op in MATRIX_PRODUCTS:
        return
    lead = g.ndim - right.ndim
    broadcast = {a for a in range(g.ndim) if a < lead or right.shape[a - lead] == 1}
    for axes in combinations(range(g.ndim), len(broadcast)):
        kept = tuple(n for a, n in enumerate(g.shape) if a not in axes)
        if set(axes) != broadcast and prod(kept) == prod(right.shape):
            due = tuple(sorted(broadcast))
            words = f"What {step.op} broadcast is summed over axes {axes} of {g.shape}, not {due}."
            send = partial(_sum_over, axes, right.shape)
            yield step.bug(BugKind.WRONG_AXIS_SUMMED, words, send, "summed over", axes)


def _sum_over(axes: tuple[int, ...], shape: _Shape, arrived: Sequence[Array]) -> Array:
    """Sum the cotangent over some axes."""
    summed: Array = sum_cotangents(arrived).sum(axes)
    return summed.reshape(shape)


def _keep_one_row(step: BackwardStep) -> Iterator[EdgeBug]:
    """Keep the last or the first term of a sum over rows, as a loop over examples without += does."""
    g, right = step.upstream, step.downstream
    axes = range(max(1, g.ndim - 1)) if step.leads_to_leaf and g.ndim else ()
    for axis, (row, word) in product((a for a in axes if g.shape[a] > 1), ((-1, "last"), (0, "first"))):
        mask = np.zeros_like(g)
        np.moveaxis(mask, axis, 0)[row] = 1
        kept = np.abs(step.tape.vjp(step.edge, mask * g)).max(initial=0)
        if kept < NEGLIGIBLE * np.abs(right).max(initial=0):
            continue  # with nothing in that row it would be a detached path
        what = f"{g.shape[0]} rows" if axis == 0 else f"{g.shape[axis]} along axis {axis} of {g.shape}"
        words = f"Only the {word} of the {what} at {step.op} counts."
        yield step.scaled_bug(BugKind.ONE_KEPT, words, mask, "row kept", row, axis, g.shape[axis], g.shape[0])


def _assign_gathered(step: BackwardStep) -> Iterator[EdgeBug]:
    """Assign to the places that an index takes, so that one of several counts, or their mean."""
    tape, edge, shape = step.tape, step.edge, step.upstream.shape
    places = [tape.vjp(edge, one.reshape(shape)) != 0 for one in np.eye(step.upstream.size)]

    def assign(arrived: Sequence[Array], order: int) -> Array:
        out = np.zeros(step.downstream.shape)
        for place, entry in [*zip(places, sum_cotangents(arrived).ravel(), strict=True)][::order]:
            out[place] = entry
        return out

    for order, word in ((1, "last"), (-1, "first")):
        words = f"Where {step.op} takes an entry several times, only the {word} counts."
        yield step.bug(BugKind.ONE_KEPT, words, partial(assign, order=order), "gathered", word)
    times = np.maximum(np.sum(places, axis=0), 1)
    words = f"Where {step.op} takes an entry several times, the mean counts, not the sum."
    yield step.bug(
        BugKind.INDEX_AVERAGED, words, lambda arrived: tape.vjp(edge, sum_cotangents(arrived)) / times, "gathered mean"
    )


def _miscount(step: BackwardStep) -> Iterator[EdgeBug]:
    """Send the right cotangent twice, halved, or with the other sign."""
    for factor, how in ((2.0, "counted twice"), (0.5, "halved"), (-1.0, "sent with the other sign")):
        yield step.scaled_bug(BugKind.MISCOUNTED, f"What {step.op} sends is {how}.", factor, "miscounted", factor)
