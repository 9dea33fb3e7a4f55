"""Walk the graph that torch recorded behind a tensor, its nodes and its leaves; find the loss where it begins."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.extras import load

if TYPE_CHECKING:
    import torch
    from torch.autograd.graph import Node

__all__ = ["find_loss", "graph_leaves", "graph_nodes"]


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


def find_loss(result: object) -> "torch.Tensor | None":
    """Find the loss in what a model returns, or None: alone, beside the logits, or under the name ``loss``.

    Examples
    --------
    >>> import torch
    >>> logits = torch.ones(3, requires_grad=True)
    >>> [find_loss(result) for result in (logits.sum(), (logits, logits.sum()), {"loss": logits.sum()}, logits)]
    [tensor(3., grad_fn=<SumBackward0>), tensor(3., grad_fn=<SumBackward0>), tensor(3., grad_fn=<SumBackward0>), None]
    """
    torch = load("torch", extra="torch")
    named = result.get("loss") if isinstance(result, Mapping) else getattr(result, "loss", None)
    leaves = load("torch.utils._pytree", extra="torch").tree_leaves(result if named is None else named)
    found = [t for t in leaves if isinstance(t, torch.Tensor) and t.numel() == 1 and t.requires_grad]
    if len(found) > 1:
        found = [t for t in found if not t.ndim] or found
    if len({id(t) for t in found}) > 1:
        raise InputError(
            f"the loss must be the only tensor of one element with a graph, but {len(found)} came back. Return the one "
            "that backward() is called on: their sum, or one of them."
        )
    if found and found[0].is_complex():
        raise InputError(
            f"the loss must be a real number, but its dtype is {found[0].dtype}. Take its .real or .abs()."
        )
    return found[0] if found else None
