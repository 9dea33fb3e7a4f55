"""Lay out a directed acyclic graph (DAG) in layers: what a node was computed from always stands above it."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Layout", "place_nodes"]

Edge = tuple[int, int]
Point = tuple[float, float]
LANE = 0.35  # the room that an edge passing through a layer takes, where a node takes 1
SWEEPS = 4


@dataclass(frozen=True)
class Layout:
    """Places of nodes and edges, in units of one node: x from 0 leftmost, y from 0 at the top.

    Attributes
    ----------
    nodes : tuple of (float, float)
        The centre of each node.
    routes : mapping of (int, int) to tuple of (float, float)
        For each edge, the points between its two ends that keep it clear of the nodes it passes.
    """

    nodes: tuple[Point, ...]
    routes: Mapping[Edge, tuple[Point, ...]]


def place_nodes(count: int, edges: Sequence[Edge]) -> Layout:
    """Place ``count`` nodes in layers, by the method of Sugiyama, Tagawa and Toda (1981).

    A node's height is its longest distance from a result, so that it stands just above its first user. An edge that
    spans several layers takes a lane in each layer between, and shares it with all edges that lead to the same node.
    Within a layer, nodes and lanes are ordered by the average place of their neighbours.

    Parameters
    ----------
    count : int
        How many nodes.
    edges : sequence of (int, int)
        A node, and a node it was made from.

    Examples
    --------
    >>> place_nodes(3, [(0, 1), (0, 2)]).nodes
    ((0.5, 1.0), (0.0, 0.0), (1.0, 0.0))
    """
    layer = _assign_layers(count, edges)
    layers, neighbours, lanes = _add_lanes(layer, dict.fromkeys(edges))
    _order_rows(layers, neighbours)
    x = _assign_x(layers, is_node=lambda item: item < count)
    depth = {item: float(i) for i, row in enumerate(layers) for item in row}
    nodes = tuple((x[i], depth[i]) for i in range(count))
    return Layout(nodes, {edge: tuple((x[i], depth[i]) for i in lane) for edge, lane in lanes.items()})


def _assign_layers(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return each node's layer, 0 for the topmost, visiting a node after all that were made from it."""
    users, made_from, height = [0] * count, defaultdict(list), [0] * count
    for node, source in edges:
        users[source] += 1
        made_from[node].append(source)
    ready = [node for node in range(count) if users[node] == 0]
    for node in ready:
        for source in made_from[node]:
            height[source] = max(height[source], height[node] + 1)
            users[source] -= 1
            if users[source] == 0:
                ready.append(source)
    return [max(height) - h for h in height]


def _add_lanes(
    layer: list[int], edges: Mapping[Edge, None]
) -> tuple[list[list[int]], dict[int, list[int]], dict[Edge, list[int]]]:
    """Return the rows from the top, who is next to whom in them, and each edge's lanes from its lower end up."""
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for node, depth in enumerate(layer):
        rows[depth].append(node)
    neighbours: dict[int, list[int]] = defaultdict(list)
    lanes: dict[Edge, list[int]] = {}
    lane_to: dict[tuple[int, int], int] = {}
    for node, source in edges:
        for depth in range(layer[node] - 1, layer[source], -1):
            if (source, depth) not in lane_to:
                lane_to[source, depth] = len(layer) + len(lane_to)
                rows[depth].append(lane_to[source, depth])
        lanes[node, source] = [lane_to[source, depth] for depth in range(layer[node] - 1, layer[source], -1)]
        for a, b in pairwise([node, *lanes[node, source], source]):
            if b not in neighbours[a]:
                neighbours[a].append(b)
                neighbours[b].append(a)
    return rows, neighbours, lanes


def _order_rows(rows: list[list[int]], neighbours: Mapping[int, list[int]]) -> None:
    """Order each row by the average place of its items' neighbours in the row before, sweeping up and down."""
    for sweep in range(SWEEPS):
        ordered = rows[::-1] if sweep % 2 == 0 else rows
        for before, row in pairwise(ordered):
            at = {item: i / len(before) for i, item in enumerate(before)}
            own = {item: i / len(row) for i, item in enumerate(row)}

            def barycentre(item: int, at: Mapping[int, float] = at, own: Mapping[int, float] = own) -> float:
                near = [at[n] for n in neighbours[item] if n in at]
                return math.fsum(near) / len(near) if near else own[item]

            row.sort(key=barycentre)


def _assign_x(rows: list[list[int]], *, is_node: Callable[[int], bool]) -> dict[int, float]:
    """Return each item's x: rows are centred over each other, and the leftmost node's centre is 0."""
    widths = {item: 1.0 if is_node(item) else LANE for row in rows for item in row}
    x: dict[int, float] = {}
    for row in rows:
        edge = -math.fsum(widths[item] for item in row) / 2
        for item in row:
            x[item] = edge + widths[item] / 2
            edge += widths[item]
    left = min(x[item] - widths[item] / 2 for item in x) + 0.5
    return {item: x[item] - left for item in x}
