"""Draw line charts that follow the page's colours, and that can be read without them."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.figures.charts.canvas import Drawing, canvas

__all__ = ["lines"]

# Colours after Okabe and Ito (2008), over 3:1 on white and on the dark page; dashes tell them apart as well.
STYLES = (("#0072b2", "-", "o"), ("#d55e00", "--", "s"), ("#008f68", ":", "^"), ("#b5578f", "-.", "D"))
NAMED = 12  # points on the axis at most; of more, or of those too close together, some are left out
FEW = 100.0  # below this ratio of the ends, a logarithmic axis of values names more than powers of ten
ACROSS, UPRIGHT, BESIDE = 50, 30, 27  # characters that fit below the chart, along its side, and in half the legend

Values = Sequence[float | None]


def lines(
    series: Mapping[str, Values],
    *,
    x_label: str,
    y_label: str,
    title: str,
    x: Sequence[float] | None = None,
    x_scale: Literal["linear", "log"] = "linear",
    y_scale: Literal["linear", "log"] = "linear",
    target: tuple[str, float] | None = None,
    y_from: float | None = None,
    marks: Mapping[str, Values] | None = None,
) -> Drawing:
    """Draw each series against its index, or against given points.

    Parameters
    ----------
    series : mapping of str to sequence of float or None
        At most four, each with a name. What is not finite leaves a gap, and the words say so; None, where there is no
        value, leaves one that they do not mention.
    x_label, y_label : str
        What the axes show, with the unit where there is one.
    title : str
        What the figure shows, for its caption and its accessible name.
    x : sequence of float, optional
        Where the points of every series lie; each is marked, and named on the axis where there is room. If they
        descend, so does the axis.
    x_scale, y_scale : {"linear", "log"}
        How points and values are spaced.
    y_from : float, optional
        Where the axis of the values begins: at 0 for sizes that are to be compared by their height.
    target : (str, float), optional
        A level to mark, and its name.
    marks : mapping of str to sequence of float, optional
        What was measured where a series says what to expect: drawn as marks alone, in the colour of the series of that
        name.

    Raises
    ------
    InputError
        If marks belong to no series, there are more than four series, or more values than points, what should be a
        number is none, or a scale is neither of the two.

    Examples
    --------
    >>> lines({"loss": [2.0, 1.0, 0.5]}, x_label="step", y_label="loss", title="The loss over three steps")
    The loss over three steps. loss: from 2 to 0.5, between 0.5 and 2.
    """
    series, marks = _convert_series("series", series), _convert_series("marks", marks or {})
    _check_series(series, marks, x)
    _check_scales(x_scale=x_scale, y_scale=y_scale)
    with canvas(title) as page:
        axes = page.figure.subplots()
        handles = {
            name: _draw_series(axes, values, marks.get(name), style, x)
            for (name, values), style in zip(series.items(), STYLES, strict=False)
        }
        if x is None:
            axes.xaxis.get_major_locator().set_params(integer=True)
        else:
            _name_points(axes, x, x_scale)
        if target is not None:
            handles[target[0]] = axes.axhline(target[1], color="black", linewidth=1)
        axes.set(xlabel=textwrap.fill(x_label, ACROSS), ylabel=textwrap.fill(y_label, UPRIGHT), yscale=y_scale)
        axes.set_ylim(bottom=y_from)
        if y_scale == "log" and axes.get_ylim()[1] < FEW * axes.get_ylim()[0]:
            _name_values(axes.yaxis)
        axes.spines[["top", "right"]].set_visible(False)
        columns = 2 if max(map(len, handles), default=0) <= BESIDE else 1
        legend = {"frameon": False, "loc": "outside upper center", "ncols": columns, "handlelength": 2.6}
        if len(handles) > 1:
            page.figure.legend(list(handles.values()), list(handles), **legend)
    said = {**series, **{f"{name}, measured": values for name, values in marks.items()}}
    words = [_describe_series(name, values, log=y_scale == "log") for name, values in said.items()]
    if target is not None:
        words.append(f"{target[0]}: a level line at {target[1]:.3g}.")
    return page.drawing(f"{title}. {' '.join(words)}")


def _draw_series(
    axes: Any, values: Values, marks: Values | None, style: tuple[str, str, str], x: Sequence[float] | None
) -> Any:
    """Draw a series, and what was measured beside it; return its handle for the legend."""
    colour, dashes, marker = style
    numbers, at = _fill_gaps(values), range(len(values)) if x is None else x[: len(values)]
    dotted = _find_isolated_points(numbers) if x is None or marks is not None else list(range(len(numbers)))
    on_line = {"marker": marker, "markevery": dotted} if dotted else {}
    drawn = axes.plot(at, numbers, dashes, color=colour, linewidth=2, **on_line)
    if marks is not None:
        at = range(len(marks)) if x is None else x[: len(marks)]
        drawn += axes.plot(at, _fill_gaps(marks), marker, color=colour, markersize=5)
    return tuple(drawn) if len(drawn) > 1 else drawn[0]


def _name_points(axes: Any, x: Sequence[float], scale: str) -> None:
    """Name the given points on the axis, but for those that another, already named, is too close to."""
    axes.set_xscale(scale)
    places = [math.log(point) if scale == "log" else point for point in x]
    apart, named = (max(places) - min(places)) / NAMED, list[int]()
    for i, place in enumerate(places):
        if not named or abs(place - places[named[-1]]) >= apart:
            named.append(i)
    axes.set_xticks([x[i] for i in named], [f"{x[i]:g}" for i in named])
    axes.set_xticks([], minor=True)
    if x[0] > x[-1]:
        axes.invert_xaxis()


def _name_values(axis: Any) -> None:
    """Name 1, 2 and 5 times each power of ten, in plain digits, where powers alone would be too few."""
    ticker: Any = load("matplotlib.ticker", extra="plots")
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(ticker.NullFormatter())


def _check_series(series: Mapping[str, Values], marks: Mapping[str, Values], x: Sequence[float] | None) -> None:
    """Refuse series and marks that would be drawn without a name, or not at all."""
    if len(series) > len(STYLES):
        raise InputError(
            f"a chart must have at most {len(STYLES)} series, but there are {len(series)}. Draw two charts."
        )
    if alone := sorted(set(marks) - set(series)):
        raise InputError(
            f"marks must have a series of the same name, but {alone[0]!r} has none. There are: {', '.join(series)}."
        )
    for name, values in [*series.items(), *marks.items()]:
        if x is not None and len(values) > len(x):
            raise InputError(
                f"each value must have its point, but {name!r} has {len(values)} values for {len(x)} points in x. Give "
                "x a point for each."
            )


def _convert_series(what: str, series: object) -> dict[str, list[float | None]]:
    """Convert series of any library to lists of numbers; refuse what is not one number for each point."""
    if not isinstance(series, Mapping):
        raise InputError(
            f'{what} must be a mapping of names to numbers, but got a {type(series).__name__}. Pass {{"loss": losses}}.'
        )
    return {
        name: [_convert_number(name, value) for value in _list_values(name, values)] for name, values in series.items()
    }


def _list_values(name: str, values: object) -> list[Any]:
    """List the values of one series."""
    values = values.detach() if hasattr(values, "detach") else values
    values = values.tolist() if hasattr(values, "tolist") else values  # of torch also in bfloat16, which NumPy lacks
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name!r} must have one number for each point, but it is {values!r:.60}. Pass a list.")
    return list(values)


def _convert_number(name: str, value: Any) -> float | None:
    """Convert one value to a float; None stays."""
    try:
        if isinstance(value, (str, bytes, complex)):  # float() would read the first two, or drop half of the third
            raise TypeError
        value = value.detach() if hasattr(value, "detach") else value
        return None if value is None else float(value)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"{name!r} must have one real number for each point, but among them is {value!r:.60}. Take one series for "
            "each column, and abs() of what is complex."
        ) from None


def _check_scales(**scales: str) -> None:
    """Refuse a scale that is neither linear nor logarithmic."""
    for name, scale in scales.items():
        if scale not in ("linear", "log"):
            raise InputError(f'{name} must be "linear" or "log", but it is {scale!r}. Pass one of the two.')


def _fill_gaps(values: Values) -> list[float]:
    """Write NaN where there is no value."""
    return [math.nan if value is None else value for value in values]


def _find_isolated_points(numbers: Sequence[float]) -> list[int]:
    """Find points between two gaps, where no line can be seen.

    Examples
    --------
    >>> _find_isolated_points([1.0, 2.0, math.nan, 3.0])
    [3]
    """
    there = [False, *map(math.isfinite, numbers), False]
    return [i for i, (a, b, c) in enumerate(zip(there, there[1:], there[2:], strict=False)) if b and not (a or c)]


def _describe_series(name: str, values: Values, *, log: bool) -> str:
    """Describe one series in words."""
    there = [value for value in values if value is not None]
    drawn = [value for value in there if math.isfinite(value) and (value > 0 or not log)]
    wanted = "finite and above 0" if log and any(value <= 0 for value in there) else "finite"
    if not drawn:
        return f"{name}: nothing {wanted}."
    said = f"{name}: from {drawn[0]:.3g} to {drawn[-1]:.3g}, between {min(drawn):.3g} and {max(drawn):.3g}"
    gaps = len(there) - len(drawn)
    return f"{said}, {gaps} not {wanted}." if gaps else f"{said}."
