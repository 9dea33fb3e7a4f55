"""Draw boxes and arrows as one self-contained SVG that follows the page's colours, light or dark.

A figure that steps through a drawing marks its parts with the first step at which they show and the step at which they
give way. Without a script, and on paper, everything that does not give way shows: the last state.
"""

import html
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

__all__ = ["Box", "BoxDrawing", "Edge", "Line"]

BOX_HEIGHT, COLUMN_GAP, ROW_GAP, MARGIN = 46, 18, 54, 12
NARROWEST, BOX_PADDING = 108, 20
BOLD, PLAIN, EMS = 14, 12.2, 0.74  # pixels of an em: labels, and notes, whose letters are thinner; ems of a letter
NARROW = {" ": 0.36, **dict.fromkeys("ijlI.,:;'|!/", 0.4), **dict.fromkeys("[]()tfr-*", 0.53)}
WIDE = {**dict.fromkeys("=+<>~", 0.84), **dict.fromkeys("mwMW@%", 1.1)}  # in the widest common font, DejaVu Sans
PILL_CHARACTER, PADDING = 8, 14
ENTRY = 44  # the length of an arrow that comes from outside
LEGIBLE = 0.85  # how far a drawing may shrink: 13 pixels to 11
ACCENT = "var(--pst-color-primary, #3a86c8)"
FLOW = "#c2410c"  # white on it, and it on a white or a black page, are over 3:1; with white over 4.5:1

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """Line of text, shown from one step until another; with no steps, always."""

    text: str
    since: int | None = None
    until: int | None = None


@dataclass(frozen=True)
class Box:
    """Box of a node: its place in units of one node, its kind (``leaf``, ``op`` or ``result``), words and steps."""

    x: float
    y: float
    kind: str
    label: str
    notes: tuple[Line, ...] = ()
    steps: tuple[int, ...] = ()

    def words(self) -> str:
        """Return what the box says in the end, on one line."""
        notes = [note.text for note in self.notes if note.until is None]
        return f"{self.label} ({notes[0]})" if notes else self.label


@dataclass(frozen=True)
class Edge:
    """Arrow between two boxes, by index, through points clear of others; from outside if ``source`` is None.

    From step ``since`` on, ``carries`` is seen to travel along it.
    """

    source: int | None
    to: int
    via: tuple[Point, ...] = ()
    carries: str = ""
    since: int | None = None


