"""The backward pass: walk a recorded graph from its outputs to its leaves. No maths here, the rules live in ``ops``.

Every operation on a tensor that needs gradients leaves a :class:`Node`. A node is created after the nodes it depends
on, so visiting the latest node first meets every user of a tensor before the tensor itself: a heap ordered by
creation is all the topological sort there is. It never recurses, and the shape of the graph does not matter to it.
"""

from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from course_lib.autograd import clock, grad_mode
from course_lib.autograd.node import FREED, Node
from course_lib.errors import AutogradError

__all__ = ["backward"]


@np.errstate(all="ignore")  # as torch: infinities and NaNs are values, not warnings
def backward(
    roots: list[tuple[Node, Any]], *, retain_graph: bool, create_graph: bool, targets: set[Node] | None = None
) -> dict[Node, Any]:
    """Send each root's cotangent down the graph, adding up where paths meet.

    Without ``targets`` the cotangents of leaves go to their ``.grad``. With them, only nodes that lead to a target
    are visited, and the cotangents of the targets are returned instead.
    """
    wanted = None if targets is None else leading_to([node for node, _ in roots], targets)
    caught: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    try:
        with grad_mode.set_grad_enabled(create_graph):
            for node, g in roots:
                add_into(node, g)
                heappush(heap, (node.seq, node))
            while heap:
                node = heappop(heap)[1]
                g, node.grad = node.grad, None
                if g is None:  # a root that was given twice, or a custom function that returned None
                    continue
                watch = node.watch
                if watch is not None:
                    g = watch.before(g, wanted is None)
                if targets is not None and node in targets:
                    caught[node] = g
                if not node.parents:
                    continue
                saved = node.saved
                if saved is None:
                    raise AutogradError(FREED.format(node.name()))
                if watch is not None:
                    saved = watch.unpacked(saved)
                if node.seq > clock.latest:  # something was written to since this node was made
                    clock.check_unchanged(node, saved)
                if create_graph:
                    saved = node.op.recorded(node, saved)
                if not retain_graph:
                    node.saved = None
                vjps = node.op.vjps if watch is None else watch.vjps(node.op.vjps, g, saved, node.parents)
                for parent, vjp in zip(node.parents, vjps):  # noqa: B905 - strict= would cost 3% of the walk
                    if parent is None or (wanted is not None and parent not in wanted):
                        continue
                    if parent.grad is None:
                        parent.grad = vjp(g, *saved)
                        heappush(heap, (parent.seq, parent))
                    else:
                        add_into(parent, vjp(g, *saved))
                saved = vjps = vjp = None  # what was saved goes now, not while the next node is visited
    finally:
        for _, node in heap:  # nothing, unless something was raised on the way
            node.grad = None
    return caught


def add_into(node: Node, g: Any) -> None:
    """Add a cotangent to what has arrived: in place if nobody else can see that sum, else out of place."""
    acc = node.grad
    if acc is None or g is None:
        node.grad = g if acc is None else acc
    elif type(acc) is np.ndarray and acc.base is None and getrefcount(acc) == 3 and acc.dtype == g.dtype:
        acc += g  # three references: the node's, this function's and getrefcount's own
    else:
        node.grad = acc + g


def leading_to(roots: list[Node], targets: set[Node]) -> set[Node]:
    """Find the nodes from which a target can be reached."""
    seen, stack = set(roots), list(roots)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    wanted = set(targets)
    for node in sorted(seen, key=lambda node: -node.seq):  # oldest first: parents are settled before their users
        if not wanted.isdisjoint(node.parents):
            wanted.add(node)
    return wanted
