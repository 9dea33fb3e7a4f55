"""Reachability in the graph: all ancestors of a node, and the nodes on paths to some of them."""

from course_lib.autograd.graph.node import Node
from course_lib.autograd.variable import Value

__all__ = ["find_leading_to", "find_reachable", "stash_cotangents"]


def find_reachable(roots: list[Node]) -> set[Node]:
    """Find all nodes that can be reached from ``roots``."""
    seen, stack = set(roots), list(roots)
    while stack:
        for parent in stack.pop().parents:
            if parent is not None and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return seen


def stash_cotangents(roots: list[Node]) -> list[tuple[Node, Value]]:
    """Take the cotangents out of all reachable nodes: those of an outer backward pass, or of one that failed."""
    found = [(node, node.grad) for node in find_reachable(roots) if node.grad is not None]
    for node, _ in found:
        node.grad = None
    return found


def find_leading_to(roots: list[Node], targets: set[Node]) -> set[Node]:
    """Find the nodes on paths from ``roots`` to ``targets``."""
    wanted = set(targets)
    for node in sorted(
        find_reachable(roots), key=lambda node: -node.seq
    ):  # oldest first: parents settle before their users
        if not wanted.isdisjoint(node.parents):
            wanted.add(node)
    return wanted
