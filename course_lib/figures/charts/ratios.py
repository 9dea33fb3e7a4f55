"""Draw ratios of times to a baseline: a row for each kind of work, a mark for each that did it."""

from collections.abc import Mapping
from typing import NamedTuple

from course_lib.figures.charts.canvas import Drawing, canvas

__all__ = ["Ratio", "ratios"]

ROW_INCHES, ROOM_INCHES, SPREAD = 0.52, 1.65, 0.62  # SPREAD: how much of a row its marks share
# Shapes tell the marks apart, and so do colours after Okabe and Ito (2008), over 3:1 on white and on the dark page.
MARKS = (("o", "#0072b2"), ("s", "#d55e00"), ("^", "#008f68"), ("D", "#b5578f"), ("v", "#8a6d00"), ("X", "#6a6a6a"))


class Ratio(NamedTuple):
    """Median and quartiles of a ratio."""

    low: float
    median: float
    high: float


def ratios(rows: Mapping[str, Mapping[str, Ratio]], *, title: str, baseline: str) -> Drawing:
    """Draw medians and quartiles on a logarithmic axis, and the line of the baseline, 1.

    Parameters
    ----------
    rows : mapping of str to (mapping of str to Ratio)
        For each kind of work, from top to bottom, the ratio of each that did it; at most six in all.
    title : str
        What the figure shows, for its accessible name.
    baseline : str
        What the ratios are relative to.

    Examples
    --------
    >>> row = {"engine": Ratio(1.0, 1.1, 1.3), "rival": Ratio(2.0, 2.2, 2.5)}
    >>> ratios({"a small network": row}, title="Two engines", baseline="NumPy")
    Two engines. a small network: engine 1.1, rival 2.2 times NumPy.
    """
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    with canvas(title, height=ROOM_INCHES + ROW_INCHES * len(rows)) as page:
        axes = page.figure.subplots()
        for k, (name, (marker, colour)) in enumerate(zip(names, MARKS, strict=False)):
            shift = SPREAD * ((k + 0.5) / len(names) - 0.5)
            found = [(i + shift, row[name]) for i, row in enumerate(rows.values()) if name in row]
            axes.hlines([y for y, _ in found], *zip(*((r.low, r.high) for _, r in found), strict=True), color=colour)
            points = [r.median for _, r in found], [y for y, _ in found]
            axes.plot(*points, marker, color=colour, markersize=6, label=name)
        axes.axvline(1, color="black", linewidth=1)
        axes.set(xscale="log", xlabel=f"times {baseline}", yticks=range(len(rows)), ylim=(len(rows) - 0.5, -0.5))
        axes.set_yticklabels(rows)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.grid(axis="x", alpha=0.3)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        page.figure.legend(frameon=False, loc="outside upper center", ncols=2, handletextpad=0.2)
    return page.drawing(f"{title}. {' '.join(_describe_row(work, row, baseline) for work, row in rows.items())}")


def _describe_row(work: str, row: Mapping[str, Ratio], baseline: str) -> str:
    """Describe one row in words.

    Examples
    --------
    >>> _describe_row("a chain", {"engine": Ratio(3.0, 3.5, 4.0)}, "NumPy")
    'a chain: engine 3.5 times NumPy.'
    """
    return f"{work}: {', '.join(f'{name} {ratio.median:.3g}' for name, ratio in row.items())} times {baseline}."
