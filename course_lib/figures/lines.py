"""Line charts that follow the page's colours, and that can be read without them."""

import html
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.extras import load

__all__ = ["LineFigure", "lines"]

# Colours after Okabe and Ito (2008), over 3:1 on white and on the dark page; dashes tell them apart as well.
STYLES = (("#0072b2", "-", "o"), ("#d55e00", "--", "s"), ("#008f68", ":", "^"), ("#b5578f", "-.", "D"))
WIDTH_INCHES, HEIGHT_INCHES = 4.8, 3.0  # a phone shows it at four fifths, which leaves 12 pixels of its text


@dataclass(frozen=True)
class LineFigure:
    """A chart as an inline SVG in a notebook or a page, one line of text anywhere else."""

    svg: str
    description: str

    def _repr_html_(self) -> str:
        return f'<div class="bp-figure">{self.svg}</div>'

    def __repr__(self) -> str:
        return self.description


def lines(
    series: Mapping[str, Sequence[float]],
    *,
    x_label: str,
    y_label: str,
    title: str,
    x: Sequence[float] | None = None,
    target: tuple[str, float] | None = None,
) -> LineFigure:
    """Draw each series against its index, or against given points, evenly spaced.

    Parameters
    ----------
    series : mapping of str to sequence of float
        At most four, each with a name.
    x_label, y_label : str
        What the axes show, with the unit where there is one.
    title : str
        What the figure shows, for its accessible name.
    x : sequence of float, optional
        What the points of every series belong to; each is marked and named on the axis.
    target : (str, float), optional
        A level to mark, and its name.

    Examples
    --------
    >>> lines({"loss": [2.0, 1.0, 0.5]}, x_label="step", y_label="loss", title="The loss over three steps")
    The loss over three steps. loss: from 2 to 0.5, between 0.5 and 2.
    """
    pyplot: Any = load("matplotlib.pyplot", extra="book")
    # Text stays text, ids stay the same from run to run, and black becomes the page's own colour below.
    settings = {"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 11, "font.family": "sans-serif"}
    with pyplot.rc_context(settings):
        figure, axes = pyplot.subplots(figsize=(WIDTH_INCHES, HEIGHT_INCHES), layout="constrained")
        for (name, values), (colour, dashes, marker) in zip(series.items(), STYLES, strict=False):
            axes.plot(values, dashes, marker=marker if x else "", color=colour, linewidth=2, label=name)
        if x is not None:
            axes.set_xticks(range(len(x)), [f"{value:g}" for value in x])
        if target is not None:
            axes.axhline(target[1], color="black", linewidth=1, label=target[0])
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(frameon=False, loc="outside upper center", ncols=2, handlelength=2.6)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    description = f"{title}. {' '.join(_in_words(name, values) for name, values in series.items())}"
    return LineFigure(svg=_inline(drawn.getvalue(), description), description=description)


def _in_words(name: str, values: Sequence[float]) -> str:
    return f"{name}: from {values[0]:.3g} to {values[-1]:.3g}, between {min(values):.3g} and {max(values):.3g}."


def _inline(svg: str, description: str) -> str:
    """Make matplotlib's file fit to stand in a page: no prologue, a name, and the page's colour for black."""
    svg = svg[svg.index("<svg") :]
    width = float(re.search(r'width="([\d.]+)pt"', svg).group(1)) * 96 / 72  # type: ignore[union-attr]  # always there
    label = html.escape(description, quote=True)
    size = f'width="{width:.0f}" role="img" aria-label="{label}" style="max-width:100%;height:auto" fill="currentColor"'
    svg = re.sub(r'width="[\d.]+pt"', size, svg, count=1)
    svg = re.sub(r'height="[\d.]+pt" ', "", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)  # several figures share a page, and ids must not repeat
    svg = svg.replace("#000000", "currentColor").replace("stroke: black", "stroke: currentColor")
    return svg.replace("*{stroke-linejoin: round; stroke-linecap: butt}", "")
