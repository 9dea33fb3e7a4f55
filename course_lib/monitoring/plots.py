"""Plot the history of a monitor: heat map and norm curves."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.monitoring.gradient_history import GradientHistory
from course_lib.monitoring.histograms import LOWEST, Counts

if TYPE_CHECKING:
    from course_lib.figures.charts.canvas import Drawing
    from course_lib.figures.charts.heat_map import HeatMapFigure

__all__ = ["heat_map", "histogram_map", "norm_curves"]


def heat_map(history: GradientHistory, *, title: str) -> "HeatMapFigure":
    """Draw the root mean square of the gradient of each weight, one row for each weight, one column for each step."""
    rms, names = history.weight_rms()
    draw: Callable[..., HeatMapFigure] = load("course_lib.figures", extra="plots").heat_map
    return draw({"": rms.T}, rows=names, columns=history.steps, title=title, value="rms gradient")


def histogram_map(found: Sequence[tuple[int, Counts]], *, title: str) -> "HeatMapFigure":
    """Draw the share of elements by their size, one row for each power of two, one column for each step."""
    steps, counts = zip(*found, strict=True)
    table = np.array(counts)
    middle = table.shape[1] // 2
    sizes = table[:, middle + 1 :] + table[:, :middle][:, ::-1]  # of either sign, the smallest first
    used = np.flatnonzero(sizes.any(axis=0))
    low, high = (used[0], used[-1] + 1) if len(used) else (0, 1)
    shares = np.concatenate([sizes[:, low:high][:, ::-1], table[:, middle : middle + 1]], axis=1)
    shares = shares / np.maximum(table.sum(axis=1, keepdims=True), 1)
    rows = [*(f"2^{LOWEST + k}" for k in reversed(range(low, high))), "0"]
    draw: Callable[..., HeatMapFigure] = load("course_lib.figures", extra="plots").heat_map
    return draw({"": shares.T}, rows=rows, columns=steps, title=title, value="share of the elements")


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
    draw: Callable[..., Drawing] = load("course_lib.figures", extra="plots").lines
    return draw(series, x_label="step", y_label="gradient norm", title=title, y_scale="log")
