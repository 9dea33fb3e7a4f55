"""Draw heat maps of values that span orders of magnitude, side by side where there is room."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import InputError
from course_lib.figures.charts.shade_scale import NONE, ROW, ShadeScale, format_short
from course_lib.figures.html_frame import frame_figure

__all__ = ["HeatMapFigure", "heat_map"]

WIDTH, TOP, BOTTOM = 334, 24, 34  # pixels; a phone shows this width as it is, and a page two side by side
CHARACTER, LONGEST = 6.4, 15  # of 11-pixel text, and of a row's name
NUMBER = 40  # room for the value at either end of a row

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeatMapFigure:
    """Heat maps that share one scale: inline SVGs in a notebook or a page, a few lines of text elsewhere."""

    maps: Mapping[str, Array]
    rows: Sequence[str]
    columns: Sequence[int]
    title: str
    value: str
    span: tuple[float, float] | None = None
    hatch_above: float = math.inf

    def describe(self) -> str:
        """Describe the maps in words: the range of each, and both ends of its first and last row."""
        said = [_describe_map(name, values, self.rows) for name, values in self.maps.items()]
        return f"{self.title}. {self.value}, by row and column. {' '.join(said)}"

    def _repr_html_(self) -> str:
        scale = ShadeScale.of(list(self.maps.values()), self.span, self.hatch_above)
        drawn = [self._draw_map(name, values, scale) for name, values in self.maps.items()]
        side_by_side = '<div style="display:flex;flex-wrap:wrap;gap:12px 16px;justify-content:center">'
        return frame_figure(
            f"{side_by_side}{''.join(drawn)}</div>{scale.draw_legend(self.value, self.maps)}", self.title
        )

    def __repr__(self) -> str:
        return self.describe()

    def _draw_map(self, name: str, values: Array, scale: ShadeScale) -> str:
        """Draw one map with the names of its rows and columns."""
        labels = [_shorten(row) for row in self.rows]
        left = 8 + CHARACTER * max(map(len, labels)) + NUMBER
        cell, height = (WIDTH - left - NUMBER) / values.shape[1], ROW * len(labels)
        words = f"{self.title}. {_describe_map(name, values, self.rows)}"
        parts = [f'<text x="{left}" y="15" font-weight="600">{html.escape(name)}</text>'] if name else []
        parts += [f'<g transform="translate({left:g},{TOP})">{scale.draw_cells(values, cell)}</g>']
        parts += [_write_row(label, values[i], left, TOP + ROW * (i + 0.75)) for i, label in enumerate(labels)]
        foot, right = TOP + height + 14, left + cell * values.shape[1]
        parts += [f'<text x="{left:g}" y="{foot}">{self.columns[0]}</text>']
        parts += [f'<text x="{right:g}" y="{foot}" text-anchor="end">{self.columns[-1]}</text>']
        parts += [f'<text x="{(left + right) / 2:g}" y="{foot}" text-anchor="middle">step</text>']
        return (
            f'<svg viewBox="0 0 {WIDTH} {TOP + height + BOTTOM - 14}" width="{WIDTH}" role="img" '
            f'aria-label="{html.escape(words, quote=True)}" style="max-width:100%;height:auto" '
            f'font-family="system-ui,sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>'
        )


def _shorten(row: str) -> str:
    """Shorten a name that is too long: what most rows end with goes first, then the beginning.

    Examples
    --------
    >>> _shorten("blocks.0.qkv.weight"), _shorten("encoder.layers.0.linear1.weight")
    ('blocks.0.qkv', '…yers.0.linear1')
    """
    row = row if len(row) <= LONGEST else row.removesuffix(".weight")
    return row if len(row) <= LONGEST else f"…{row[1 - LONGEST :]}"


def _write_row(label: str, values: Array, left: float, y: float) -> str:
    """Write the name of a row and its first value before it, and its last value after it."""
    return (
        f'<text x="{left - 5 - NUMBER:g}" y="{y:g}" text-anchor="end">{html.escape(label)}</text>'
        f'<text x="{left - 4:g}" y="{y:g}" text-anchor="end">{format_short(values[0])}</text>'
        f'<text x="{WIDTH - NUMBER + 4}" y="{y:g}">{format_short(values[-1])}</text>'
    )


def _describe_map(name: str, values: Array, rows: Sequence[str]) -> str:
    """Describe one map in words."""
    missing = values == NONE
    there = values[np.isfinite(values) & ~missing]
    said = f"between {there.min():.2g} and {there.max():.2g}" if len(there) else "nothing finite"
    for count, what in ((np.sum(~np.isfinite(values)), "not finite"), (np.sum(missing), "without a value")):
        said += f", {count} of {values.size} {what}" if count else ""
    told = [["none" if value == NONE else f"{value:.2g}" for value in values[:, column]] for column in (0, -1)]
    ends = "; ".join(f"{rows[i]} from {told[0][i]} to {told[1][i]}" for i in dict.fromkeys((0, len(rows) - 1)))
    return f"{name + ': ' if name else ''}{said}; {ends}."


def heat_map(
    maps: Mapping[str, Any],
    *,
    rows: Sequence[str],
    columns: Sequence[int],
    title: str,
    value: str,
    span: tuple[float, float] | None = None,
    hatch_above: float = math.inf,
) -> HeatMapFigure:
    """Draw sizes as shades of the page's own colour, the larger the stronger, on one logarithmic scale.

    What is exactly 0 is an empty outline, what is not finite has a colour of its own, and where there is no value
    nothing is drawn; the values in the first and the last column stand at the ends of each row. So nothing depends on
    colour.

    Parameters
    ----------
    maps : mapping of str to array, shape (len(rows), len(columns))
        Values of at least 0, or None for a value that is not there, under the name of each map.
    rows : sequence of str
        Their names; a long one loses its ``.weight``, then its beginning.
    columns : sequence of int
        Their numbers; the first and the last are shown.
    title, value : str
        What the figure shows, for its caption, and what its values are.
    span : (float, float), optional
        The values that the faintest and the strongest shade stand for, and what lies beyond them: so that several
        figures can share one scale. By default, the powers of ten around all values.
    hatch_above : float
        Hatch the values above it: what is too large is then seen without comparing shades.

    Raises
    ------
    InputError
        If there is no map, or the values of one do not fit the rows and columns, or one is below 0, or the span is
        not of two positive numbers, the smaller first.

    Examples
    --------
    >>> sizes = {"a run": [[1e-6, 1e-7], [0.1, 0.2]]}
    >>> heat_map(sizes, rows=["first", "last"], columns=[1, 2], title="Two layers", value="rms gradient")
    Two layers. rms gradient, by row and column. a run: between 1e-07 and 0.2; first from 1e-06 to 1e-07; last from 0.1
    to 0.2.
    """
    arrays = {name: np.array(values, dtype=np.float64) for name, values in maps.items()}
    shape = len(rows), len(columns)
    if not arrays or 0 in shape:
        raise InputError("a heat map needs at least one map, with a row and a column, but there is none.")
    for name, values in arrays.items():
        if values.shape != shape:
            raise InputError(
                f"each map must have a row for each name and a column for each number, {shape}, but {name!r} has shape "
                f"{values.shape}. Transpose it?"
            )
        if (values < 0).any():
            raise InputError(f"values must be at least 0, for a logarithmic scale, but {name!r} has {values.min():g}.")
    if span is not None and not 0 < span[0] < span[1] < math.inf:
        raise InputError(f"span must be two positive numbers, the smaller first, but it is {span}. Swap them?")
    for name, values in maps.items():
        arrays[name][[[value is None for value in row] for row in np.asarray(values, dtype=object)]] = NONE
    return HeatMapFigure(arrays, list(rows), [int(column) for column in columns], title, value, span, hatch_above)
