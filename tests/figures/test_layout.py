"""Where nodes and edges are placed."""

import itertools
import random

import pytest

from course_lib.figures.graphs.layout import place_nodes


def drawn_at_random(seed, count=25):
    """Return edges of a graph in which every node but the last few was made from one to three others."""
    rng = random.Random(seed)
    made = [(a, b) for a in range(count - 4) for b in rng.sample(range(a + 1, count), min(3, rng.randint(1, 3)))]
    return count, made


@pytest.mark.parametrize("seed", range(20))
def test_what_a_node_was_made_from_stands_above_it(seed):
    """In every graph."""
    count, edges = drawn_at_random(seed)
    nodes = place_nodes(count, edges).nodes
    assert all(nodes[b][1] < nodes[a][1] for a, b in edges)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_stands_in_the_way(seed):
    """No two nodes overlap, and no lane passes through one: a node is 1 wide."""
    count, edges = drawn_at_random(seed)
    layout = place_nodes(count, edges)
    assert all(y1 != y2 or abs(x1 - x2) > 0.99 for (x1, y1), (x2, y2) in itertools.combinations(layout.nodes, 2))
    lanes = {point for route in layout.routes.values() for point in route}
    assert all(y1 != y2 or abs(x1 - x2) > 0.6 for (x1, y1) in lanes for (x2, y2) in layout.nodes)


def test_the_drawing_begins_at_zero():
    """The leftmost node's edge is at the margin, whatever is left of it."""
    count, edges = drawn_at_random(0)
    layout = place_nodes(count, edges)
    assert min(y for _, y in layout.nodes) == 0
    assert min(x for x, _ in layout.nodes) >= 0


def test_a_leaf_stands_just_above_its_first_user():
    """A weight of the last layer is beside that layer, not at the top."""
    chain_with_weights = [(0, 1), (0, 4), (1, 2), (1, 5), (2, 3)]
    nodes = place_nodes(6, chain_with_weights).nodes
    assert nodes[4][1] == nodes[1][1] == nodes[0][1] - 1
    assert nodes[5][1] == nodes[2][1]


def test_edges_that_lead_to_one_node_share_their_lanes():
    """A weight used at every step of a long chain takes one lane, not one for each step."""
    steps = 20
    edges = [(i, i + 1) for i in range(steps)] + [(i, steps + 1) for i in range(steps)]
    layout = place_nodes(steps + 2, edges)
    assert max(x for x, _ in layout.nodes) < 2
    assert layout.routes[0, steps + 1][-1] == layout.routes[5, steps + 1][-1]


def test_edges_that_need_not_cross_do_not():
    """Two products of two leaves each: each product's leaves are side by side, whatever their order."""
    nodes = place_nodes(7, [(0, 1), (0, 2), (1, 3), (2, 4), (1, 5), (2, 6)]).nodes
    ordered = sorted(range(3, 7), key=lambda i: nodes[i])
    assert [set(ordered[:2]), set(ordered[2:])] in ([{3, 5}, {4, 6}], [{4, 6}, {3, 5}])


def test_the_same_graph_is_placed_the_same_way():
    """The outputs are committed."""
    assert place_nodes(*drawn_at_random(3)) == place_nodes(*drawn_at_random(3))
