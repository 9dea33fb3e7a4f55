"""Draw a figure that steps through a backward pass, node by node, in a page without a kernel."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from course_lib.errors import AutogradError
from course_lib.figures.graphs.recorded_graph import read_graph
from course_lib.figures.graphs.svg import BoxDrawing
from course_lib.figures.stepper.backward_run import run_backward
from course_lib.figures.stepper.depth_first_run import run_depth_first
from course_lib.figures.stepper.drawing import draw_arrows, draw_boxes
from course_lib.figures.stepper.script import Script, Step
from course_lib.types import AnyTensor

__all__ = ["StepperFigure", "backward_stepper"]

MOST_NODES = 120
WHOLE = 24  # characters of code that are kept on one line


@dataclass(frozen=True)
class StepperFigure:
    """Backward pass to step through in a notebook or a page; a numbered list of its steps elsewhere.

    Attributes
    ----------
    drawing : Drawing
        The graph, with every gradient.
    steps : tuple of Step
        What happens, in order; the first is the seed.
    title : str
        The caption; code stands between backticks.
    """

    drawing: BoxDrawing
    steps: tuple[Step, ...]
    title: str

    def _repr_html_(self) -> str:
        items = "".join(map(_render_step, self.steps))
        style, script = _read_asset("stepper.css"), _read_asset("stepper.js")
        return (
            f'<div class="bp-figure"><style>{style}</style><bp-stepper>'
            f'<p class="bp-title">{_mark_code(self.title)}</p><div class="bp-graph">{self.drawing.svg()}</div>'
            f'<div class="bp-panel"><ol>{items}</ol></div></bp-stepper><script>{script}</script></div>'
        )

    def __repr__(self) -> str:
        lines = [f"{i}. {step}" for i, step in enumerate(self.steps, 1)]
        return "\n".join([self.title.replace("`", ""), *lines])


def backward_stepper(
    tensor: AnyTensor,
    *,
    names: Mapping[str, AnyTensor] | None = None,
    gradient: AnyTensor | None = None,
    depth_first: bool = False,
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
    depth_first : bool
        Show the wrong walk instead, in which a node does not wait: it runs on the first gradient that reaches it.
    title : str
        What the figure shows, as its caption; code stands between backticks.

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
    1. The seed (backward). Forward: x = 3 and t1 = x ** 2 = 9. Starts: t1 receives v = 1, dt1/dt1 = 1.
    2. t1 = x ** 2 (PowBackward0). Arrives: v = 1. Rule: v * 2 * x to x. Sends: 1 * 2 * 3 = 6 to x.
       Frees: x, saved in the forward pass.
    3. x = 3 (AccumulateGrad). Arrives: v = 6. Adds up: x.grad was None and is now 6.
    """
    graph = read_graph(tensor, names)
    if tensor.grad_fn is None:
        raise AutogradError("there is nothing to step through: this tensor is a leaf; compute something from it first")
    if len(graph.nodes) > MOST_NODES:
        raise AutogradError(
            f"a figure to step through must have at most {MOST_NODES} nodes, as each is a box and a step to read, but "
            f"this graph has {len(graph.nodes)}; take fewer layers or time steps, or one layer by itself"
        )
    script = Script(graph, (run_depth_first if depth_first else run_backward)(graph, gradient))
    drawn = draw_boxes(script)
    description = f"{title.replace('`', '')}. {' '.join(f'{box.words()}.' for box in drawn)}"
    drawing = BoxDrawing(drawn, draw_arrows(script), title=title.replace("`", ""), description=description)
    return StepperFigure(drawing, tuple(script.steps), title)


def _render_step(step: Step) -> str:
    """Render one step as an item of the list."""
    rows = "".join(f"<dt>{term}</dt> <dd>{_mark_code(said)}</dd> " for term, said in step.rows)
    asks = f' data-ask="{html.escape(step.question)}" data-answer="{step.answer!r}"' if step.question else ""
    heading, operation = html.escape(step.heading), html.escape(step.operation)
    return (
        f'<li{asks}><p><b class="bp-head">{heading}</b> <span class="bp-op">{operation}</span></p><dl>{rows}</dl></li>'
    )


def _mark_code(said: str) -> str:
    """Escape a sentence, and set what stands between backticks as code."""
    return re.sub(r"`([^`]*)`", _wrap_code, html.escape(said))


def _wrap_code(found: re.Match[str]) -> str:
    """Render code; short code stays on one line."""
    code = found[1]
    unbroken = ' class="bp-whole"' if len(code) <= WHOLE else ""
    return f"<code{unbroken}>{code}</code>"


@cache
def _read_asset(name: str) -> str:
    """Read the script or the style sheet of the figure."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8").strip()
