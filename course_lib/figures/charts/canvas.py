"""Draw with matplotlib, and convert the chart to an inline SVG in the colours of the page."""

import html
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from course_lib.extras import load
from course_lib.figures.html_frame import frame_figure

__all__ = ["Canvas", "Drawing", "canvas"]

WIDTH_INCHES, HEIGHT_INCHES = 4.8, 3.0  # a phone shows it at four fifths, where its text is 12 pixels high
PLACES = re.compile(r'(?<= )(?:d|points|transform|x|y|width|height|viewBox)="[^"]*"')
PRECISE = re.compile(r"-?\d+\.\d{3,}")
ID = "bp-{}"
# Okabe and Ito's colours become the book's, of its light or its dark page: forward, backward, and four more.
PALETTE = {
    "#0072b2": "fwd",
    "#d55e00": "bwd",
    "#008f68": "1",
    "#8a6d00": "2",
    "#b5578f": "3",
    "#6a6a6a": "4",
}
_displayed: Counter[str] = Counter()  # how often each title was, in this process, which is one notebook's


@dataclass(frozen=True)
class Drawing:
    """Chart as an inline SVG in a notebook or a page, one line of text elsewhere.

    Its ids are numbered; where it is displayed, what begins them is the figure's own: its title, and which of that
    title it is on the page. A number alone would meet its like where a reader runs some cells again.
    """

    svg: str
    title: str
    description: str

    def _repr_html_(self) -> str:
        _displayed[self.title] += 1
        own = f"bp-{zlib.crc32(self.title.encode()):08x}-{_displayed[self.title]}"
        return frame_figure(re.sub(r'(?<=["#])bp(?=-\d+[")])', own, self.svg), self.title)

    def __repr__(self) -> str:
        return self.description


@dataclass
class Canvas:
    """Matplotlib figure to draw on; :meth:`drawing` gives the result once the canvas is closed."""

    figure: Any
    title: str
    _svg: str = field(default="", init=False)

    def drawing(self, description: str, *, key: str = "") -> Drawing:
        """Return what was drawn, with words for those who cannot see it, and a ``key`` to go into its caption."""
        title = f"{self.title}. {key}" if key else self.title
        return Drawing(svg=_make_inline(self._svg, description), title=title, description=description)


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
    pyplot: Any = load("matplotlib.pyplot", extra="plots")
    # Text stays text; any salt will do, since the ids that matplotlib makes with it are not kept.
    settings = {"svg.fonttype": "none", "svg.hashsalt": "", "font.size": 11, "font.family": "sans-serif"}
    with pyplot.rc_context(settings):
        page = Canvas(pyplot.figure(figsize=(width, height), layout="constrained"), title)
        try:
            yield page
            drawn = io.StringIO()
            page.figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
            page._svg = drawn.getvalue()
        finally:
            pyplot.close(page.figure)


def _make_inline(svg: str, description: str) -> str:
    """Convert matplotlib's file for a page: no prologue, a name, and the page's colour for black."""
    svg = _number_ids(PLACES.sub(_round_coordinates, svg[svg.index("<svg") :]))
    width = float(re.search(r'width="([\d.]+)pt"', svg).group(1)) * 96 / 72  # type: ignore[union-attr]  # always there
    label = html.escape(description, quote=True)
    size = f'width="{width:.0f}" role="img" aria-label="{label}" style="max-width:100%;height:auto" fill="currentColor"'
    svg = re.sub(r'width="[\d.]+pt"', size, svg, count=1)
    svg = re.sub(r'height="[\d.]+pt" ', "", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub("|".join(PALETTE), lambda found: f"var(--bp-{PALETTE[found[0]]}, {found[0]})", svg)
    svg = svg.replace("#000000", "currentColor").replace("stroke: black", "stroke: currentColor")
    return svg.replace("*{stroke-linejoin: round; stroke-linecap: butt}", "")


def _round_coordinates(place: re.Match[str]) -> str:
    """Round coordinates to a hundredth of a point, so that another processor draws the same."""
    return PRECISE.sub(lambda found: f"{float(found[0]):z.2f}".rstrip("0").rstrip("."), place[0])


def _number_ids(svg: str) -> str:
    """Number the ids that are referred to, and leave out others; matplotlib makes them from unrounded coordinates."""
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    names = {name: ID.format(i) for i, name in enumerate(re.findall(r' id="([^"]+)"', svg), start=1)}
    return re.sub(r'(?<=["#])[\w-]+(?=[")])', lambda found: names.get(found[0], found[0]), svg)
