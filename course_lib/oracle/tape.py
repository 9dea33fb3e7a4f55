"""The graph of a loss, laid out so that its backward pass can be walked again with a mistake in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_lib.autograd import enable_grad
from course_lib.autograd.graph.reachability import find_reachable
from course_lib.oracle.engines import Arrays, Autograd, Engine

__all__ = ["Edge", "Tape", "record"]

Array = Any  # a NumPy array, of any shape
Edge = tuple[int, int]  # the number of a node, and which of its parents
Merge = Callable[[Sequence[Array]], Array]  # of the cotangents that arrived at a node, in order
Send = Callable[[Sequence[Array]], Array | None]  # from them, what goes down an edge; None for nothing


def add_up(arrived: Sequence[Array]) -> Array:
    """Merge cotangents as the chain rule says."""
    return arrived[0] if len(arrived) == 1 else sum(arrived[1:], start=arrived[0])


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
    arrived : dict of int to list of array
        What arrives at each node in a correct walk, in order.
    """

    nodes: list[Any]
    parents: list[tuple[int | None, ...]]
    leaves: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    arrived: dict[int, list[Array]] = field(default_factory=dict)

    def edges(self) -> list[Edge]:
        """List all edges that carry a cotangent, in backward order."""
        return [
            (k, i) for k, parents in enumerate(self.parents) for i, parent in enumerate(parents) if parent is not None
        ]

    def parent(self, edge: Edge) -> int:
        """Return the number of the node that an edge leads to."""
        parent = self.parents[edge[0]][edge[1]]
        assert parent is not None
        return parent

    def vjp(self, edge: Edge, g: Array) -> Array:
        """Send a cotangent down an edge."""
        node = self.nodes[edge[0]]
        return np.asarray(node.op.vjps[edge[1]](g, *node.saved))

    def name(self, number: int) -> str:
        """Call a node by its tensor's name, or by its operation."""
        names = {k: name for name, k in self.leaves.items()}
        return names.get(number) or str(self.nodes[number].name()).removesuffix("Backward0").lower()

    def completed(self) -> dict[str, int]:
        """Say after which node the gradient of each leaf is complete."""
        last: dict[int, int] = {}
        for k, i in self.edges():
            last[self.parent((k, i))] = k
        return {name: last.get(number, 0) for name, number in self.leaves.items()}

    def walk(self, sends: Mapping[Edge, Send] | None = None, merges: Mapping[int, Merge] | None = None) -> Arrays:
        """Walk backward, with some steps done otherwise; return the leaves' gradients."""
        sends, merges = sends or {}, merges or {}
        arrived: dict[int, list[Array]] = {0: [np.ones(())]}
        for k, parents in enumerate(self.parents):
            if k not in arrived:
                continue
            if k in merges:
                arrived[k] = [merges[k](arrived[k])]
            for i, parent in enumerate(parents):
                if parent is not None:
                    edge = (k, i)
                    sent = sends[edge](arrived[k]) if edge in sends else self.vjp(edge, add_up(arrived[k]))
                    if sent is not None:
                        arrived.setdefault(parent, []).append(sent)
        if not sends and not merges:
            self.arrived.update(arrived)
        return self.collect(arrived)

    def collect(self, arrived: Mapping[int, Sequence[Array]]) -> Arrays:
        """Add up what arrived at the leaves."""
        return {
            name: np.asarray(add_up(arrived[k])) if k in arrived else np.zeros(self.shapes[name])
            for name, k in self.leaves.items()
        }


def record(engine: Engine, inputs: Arrays, probes: Arrays) -> Tape | None:
    """Run a loss in the mini autograd, and lay out its graph; None if there is none."""
    assert isinstance(engine, Autograd)
    leaves = engine.leaves(inputs)
    watched = engine.leaves(probes)
    with enable_grad():  # even where the caller has switched it off
        loss = engine.call(leaves, watched)
    if getattr(loss, "node", None) is None:
        return None
    nodes = sorted(find_reachable([loss.node]), key=lambda node: node.seq)
    if nodes[0] is not loss.node:
        nodes.reverse()
    number = {node: k for k, node in enumerate(nodes)}
    parents = [tuple(None if p is None else number[p] for p in node.parents) for node in nodes]
    named = {n: t for n, t in {**leaves, **watched}.items() if t.node is not None}
    used = {n: number[t.node] for n, t in named.items() if t.node in number}
    tape = Tape(nodes, parents, used, {n: t.shape for n, t in named.items()})
    tape.walk()
    return tape
