"""Plot the history of a monitor: heat map and norm curves."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.monitoring.gradient_history import GradientHistory

if TYPE_CHECKING:
    from course_lib.figures.charts.canvas import Drawing
    from course_lib.figures.charts.heat_map import HeatMapFigure

__all__ = ["heat_map", "norm_curves"]


def heat_map(history: GradientHistory, *, title: str) -> "HeatMapFigure":
    """Draw the root mean square of the gradient of each weight, one row for each weight, one column for each step."""
    rms, names = history.weight_rms()
    draw: Callable[..., HeatMapFigure] = load("course_lib.figures", extra="book").heat_map
    return draw({"": rms.T}, rows=names, columns=history.steps, title=title, value="rms gradient")


def norm_curves(history: GradientHistory, parameters: Sequence[str], *, title: str) -> "Drawing":
    """Draw the norm of all gradients together, and of up to three parameters, by step, on a logarithmic scale.

    Raises
    ------
    InputError
        If one is not the name of a parameter, or there are more than three.
    """
    for name in parameters:
        if not isinstance(name, str):
            raise InputError(
                f"parameters must be names, one by one, but got a {type(name).__name__}. Write norm_curves(*names) "
                "for a list of names."
            )
    if unknown := sorted(set(parameters) - set(history.names)):
        raise InputError(f"there is no parameter {unknown[0]!r}. The names are in monitor.history.")
    if len(parameters) > 3:
        raise InputError(f"at most three parameters can be drawn beside the total, but got {len(parameters)}.")
    norms = history.array("norm")
    series = {"all together": history.total().tolist()}
    series |= {name: norms[:, history.names.index(name)].tolist() for name in parameters}
    draw: Callable[..., Drawing] = load("course_lib.figures", extra="book").lines
    return draw(series, x_label="step", y_label="gradient norm", title=title, y_scale="log")
