"""Mistakes where paths meet: one cotangent overwrites the others, or the sum is sent on before it is complete."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    for some, where in [*(([k], f"at {tape.name(k)}") for k in joins), (list(joins), "wherever paths meet")]:
        yield from one_kept(tape, some, where, joins)
        yield from counted_twice(tape, some, where, joins)
        yield from sent_early(tape, some, where, joins)


def one_kept(tape: Tape, some: list[int], where: str, joins: Mapping[int, Any]) -> Iterator[Mistake]:
    """Keep the last, which overwrote what arrived before, or another, whose fellows were lost on their paths."""
    most = max((len(joins[k]) for k in some), default=0)
    for k in range(most):
        last = k == most - 1
        merges = {j: (lambda arrived, k=k: arrived[min(k, len(arrived) - 1)]) for j in some}
        words = f"Of {most} cotangents that arrive {where}, only {'the last' if last else f'number {k + 1}'} is kept."
        leaf = len(some) == 1 and not tape.parents[some[0]]
        cause = "overwritten instead of accumulated" if last or leaf else "detached path"
        grads = tape.walk(merges=merges)
        yield Mistake(cause, words, grads, 6 if last else 8.5)
        if not last and not leaf:  # who goes through the paths in another order overwrites in another, too
            yield Mistake("overwritten instead of accumulated", words, grads, 8.6)


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
