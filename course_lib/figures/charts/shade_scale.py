"""Scale values that span orders of magnitude to shades of the page's own colour."""

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["NONE", "ROW", "ShadeScale", "format_short"]

ROW = 14  # pixels
LEVELS = 8  # in the legend at most, so that neighbours can be told apart
STEPS = 31  # of shade: enough that a value near a power of ten does not flicker between two
FAINTEST, DARKEST = 0.06, 0.95
BROKEN = "#d55e00"
SPECIAL = {-3: "none", -2: "not finite", -1: "exactly 0"}  # levels without a shade
HATCH = 'fill="none" stroke-width="1.5" style="stroke:var(--pst-color-background, Canvas)"'
APART, LEAN = 7, 4  # pixels from stroke to stroke of the hatching, and from a stroke's foot to its head
NONE = -1.0  # stands for a value that is not there: sizes are at least 0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ShadeScale:
    """Logarithmic colour scale: ``STEPS`` shades between two powers of ten."""

    low: float
    high: float
    given: bool  # and so what lies beyond an end has its shade
    hatch_above: float = math.inf

    @classmethod
    def of(cls, maps: Sequence[Array], span: tuple[float, float] | None, hatch_above: float = math.inf) -> "ShadeScale":
        """Take the given range, or the powers of ten around all values above 0 that are finite."""
        if span is not None:
            return cls(math.log10(span[0]), math.log10(span[1]), given=True, hatch_above=hatch_above)
        values = np.concatenate([values.reshape(-1) for values in maps])
        values = values[np.isfinite(values) & (values > 0)]
        powers = np.log10(values if len(values) else np.ones(1))
        low = math.floor(powers.min())
        return cls(low, max(math.ceil(powers.max()), low + 1), given=False, hatch_above=hatch_above)

    def shade(self, level: float) -> float:
        """Return how much of the page's own colour a level gets: the larger, the more."""
        return FAINTEST + (DARKEST - FAINTEST) * level / (STEPS - 1)

    def level(self, values: Array) -> Array:
        """Return the level of each value; -1 for what is exactly 0, -2 for what is not finite, -3 for a missing one."""
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.round(self.place(np.log10(values)))
        special = [values == NONE, ~np.isfinite(values), values == 0]
        return np.select(special, [-3, -2, -1], np.clip(level, 0, STEPS - 1))

    def place(self, power: Any) -> Any:
        """Return where a power of ten lies among the levels."""
        return (power - self.low) / (self.high - self.low) * (STEPS - 1)

    def draw_cells(self, values: Array, width: float) -> str:
        """Draw one path for each level, in which neighbours in a row are one piece; then hatch the large values."""
        levels, drawn = self.level(values), []
        for level in np.unique(levels).astype(int):
            path = "".join(
                f"M{start * width:.4g},{y * ROW}h{(stop - start) * width:.4g}v{ROW - 1}h{(start - stop) * width:.4g}z"
                for y, row in enumerate(levels)
                for start, stop in _find_runs(row == level)
            )
            drawn.append(f'<path d="{path}" {self.format_paint(level)}/>')
        return "".join(drawn) + self._hatch_cells(values, width)

    def _hatch_cells(self, values: Array, width: float) -> str:
        """Draw strokes at equal distances wherever a value is too large, so that even narrow cells share them."""
        middles = np.arange(APART / 2, values.shape[1] * width - LEAN / 2, APART)
        large = np.isfinite(values) & (values > self.hatch_above)
        strokes = "".join(
            f"M{middles[i] - LEAN / 2:.4g},{y * ROW + ROW - 2}l{LEAN},{3 - ROW}"
            for y, row in enumerate(large)
            for i in np.flatnonzero(row[(middles / width).astype(int)])
        )
        return f'<path d="{strokes}" {HATCH}/>' if strokes else ""

    def format_paint(self, level: float) -> str:
        """Return how a level is painted: an outline for 0, another colour for what is not finite, none if missing."""
        if level == -3:
            return 'fill="none"'
        if level == -1:
            return 'fill="none" stroke="currentColor" stroke-width=".8" stroke-dasharray="2 2"'
        if level == -2:
            return f'fill="{BROKEN}" stroke="{BROKEN}"'
        return f'fill-opacity="{self.shade(level):.2f}"'

    def draw_legend(self, value: str, maps: Mapping[str, Array]) -> str:
        """Draw a swatch for powers of ten, and for what has no shade, as text that wraps."""
        found = {int(level) for values in maps.values() for level in np.unique(self.level(values))}
        marks: list[tuple[float, str]] = [(level, name) for level, name in SPECIAL.items() if level in found]
        apart = -(-(math.floor(self.high) - math.ceil(self.low) + 1) // LEVELS)
        powers = range(math.ceil(self.low), math.floor(self.high) + 1, apart) if found - set(SPECIAL) else ()
        ends = {self.low: " or less", self.high: " or more"} if self.given else {}
        marks += [(self.place(power), format_short(10.0**power) + ends.get(power, "")) for power in powers]
        swatches = "".join(
            '<span style="white-space:nowrap;margin:0 6px"><svg width="16" height="12" aria-hidden="true" '
            f'fill="currentColor"><path d="M1,1h14v10h-14z" {self.format_paint(level)}/></svg> {name}</span>'
            for level, name in marks
        )
        if any((np.isfinite(values) & (values > self.hatch_above)).any() for values in maps.values()):
            swatches += (
                '<span style="white-space:nowrap;margin:0 6px"><svg width="16" height="12" aria-hidden="true" '
                f'fill="currentColor"><path d="M1,1h14v10h-14z" {self.format_paint(STEPS - 1)}/>'
                f'<path d="M2,10l4,-8M9,10l4,-8" {HATCH}/></svg> above {format_short(self.hatch_above)}</span>'
            )
        return f'<div style="font-size:.8rem">{html.escape(value)}: {swatches}</div>'


def _find_runs(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where each run of true values begins and ends.

    Examples
    --------
    >>> _find_runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def format_short(value: float) -> str:
    """Format a value in at most five characters.

    Examples
    --------
    >>> format_short(0.00321), format_short(1.0), format_short(0.0), format_short(float("nan")), format_short(NONE)
    ('3e-3', '1', '0', 'nan', 'none')
    """
    if value == NONE:
        return "none"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.0e}".removesuffix("e+00").replace("e-0", "e-").replace("e+0", "e+")
