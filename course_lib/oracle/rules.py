"""Mistakes in the rule of one operation: what is sent down one edge instead of the right cotangent."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np

from course_lib.oracle.tape import Edge, Send, Tape, add_up

__all__ = ["PRODUCTS", "miscounted", "overwriting", "rescaled", "unmasked", "unreduced", "unselected", "untransposed"]

PERMUTATIONS = ("permute", "transpose", "t", "mt")
PRODUCTS = ("mm", "bmm", "mv", "addmm")
NOTHING = 1e-5  # a row that contributes less cannot be what is left
MEANS = ("mean", "nllloss", "mseloss")
SCATTERS = ("index", "indexselect", "embedding", "gather")
Found = tuple[str, Send, str | None, float]  # words, what is sent, cause, rank


def passed_on(factor: float, arrived: Sequence[Any]) -> Any:
    """Send the cotangent as it came."""
    return factor * add_up(arrived)


def weighted(tape: Tape, edge: Edge, weight: Any, arrived: Sequence[Any]) -> Any:
    """Send what the rule makes of a part, or a multiple, of the cotangent."""
    return tape.vjp(edge, weight * add_up(arrived))


def spread_over(axes: tuple[int, ...], shape: tuple[int, ...], arrived: Sequence[Any]) -> Any:
    """Send the same to all along some axes."""
    return np.broadcast_to(np.expand_dims(add_up(arrived), axes), shape).copy()


def summed(axes: tuple[int, ...], shape: tuple[int, ...], arrived: Sequence[Any]) -> Any:
    """Send a sum over some axes."""
    return add_up(arrived).sum(axes).reshape(shape)


def unmasked(tape: Tape, edge: Edge, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Pass the cotangent on as it came: past a mask, or past any other elementwise derivative."""
    if right.shape != g.shape or op in (*PERMUTATIONS, *PRODUCTS) or np.array_equal(right, g):
        return
    slope = tape.vjp(edge, np.ones_like(g))
    levels = set(np.unique(slope[slope != 0]).tolist())
    masks = bool((slope == 0).any()) and len(levels) == 1
    if masks:
        (level,) = levels
        for factor in {1.0, level}:
            times = "" if factor == 1 else f" times {factor:.4g}"
            shut = int((slope == 0).sum())
            yield (
                f"The cotangent passes through {op} everywhere{times}, though {shut} of {g.size} places are shut.",
                partial(passed_on, factor),
                "missing mask",
                4,
            )
        if level != 1:
            words = f"The mask of {op} is applied, but its factor {level:.4g} is left out."
            yield words, partial(weighted, tape, edge, 1 / level), None, 16
    else:
        yield f"The derivative of {op} is left out.", add_up, None, 20
        if len(levels) == 1:
            (level,) = levels
            words = f"What {op} should multiply by {level:.4g} is divided by it."
            yield words, partial(weighted, tape, edge, 1 / level**2), None, 20.5


def unselected(tape: Tape, edge: Edge, g: Any, right: Any) -> Iterator[Found]:
    """Send the cotangent of a maximum to all that took part, not to the largest alone."""
    slope = tape.vjp(edge, np.ones_like(g))
    if right.size <= g.size or not (slope == 0).any():
        return
    for axes in combinations(range(right.ndim), right.ndim - g.ndim):
        fits = all(n in (1, m) for n, m in zip(np.expand_dims(g, axes).shape, right.shape, strict=True))
        if fits and np.array_equal(spread_over(axes, right.shape, [g]) * slope, right):
            words = "The cotangent of a maximum goes to all, though the largest alone was let through."
            yield words, partial(spread_over, axes, right.shape), "missing mask", 4
            return


