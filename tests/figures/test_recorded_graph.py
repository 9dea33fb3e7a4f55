"""The graph is read from the tensor alone."""

import pytest

from course_lib.errors import AutogradError
from course_lib.figures.graphs.recorded_graph import read_graph


def test_every_use_is_an_edge(waits):
    """The result comes first; what is used twice is one node with two edges to it."""
    graph = read_graph(waits.c, waits.names)
    names = [graph.name(i) for i in range(len(graph.nodes))]
    assert [(names[a], names[b]) for a, b in graph.edges] == [("c", "a"), ("c", "b"), ("a", "x"), ("b", "a")]
    assert [graph.is_leaf(i) for i in range(4)] == [name == "x" for name in names]


def test_a_square_by_multiplication_has_two_edges(engine):
    """The slots tell them apart."""
    x = engine.tensor(2.0, requires_grad=True)
    graph = read_graph(x * x)
    assert (graph.edges, graph.slots) == (((0, 1), (0, 1)), (0, 1))


def test_values_are_known_where_somebody_holds_them(waits):
    """At leaves, at the result, and where the caller named a tensor."""
    graph = read_graph(waits.c, {"a": waits.a})
    known = [graph.tensor(i) for i in range(len(graph.nodes))]
    assert [t if t is None else t.item() for t in known] == [54.0, 9.0, None, 3.0]


def test_a_deep_graph_is_read_without_recursion(engine):
    """Ten times Python's limit."""
    y = start = engine.tensor(1.0, requires_grad=True)
    for _ in range(10_000):
        y = y + 1.0
    graph = read_graph(y)
    assert (len(graph.nodes), graph.tensor(10_000)) == (10_001, start)


def test_a_constant_has_no_graph(engine):
    """The message says what to do."""
    with pytest.raises(AutogradError, match="make a leaf with requires_grad=True"):
        read_graph(engine.tensor(1.0))
