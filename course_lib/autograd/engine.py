"""Backpropagation: visit the computational graph from its outputs to its leaves. The maths is in ``ops``.

Every operation on a tensor that needs gradients leaves a :class:`Node`. A node is created after the nodes it depends
on, so visiting the latest node first meets every user of a tensor before the tensor itself: a heap ordered by
creation is all the topological sort there is. It never recurses, and the shape of the graph does not matter to it.
"""

from heapq import heappop, heappush, heappushpop
from sys import getrefcount
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph import write_clock
from course_lib.autograd.graph.node import Node
from course_lib.autograd.graph.reachability import find_leading_to, stash_cotangents
from course_lib.autograd.graph.references import IN_A_NODE
from course_lib.autograd.numpy_errors import error_state, ignore_errors
from course_lib.autograd.variable import Value

__all__ = ["backward", "walk"]

_Heap = list[tuple[int, Node]]  # by creation, the latest node on top


def backward(
    roots: list[tuple[Node, Value]],
    retain_graph: bool | None,
    create_graph: bool,
    targets: set[Node] | None,
    catch: bool,
) -> dict[Node, Value | None]:
    """Propagate the upstream gradient of each root through the graph, and add up where paths meet.

    With ``targets`` only nodes that lead to one of them are visited. The cotangents of leaves go to their ``.grad``,
    or, to ``catch`` them, those of the targets are returned instead.
    """
    retain_graph = create_graph if retain_graph is None else retain_graph
    nodes = [node for node, _ in roots]
    wanted = None if targets is None else find_leading_to(nodes, targets)
    caught: dict[Node, Value | None] = dict.fromkeys(targets) if targets and catch else {}
    heap: _Heap = []
    leaves: list[Node] = []
    mode = grad_mode.here.mode
    stashed = stash_cotangents(nodes) if mode.walks else []  # of the outer walk, whose hook or function began this one
    mode.walks += 1
    outer = mode.recording
    mode.change(create_graph, mode.observers)
    quiet = error_state.set(ignore_errors)  # hooks run in here too, so not in a context of our own
    try:
        for node, g in roots:
            if wanted is None or node in wanted or len(roots) == 1:  # a lone root runs its hooks in any case
                _accumulate_cotangent(node, g)
                heappush(heap, (node.seq, node))
        walk(heap, leaves, wanted, caught, retain_graph, create_graph)
        for node in leaves:
            _finish_cotangent(node, caught)
    except BaseException:
        stash_cotangents(nodes)  # and drop them, or the next walk would add to them
        raise
    finally:
        error_state.reset(quiet)
        mode.change(outer, mode.observers)
        mode.walks -= 1
        for node, g in stashed:
            node.grad = g
    return caught


def walk(
    heap: _Heap,
    leaves: list[Node],
    wanted: set[Node] | None,
    caught: dict[Node, Value | None],
    retain_graph: bool,
    create_graph: bool,
) -> None:
    """Visit nodes, latest first: apply the vjps, and add the results to the parents' cotangents.

    The first parent that a node reaches is usually the next to be visited: it waits beside the
    heap, not in it.
    """
    first = None
    while heap or first is not None:
        if first is None:
            node = heappop(heap)[1]
        else:
            node = heappushpop(heap, (first.seq, first))[1] if heap else first
            first = None
        g = _finish_cotangent(node, caught) if caught or node.hooks is not None else node.grad
        node.grad = None
        if g is None:  # a root that was given twice, or a custom function that returned None
            continue
        op, saved, vjps = node.op, node.saved, node.op.vjps
        if wanted is not None and wanted.isdisjoint(node.parents):  # a target, and the end of its path
            continue
        if saved is None or create_graph or node.hooks is not None or node.seq > write_clock.latest_write:
            g, saved, vjps = node.prepare_vjps(g, create_graph)
        if op.frees and not retain_graph:  # a node that saved only sizes can be walked again
            node.saved = None
        args: tuple[Any, ...] = (g, *saved)
        for parent, vjp in zip(node.parents, vjps):
            if parent is None or (wanted is not None and parent not in wanted):
                continue
            if parent.grad is not None:
                _accumulate_cotangent(parent, vjp(*args))
                continue
            parent.grad = vjp(*args)
            if not parent.parents:
                leaves.append(parent)
            elif first is None:
                first = parent
            else:
                heappush(heap, (parent.seq, parent))
        # Free what was saved now, not while the next node is visited.
        g = saved = args = vjps = vjp = None  # type: ignore[assignment]


def _finish_cotangent(node: Node, caught: dict[Node, Value | None]) -> Value | None:
    """Run the hooks of a node on its complete cotangent, and store it if the node is among ``caught``."""
    g, node.grad = node.grad, None
    if g is not None and node.hooks is not None:
        leaf = not node.parents
        accumulate = not (leaf and caught)
        g = node.hooks.receive(g, accumulate=accumulate, last=leaf)
    if caught and g is not None and node in caught:
        caught[node] = g
    return g


def _accumulate_cotangent(node: Node, g: Value | None) -> None:
    """Accumulate a cotangent in a node: in place if nothing else refers to the sum so far, else out of place."""
    acc = node.grad
    if acc is None or g is None:
        node.grad = g if acc is None else acc
    elif getrefcount(acc) == IN_A_NODE and type(acc) is np.ndarray and acc.base is None and acc.dtype is g.dtype:
        acc += g
    else:
        node.grad = acc + g
