"""Draw the graph behind a tensor, as the tensor itself holds it: ``grad_fn`` and ``next_functions``."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.errors import AutogradError
from course_lib.figures.layers import place
from course_lib.figures.svg import Box, Edge, draw

__all__ = ["GraphFigure", "graph"]


@dataclass(frozen=True)
class GraphFigure:
    """A drawn graph: an inline SVG in a notebook or a page, one line of text anywhere else.

    Attributes
    ----------
    boxes : tuple of Box
        The nodes, leaves first, each with its place.
    edges : tuple of Edge
        From a node to a node it was made from.
    title : str
        What the figure shows; its accessible name.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    title: str

    def describe(self) -> str:
        """Say in words what the drawing shows: every node, and what it was made from."""
        parts = []
        for i, box in enumerate(self.boxes):
            made_from = [self.boxes[edge.to].words() for edge in self.edges if edge.source == i]
            if made_from:
                parts.append(f"{box.words()} from {' and '.join(made_from)}")
        return f"{self.title}: {'; '.join(parts)}." if parts else f"{self.title}: {self.boxes[0].words()} alone."

    def _repr_html_(self) -> str:
        return draw(self.boxes, self.edges, title=self.title, description=self.describe())

    def __repr__(self) -> str:
        return self.describe()


def graph(tensor: Any, *, names: Mapping[str, Any] | None = None, title: str = "The graph") -> GraphFigure:
    """Draw the graph that ``tensor.backward()`` would walk.

    Works on tensors of ``course_lib.autograd`` and of torch alike: it reads only ``grad_fn``, ``next_functions`` and,
    at the leaves, ``variable``. Arrows point from a result to what it was made from, which is the way the walk goes.

    Parameters
    ----------
    tensor : Tensor
        Any tensor that requires grad.
    names : mapping of str to Tensor, optional
        Names for tensors in the graph, such as ``{"x": x}``; unnamed leaves are called by their shape.
    title : str
        What the figure shows, for its accessible name.

    Returns
    -------
    GraphFigure
        Displays itself in a notebook.

    Raises
    ------
    AutogradError
        If ``tensor`` does not require grad, so that there is no graph.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor(2.0, requires_grad=True)
    >>> graph(x * x, names={"x": x})
    The graph: MulBackward0 from x = 2 and x = 2.
    """
    if not tensor.requires_grad:
        raise AutogradError(
            "a graph is drawn from a tensor that requires grad, but this one does not; "
            "make a leaf with requires_grad=True and compute from it"
        )
    found = _Walk(names or {})
    found.visit(tensor)
    layout = place(len(found.nodes), found.edges)
    boxes = tuple(Box(x=x, y=y, **found.labels(i)) for i, (x, y) in enumerate(layout.nodes))
    edges = tuple(Edge(source, to, via=layout.routes[source, to]) for source, to in found.edges)
    return GraphFigure(boxes=boxes, edges=edges, title=title)


class _Walk:
    """The nodes and edges reached from one tensor, in order of first visit."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names
        self.nodes: list[Any] = []
        self.edges: list[tuple[int, int]] = []
        self.result: Any = None

    def visit(self, tensor: Any) -> None:
        """Collect every node below ``tensor``; a leaf on its own is one node."""
        self.result = tensor
        self.nodes = [tensor.grad_fn if tensor.grad_fn is not None else _Alone(tensor)]
        index = {id(self.nodes[0]): 0}
        for i, node in _growing(self.nodes):
            for child, _ in node.next_functions:
                if child is None:
                    continue
                if id(child) not in index:
                    index[id(child)] = len(self.nodes)
                    self.nodes.append(child)
                self.edges.append((i, index[id(child)]))

    def labels(self, i: int) -> dict[str, str]:
        """Return the words in node ``i``'s box: what it is, its value, and its gradient once there is one."""
        node = self.nodes[i]
        variable = getattr(node, "variable", None)
        if variable is not None:
            return {
                "kind": "leaf",
                "label": self._name(variable) or f"leaf {tuple(variable.shape)}",
                "value": _number(variable),
                "note": "" if variable.grad is None else f"grad {_number(variable.grad) or 'stored'}",
            }
        named = {id(t.grad_fn): name for name, t in self.names.items() if t.grad_fn is not None}
        value = _number(self.result) if i == 0 else ""
        return {
            "kind": "result" if i == 0 else "op",
            "label": node.name(),
            "value": "",
            "note": self._caption(named.get(id(node)), value),
        }

    def _caption(self, name: str | None, value: str) -> str:
        if name and value:
            return f"{name} = {value}"
        return name or ""

    def _name(self, tensor: Any) -> str | None:
        return next((name for name, named in self.names.items() if named is tensor), None)


@dataclass(frozen=True)
class _Alone:
    """Stands for the node of a leaf that no operation has used."""

    variable: Any
    next_functions: tuple[()] = ()


def _growing(nodes: list[Any]) -> Iterator[tuple[int, Any]]:
    """Enumerate a list that gets longer on the way."""
    i = 0
    while i < len(nodes):
        yield i, nodes[i]
        i += 1


def _number(tensor: Any) -> str:
    """Return a single number, short; nothing for anything bigger."""
    if len(tensor.shape) != 0:
        return ""
    return f"{tensor.item():.4g}"
