"""Walk the graph behind a tensor of torch."""

from typing import Any

__all__ = ["leaves_below", "nodes_below"]


def nodes_below(*results: Any) -> list[Any]:
    """List each node of the graph behind some tensors once; it is the graph of the backward pass.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> [node.name() for node in nodes_below((x * 2).sum())]
    ['SumBackward0', 'MulBackward0', 'torch::autograd::AccumulateGrad']
    """
    found = dict.fromkeys(t.grad_fn for t in results if getattr(t, "grad_fn", None) is not None)
    waiting = list(found)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is not None and node not in found:
                found[node] = None
                waiting.append(node)
    return list(found)


def leaves_below(*results: Any) -> list[Any]:
    """List the leaves that a backward pass from some tensors would reach, themselves included."""
    own = [t for t in results if getattr(t, "is_leaf", False) and t.requires_grad]
    return own + [node.variable for node in nodes_below(*results) if hasattr(node, "variable")]
