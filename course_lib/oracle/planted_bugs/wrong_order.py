"""Plant a whole backward pass that visits the nodes in an order other than the reverse topological one."""

from collections import deque
from collections.abc import Iterator
from itertools import product

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.replay import Edge, PlantedBug, Tape, sum_cotangents
from course_lib.types import Array

__all__ = ["visit_in_wrong_order"]

MOST_STEPS = 5000


def visit_in_wrong_order(tape: Tape) -> Iterator[PlantedBug]:
    """Visit depth-first and breadth-first, a node once or at each arrival, its parents from either side."""
    for depth_first, once, mirrored in product((True, False), (True, False), (False, True)):
        arrived = _visit(tape, depth_first=depth_first, once=once, mirrored=mirrored)
        if arrived is not None:
            order = "depth first" if depth_first else "breadth first"
            visits = "each node when it is first reached" if once else "each node again at every arrival"
            kind = BugKind.VISITED_ONCE if once else BugKind.SENT_AGAIN
            words = f"The walk goes {order} and visits {visits}, so it sends on what is not complete."
            yield PlantedBug(kind, words, tape.collect_leaf_grads(arrived))


def _visit(tape: Tape, *, depth_first: bool, once: bool, mirrored: bool) -> dict[int, list[Array]] | None:
    """Return the cotangents that arrive at each node, or None if the visits do not end soon."""
    arrived: dict[int, list[Array]] = {0: [np.ones(())]}
    seen, frontier = {0}, deque([_edges_in_order(tape, 0, mirrored)])
    at = -1 if depth_first else 0
    for _ in range(MOST_STEPS):
        edge = next(frontier[at], None)
        if edge is None:
            del frontier[at]
            if not frontier:
                return arrived
            continue
        parent = tape.parent(edge)
        arrived.setdefault(parent, []).append(tape.vjp(edge, sum_cotangents(arrived[edge[0]])))
        if tape.parents[parent] and not (once and parent in seen):
            seen.add(parent)
            frontier.append(_edges_in_order(tape, parent, mirrored))
    return None


def _edges_in_order(tape: Tape, k: int, mirrored: bool) -> Iterator[Edge]:
    """Iterate over the edges of one node from either side."""
    edges = tape.edges_from(k)
    return iter(edges[::-1] if mirrored else edges)
