"""Plant bugs that detach more than one edge: all uses of a result, or a layer's parameters in one use."""

from collections import defaultdict
from collections.abc import Hashable, Iterator

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.edge_bug import MATRIX_PRODUCTS
from course_lib.oracle.planted_bugs.replay import Edge, PlantedBug, Tape, send_nothing

__all__ = ["detach_paths"]


def detach_paths(tape: Tape) -> Iterator[PlantedBug]:
    """Detach results and layers, one at a time and alike ones together."""
    yield from _detach_results(tape)
    yield from _detach_layers(tape)


def _detach_results(tape: Tape) -> Iterator[PlantedBug]:
    """Detach a result that is used in several ways; or all that have its shape and are used alike, as a state is."""
    users: dict[int, list[Edge]] = defaultdict(list)
    for edge in tape.edges():
        users[tape.parent(edge)].append(edge)
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for k, edges in users.items():
        if k in tape.arrived and len(edges) > 1:
            uses = tuple(sorted((tape.name(e[0]), e[1]) for e in edges))
            alike[tape.arrived[k][0].shape, uses].append(k)
    for nodes in alike.values():
        for some in [*([k] for k in nodes if tape.parents[k]), nodes]:
            if len(some) > 1 or tape.parents[some[0]]:
                name, shape = tape.name(some[0]), tape.arrived[some[0]][0].shape
                where = f" The same at each of {len(some)} places." if len(some) > 1 else ""
                words = f"Nothing reaches {name} {shape}, which is used {len(users[some[0]])} times.{where}"
                grads = tape.replay({edge: send_nothing for k in some for edge in users[k]})
                yield PlantedBug(BugKind.RESULT_DETACHED, words, grads)


def _detach_layers(tape: Tape) -> Iterator[PlantedBug]:
    """Detach both the weights and the bias in one use of them."""
    leaves = set(tape.leaves.values())
    for bias, product in ((edge, p) for edge in tape.edges() for p in tape.parents[edge[0]]):
        if tape.parent(bias) not in leaves or product is None or tape.name(product) not in MATRIX_PRODUCTS:
            continue
        for weights in tape.edges_from(product):
            if tape.parent(weights) in leaves:
                words = f"Nothing is sent {_name_use(tape, bias)}, nor {_name_use(tape, weights)}."
                grads = tape.replay({bias: send_nothing, weights: send_nothing})
                yield PlantedBug(BugKind.LAYER_DETACHED, words, grads)


def _name_use(tape: Tape, edge: Edge) -> str:
    """Name an edge to a leaf, and say which one if there are several."""
    leaf, op = tape.parent(edge), tape.name(edge[0])
    uses = [e for e in tape.edges() if tape.parent(e) == leaf]
    which = f" (number {uses.index(edge) + 1} of {len(uses)} in backward order)" if len(uses) > 1 else ""
    return f"from {op} to {tape.name(leaf)}{which}"
