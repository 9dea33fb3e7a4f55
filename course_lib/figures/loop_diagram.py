"""Draw the calls of a loop in a circle, and what each reads and changes, as in a training loop."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_lib.errors import InputError
from course_lib.figures.html_frame import frame_figure

__all__ = ["LoopFigure", "loop_diagram"]

ROW, COLUMN, HEADER, LEFT, BOX_WIDTH, BOX_HEIGHT = 54, 92, 40, 34, 112, 36
ACCENT = "var(--pst-color-primary, #3a86c8)"


@dataclass(frozen=True)
class LoopFigure:
    """Diagram of a loop, from top to bottom and round again: an inline SVG in a notebook or a page, words elsewhere."""

    calls: Mapping[str, Mapping[str, str]]
    things: tuple[str, ...]
    title: str

    def describe(self) -> str:
        """Describe the drawing in words."""
        done = (
            f"{call} {', '.join(f'{verb} {thing}' for thing, verb in to.items())}" for call, to in self.calls.items()
        )
        return f"{self.title}. {'; '.join(done)}; and round again."

    def __repr__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        width = LEFT + BOX_WIDTH + COLUMN * len(self.things) + 8
        height = HEADER + ROW * len(self.calls) + 4
        rows = "".join(self._draw_row(i, call) for i, call in enumerate(self.calls))
        heads = "".join(
            f'<text x="{_column_x(i)}" y="22" font-weight="600">{html.escape(thing)}</text>'
            f'<path d="M{_column_x(i)},32V{height - 4}" stroke="currentColor" stroke-opacity=".22"/>'
            for i, thing in enumerate(self.things)
        )
        drawn = (
            f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
            f'aria-label="{html.escape(self.describe(), quote=True)}" style="max-width:100%;height:auto" '
            'font-family="system-ui,sans-serif" font-size="13" text-anchor="middle" fill="currentColor">'
            f"{heads}{_draw_arrows(len(self.calls))}{rows}</svg>"
        )
        return frame_figure(drawn, self.title)

    def _draw_row(self, i: int, call: str) -> str:
        """Draw a call, and on the line of each thing what it does to it; what changes a thing has an outline."""
        y, x = _row_y(i), LEFT + BOX_WIDTH / 2
        drawn = _draw_box(x, y, BOX_WIDTH, BOX_HEIGHT, radius=6)
        drawn += f'<text x="{x:g}" y="{y + 5}" font-weight="600">{html.escape(call)}</text>'
        for thing, verb in self.calls[call].items():
            x = _column_x(self.things.index(thing))
            changes = verb != "reads"
            width = 8 * len(verb) + 18
            drawn += _draw_box(x, y, width, 26, radius=13, changes=changes)
            weight = 600 if changes else 400
            drawn += f'<text x="{x:g}" y="{y + 4.5}" font-weight="{weight}">{html.escape(verb)}</text>'
        return drawn


def _column_x(i: int) -> float:
    """Return the x of the middle of a column."""
    return LEFT + BOX_WIDTH + COLUMN * (i + 0.5) + 8


def _row_y(i: int) -> float:
    """Return the y of the middle of a row."""
    return HEADER + ROW * (i + 0.5)


def _draw_box(x: float, y: float, width: float, height: float, *, radius: float, changes: bool = True) -> str:
    """Draw a box over the line behind it, in the page's own colour; with an outline or without."""
    stroke = 'stroke="currentColor" stroke-width="1.4"' if changes else 'stroke="none"'
    return (
        f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width:g}" height="{height:g}" rx="{radius:g}" '
        f'style="fill:var(--pst-color-background, Canvas)" {stroke}/>'
    )


def _draw_arrows(calls: int) -> str:
    """Lead from each call to the next, and from the last back to the first."""
    x, half = LEFT + BOX_WIDTH / 2, BOX_HEIGHT / 2
    ends = [(_row_y(i) + half, _row_y(i + 1) - half) for i in range(calls - 1)]
    path = "".join(f"M{x:g},{a:g}V{b:g}m-5,-7l5,7l5,-7" for a, b in ends)
    first, last = _row_y(0), _row_y(calls - 1)
    path += f"M{LEFT},{last:g}H18Q10,{last:g} 10,{last - 8:g}V{first + 8:g}Q10,{first:g} 18,{first:g}H{LEFT - 1}"
    path += "m-7,-5l7,5l-7,5"
    return f'<path d="{path}" fill="none" style="stroke:{ACCENT}" stroke-width="1.8"/>'


def loop_diagram(calls: Mapping[str, Mapping[str, str]], *, things: Sequence[str], title: str) -> LoopFigure:
    """Draw a loop as a column of calls, with what each does to a few things beside it.

    Parameters
    ----------
    calls : mapping of str to mapping of str to str
        For each call, in order: for each thing that it touches, a verb. ``"reads"`` leaves the thing as it is; any
        other verb is taken to change it, and is outlined.
    things : sequence of str
        What the calls touch, from left to right.
    title : str
        What the figure shows, for its accessible name.

    Raises
    ------
    InputError
        If a call touches a thing that is not named.

    Examples
    --------
    >>> loop_diagram({"forward": {"w": "reads"}, "step()": {"w": "changes"}}, things=["w"], title="A loop")
    A loop. forward reads w; step() changes w; and round again.
    """
    unknown = sorted({thing for touched in calls.values() for thing in touched} - set(things))
    if unknown:
        raise InputError(
            f"the things must include all that the calls touch, but {', '.join(unknown)} is not there; add it"
        )
    return LoopFigure({call: dict(touched) for call, touched in calls.items()}, tuple(things), title)
