"""The backward pass: walk a recorded graph from its outputs to its leaves. There is no maths here, the rules live in ``ops``.

Every operation on a tensor that needs gradients leaves a :class:`Node`. A node is created after the nodes it depends on, so
visiting the latest node first meets every user of a tensor before the tensor itself: a heap ordered by creation is all the
topological sort there is. It never recurses, and the shape of the graph does not matter to it.
"""

from heapq import heappop, heappush
from sys import getrefcount
from typing import Any

import numpy as np

from course_lib.autograd import clock, grad_mode, hooks
from course_lib.autograd.variable import new_tensor
from course_lib.errors import AutogradError

__all__ = ["Node", "backward"]

FREED = (
    "a graph can be walked once, because the walk frees what the forward pass saved as it goes, but {} has been walked before. "
    "Run the forward pass again, or pass retain_graph=True to the earlier backward() or grad()."
)


class Node:
    """What one operation leaves in the graph: ``op`` holds a vjp for each of ``parents``; ``saved`` is what the vjps read.

    A node keeps arrays, never tensors, so a tensor that only the forward pass needed dies as soon as the forward pass drops it.
    """

    __slots__ = ("__weakref__", "grad", "op", "parents", "saved", "seq", "tangent", "watch")

    op: Any
    parents: tuple["Node | None", ...]  # empty for a leaf, None for an input without gradient
    saved: tuple[Any, ...] | None  # None once freed
    grad: Any  # the cotangent collected so far; set during a walk only
    tangent: Any  # set in forward mode only
    watch: Any  # hooks, and the tensor whose ``.grad`` is to be filled; None for most nodes

    def __init__(self, op: Any, parents: tuple["Node | None", ...] = (), saved: tuple[Any, ...] = ()) -> None:
        self.seq = clock.next_seq()
        self.op = op
        self.parents = parents
        self.saved = saved
        self.grad = self.watch = None

    def name(self) -> str:
        """Name the operation, as torch does."""
        return str(self.op.name)

    @property
    def next_functions(self) -> tuple[tuple["Node | None", int], ...]:
        """The nodes this one sends cotangents to, each with the number of the output it stands for (here always 0)."""
        return tuple((parent, 0) for parent in self.parents)

    @property
    def variable(self) -> Any:
        """The tensor whose ``.grad`` is filled here, if it is still alive."""
        return self.watch and self.watch.tensor()

    def register_hook(self, hook: Any) -> hooks.RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the vjps; a tuple it returns replaces ``grad_inputs``."""
        return hooks.RemovableHandle(hooks.watch(self).on_leave, hook)

    def register_prehook(self, hook: Any) -> hooks.RemovableHandle:
        """Call ``hook(grad_outputs)`` before the vjps; a tuple it returns replaces ``grad_outputs``."""
        return hooks.RemovableHandle(hooks.watch(self).on_enter, hook)

    def __call__(self, grad_output: Any) -> Any:
        """Apply the vjps to a cotangent, as calling torch's nodes does: one result an input, nothing kept or freed."""
        if self.saved is None:
            raise AutogradError(FREED.format(self.name()))
        g = getattr(grad_output, "value", grad_output)
        with grad_mode.no_grad():
            found = tuple(
                new_tensor(vjp(g, *self.saved)) if p else None
                for p, vjp in zip(self.parents, self.op.vjps, strict=True)
            )
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def backward(
    roots: list[tuple[Node, Any]], *, retain_graph: bool, create_graph: bool, targets: set[Node] | None = None
) -> dict[Node, Any]:
    """Send each root's cotangent down the graph, adding up where paths meet.

    Without ``targets`` the cotangents of leaves go to their ``.grad``. With them, only nodes that lead to a target are visited,
    and the cotangents of the targets are returned instead.
    """
    wanted = None if targets is None else leading_to([node for node, _ in roots], targets)
    caught: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    try:
        with grad_mode.enable_grad() if create_graph else grad_mode.no_grad(), np.errstate(all="ignore"):
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
                    g = watch.before(g, deposit=wanted is None)
                if wanted is not None and node in targets:
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
