"""Step through a backward pass, node by node, in a page that needs nothing but itself."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from course_lib.errors import AutogradError
from course_lib.figures.nodes import read
from course_lib.figures.stepper.stages import arrows, boxes
from course_lib.figures.stepper.steps import Script, Step
from course_lib.figures.stepper.walk import walk
from course_lib.figures.svg import Drawing

__all__ = ["StepperFigure", "backward_stepper"]

MOST_NODES = 120
WHOLE = 24  # characters of code that are kept on one line


@dataclass(frozen=True)
class StepperFigure:
    """A backward pass to step through in a notebook or a page; a numbered list of its steps anywhere else.

    Attributes
    ----------
    drawing : Drawing
        The graph, with every gradient.
    steps : tuple of Step
        What happens, in order; the first is the seed.
    """

    drawing: Drawing
    steps: tuple[Step, ...]

    def _repr_html_(self) -> str:
        items = "".join(map(_item, self.steps))
        return (
            f'<div class="bp-figure"><style>{_part("stepper.css")}</style><bp-stepper>'
            f'<p class="bp-title">{html.escape(self.drawing.title)}</p><div class="bp-graph">{self.drawing.svg()}</div>'
            f'<div class="bp-panel"><ol>{items}</ol></div></bp-stepper><script>{_part("stepper.js")}</script></div>'
        )

    def __repr__(self) -> str:
        lines = [f"{i}. {step}" for i, step in enumerate(self.steps, 1)]
        return "\n".join([self.drawing.title, *lines])


def backward_stepper(
    tensor: Any,
    *,
    names: Mapping[str, Any] | None = None,
    gradient: Any = None,
    title: str = "The backward pass, step by step",
) -> StepperFigure:
    """Draw the graph behind ``tensor`` and step through its backward pass in the order the engine takes.

    The backward pass is really run, with hooks on the nodes, and the numbers shown are those that passed. The graph
    can be walked again afterwards, and every ``.grad`` is left as it was. Works on tensors of ``course_lib.autograd``
    and of torch alike.

    Parameters
    ----------
    tensor : Tensor
        The result to start from.
    names : mapping of str to Tensor, optional
        Names for tensors in the graph, such as ``{"x": x}``; other values are called t1, t2, ... in forward order.
    gradient : Tensor, optional
        The cotangent to start from, of the shape of ``tensor``; 1 if that is a single number.
    title : str
        What the figure shows.

    Returns
    -------
    StepperFigure
        Displays itself in a notebook; keys, buttons and screen readers work in the built page too.

    Raises
    ------
    AutogradError
        If there is no graph, if it has more than 120 nodes, or if its backward pass cannot be run.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor(3.0, requires_grad=True)
    >>> print(backward_stepper(x**2, names={"x": x}))
    The backward pass, step by step
    1. The seed (backward). Starts: t1 is given v = 1, dt1/dt1 = 1.
    2. t1 = x ** 2 (PowBackward0). Arrives: v = 1. Rule: v * 2 * x to x. Sends: 1 * 2 * 3 = 6 to x.
       Frees: x, saved in the forward pass.
    3. x = 3 (AccumulateGrad). Arrives: v = 6. Adds up: x.grad was None and is now 6.
    """
    graph = read(tensor, names)
    if tensor.grad_fn is None:
        raise AutogradError("there is nothing to step through: this tensor is a leaf; compute something from it first")
    if len(graph.nodes) > MOST_NODES:
        raise AutogradError(
            f"a figure to step through must have at most {MOST_NODES} nodes, as each is a box and a step to read, but "
            f"this graph has {len(graph.nodes)}; take fewer layers or time steps, or one layer by itself"
        )
    script = Script(graph, walk(graph, gradient))
    drawn = boxes(script)
    description = f"{title}. {' '.join(f'{box.words()}.' for box in drawn)}"
    drawing = Drawing(drawn, arrows(script), title=title, description=description)
    return StepperFigure(drawing, tuple(script.steps))


def _item(step: Step) -> str:
    rows = "".join(f"<dt>{term}</dt> <dd>{_marked(said)}</dd> " for term, said in step.rows)
    return (
        f'<li><p><b class="bp-head">{html.escape(step.heading)}</b> <span class="bp-op">{html.escape(step.operation)}'
        f"</span></p><dl>{rows}</dl></li>"
    )


def _marked(said: str) -> str:
    """Escape a sentence, and set what stands between backticks as code."""
    return re.sub(r"`([^`]*)`", _code, html.escape(said))


def _code(found: re.Match[str]) -> str:
    code = found[1]
    unbroken = ' class="bp-whole"' if len(code) <= WHOLE else ""
    return f"<code{unbroken}>{code}</code>"


@cache
def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()
