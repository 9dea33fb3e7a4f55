"""Whole backward passes that visit the nodes in an order other than the reverse topological one."""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from course_lib.oracle.joins import Mistake
from course_lib.oracle.tape import Tape, add_up

__all__ = ["wrong_walks"]

MOST_STEPS = 5000


def wrong_walks(tape: Tape) -> Iterator[Mistake]:
    """Walk depth first and breadth first, visiting a node once or at each arrival, its parents from either side."""
    for deep in (True, False):
        for once in (True, False):
            for mirrored in (False, True):
                arrived = walk(tape, deep=deep, once=once, mirrored=mirrored)
                if arrived is not None:
                    order = "depth first" if deep else "breadth first"
                    visits = "each node when it is first reached" if once else "each node again at every arrival"
                    rank = 8.2 if once else 7  # a walk that visits once only loses paths, as a detached one does
                    words = f"The walk goes {order} and visits {visits}, so it sends on what is not complete."
                    yield Mistake("wrong order", words, tape.collect(arrived), rank)


def walk(tape: Tape, *, deep: bool, once: bool, mirrored: bool) -> dict[int, list[Any]] | None:
    """Return what arrives at each node, or None if the walk does not end soon."""
    arrived: dict[int, list[Any]] = {0: [np.ones(())]}
    seen, frontier = {0}, deque([pending(tape, 0, mirrored)])
    at = -1 if deep else 0
    for _ in range(MOST_STEPS):
        edge = next(frontier[at], None)
        if edge is None:
            del frontier[at]
            if not frontier:
                return arrived
            continue
        parent = tape.parent(edge)
        arrived.setdefault(parent, []).append(tape.vjp(edge, add_up(arrived[edge[0]])))
        if tape.parents[parent] and not (once and parent in seen):
            seen.add(parent)
            frontier.append(pending(tape, parent, mirrored))
    return None


def pending(tape: Tape, k: int, mirrored: bool) -> Iterator[tuple[int, int]]:
    """List the edges of one node."""
    edges = [(k, i) for i, parent in enumerate(tape.parents[k]) if parent is not None]
    return iter(edges[::-1] if mirrored else edges)
