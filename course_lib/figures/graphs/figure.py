"""Draw the computational graph behind a tensor."""

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.figures.graphs.layout import place_nodes
from course_lib.figures.graphs.recorded_graph import RecordedGraph, read_graph
from course_lib.figures.graphs.svg import Box, BoxDrawing, Edge, Line
from course_lib.figures.html_frame import frame_figure
from course_lib.figures.short_numbers import convert_to_array, format_briefly
from course_lib.types import AnyTensor

__all__ = ["GraphFigure", "graph"]


@dataclass(frozen=True)
class GraphFigure:
    """Drawing of a computational graph: an inline SVG in a notebook or a page, one line of text elsewhere.

    Attributes
    ----------
    boxes : tuple of Box
        The nodes, the result first, each with its place.
    edges : tuple of Edge
        From a node to a node it was made from.
    title : str
        What the figure shows; its accessible name.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    title: str

    def describe(self) -> str:
        """Describe the drawing in words: every node, and what it was computed from."""
        parts = []
        for i, box in enumerate(self.boxes):
            made_from = [self.boxes[edge.to].words() for edge in self.edges if edge.source == i]
            if made_from:
                parts.append(f"{box.words()} from {' and '.join(made_from)}")
        return f"{self.title}: {'; '.join(parts)}." if parts else f"{self.title}: {self.boxes[0].words()} alone."

    def _repr_html_(self) -> str:
        drawing = BoxDrawing(self.boxes, self.edges, title=self.title, description=self.describe())
        return frame_figure(drawing.svg(), self.title)

    def __repr__(self) -> str:
        return self.describe()


def graph(tensor: AnyTensor, *, names: Mapping[str, AnyTensor] | None = None, title: str = "The graph") -> GraphFigure:
    """Draw the computational graph that ``tensor.backward()`` would walk.

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
    The graph: MulBackward0 (4) from x = 2 and x = 2.
    """
    found = read_graph(tensor, names)
    layout = place_nodes(len(found.nodes), found.edges)
    boxes = tuple(_box(found, i, x, y) for i, (x, y) in enumerate(layout.nodes))
    edges = tuple(Edge(source, to, via=layout.routes[source, to]) for source, to in found.edges)
    return GraphFigure(boxes=boxes, edges=edges, title=title)


def _box(found: RecordedGraph, i: int, x: float, y: float) -> Box:
    """Write in node ``i``'s box what it is, its value if that is one number, and its gradient once there is one."""
    name, tensor = found.name(i), found.tensor(i)
    value = format_briefly(convert_to_array(tensor)) if tensor is not None and len(tensor.shape) == 0 else ""
    said = " = ".join(word for word in (name, value) if word)
    if not found.is_leaf(i):
        notes = (Line(said),) if said else ()
        return Box(x, y, kind="op" if i else "result", label=found.nodes[i].name(), notes=notes)
    grad = None if tensor is None else tensor.grad
    notes = () if grad is None else (Line(f"grad {format_briefly(convert_to_array(grad), room=10)}"),)
    shape = "" if tensor is None or value else f" {tuple(tensor.shape)}"
    return Box(x, y, kind="leaf", label=said if name else f"leaf{shape or f' = {value}'}", notes=notes)
