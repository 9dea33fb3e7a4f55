"""A matplotlib canvas that becomes an inline SVG in the colours of the page."""

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from course_lib.extras import load
from course_lib.figures.frame import framed

__all__ = ["Canvas", "Drawing", "canvas"]

WIDTH_INCHES, HEIGHT_INCHES = 4.8, 3.0  # a phone shows it at four fifths, where its text is 12 pixels high


@dataclass(frozen=True)
class Drawing:
    """A chart as an inline SVG in a notebook or a page, one line of text anywhere else."""

    svg: str
    title: str
    description: str

    def _repr_html_(self) -> str:
        return framed(self.svg, self.title)

    def __repr__(self) -> str:
        return self.description


@dataclass
class Canvas:
    """What is being drawn on; :meth:`drawing` gives the result once the canvas is closed."""

    figure: Any
    title: str
    _svg: str = field(default="", init=False)

    def drawing(self, description: str, *, key: str = "") -> Drawing:
        """Return what was drawn, with words for those who cannot see it, and a ``key`` to go into its caption."""
        title = f"{self.title}. {key}" if key else self.title
        return Drawing(svg=_inline(self._svg, description), title=title, description=description)


@contextmanager
def canvas(title: str, *, width: float = WIDTH_INCHES, height: float = HEIGHT_INCHES) -> Iterator[Canvas]:
    """Open a matplotlib figure to draw on; black becomes the page's own colour, for words and lines alike.

    Parameters
    ----------
    title : str
        What the figure shows, for its caption; the same content under the same title makes the same file.
    width, height : float
        In inches of 96 pixels.

    Examples
    --------
    >>> with canvas("A diagonal") as page:
    ...     _ = page.figure.subplots().plot([0, 1], [0, 1], color="black")
    >>> page.drawing("A line from the corner to the corner.")
    A line from the corner to the corner.
    """
    pyplot: Any = load("matplotlib.pyplot", extra="book")
    # Text stays text, and ids stay the same from run to run.
    settings = {"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 11, "font.family": "sans-serif"}
    with pyplot.rc_context(settings):
        page = Canvas(pyplot.figure(figsize=(width, height), layout="constrained"), title)
        try:
            yield page
            drawn = io.StringIO()
            page.figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
            page._svg = drawn.getvalue()
        finally:
            pyplot.close(page.figure)


def _inline(svg: str, description: str) -> str:
    """Make matplotlib's file fit for a page: no prologue, a name, and the page's colour for black."""
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
