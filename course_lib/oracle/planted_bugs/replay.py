"""Record the graph of a loss on a tape, and replay its backward pass with a bug in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from course_lib.autograd import enable_grad
from course_lib.autograd.graph.reachability import find_reachable
from course_lib.oracle.arrays import Arrays
from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.engines import AutogradEngine, Engine
from course_lib.types import Array

__all__ = ["Edge", "Merge", "PlantedBug", "Send", "Tape", "record_tape", "send_nothing", "sum_cotangents"]

Edge: TypeAlias = tuple[int, int]
"""Number of a node, and which of its parents."""

Merge: TypeAlias = Callable[[Sequence[Array]], Array]
"""From the cotangents that arrived at a node, in order, computes the one that it sends on."""

Send: TypeAlias = Callable[[Sequence[Array]], Array | None]
"""From the cotangents that arrived at a node, in order, computes what goes down one edge; None for nothing."""


@dataclass(frozen=True)
class PlantedBug:
    """Gradients of a backward pass with a bug in it.

    Attributes
    ----------
    kind : BugKind
    words : str
        What was done, and where, for the reader.
    grads : dict of str to array
    repeated : bool
        Whether the same was done at several edges.
    """

    kind: BugKind
    words: str
    grads: Arrays
    repeated: bool = False


def sum_cotangents(arrived: Sequence[Array]) -> Array:
    """Add up cotangents, as the chain rule says."""
    return arrived[0] if len(arrived) == 1 else sum(arrived[1:], start=arrived[0])


def send_nothing(arrived: Sequence[Array]) -> None:
    """Send nothing down an edge, as a detached path does."""


@dataclass(frozen=True)
class Tape:
    """Nodes of a graph, numbered in the order of the backward pass: 0 is the loss.

    Attributes
    ----------
    nodes : list
        Of ``course_lib.autograd``.
    parents : list of tuple of (int or None)
        The numbers of each node's parents.
    leaves : mapping of str to int
        The numbers of the named leaves; one that the loss does not use is missing.
    shapes : mapping of str to tuple of int
        The shapes of the named leaves.
    arrived : dict of int to list of array
        Cotangents that arrive at each node in a correct backward pass, in order.
    """

    nodes: list[Any]
    parents: list[tuple[int | None, ...]]
    leaves: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    arrived: dict[int, list[Array]] = field(default_factory=dict)

    def edges(self) -> list[Edge]:
        """List all edges that carry a cotangent, in backward order."""
        return [edge for k in range(len(self.parents)) for edge in self.edges_from(k)]

    def edges_from(self, k: int) -> list[Edge]:
        """List the edges of one node that carry a cotangent."""
        return [(k, i) for i, parent in enumerate(self.parents[k]) if parent is not None]

    def parent(self, edge: Edge) -> int:
        """Return the number of the node that an edge leads to."""
        parent = self.parents[edge[0]][edge[1]]
        assert parent is not None
        return parent

    def siblings(self, edge: Edge, among: set[int] | None = None) -> tuple[str, ...]:
        """Name the other operands of the operation that an edge leads from, or those ``among`` some nodes."""
        here = self.parent(edge)
        others = [p for p in self.parents[edge[0]] if p is not None and p != here and (among is None or p in among)]
        return tuple(sorted(self.name(p) for p in others))

    def vjp(self, edge: Edge, g: Array) -> Array:
        """Compute the vector-Jacobian product of one edge."""
        node = self.nodes[edge[0]]
        return np.asarray(node.op.vjps[edge[1]](g, *node.saved))

    def name(self, number: int) -> str:
        """Return the name of a node's tensor, or that of its operation."""
        names = {k: name for name, k in self.leaves.items()}
        return names.get(number) or str(self.nodes[number].name()).removesuffix("Backward0").lower()

    def last_contributors(self) -> dict[str, int]:
        """Return for each leaf the number of the node after which its gradient is complete."""
        last: dict[int, int] = {}
        for k, i in self.edges():
            last[self.parent((k, i))] = k
        return {name: last.get(number, 0) for name, number in self.leaves.items()}

    def replay(self, sends: Mapping[Edge, Send] | None = None, merges: Mapping[int, Merge] | None = None) -> Arrays:
        """Run the backward pass, with some steps replaced; return the gradients of the leaves."""
        sends, merges = sends or {}, merges or {}
        arrived: dict[int, list[Array]] = {0: [np.ones(())]}
        for k in range(len(self.parents)):
            if k not in arrived:
                continue
            if k in merges:
                arrived[k] = [merges[k](arrived[k])]
            for edge in self.edges_from(k):
                sent = sends[edge](arrived[k]) if edge in sends else self.vjp(edge, sum_cotangents(arrived[k]))
                if sent is not None:
                    arrived.setdefault(self.parent(edge), []).append(sent)
        if not sends and not merges:
            self.arrived.update(arrived)
        return self.collect_leaf_grads(arrived)

    def collect_leaf_grads(self, arrived: Mapping[int, Sequence[Array]]) -> Arrays:
        """Add up the cotangents that arrived at each leaf."""
        return {
            name: np.asarray(sum_cotangents(arrived[k])) if k in arrived else np.zeros(self.shapes[name])
            for name, k in self.leaves.items()
        }


def record_tape(engine: Engine, inputs: Arrays, probes: Arrays) -> Tape | None:
    """Run a loss in the course's autograd, and record its graph; None if there is none."""
    assert isinstance(engine, AutogradEngine)
    leaves = {**engine.make_leaves(inputs), **engine.make_leaves(probes)}
    with enable_grad():  # even where the caller has switched it off
        loss = engine.run_loss({n: leaves[n] for n in inputs}, {n: leaves[n] for n in probes})
    if getattr(loss, "node", None) is None:
        return None
    nodes = sorted(find_reachable([loss.node]), key=lambda node: node.seq)
    if nodes[0] is not loss.node:
        nodes.reverse()
    number = {node: k for k, node in enumerate(nodes)}
    parents = [tuple(None if p is None else number[p] for p in node.parents) for node in nodes]
    named = {n: t for n, t in leaves.items() if t.node is not None}
    used = {n: number[t.node] for n, t in named.items() if t.node in number}
    tape = Tape(nodes, parents, used, {n: t.shape for n, t in named.items()})
    tape.replay()
    return tape
