"""Draw a roofline: a device's peak by FLOPs per byte, and what some operations reached."""

import math
from collections.abc import Mapping, Sequence

from course_lib.errors import InputError
from course_lib.figures.charts.canvas import Drawing, canvas
from course_lib.figures.charts.ratios import MARKS

__all__ = ["roofline"]

MARGIN = 2.0  # beyond the outermost points, as a factor
NAME_LETTERS = 22  # of which two fit side by side
KINDS = {"markersize": 7, "linestyle": "none", "markeredgewidth": 1.6}

Point = tuple[float, float]


def roofline(
    points: Mapping[str, Sequence[Point]],
    *,
    peak_gflops: float,
    peak_gbytes: float,
    title: str,
    kinds: Sequence[str] = ("forward", "backward"),
) -> Drawing:
    """Draw the two roofs of a device, on logarithmic axes, and operations under them.

    Parameters
    ----------
    points : mapping of str to sequence of (float, float)
        For each operation, at most six, by a short name: its FLOPs per byte and its billions of FLOPs a second, one
        pair of them for each kind.
    peak_gflops : float
        The best arithmetic rate, in billions of FLOPs a second: the flat roof.
    peak_gbytes : float
        The best memory bandwidth, in billions of bytes a second: the slope.
    title : str
        What the figure shows, for its caption, which also has the numbers of the roof, and its accessible name.
    kinds : sequence of str
        What the first point of each operation is called, drawn filled, and what the second is, drawn hollow.

    Raises
    ------
    InputError
        If a number is not positive and finite, which has no place on a logarithmic axis, or there are too many
        operations or points to tell apart, or none.

    References
    ----------
    Williams, Waterman and Patterson (2009), Roofline. Communications of the ACM 52(4), 65-76.

    Examples
    --------
    >>> roofline({"a sum": [(0.1, 3.0)]}, peak_gflops=100.0, peak_gbytes=40.0, title="One operation")
    One operation. The roof rises by 40 GB/s up to 2.5 FLOPs per byte, then is flat at 100 GFLOP/s. a sum: forward 0.1 \
FLOPs per byte, 3 GFLOP/s.
    """
    _check_points(points, kinds, peak_gflops, peak_gbytes)
    ridge = peak_gflops / peak_gbytes
    reached = [ridge, *(x for pairs in points.values() for x, _ in pairs)]
    low, high = min(reached) / MARGIN, max(reached) * MARGIN
    with canvas(title, height=3.6) as page:
        axes = page.figure.subplots()
        axes.plot([low, ridge, high], [low * peak_gbytes, peak_gflops, peak_gflops], color="black", linewidth=1.5)
        axes.axvline(ridge, color="black", linewidth=0.8, linestyle=":")
        for (name, pairs), (marker, colour) in zip(points.items(), MARKS, strict=False):
            for i, (x, y) in enumerate(pairs):
                fill, label = ("none", None) if i else (colour, name)
                axes.plot(x, y, marker, color=colour, markerfacecolor=fill, label=label, **KINDS)
        for kind, fill in zip(kinds[: max(map(len, points.values()))], ("black", "none"), strict=False):
            axes.plot([], [], "o", color="black", markerfacecolor=fill, label=kind, **KINDS)
        axes.set(xscale="log", yscale="log", xlim=(low, high), xlabel="FLOPs per byte", ylabel="GFLOP/s")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
            least, most = axis.get_view_interval()
            if most < 10 * least:  # there may be no power of ten in it
                axis.set_minor_formatter("{x:g}")
        axes.spines[["top", "right"]].set_visible(False)
        columns = 2 if max(map(len, points)) <= NAME_LETTERS else 1
        page.figure.legend(frameon=False, loc="outside upper center", ncols=columns, handletextpad=0.2)
    rises = f"The roof rises by {_format_rate(peak_gbytes)} GB/s up to {ridge:.3g} FLOPs per byte"
    roof = f"{rises}, then is flat at {_format_rate(peak_gflops)} GFLOP/s"
    said = " ".join(_describe_points(*item, kinds) for item in points.items())
    return page.drawing(f"{title}. {roof}. {said}", key=roof)


def _check_points(points: Mapping[str, Sequence[Point]], kinds: Sequence[str], *peaks: float) -> None:
    """Check that every point can be drawn, and told from the others."""
    needs = f"a roofline needs 1 to {len(MARKS)} operations, 1 to {len(kinds)} points of each, and numbers above 0"
    if not 1 <= len(points) <= len(MARKS):
        raise InputError(f"{needs}, but got {len(points)} operations.")
    for name, pairs in points.items():
        if not 1 <= len(pairs) <= len(kinds):
            raise InputError(f"{needs}, but {name!r} has {len(pairs)} points. Name a kind for each.")
    for number in (*peaks, *(value for pairs in points.values() for pair in pairs for value in pair)):
        if not 0 < number < math.inf:
            raise InputError(f"{needs}, but got {number:g}. Leave out what took no time or did no work.")


def _describe_points(name: str, pairs: Sequence[Point], kinds: Sequence[str]) -> str:
    """Describe the points of one operation in words.

    Examples
    --------
    >>> _describe_points("a sum", [(0.1, 3.0), (0.2, 4.0)], ["forward", "backward"])
    'a sum: forward 0.1 FLOPs per byte, 3 GFLOP/s, backward 0.2 FLOPs per byte, 4 GFLOP/s.'
    """
    shown = zip(kinds, pairs, strict=False)
    said = (f"{kind} {x:.3g} FLOPs per byte, {_format_rate(y)} GFLOP/s" for kind, (x, y) in shown)
    return f"{name}: {', '.join(said)}."


def _format_rate(value: float) -> str:
    """Format a rate to three digits, or to all those before its point.

    Examples
    --------
    >>> _format_rate(12.345), _format_rate(312000)
    ('12.3', '312,000')
    """
    return f"{value:,.0f}" if value >= 999.5 else f"{value:.3g}"
