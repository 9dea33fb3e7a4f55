"""Read the computational graph behind a tensor: ``grad_fn`` and ``next_functions``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.errors import AutogradError
from course_lib.types import AnyTensor

__all__ = ["RecordedGraph", "read_graph"]


@dataclass(frozen=True)
class RecordedGraph:
    """Computational graph: the nodes reached from one tensor, its own first, in order of first visit.

    Attributes
    ----------
    nodes : tuple
        Nodes of the engine that recorded them.
    edges : tuple of (int, int)
        A node, and a node that it was made from; twice where it was used twice.
    slots : tuple of int
        For each edge, which of the node's inputs it is.
    outputs : tuple of int
        For each edge, which output of the node that it leads to was used.
    result : Tensor
        The tensor that the graph was read from.
    names : mapping of str to Tensor
        The caller's names for tensors.
    """

    nodes: tuple[Any, ...]
    edges: tuple[tuple[int, int], ...]
    slots: tuple[int, ...]
    outputs: tuple[int, ...]
    result: Any
    names: Mapping[str, AnyTensor]

    def is_leaf(self, i: int) -> bool:
        """Return whether node ``i`` stands for a leaf."""
        return not self.nodes[i].next_functions

    def used_outputs(self, i: int) -> list[int]:
        """List the outputs of node ``i`` that were used."""
        used = {output for (_, to), output in zip(self.edges, self.outputs, strict=True) if to == i}
        return sorted(used | ({_output_number(self.result)} if i == 0 else set()))

    def name(self, i: int, output: int | None = None) -> str | None:
        """Return the caller's name for what node ``i`` made or stands for: for one output, or for the first named."""
        return next((name for name, tensor in self.names.items() if self._belongs(tensor, i, output)), None)

    def tensor(self, i: int, output: int = 0) -> Any:
        """Return the tensor that node ``i`` made or stands for, where it is known."""
        if self.is_leaf(i):
            return self.nodes[i].variable
        candidates = [*self.names.values(), *([self.result] if i == 0 else [])]
        return next((tensor for tensor in candidates if self._belongs(tensor, i, output)), None)

    def _belongs(self, tensor: AnyTensor, i: int, output: int | None = None) -> bool:
        """Return whether node ``i`` computed a tensor, or stands for it."""
        if self.is_leaf(i):
            return self.nodes[i].variable is tensor
        return getattr(tensor, "grad_fn", None) is self.nodes[i] and output in (None, _output_number(tensor))


def _output_number(tensor: AnyTensor) -> int:
    """Return which of its node's outputs a tensor is; in the course's engine each output has a node of its own."""
    return int(getattr(tensor, "output_nr", 0))


def read_graph(tensor: AnyTensor, names: Mapping[str, AnyTensor] | None = None) -> RecordedGraph:
    """Collect every node below ``tensor``; a leaf on its own is one node.

    Raises
    ------
    AutogradError
        If ``tensor`` does not require grad, so that there is no graph.
    """
    if not hasattr(tensor, "requires_grad"):
        raise AutogradError(
            f"a graph is drawn from a tensor of torch or course_lib.autograd, but got a {type(tensor).__name__}; "
            "pass the result itself, not its .item() or its numpy()"
        )
    if not tensor.requires_grad:
        raise AutogradError(
            "a graph is drawn from a tensor that requires grad, but this one does not; "
            "make a leaf with requires_grad=True and compute from it"
        )
    nodes = [tensor.grad_fn if tensor.grad_fn is not None else _LeafNode(tensor)]
    edges, slots, outputs, index = [], [], [], {nodes[0]: 0}
    for i, node in _enumerate_growing(nodes):
        for slot, (child, output) in enumerate(node.next_functions):
            if child is None:  # an input that needs no gradient
                continue
            if child not in index:
                index[child] = len(nodes)
                nodes.append(child)
            edges.append((i, index[child]))
            slots.append(slot)
            outputs.append(output)
    return RecordedGraph(tuple(nodes), tuple(edges), tuple(slots), tuple(outputs), tensor, names or {})


@dataclass(frozen=True, eq=False)
class _LeafNode:
    """Node of a leaf that no operation has used."""

    variable: AnyTensor
    next_functions: tuple[()] = ()


def _enumerate_growing(nodes: list[Any]) -> Iterator[tuple[int, Any]]:
    """Enumerate a list that gets longer on the way."""
    i = 0
    while i < len(nodes):
        yield i, nodes[i]
        i += 1
