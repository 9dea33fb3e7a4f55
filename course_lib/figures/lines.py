"""Line charts that follow the page's colours, and that can be read without them."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from course_lib.errors import InputError
from course_lib.figures.canvas import Drawing, canvas

__all__ = ["lines"]

# Colours after Okabe and Ito (2008), over 3:1 on white and on the dark page; dashes tell them apart as well.
STYLES = (("#0072b2", "-", "o"), ("#d55e00", "--", "s"), ("#008f68", ":", "^"), ("#b5578f", "-.", "D"))
NAMED = 12  # points on the axis at most; of more, some are left out


def lines(
    series: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    title: str,
    x: Sequence[float] | None = None,
    y_scale: Literal["linear", "log"] = "linear",
    target: tuple[str, float] | None = None,
    marks: Mapping[str, Sequence[float]] | None = None,
) -> Drawing:
    """Draw each series against its index, or against given points, evenly spaced.

    Parameters
    ----------
    series : mapping of str to sequence of float
        At most four, each with a name. What is not finite leaves a gap, and the words say so.
    x_label, y_label : str
        What the axes show, with the unit where there is one.
    title : str
        What the figure shows, for its accessible name.
    x : sequence of float, optional
        What the points of every series belong to; each is marked, and named on the axis; of more than twelve,
        some are.
    y_scale : {"linear", "log"}
        How the values are spaced.
    target : (str, float), optional
        A level to mark, and its name.
    marks : mapping of str to sequence of float, optional
        What was measured where a series says what to expect: drawn as marks alone, in the colour of the series of that
        name.

    Raises
    ------
    InputError
        If marks belong to no series.

    Examples
    --------
    >>> lines({"loss": [2.0, 1.0, 0.5]}, x_label="step", y_label="loss", title="The loss over three steps")
    The loss over three steps. loss: from 2 to 0.5, between 0.5 and 2.
    """
    marks = marks or {}
    if alone := sorted(set(marks) - set(series)):
        raise InputError(
            f"marks must have a series of the same name, but {alone[0]!r} has none. There are: {', '.join(series)}."
        )
    with canvas(title) as page:
        axes, handles = page.figure.subplots(), {}
        for (name, values), (colour, dashes, marker) in zip(series.items(), STYLES, strict=False):
            on_line = marker if x and name not in marks else ""
            drawn = axes.plot(values, dashes, marker=on_line, color=colour, linewidth=2)
            if name in marks:
                drawn += axes.plot(marks[name], marker, color=colour, markersize=5)
            handles[name] = tuple(drawn) if len(drawn) > 1 else drawn[0]
        if x is not None:
            named = range(0, len(x), -(-len(x) // NAMED))
            axes.set_xticks(named, [f"{x[i]:g}" for i in named])
        if target is not None:
            handles[target[0]] = axes.axhline(target[1], color="black", linewidth=1)
        axes.set(xlabel=x_label, ylabel=y_label, yscale=y_scale)
        axes.spines[["top", "right"]].set_visible(False)
        legend = {"frameon": False, "loc": "outside upper center", "ncols": 2, "handlelength": 2.6}
        page.figure.legend(list(handles.values()), list(handles), **legend)
    said = {**series, **{f"{name}, measured": values for name, values in marks.items()}}
    words = [_in_words(name, values) for name, values in said.items()]
    if target is not None:
        words.append(f"{target[0]}: a level line at {target[1]:.3g}.")
    return page.drawing(f"{title}. {' '.join(words)}")


def _in_words(name: str, values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return f"{name}: nothing finite."
    said = f"{name}: from {finite[0]:.3g} to {finite[-1]:.3g}, between {min(finite):.3g} and {max(finite):.3g}"
    gaps = len(values) - len(finite)
    return f"{said}, {gaps} not finite." if gaps else f"{said}."
