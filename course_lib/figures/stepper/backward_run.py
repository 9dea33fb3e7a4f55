"""Run the backward pass of a graph with hooks, and record what each node receives and returns."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from course_lib.errors import AutogradError
from course_lib.figures.graphs.recorded_graph import RecordedGraph
from course_lib.figures.short_numbers import Array, convert_to_array
from course_lib.types import AnyTensor

__all__ = ["BackwardRun", "Visit", "read_saved", "run_backward"]

Arrays = tuple[Array | None, ...]


@dataclass(frozen=True)
class Visit:
    """Visit of a node: the cotangents of its outputs and of its inputs, and what a leaf's ``.grad`` was and became."""

    node: int
    arrived: Arrays
    sent: Arrays = ()
    grad_before: Array | None = None
    grad_after: Array | None = None


@dataclass(frozen=True)
class BackwardRun:
    """Backward pass that was run: its visits in order, what each node had saved, by name, and if it was depth-first."""

    visits: tuple[Visit, ...]
    saved: tuple[Mapping[str, Any], ...]
    depth_first: bool = False


def run_backward(graph: RecordedGraph, gradient: AnyTensor | None = None) -> BackwardRun:
    """Run ``backward`` with hooks on every node; the graph can be walked again, and every ``.grad`` is as it was.

    Raises
    ------
    AutogradError
        If the engine refuses: the graph was freed, or the result is not one number and there is no ``gradient``.
    """
    order: list[int] = []
    arrived: dict[int, Arrays] = {}
    sent: dict[int, Arrays] = {}

    def record_arrived(i: int, grad_outputs: Iterable[AnyTensor | None]) -> None:
        order.append(i)
        arrived[i] = _convert_arrays(grad_outputs)

    def record_sent(i: int, grad_inputs: Iterable[AnyTensor | None], _: object) -> None:
        sent[i] = _convert_arrays(grad_inputs)

    handles = []
    with _restore_grads(graph) as grads_before:
        try:
            for i, node in enumerate(graph.nodes):
                handles += [node.register_prehook(partial(record_arrived, i))]
                handles += [node.register_hook(partial(record_sent, i))]
            graph.result.backward(gradient, retain_graph=True)
        except RuntimeError as error:
            raise AutogradError(
                f"the figure must show a backward pass that can be run, but this one cannot: {error} "
                "Draw the figure before backward() frees the graph, and pass gradient= unless the result is one number."
            ) from error
        finally:
            for handle in handles:
                handle.remove()
        visits = tuple(_make_visit(graph, i, arrived[i], sent.get(i, ()), grads_before.get(i)) for i in order)
    return BackwardRun(visits, tuple(map(read_saved, graph.nodes)))


def _convert_arrays(tensors: Iterable[AnyTensor | None]) -> Arrays:
    """Convert gradients to arrays; None stays."""
    return tuple(None if tensor is None else convert_to_array(tensor) for tensor in tensors)


def _make_visit(graph: RecordedGraph, i: int, arrived: Arrays, sent: Arrays, grad: Array | None) -> Visit:
    """Describe the visit of a node, and of a leaf what its ``.grad`` became."""
    if not graph.is_leaf(i):
        return Visit(i, arrived, sent)
    leaf = graph.nodes[i].variable
    return Visit(i, arrived, (), grad, None if leaf is None or leaf.grad is None else convert_to_array(leaf.grad))


@contextmanager
def _restore_grads(graph: RecordedGraph) -> Iterator[dict[int, Array]]:
    """Restore every ``.grad`` after a backward pass; yield those that the leaves had before, by node."""
    candidates = [getattr(node, "variable", None) for node in graph.nodes]
    candidates += [graph.result, *graph.names.values()]
    kept = {id(t): t for t in candidates if t is not None and t.requires_grad and (t.is_leaf or t.retains_grad)}
    found = {key: tensor.grad for key, tensor in kept.items()}
    for key, tensor in kept.items():
        tensor.grad = None if found[key] is None else found[key].detach().clone()
    try:
        yield {
            i: convert_to_array(found[id(t)]) for i, t in enumerate(candidates[: len(graph.nodes)])
            if t is not None and found[id(t)] is not None
        }  # fmt: skip
    finally:
        for key, tensor in kept.items():
            tensor.grad = found[key]


def read_saved(node: Any) -> Mapping[str, Any]:
    """Return what a node keeps from the forward pass: the course's engine lists it, torch has an attribute for each."""
    if hasattr(node, "op"):
        return dict(zip(getattr(node.op, "saves", ()), node.saved, strict=False))
    if hasattr(node, "saved_tensors"):  # a custom function
        return {f"saved tensor {i + 1}": tensor for i, tensor in enumerate(node.saved_tensors)}
    names = (name for name in dir(node) if name.startswith("_saved_"))
    return {name.removeprefix("_saved_"): getattr(node, name) for name in names}