@dataclass(frozen=True)
class BoxDrawing:
    """Drawing of boxes and arrows, with a description for those who cannot see it."""

    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    title: str
    description: str

    def svg(self) -> str:
        """Return the drawing; leaves have round ends and results a double border: nothing depends on colour."""
        left, right = self._sides
        width = right - left + 2 * MARGIN
        bottom = max(self._centre(box)[1] for box in self.boxes) + BOX_HEIGHT / 2 + MARGIN
        bottom += ENTRY if any(edge.source is None for edge in self.edges) else 0
        paths = [(edge, self._points(i, edge)) for i, edge in enumerate(self.edges)]
        parts = [_draw_arrow(edge, points) for edge, points in paths] + [self._draw_box(box) for box in self.boxes]
        parts += [_draw_pill(edge, points) for edge, points in paths if edge.carries]
        return (
            f'<svg viewBox="0 0 {width:g} {bottom:g}" width="{width:g}" role="img" '
            f'aria-label="{html.escape(self.description)}" '
            f'style="max-width:100%;min-width:{LEGIBLE * width:.0f}px;height:auto" '
            'font-family="system-ui,sans-serif" font-size="14" text-anchor="middle" fill="currentColor">'
            f"<title>{html.escape(self.title)}</title>{''.join(parts)}</svg>"
        )

    @cached_property
    def _widths(self) -> dict[Box, float]:
        """Return the width of each box, for its words and for arrows side by side."""
        widths = {}
        for box in self.boxes:
            words = [BOLD * _measure_ems(box.label), *(PLAIN * _measure_ems(note.text) for note in box.notes)]
            widths[box] = max(NARROWEST, max(words) + BOX_PADDING)
        for (source, to), times in Counter((edge.source, edge.to) for edge in self.edges).items():
            for box in {self.boxes[to], self.boxes[to if source is None else source]}:
                widths[box] = max(widths[box], times * self._port)
        return widths

    @cached_property
    def _port(self) -> float:
        """Return the distance between edges that meet a box, so that what they carry stands side by side."""
        return max(44, 8 + max(_pill_width(edge.carries) for edge in self.edges)) if self.edges else 0

    @cached_property
    def _unit(self) -> float:
        """Return the pixels of one unit of x: the fewest that keep neighbours in each row apart."""
        rows: dict[float, set[Point]] = defaultdict(set)  # in each, where something stands, and half its width
        for box in self.boxes:
            rows[box.y].add((box.x, self._widths[box] / 2))
        for x, y in (point for edge in self.edges for point in edge.via):
            rows[y].add((x, 0))
        pairs = (pair for row in rows.values() for pair in pairwise(sorted(row)))
        return max(((a + b + COLUMN_GAP) / (right - left) for (left, a), (right, b) in pairs), default=0)

    @cached_property
    def _sides(self) -> tuple[float, float]:
        """Return where the leftmost and the rightmost part end, if x is 0 at pixel 0."""
        spans = [(box.x * self._unit, self._widths[box] / 2) for box in self.boxes]
        spans += [(x * self._unit, 0) for edge in self.edges for x, _ in edge.via]
        return min(x - half for x, half in spans), max(x + half for x, half in spans)

    def _pixels(self, point: Point) -> Point:
        """Convert a point to pixels."""
        x, y = point
        return MARGIN - self._sides[0] + x * self._unit, MARGIN + BOX_HEIGHT / 2 + y * (BOX_HEIGHT + ROW_GAP)

    def _centre(self, box: Box) -> Point:
        """Return the centre of a box in pixels."""
        return self._pixels((box.x, box.y))

    @cached_property
    def _ports(self) -> dict[tuple[int, bool], float]:
        """Return how far from the box's centre each end of an edge meets the box: none cross there."""
        meeting: dict[tuple[int, bool], list[tuple[float, int]]] = defaultdict(list)
        for i, edge in enumerate(self.edges):
            if edge.source is not None:
                xs = [self.boxes[edge.source].x, *(x for x, _ in edge.via), self.boxes[edge.to].x]
                meeting[edge.source, True].append((xs[1], i))
                # Edges that share a lane share its end; others have one each.
                meeting[edge.to, False].append((xs[-2], -1 if edge.via else i))
        ports: dict[tuple[int, bool], float] = {}
        for (box, leaving), ends in meeting.items():
            places = sorted(set(ends))
            apart = min(self._port, (self._widths[self.boxes[box]] - 2 * PADDING) / max(len(places) - 1, 1))
            for k, (_, i) in enumerate(places):
                shared = [j for j, edge in enumerate(self.edges) if edge.to == box and edge.via] if i < 0 else [i]
                ports |= {(j, leaving): apart * (k - (len(places) - 1) / 2) for j in shared}
        return ports

    def _points(self, i: int, edge: Edge) -> list[Point]:
        """Return where an arrow passes: from the top of a result to the bottom of what it was made from."""
        x, y = self._centre(self.boxes[edge.to])
        end = (x + self._ports.get((i, False), 0), y + BOX_HEIGHT / 2)
        if edge.source is None:
            return [(end[0], end[1] + ENTRY), end]
        x, y = self._centre(self.boxes[edge.source])
        return [(x + self._ports[i, True], y - BOX_HEIGHT / 2), *map(self._pixels, edge.via), end]

    def _draw_box(self, box: Box) -> str:
        """Draw a box with its label and notes."""
        x, y = self._centre(box)
        insets = (0, 4) if box.kind == "result" else (0,)
        outline = "".join(self._draw_outline(box, inset) for inset in insets)
        label_y = y - 4 if box.notes else y + 5
        words = f'<text x="{x:g}" y="{label_y:g}" font-weight="600">{html.escape(box.label)}</text>'
        notes = "".join(
            f'<text x="{x:g}" y="{y + 14:g}" font-size="13"{_mark_steps(note.since, note.until)}>'
            f"{html.escape(note.text)}</text>"
            for note in box.notes
        )
        steps = f' data-step="{" ".join(map(str, box.steps))}"' if box.steps else ""
        return f'<g class="bp-box"{steps}>{outline}{words}{notes}</g>'

    def _draw_outline(self, box: Box, inset: float) -> str:
        """Draw the border of a box."""
        (x, y), width = self._centre(box), self._widths[box]
        radius = BOX_HEIGHT / 2 if box.kind == "leaf" else 6
        return (
            f'<rect x="{x - width / 2 + inset:g}" y="{y - BOX_HEIGHT / 2 + inset:g}" '
            f'width="{width - 2 * inset:g}" height="{BOX_HEIGHT - 2 * inset:g}" rx="{radius - inset:g}" '
            'fill="currentColor" fill-opacity=".04" stroke="currentColor" stroke-width="1.4"/>'
        )


