"""Plant bugs where paths meet: one cotangent overwrites the others, or an incomplete sum is sent on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.replay import Edge, Merge, PlantedBug, Send, Tape, sum_cotangents
from course_lib.types import Array

__all__ = ["accumulate_wrongly"]


@dataclass(frozen=True)
class _Joins:
    """Nodes at which several cotangents arrive, and where in the graph they are, for the reader."""

    tape: Tape
    nodes: list[int]
    where: str

    @property
    def most(self) -> int:
        """Return the largest number of cotangents that arrive at one of the nodes."""
        return max((len(self.tape.arrived[k]) for k in self.nodes), default=0)

    def merge(self, kind: BugKind, words: str, merge: Merge) -> PlantedBug:
        """Merge the cotangents of all the nodes otherwise than by adding them up."""
        return PlantedBug(kind, words, self.tape.replay(merges=dict.fromkeys(self.nodes, merge)))


def accumulate_wrongly(tape: Tape) -> Iterator[PlantedBug]:
    """Keep one of the cotangents that arrive, average them, or send them on before all have arrived."""
    joins = [k for k, arrived in tape.arrived.items() if sum(bool(np.any(g)) for g in arrived) > 1]
    leaves = [k for k in joins if not tape.parents[k] and _overlap(tape.arrived[k])]
    at_leaves = [_Joins(tape, leaves, "at the leaves")] if 1 < len(leaves) < len(joins) else []
    for some in [
        *(_Joins(tape, [k], f"at {tape.name(k)}") for k in joins),
        _Joins(tape, joins, "wherever paths meet"),
        *at_leaves,
    ]:
        yield from _keep_one(some)
        yield from _overwrite_overlaps(some)
        yield from _add_one_twice(some)
        yield _average(some)
        yield from _send_early(some)


def _overlap(arrived: Sequence[Array]) -> bool:
    """Return whether two cotangents are non-zero at the same entry; those of separate slices are not."""
    return bool(np.any(sum((g != 0).astype(int) for g in arrived) > 1))


def _keep_one(joins: _Joins) -> Iterator[PlantedBug]:
    """Keep one: the last, which may have overwritten the others, or another, where the rest were lost on their paths.

    With two, the numbers cannot tell which it was. With more, losing all but the last is overwriting.
    """
    most, nodes = joins.most, joins.nodes
    for k in range(most):
        is_last = k == most - 1
        kept = "the last" if is_last else f"number {k + 1}"
        words = f"Of {most} cotangents that arrive {joins.where}, only {kept} is kept."
        overwritten, detached = BugKind.NOT_LAST_KEPT, BugKind.OTHERS_DETACHED
        if is_last:
            overwritten = BugKind.ONE_KEPT
            detached = BugKind.OTHER_OF_TWO_DETACHED if most == 2 else detached
        elif k == 0 and most > 2 and len(nodes) == 1 and not joins.tape.parents[nodes[0]]:
            overwritten = BugKind.FIRST_KEPT
        planted = joins.merge(overwritten, words, partial(_pick, k))
        yield planted
        yield PlantedBug(detached, _name_detached(joins, k) or words, planted.grads)


def _pick(k: int, arrived: Sequence[Array]) -> Array:
    """Pick one of the cotangents, or the last if there are fewer."""
    return arrived[min(k, len(arrived) - 1)]


def _name_detached(joins: _Joins, kept: int) -> str | None:
    """Name the path that is lost where two meet at one node."""
    tape, nodes = joins.tape, joins.nodes
    sources = [edge[0] for edge in tape.edges() if tape.parent(edge) == nodes[0]]
    if len(nodes) != 1 or len(sources) != 2:
        return None
    lost = sources[1 - kept]
    return f"Nothing is sent from {tape.name(lost)} {tape.arrived[lost][0].shape} to {tape.name(nodes[0])}."


def _overwrite_overlaps(joins: _Joins) -> Iterator[PlantedBug]:
    """Write each cotangent over the entries of those before it, as windows that overlap do."""
    if not any(np.any(g == 0) for k in joins.nodes for g in joins.tape.arrived[k]):
        return
    for order, word in ((1, "last"), (-1, "first")):  # the first, if the paths are visited the other way round
        words = f"Of the cotangents that arrive {joins.where}, each entry keeps the {word} that is not 0."
        yield joins.merge(BugKind.OVERLAP_OVERWRITTEN, words, partial(_overwrite, order))


def _overwrite(order: int, arrived: Sequence[Array]) -> Array:
    """Keep at each entry the last cotangent that is not 0."""
    out = np.zeros(())
    for g in arrived[::order]:
        out = np.where(g != 0, g, out)
    return out


def _average(joins: _Joins) -> PlantedBug:
    """Divide the sum by the number of its terms."""
    kind = BugKind.ARRIVALS_AVERAGED if joins.most > 2 else BugKind.TWO_ARRIVALS_AVERAGED
    words = f"The {joins.most} cotangents that arrive {joins.where} are averaged, not added."
    return joins.merge(kind, words, lambda arrived: sum_cotangents(arrived) / len(arrived))


def _add_one_twice(joins: _Joins) -> Iterator[PlantedBug]:
    """Add one of the cotangents once more than it arrives."""
    for k in range(joins.most):
        words = f"Of {joins.most} cotangents that arrive {joins.where}, number {k + 1} is added twice."
        yield joins.merge(BugKind.MISCOUNTED, words, partial(_sum_with_one_twice, k))


def _sum_with_one_twice(k: int, arrived: Sequence[Array]) -> Array:
    """Add up the cotangents, and one of them again."""
    return sum_cotangents([*arrived, *arrived[k : k + 1]])


def _send_early(joins: _Joins) -> Iterator[PlantedBug]:
    """Send on what has arrived so far: once, or again at every arrival."""
    tape = joins.tape
    edges = [edge for k in joins.nodes for edge in tape.edges_from(k) if tape.parents[tape.parent(edge)]]
    if not edges:
        return
    for k in range(1, joins.most):
        words = f"What arrives {joins.where} is sent on when {k} of {joins.most} cotangents are there."
        yield PlantedBug(BugKind.SENT_EARLY, words, tape.replay({e: _send_first(tape, e, k) for e in edges}))
    words = f"What arrives {joins.where} is sent on again at each arrival."
    yield PlantedBug(BugKind.SENT_AGAIN, words, tape.replay({e: _send_at_each_arrival(tape, e) for e in edges}))


def _send_first(tape: Tape, edge: Edge, k: int) -> Send:
    """Send the sum of the first k cotangents."""
    return lambda arrived: tape.vjp(edge, sum_cotangents(arrived[:k]))


def _send_at_each_arrival(tape: Tape, edge: Edge) -> Send:
    """Send each partial sum."""

    def send(arrived: Sequence[Array]) -> Array:
        partial_sums = [sum_cotangents(arrived[: k + 1]) for k in range(len(arrived))]
        return tape.vjp(edge, sum_cotangents(partial_sums))

    return send
