"""Draw what a total consists of, as areas upon one another, that can be told apart without colour."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course_lib.errors import InputError
from course_lib.figures.charts.canvas import Drawing, canvas

__all__ = ["stacked_areas"]

# Colours after Okabe and Ito (2008), and a hatching each.
FILLS = (
    ("#0072b2", ""),
    ("#8a6d00", "////"),
    ("#d55e00", "----"),
    ("#008f68", "\\\\\\\\"),
    ("#b5578f", "xxxx"),
    ("#6a6a6a", "...."),
)
LEGEND = {"frameon": False, "loc": "outside upper center", "ncols": 3}
ROOM = 1.24  # above the peak, as a factor, for its name and those of the spans


def stacked_areas(
    series: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    title: str,
    spans: Sequence[tuple[str, float, float]] = (),
) -> Drawing:
    """Stack series as areas over their index, each value until the next, and mark where their sum is highest.

    Parameters
    ----------
    series : mapping of str to sequence of float
        At most six of the same length, from the bottom up; none negative.
    x_label, y_label : str
        What the axes show, with the unit where there is one.
    title : str
        What the figure shows, for its caption and its accessible name.
    spans : sequence of (str, float, float), optional
        Stretches of the axis below, by name, beginning and end, to be named at the top.

    Raises
    ------
    InputError
        If there are no series, or more than six, if their lengths differ, or a value is negative or not finite.

    Examples
    --------
    >>> stacked_areas({"own": [1, 1, 1], "made": [0, 2, 0]}, x_label="operations", y_label="MB", title="A peak")
    A peak. The sum peaks at 3, at 1 of 2: own 1, made 2.
    """
    _check_series(series)
    sums = [math.fsum(values) for values in zip(*series.values(), strict=True)]
    top, end = max(sums), len(sums) - 1
    peak = sums.index(top)
    below, outlines = [0.0] * len(sums), list[list[float]]()
    for values in series.values():
        below = [low + value for low, value in zip(below, values, strict=True)]
        outlines.append(below)
    with canvas(title, height=3.8) as page:
        axes, areas = page.figure.subplots(), {}
        filled = list(zip(series, outlines, FILLS, strict=False))
        for name, outline, (colour, hatch) in reversed(filled):  # the highest first, each covered by the next
            xs, ys = _steps(outline)
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
            (areas[name],) = axes.fill([0, *xs, end], [0, *ys, 0], **look)
        for name, begin, until in spans:
            axes.axvline(begin, color="black", linewidth=0.8, linestyle=":")
            axes.text((begin + until) / 2, top * (ROOM + 1) / 2, name, ha="center", va="bottom", fontsize=10)
        aside = peak + (0.08 if peak < 0.7 * end else -0.08) * end
        arrow = {"arrowstyle": "->", "color": "black"}
        side = "left" if aside > peak else "right"
        axes.annotate("peak", (peak, top), (aside, 1.03 * top), ha=side, va="center", fontsize=10, arrowprops=arrow)
        axes.set(xlabel=x_label, ylabel=y_label, xlim=(0, end), ylim=(0, ROOM * top))
        axes.spines[["top", "right"]].set_visible(False)
        page.figure.legend([areas[name] for name in series], list(series), **LEGEND)
    parts = ", ".join(f"{name} {values[peak]:.3g}" for name, values in series.items())
    return page.drawing(f"{title}. The sum peaks at {top:.3g}, at {peak} of {end}: {parts}.")


def _steps(values: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the corners of a line that keeps each value until the next.

    Examples
    --------
    >>> _steps([1, 1, 3])
    ([0, 2, 2], [1, 1, 3])
    """
    xs, ys = [0], [values[0]]
    for at, (before, after) in enumerate(pairwise(values), start=1):
        if after != before:
            xs += [at, at]
            ys += [before, after]
    if xs[-1] < len(values) - 1:
        xs.append(len(values) - 1)
        ys.append(values[-1])
    return xs, ys


def _check_series(series: Mapping[str, Sequence[float]]) -> None:
    """Refuse series that cannot be stacked, or told apart."""
    needs = f"stacked areas need 1 to {len(FILLS)} series of the same length, two values or more, none negative"
    if not 1 <= len(series) <= len(FILLS):
        raise InputError(f"{needs}, but got {len(series)} series. Add up the smallest.")
    lengths = {name: len(values) for name, values in series.items()}
    if len(set(lengths.values())) > 1 or min(lengths.values()) < 2:
        said = ", ".join(f"{name!r} has {length}" for name, length in lengths.items())
        raise InputError(f"{needs}, but {said}. Give each a value at every point.")
    for name, values in series.items():
        if wrong := [value for value in values if not 0 <= value < math.inf]:
            raise InputError(f"{needs}, but {name!r} has {wrong[0]:g}. Draw such series with lines().")
