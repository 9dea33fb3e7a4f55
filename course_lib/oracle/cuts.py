"""Mistakes that cut off more than one edge: a result that was detached, or a layer's parameters in one of its uses."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from course_lib.oracle.joins import Mistake
from course_lib.oracle.rules import PRODUCTS
from course_lib.oracle.tape import Edge, Tape

__all__ = ["cuts", "nothing"]


def nothing(arrived: Any) -> None:
    """Send nothing."""


def cuts(tape: Tape) -> Iterator[Mistake]:
    """Cut off results and layers, one at a time and alike ones together."""
    yield from detached_results(tape)
    yield from unused_layers(tape)


def detached_results(tape: Tape) -> Iterator[Mistake]:
    """Detach a result that is used in several ways; or all that have its shape and are used alike, as a state is."""
    users: dict[int, list[Edge]] = defaultdict(list)
    for edge in tape.edges():
        users[tape.parent(edge)].append(edge)
    alike: dict[Any, list[int]] = defaultdict(list)
    for k, edges in users.items():
        if k in tape.arrived:
            alike[tape.arrived[k][0].shape, tuple(sorted((tape.name(e[0]), e[1]) for e in edges))].append(k)
    for (shape, uses), nodes in alike.items():
        for some in [*([k] for k in nodes if tape.parents[k]), nodes]:
            if len(uses) > 1 and (len(some) > 1 or tape.parents[some[0]]):
                where = f" The same at each of {len(some)} places." if len(some) > 1 else ""
                words = f"Nothing reaches {tape.name(some[0])} {shape}, which is used {len(uses)} times.{where}"
                grads = tape.walk({edge: nothing for k in some for edge in users[k]})
                yield Mistake("detached path", words, grads, 8.2)


def unused_layers(tape: Tape) -> Iterator[Mistake]:
    """Cut both the weights and the bias off from one use of them."""
    leaves = set(tape.leaves.values())
    for (k, i), product in ((edge, p) for edge in tape.edges() for p in tape.parents[edge[0]]):
        if tape.parent((k, i)) not in leaves or product is None or tape.name(product) not in PRODUCTS:
            continue
        for j, weights in enumerate(tape.parents[product]):
            if weights in leaves:
                words = f"Nothing is sent {use(tape, (k, i))}, nor {use(tape, (product, j))}."
                grads = tape.walk({(k, i): nothing, (product, j): nothing})
                yield Mistake("detached path", words, grads, 8.05)


def use(tape: Tape, edge: Edge) -> str:
    """Name an edge to a leaf, and say which one if there are several."""
    leaf, op = tape.parent(edge), tape.name(edge[0])
    uses = [e for e in tape.edges() if tape.parent(e) == leaf]
    which = f" (number {uses.index(edge) + 1} of {len(uses)} in backward order)" if len(uses) > 1 else ""
    return f"from {op} to {tape.name(leaf)}{which}"
