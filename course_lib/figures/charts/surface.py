"""Draw the loss surface over two parameters, and the paths that training took across it."""

from collections.abc import Iterable, Mapping, Sequence

from course_lib.errors import InputError
from course_lib.figures.charts.canvas import Drawing, canvas
from course_lib.figures.charts.lines import STYLES

__all__ = ["surface"]

LEVELS = 9
DARKEST = 0.16  # how much of the page's colour the highest level gets: paths must stay over 3:1 on it


def surface(
    values: Iterable[Iterable[float]],
    *,
    x: Sequence[float],
    y: Sequence[float],
    x_label: str,
    y_label: str,
    title: str,
    paths: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> Drawing:
    """Draw level lines of a loss, the higher the darker (on a dark page the lighter), and paths over them.

    Parameters
    ----------
    values : array, shape (len(y), len(x))
        The loss at each point; finite.
    x, y : sequence of float
        Where the points lie, ascending.
    x_label, y_label : str
        The parameters.
    title : str
        What the map shows, for its accessible name.
    paths : mapping of str to sequence of (float, float), optional
        At most four, each with a name: where the parameters went. A path may leave the map; its start is a ring.

    Raises
    ------
    InputError
        If the values do not fit the points.

    Examples
    --------
    >>> x, y = [-1.0, 0.0, 1.0], [0.0, 1.0]
    >>> bowl = [[a * a + b * b for a in x] for b in y]
    >>> surface(bowl, x=x, y=y, x_label="w", y_label="b", title="A bowl", paths={"down": [(1.0, 1.0), (0.1, 3.0)]})
    A bowl. Between 0 and 2. down: from (1, 1) to (0.1, 3), which is off the map.
    """
    rows = [[float(value) for value in row] for row in values]
    if len(rows) != len(y) or {len(row) for row in rows} != {len(x)}:
        shape = (len(rows), *{len(row) for row in rows})
        raise InputError(f"values must have one row for each y, {(len(y), len(x))}, but have {shape}. Transpose them?")
    flat = [value for row in rows for value in row]
    low, high = min(flat), max(flat)
    with canvas(title, height=3.6) as page:
        axes = page.figure.subplots()
        levels = [low + (high - low) * i / LEVELS for i in range(LEVELS + 1)]
        shades = [(0.0, 0.0, 0.0, DARKEST * i / (LEVELS - 1)) for i in range(LEVELS)]
        axes.contourf(x, y, rows, levels, colors=shades)
        axes.contour(x, y, rows, levels[1:-1], colors="black", linewidths=0.6)
        for (name, points), (colour, dashes, marker) in zip((paths or {}).items(), STYLES, strict=False):
            across, up = zip(*points, strict=True)
            axes.plot(across, up, dashes, marker=marker, markersize=3, color=colour, linewidth=1.6, label=name)
            axes.plot(across[0], up[0], "o", markersize=9, fillstyle="none", color="black")
        axes.set(xlabel=x_label, ylabel=y_label, xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        if paths:
            page.figure.legend(frameon=False, loc="outside upper center", ncols=2, handlelength=2.6)
    said = [_describe_path(name, points, x, y) for name, points in (paths or {}).items()]
    return page.drawing(" ".join([f"{title}. Between {low:.3g} and {high:.3g}.", *said]))


def _describe_path(name: str, points: Sequence[tuple[float, float]], x: Sequence[float], y: Sequence[float]) -> str:
    """Describe one path in words."""
    (a, b), (c, d) = points[0], points[-1]
    inside = x[0] <= c <= x[-1] and y[0] <= d <= y[-1]
    return f"{name}: from ({a:.3g}, {b:.3g}) to ({c:.3g}, {d:.3g}){'' if inside else ', which is off the map'}."
