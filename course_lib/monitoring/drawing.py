"""Draw the history of a monitor."""

from collections.abc import Sequence
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.monitoring.history import History

__all__ = ["heat_map", "norm_curves"]


def heat_map(history: History, *, title: str) -> Any:
    """Draw the root mean square of the gradient of each weight, one row for each weight, one column for each step."""
    rms, names = history.weight_rms()
    figures = load("course_lib.figures", extra="book")
    return figures.heat_map({"": rms.T}, rows=names, columns=history.steps, title=title, value="rms gradient")


def norm_curves(history: History, parameters: Sequence[Any], *, title: str) -> Any:
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
    lines = load("course_lib.figures", extra="book").lines
    return lines(series, x_label="step", y_label="gradient norm", title=title, y_scale="log")
