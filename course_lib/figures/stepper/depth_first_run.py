"""Run a backward pass depth-first, which is wrong: a node runs on the first contribution and ignores later ones."""

from course_lib.errors import AutogradError
from course_lib.figures.graphs.recorded_graph import RecordedGraph
from course_lib.figures.short_numbers import Array, convert_to_array
from course_lib.figures.stepper.backward_run import BackwardRun, Visit, read_saved
from course_lib.types import AnyTensor

__all__ = ["run_depth_first"]


def run_depth_first(graph: RecordedGraph, gradient: AnyTensor | None = None) -> BackwardRun:
    """Run the vjp of each node at once when the first gradient reaches it, one input after the other.

    A node with several inputs is visited once for each, since the walk returns to it in between. A gradient that
    reaches a node a second time is recorded and goes no further. Leaves add up whatever reaches them. Nothing is freed,
    no ``.grad`` is changed, and no hook runs.

    Raises
    ------
    AutogradError
        If the graph uses a second output of a node, or the result is not one number and there is no ``gradient``.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> from course_lib.figures.graphs.recorded_graph import read_graph
    >>> x = tensor(4.0, requires_grad=True)
    >>> a = x**2
    >>> run = run_depth_first(read_graph(a + 5.0 * a, {"x": x}))
    >>> [visit.grad_after.item() for visit in run.visits if visit.grad_after is not None]
    [8.0]
    """
    if any(graph.outputs):
        raise AutogradError("a depth-first walk must meet one output per node, but this graph uses a second one")
    if gradient is None and graph.result.shape:
        shape = tuple(graph.result.shape)
        raise AutogradError(f"without gradient=, the result must be a single number, but its shape is {shape}")
    visits: list[Visit] = []
    run_before: set[int] = set()
    grads: dict[int, Array] = {}
    nodes = graph.nodes

    def visit(i: int, v: AnyTensor) -> None:
        if graph.is_leaf(i):
            arrived, before = convert_to_array(v), grads.get(i)
            grads[i] = arrived if before is None else before + arrived
            visits.append(Visit(i, (arrived,), (), before, grads[i]))
            return
        if i in run_before:
            return
        run_before.add(i)
        returned = nodes[i](v)
        returned = returned if isinstance(returned, tuple) else (returned,)
        for slot, (child, _) in enumerate(nodes[i].next_functions):
            if child is None or returned[slot] is None:
                continue
            sent = tuple(convert_to_array(g) if k == slot else None for k, g in enumerate(returned))
            visits.append(Visit(i, (convert_to_array(v),), sent))
            visit(nodes.index(child), returned[slot])

    visit(0, graph.result.detach() * 0 + 1 if gradient is None else gradient)
    return BackwardRun(tuple(visits), tuple(map(read_saved, nodes)), depth_first=True)