def _mark_steps(since: int | None, until: int | None) -> str:
    """Mark a part with its steps; one that gives way is not seen unless a script shows it."""
    marks = "" if since is None else f' data-since="{since}"'
    return marks if until is None else f'{marks} data-until="{until}" visibility="hidden"'


def _draw_arrow(edge: Edge, points: Sequence[Point]) -> str:
    """Draw a smooth line, upright at each point, with an arrow head at the last; again on top for what it carries."""
    (x, y), path = points[0], f"M{points[0][0]:g},{points[0][1]:g}"
    for to_x, to_y in points[1:]:
        middle = (y + to_y) / 2
        path += f" V{to_y:g}" if x == to_x else f" C{x:g},{middle:g} {to_x:g},{middle:g} {to_x:g},{to_y:g}"
        x, y = to_x, to_y
    path = re.sub(r"( V[\d.]+)+(?= V)", "", path)  # down a lane in one go
    head = f"M{x - 5:g},{y + 9:g} L{x:g},{y + 1:g} L{x + 5:g},{y + 9:g}"
    plain = f'<path d="{path} {head}" fill="none" style="stroke:{ACCENT}" stroke-width="1.8"/>'
    if not edge.carries:
        return plain
    flow = f'<path d="{path} {head}" fill="none" stroke="{FLOW}" stroke-width="3" pathLength="1"'
    return f'{plain}{flow} class="bp-flow"{_mark_steps(edge.since, None)}/>'


def _draw_pill(edge: Edge, points: Sequence[Point]) -> str:
    """Put what an arrow carries on its first stretch, which is its own, beyond the middle, where arrows cross."""
    (x1, y1), (x2, y2) = points[:2]
    t = 0.53 if edge.via else 0.6  # of the curve; a lane goes on beside a box, and the pill must stay below that
    x, y = x1 + (x2 - x1) * (3 - 2 * t) * t**2, y1 + (y2 - y1) * (1.5 * t * (1 - t) + t**3)
    width = _pill_width(edge.carries)
    return (
        f'<g{_mark_steps(edge.since, None)} class="bp-pill"><rect x="{x - width / 2:g}" y="{y - 10:g}" '
        f'width="{width:g}" height="20" rx="10" fill="{FLOW}"/><text x="{x:g}" y="{y + 4.5:g}" font-size="13" '
        f'font-weight="600" fill="#fff">{html.escape(edge.carries)}</text></g>'
    )


def _pill_width(carries: str) -> float:
    """Return the width of what an arrow carries, in pixels."""
    return PILL_CHARACTER * len(carries) + PADDING


def _measure_ems(text: str) -> float:
    """Return how wide bold text is at most, in ems."""
    return math.fsum(NARROW.get(letter) or WIDE.get(letter) or EMS for letter in text)  # the same in every Python
