"""The backward pass that is run to be shown."""

import gc
from types import FunctionType

import pytest

from course_lib.errors import AutogradError
from course_lib.figures.graphs.recorded_graph import read_graph
from course_lib.figures.short_numbers import convert_to_array
from course_lib.figures.stepper.backward_run import run_backward
from course_lib.figures.stepper.depth_first_run import run_depth_first


def visits(tensor, names, gradient=None):
    """Return the walk by name: what arrived at each node and what it sent, in order."""
    graph = read_graph(tensor, names)
    walked = run_backward(graph, gradient).visits
    return [(graph.name(v.node), [a.tolist() for a in v.arrived], [s if s is None else s.tolist() for s in v.sent])
            for v in walked]  # fmt: skip


def test_the_numbers_are_those_of_pencil_and_paper(waits):
    """dc/da = 1 + 5, dc/dx = 6 * 2 * 3; what needs no gradient is sent none."""
    assert visits(waits.c, waits.names) == [
        ("c", [1.0], [1.0, 1.0]),
        ("b", [1.0], [5.0, None]),
        ("a", [6.0], [36.0]),
        ("x", [36.0], []),
    ]


def test_the_order_is_the_engine_s_own(engine):
    """The order in which the nodes' own hooks are called in a backward pass without the figure."""
    x, y = (engine.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    t = [x * y]
    t += [t[0] * x, t[0] + y]
    t += [t[1] * t[2], t[1].sum()]
    z = t[3] + t[4]
    graph = read_graph(z)
    called = []
    handles = [node.register_prehook(lambda _, i=i: called.append(i)) for i, node in enumerate(graph.nodes)]
    z.backward(retain_graph=True)
    for handle in handles:
        handle.remove()
    assert [visit.node for visit in run_backward(graph).visits] == called
    assert len(called) == len(graph.nodes) == 8


def test_the_caller_s_graph_can_still_be_walked(waits):
    """Once; and the gradient is what it would have been."""
    run_backward(read_graph(waits.c))
    run_backward(read_graph(waits.c))
    waits.c.backward()
    assert waits.x.grad.item() == 36


def test_every_grad_is_left_as_found(waits, engine):
    """The same object with the same numbers, None where there was none, and retained gradients, too."""
    before = waits.x.grad = engine.tensor(4.0)
    waits.a.retain_grad()
    walked = run_backward(read_graph(waits.c, waits.names)).visits
    assert (waits.x.grad is before, before.item(), waits.a.grad) == (True, 4.0, None)
    assert (walked[-1].grad_before, walked[-1].grad_after) == (4.0, 40.0)
    waits.x.grad = None
    run_backward(read_graph(waits.c, waits.names))
    assert waits.x.grad is None


def test_no_hook_stays_behind(waits):
    """The caller's graph keeps nothing of the walk alive."""
    run_backward(read_graph(waits.c))
    functions = [f for f in gc.get_objects() if type(f) is FunctionType]
    assert not [f for f in functions if f.__module__ == run_backward.__module__ and "<locals>" in f.__qualname__]


def test_what_was_saved_is_listed(waits):
    """The square saved its input, the sum and the leaf nothing."""
    graph = read_graph(waits.c, waits.names)
    saved = dict(zip(map(graph.name, range(4)), run_backward(graph).saved, strict=True))
    arrays = {name: [convert_to_array(v) for v in kept.values() if hasattr(v, "shape")] for name, kept in saved.items()}
    assert (arrays["a"], arrays["c"], arrays["x"]) == ([3.0], [], [])


def test_a_result_of_many_numbers_takes_a_gradient(engine):
    """v = (0.5, 2) gives 2 v x."""
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    walked = run_backward(read_graph(x**2), engine.tensor([0.5, 2.0])).visits
    assert walked[-1].arrived[0].tolist() == [1.0, 8.0]


def test_a_result_of_many_numbers_without_a_gradient_is_refused(engine):
    """In the engine's words, with what to do; and nothing is left behind."""
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    z = x**2
    with pytest.raises(AutogradError, match="pass gradient="):
        run_backward(read_graph(z))
    z.backward(engine.tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_freed_graph_is_refused(waits):
    """The message says when to draw the figure."""
    waits.c.backward()
    with pytest.raises(AutogradError, match="before backward"):
        run_backward(read_graph(waits.c))
    assert waits.x.grad.item() == 36


@pytest.mark.parametrize(("order", "wrong"), [("a + 5a", 6.0), ("5a + a", 30.0)])
def test_a_depth_first_walk_gives_the_wrong_gradient(engine, order, wrong):
    """The right one is 36 in either order; no .grad changes, and the graph can still be walked."""
    x = engine.tensor(3.0, requires_grad=True)
    a = x**2
    c = a + a * 5.0 if order == "a + 5a" else a * 5.0 + a
    walked = run_depth_first(read_graph(c, {"x": x})).visits
    assert [visit.grad_after.item() for visit in walked if visit.grad_after is not None] == [wrong]
    assert x.grad is None
    c.backward()
    assert x.grad.item() == 36


def test_a_depth_first_walk_takes_a_gradient_too(engine):
    """And asks for it where the result is not one number."""
    x = engine.tensor([1.0, 2.0], requires_grad=True)
    graph = read_graph(x**2)
    assert run_depth_first(graph, engine.tensor([0.5, 2.0])).visits[-1].arrived[0].tolist() == [1.0, 8.0]
    with pytest.raises(AutogradError, match="gradient="):
        run_depth_first(graph)


def test_a_depth_first_walk_meets_one_output_of_each_node():
    """A node that was split has two."""
    import torch

    first, second = torch.ones(2, requires_grad=True).unbind()
    with pytest.raises(AutogradError, match="one output"):
        run_depth_first(read_graph(first * second))
