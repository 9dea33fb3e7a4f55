"""Mistakes where paths meet: one cotangent overwrites the others, or their sum is not what is sent on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from course_lib.oracle.engines import Arrays
from course_lib.oracle.tape import Edge, Send, Tape, add_up

__all__ = ["Mistake", "at_joins"]


@dataclass(frozen=True)
class Mistake:
    """What comes of a mistake.

    Attributes
    ----------
    cause : str or None
        One of the known causes, or None for a mistake that has no name among them.
    words : str
        What was done, and where.
    grads : dict of str to array
    rank : float
        Among mistakes that make the same numbers, the lowest is the likeliest.
    """

    cause: str | None
    words: str
    grads: Arrays
    rank: float


def at_joins(tape: Tape) -> Iterator[Mistake]:
    """Where paths meet: keep one of the cotangents, or send them on before all have arrived."""
    joins = {k: arrived for k, arrived in tape.arrived.items() if sum(bool(np.any(g)) for g in arrived) > 1}
    leaves = [k for k, arrived in joins.items() if not tape.parents[k] and overlap(arrived)]
    groups = [(leaves, "at the leaves")] if 1 < len(leaves) < len(joins) else []
    for some, where in [
        *(([k], f"at {tape.name(k)}") for k in joins),
        (list(joins), "wherever paths meet"),
        *groups,
    ]:
        yield from one_kept(tape, some, where, joins)
        yield from patched(tape, some, where, joins)
        yield from counted_twice(tape, some, where, joins)
        yield averaged(tape, some, where, joins)
        yield from sent_early(tape, some, where, joins)


def overlap(arrived: Sequence[Any]) -> bool:
    """Whether two cotangents are non-zero at the same entry; those of slices that do not overlap are not."""
    return bool(np.any(sum((g != 0).astype(int) for g in arrived) > 1))


def one_kept(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Iterator[Mistake]:
    """Keep one: the last, which may have overwritten the others, or another, where the rest were lost on their paths.

    With two, the numbers cannot tell which it was. With more, losing all but the last is overwriting.
    """
    most = max((len(joins[k]) for k in some), default=0)
    for k in range(most):
        last = k == most - 1
        merges = {j: (lambda arrived, k=k: arrived[min(k, len(arrived) - 1)]) for j in some}
        grads = tape.walk(merges=merges)
        words = f"Of {most} cotangents that arrive {where}, only {'the last' if last else f'number {k + 1}'} is kept."
        backward = k == 0 and most > 2 and len(some) == 1 and not tape.parents[some[0]]
        # the first of many is kept by a loop that overwrites and runs the other way
        yield Mistake("overwritten instead of accumulated", words, grads, 6 if last else 8.4 if backward else 8.6)
        yield Mistake("detached path", lost(tape, some, k, words), grads, 6 if last and most == 2 else 8.5)


def patched(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Iterator[Mistake]:
    """Write each cotangent over the entries of those before it, as windows that overlap do."""
    if not any(np.any(g == 0) for k in some for g in joins[k]):
        return

    def write(arrived: Sequence[Any], step: int) -> Any:
        out = np.zeros(())
        for g in arrived[::step]:
            out = np.where(g != 0, g, out)
        return out

    for step, word in ((1, "last"), (-1, "first")):  # the first, if the paths are visited the other way round
        words = f"Of the cotangents that arrive {where}, each entry keeps the {word} that is not 0."
        grads = tape.walk(merges=dict.fromkeys(some, partial(write, step=step)))
        yield Mistake("overwritten instead of accumulated", words, grads, 6.3)


def lost(tape: Tape, some: list[int], k: int, words: str) -> str:
    """Name the other path where there are two."""
    sources = [edge[0] for edge in tape.edges() if tape.parent(edge) == some[0]] if some else []
    if len(some) != 1 or len(sources) != 2:
        return words
    source = sources[1 - k]
    shape = tape.arrived[source][0].shape
    return f"Nothing is sent from {tape.name(source)} {shape} to {tape.name(some[0])}."


def averaged(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Mistake:
    """Divide the sum by the number of its terms."""
    most = max((len(joins[k]) for k in some), default=0)
    merges = {j: (lambda arrived: add_up(arrived) / len(arrived)) for j in some}
    words = f"The {most} cotangents that arrive {where} are averaged, not added."
    return Mistake("mean vs sum", words, tape.walk(merges=merges), 7 if most > 2 else 22.5)


def counted_twice(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Iterator[Mistake]:
    """Add one of the cotangents once more than it arrives."""
    most = max((len(joins[k]) for k in some), default=0)
    for k in range(most):
        merges = {j: (lambda arrived, k=k: add_up([*arrived, *arrived[k : k + 1]])) for j in some}
        words = f"Of {most} cotangents that arrive {where}, number {k + 1} is added twice."
        yield Mistake(None, words, tape.walk(merges=merges), 22)


def sent_early(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Iterator[Mistake]:
    """Send on what has arrived so far: once, or again at every arrival."""
    below = {j: [(j, i) for i, p in enumerate(tape.parents[j]) if p is not None and tape.parents[p]] for j in some}
    if not any(below.values()):
        return
    most = max(len(joins[j]) for j in some)
    for k in range(1, most):
        sends = {e: early(tape, e, k) for j in some for e in below[j]}
        words = f"What arrives {where} is sent on when {k} of {most} cotangents are there."
        yield Mistake("wrong order", words, tape.walk(sends), 9)
    sends = {e: resent(tape, e) for j in some for e in below[j]}
    yield Mistake("wrong order", f"What arrives {where} is sent on again at each arrival.", tape.walk(sends), 7)


def early(tape: Tape, edge: Edge, k: int) -> Send:
    """Send the sum of the first k."""
    return lambda arrived: tape.vjp(edge, add_up(arrived[:k]))


def resent(tape: Tape, edge: Edge) -> Send:
    """Send each partial sum."""
    return lambda arrived: tape.vjp(edge, add_up([add_up(arrived[: k + 1]) for k in range(len(arrived))]))
