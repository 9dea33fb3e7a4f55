"""Walk the graph that torch recorded behind a tensor: its nodes, and its leaves."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node

__all__ = ["graph_leaves", "graph_nodes"]


def graph_nodes(*results: "torch.Tensor") -> "list[Node]":
    """List each node of the graph behind some tensors once; it is the graph of the backward pass.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> [node.name() for node in graph_nodes((x * 2).sum())]
    ['SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    found = dict.fromkeys(t.grad_fn for t in results if t.grad_fn is not None)
    waiting = list(found)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


def graph_leaves(*results: "torch.Tensor") -> "list[torch.Tensor]":
    """List the leaves that a backward pass from some tensors would reach, themselves included."""
    own = [t for t in results if t.is_leaf and t.requires_grad]
    return own + [node.variable for node in graph_nodes(*results) if hasattr(node, "variable")]
