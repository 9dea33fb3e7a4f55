"""Draw boxes and arrows as one self-contained SVG that follows the page's colours, light or dark."""

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Box", "Edge", "draw"]

BOX_WIDTH, BOX_HEIGHT, COLUMN, ROW, MARGIN = 132, 46, 152, 88, 16
ACCENT = "var(--pst-color-primary, #1b6ca8)"


@dataclass(frozen=True)
class Box:
    """One node: its place in units of one node, its kind (``leaf``, ``op`` or ``result``) and its words."""

    x: float
    y: float
    kind: str
    label: str
    value: str = ""
    note: str = ""

    def words(self) -> str:
        """Return what the box says, on one line."""
        said = f"{self.label} = {self.value}" if self.value else self.label
        return f"{said} ({self.note})" if self.note else said

    def centre(self) -> tuple[float, float]:
        """Return the box's centre in pixels."""
        return _pixels(self.x, self.y)


@dataclass(frozen=True)
class Edge:
    """An arrow between two boxes, by index, through the points that keep it clear of other boxes."""

    source: int
    to: int
    via: tuple[tuple[float, float], ...] = ()


def draw(boxes: Sequence[Box], edges: Sequence[Edge], *, title: str, description: str) -> str:
    """Return the drawing as HTML: an SVG with its title and description for screen readers.

    Leaves have round ends and results a double border, so that nothing depends on colour.
    """
    width = max(x for x, _ in (box.centre() for box in boxes)) + BOX_WIDTH / 2 + MARGIN
    height = max(y for _, y in (box.centre() for box in boxes)) + BOX_HEIGHT / 2 + MARGIN
    repeats = Counter(edges)
    arrows = "".join(_arrow(boxes[e.source], boxes[e.to], e.via, times) for e, times in repeats.items())
    shapes = "".join(_box(box) for box in boxes)
    return (
        f'<div class="bp-figure"><svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" '
        f'aria-label="{html.escape(description, quote=True)}" style="max-width:100%;height:auto" '
        'font-family="system-ui,sans-serif" font-size="14" text-anchor="middle" fill="currentColor">'
        f"<title>{html.escape(title)}</title>{arrows}{shapes}</svg></div>"
    )


def _pixels(x: float, y: float) -> tuple[float, float]:
    return MARGIN + BOX_WIDTH / 2 + x * COLUMN, MARGIN + BOX_HEIGHT / 2 + y * ROW


def _arrow(source: Box, to: Box, via: Sequence[tuple[float, float]], times: int) -> str:
    """Draw from the top of a result to the bottom of what it was made from; several uses stand side by side."""
    (x1, y1), (x2, y2) = source.centre(), to.centre()
    return "".join(
        _curve(
            [(x1 + shift, y1 - BOX_HEIGHT / 2), *(_pixels(*point) for point in via), (x2 + shift, y2 + BOX_HEIGHT / 2)]
        )
        for shift in (22 * (i - (times - 1) / 2) for i in range(times))
    )


def _curve(points: Sequence[tuple[float, float]]) -> str:
    """Draw a smooth line through ``points``, upright at each, with an arrow head at the last."""
    (x, y), path = points[0], f"M{points[0][0]:g},{points[0][1]:g}"
    for to_x, to_y in points[1:]:
        middle = (y + to_y) / 2
        path += f" C{x:g},{middle:g} {to_x:g},{middle:g} {to_x:g},{to_y:g}"
        x, y = to_x, to_y
    head = f"M{x - 5:g},{y + 9:g} L{x:g},{y + 1:g} L{x + 5:g},{y + 9:g}"
    return f'<path d="{path} {head}" fill="none" style="stroke:{ACCENT}" stroke-width="1.8"/>'


def _box(box: Box) -> str:
    x, y = box.centre()
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    radius = BOX_HEIGHT / 2 if box.kind == "leaf" else 5
    outline = _rectangle(left, top, inset=0, radius=radius)
    if box.kind == "result":
        outline += _rectangle(left, top, inset=4, radius=radius)
    first = f"{box.label} = {box.value}" if box.value else box.label
    lines = [line for line in (first, box.note) if line]
    baselines = [y + 5] if len(lines) == 1 else [y - 4, y + 14]
    weights = ["600", "400"]
    words = "".join(
        f'<text x="{x:g}" y="{line_y:g}" font-weight="{weight}">{html.escape(line)}</text>'
        for line, line_y, weight in zip(lines, baselines, weights, strict=False)
    )
    return f"<g>{outline}{words}</g>"


def _rectangle(left: float, top: float, *, inset: float, radius: float) -> str:
    return (
        f'<rect x="{left + inset:g}" y="{top + inset:g}" width="{BOX_WIDTH - 2 * inset:g}" '
        f'height="{BOX_HEIGHT - 2 * inset:g}" rx="{radius:g}" fill="none" stroke="currentColor" stroke-width="1.4"/>'
    )