def untransposed(node: Any, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Multiply by the matrix instead of its transpose, or the other way round."""
    if op in PERMUTATIONS and right.shape == g.shape and not np.array_equal(right, g):
        yield f"The cotangent passes through {op} without being transposed back.", add_up, "missing transpose", 5
    if op not in PRODUCTS:
        return

    def swap(a: Any, turn: bool) -> Any:
        return np.swapaxes(a, -1, -2) if turn and a.ndim > 1 else a

    for letter, operand in zip("ab", node.saved, strict=False):  # of the product a @ b
        if not isinstance(operand, np.ndarray) or operand.ndim < 2:
            continue
        for first, turn_g, turn_o in [(f, s, t) for f in (0, 1) for s in (0, 1) for t in (0, 1)]:

            def send(arrived: Any, o: Any = operand, first: int = first, s: int = turn_g, t: int = turn_o) -> Any:
                a, b = swap(add_up(arrived), bool(s)), swap(o, bool(t))
                return a @ b if first == 0 else b @ a

            try:
                sent = send([g])
            except ValueError:
                continue
            if sent.shape == right.shape and not np.allclose(sent, right):
                g_, o_ = "g.T" if turn_g else "g", f"{letter}.T" if turn_o else letter
                product = f"{g_} @ {o_}" if first == 0 else f"{o_} @ {g_}"
                yield (
                    f"{product} is sent back through a @ b, where {letter} is {operand.shape}, and its shape fits.",
                    send,
                    "missing transpose",
                    5,
                )


def rescaled(tape: Tape, edge: Edge, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Divide or multiply by the number of things that are summed or averaged."""
    sizes: dict[int, str] = {}
    large: tuple[int, ...] = ()
    if op in PRODUCTS:
        if not tape.parents[tape.parent(edge)]:
            sizes = {n: f"dim {axis} of {g.shape}" for axis, n in enumerate(g.shape) if n > 1}
    elif g.size != right.size:
        undone = right.size < g.size  # a broadcast, else a reduction
        large, axes = (g.shape, gone(right.shape, g.shape)) if undone else (right.shape, reduced(g.shape, right.shape))
        for some in (c for r in range(1, len(large) + 1) for c in combinations(axes, r)):
            sizes.setdefault(prod(large[a] for a in some), f"dim {', '.join(map(str, some))} of {large}")
    for n, what in sizes.items():
        for factor, done in ((float(n), "multiplied by"), (1.0 / n, "divided by")):
            yield (
                f"The cotangent at {op} is {done} {n}, the size of {what}.",
                partial(weighted, tape, edge, factor),
                "mean vs sum",
                3 if n > 2 else 6.5,
            )
    if op in MEANS and large:
        yield from misdivided(tape, edge, op, large[0] if op == "nllloss" else right.size // g.size, large)


def misdivided(tape: Tape, edge: Edge, op: str, due: int, large: tuple[int, ...]) -> Iterator[Found]:
    """Divide a mean by the size of a dimension other than the one that was reduced."""
    for axis, n in enumerate(large):
        factor = due / n
        if n > 1 and factor not in (1.0, float(due)) and due not in (factor, 1):
            whole = max(factor, 1 / factor) % 1 == 0  # an extra factor is as likely
            yield (
                f"What {op} sends is divided by {n}, the size of dim {axis} of {large}, and not by {due}.",
                partial(weighted, tape, edge, factor),
                "mean vs sum",
                21.8 if whole else 3.2,
            )


def gone(small: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """List the axes along which one shape was broadcast to the other; all that could be, if several choices fit."""
    lead = len(large) - len(small)
    kept = [n == 1 or (lead <= a and small[a - lead] == n) for a, n in enumerate(large)]
    stretched = all(n in (1, large[lead + a]) for a, n in enumerate(small))
    return tuple(a for a, n in enumerate(large) if n > 1 and not (stretched and kept[a]))


def reduced(small: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """List the axes that a sum took away; of several choices that fit, the last axes."""
    if len(small) == len(large):
        return gone(small, large)
    for axes in reversed([*combinations(range(len(large)), len(large) - len(small))]):
        if tuple(n for a, n in enumerate(large) if a not in axes) == small:
            return tuple(a for a in axes if large[a] > 1)
    return tuple(a for a, n in enumerate(large) if n > 1)


def miscounted(tape: Tape, edge: Edge, op: str) -> Iterator[Found]:
    """Send the right cotangent twice, halved, or with the other sign."""
    for factor, how in ((2.0, "counted twice"), (0.5, "halved"), (-1.0, "sent with the other sign")):
        yield f"What {op} sends is {how}.", partial(weighted, tape, edge, factor), None, 22


def unreduced(tape: Tape, edge: Edge, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Sum over an axis other than the one that was broadcast."""
    if prod(right.shape) >= prod(g.shape) or op in PRODUCTS:
        return
    lead = g.ndim - right.ndim
    broadcast = {a for a in range(g.ndim) if a < lead or right.shape[a - lead] == 1}
    for axes in combinations(range(g.ndim), len(broadcast)):
        kept = tuple(n for a, n in enumerate(g.shape) if a not in axes)
        if set(axes) != broadcast and prod(kept) == prod(right.shape):
            yield (
                f"What {op} broadcast is summed over axes {axes} of {g.shape}, not {tuple(sorted(broadcast))}.",
                partial(summed, axes, right.shape),
                "missing unbroadcast",
                4.5,
            )


def overwriting(tape: Tape, edge: Edge, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Keep one term of a sum: the last or first row, or one of several with the same index."""
    cause = "overwritten instead of accumulated"
    axes = range(max(1, g.ndim - 1)) if not tape.parents[tape.parent(edge)] and g.ndim else ()
    for axis, (row, word) in product((a for a in axes if g.shape[a] > 1), ((-1, "last"), (0, "first"))):
        mask = np.zeros_like(g)
        np.moveaxis(mask, axis, 0)[row] = 1
        part = np.abs(tape.vjp(edge, mask * g)).max(initial=0)
        if part < NOTHING * np.abs(right).max(initial=0):
            continue  # with nothing in that row it would be a detached path
        what = f"{g.shape[0]} rows" if axis == 0 else f"{g.shape[axis]} along axis {axis} of {g.shape}"
        yield f"Only the {word} of the {what} at {op} counts.", partial(weighted, tape, edge, mask), cause, 6
    if op in SCATTERS and g.size <= 4096:
        yield from reassigned(tape, edge, g, right, op)


def reassigned(tape: Tape, edge: Edge, g: Any, right: Any, op: str) -> Iterator[Found]:
    """Assign to the places that an index takes, so that one of several counts, or their mean."""
    places = [tape.vjp(edge, one.reshape(g.shape)) != 0 for one in np.eye(g.size)]

    def assign(arrived: Sequence[Any], step: int) -> Any:
        out = np.zeros(right.shape)
        for place, entry in [*zip(places, add_up(arrived).ravel(), strict=True)][::step]:
            out[place] = entry
        return out

    for step, word in ((1, "last"), (-1, "first")):
        words = f"Where {op} takes an entry several times, only the {word} counts."
        yield words, partial(assign, step=step), "overwritten instead of accumulated", 6
    times = np.maximum(np.sum(places, axis=0), 1)
    words = f"Where {op} takes an entry several times, the mean counts, not the sum."
    yield words, lambda arrived: tape.vjp(edge, add_up(arrived)) / times, "mean vs sum", 6.6
