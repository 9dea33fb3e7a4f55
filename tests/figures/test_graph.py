"""The static graph."""

import pytest

from course_lib.errors import AutogradError
from course_lib.figures import graph


def test_the_graph_is_told_in_words(waits):
    """Node by node, by the engine's names, with the values that are known."""
    assert repr(graph(waits.c, names=waits.names, title="Twice")) == (
        "Twice: AddBackward0 (c = 54) from PowBackward0 (a = 9) and MulBackward0 (b = 45); "
        "PowBackward0 (a = 9) from x = 3; MulBackward0 (b = 45) from PowBackward0 (a = 9)."
    )


def test_a_gradient_is_shown_once_there_is_one(waits):
    """36 = (1 + 5) * 2 * 3."""
    waits.c.backward()
    assert "x = 3 (grad 36)" in repr(graph(waits.c, names=waits.names))


def test_arrays_go_by_shape(engine):
    """An unnamed leaf as well."""
    x = engine.tensor([[1.0, 2.0]], requires_grad=True)
    assert repr(graph(x.sum())) == "The graph: SumBackward0 (3) from leaf (1, 2)."


def test_a_leaf_is_a_graph_of_one(engine):
    """No operation has used it."""
    assert repr(graph(engine.tensor(2.0, requires_grad=True))) == "The graph: leaf = 2 alone."


def test_the_description_is_the_accessible_name(waits):
    """For those who do not see the drawing, escaped."""
    html = graph(waits.c, names={"<x>": waits.x})._repr_html_()
    assert 'role="img" aria-label="The graph: AddBackward0 (54)' in html
    assert "&lt;x&gt; = 3" in html
    assert "<x>" not in html


def test_a_constant_has_no_graph(engine):
    """The message says what to do."""
    with pytest.raises(AutogradError, match="requires_grad=True"):
        graph(engine.tensor(1.0) * 2)


def test_the_drawing_is_the_same_each_time(waits):
    """It is committed, and compared."""
    assert graph(waits.c)._repr_html_() == graph(waits.c)._repr_html_()
