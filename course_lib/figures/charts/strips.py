"""Draw strips of spans over one time axis, such as a host and its GPU, or several steps on the same scale."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from course_lib.errors import InputError
from course_lib.figures.charts.canvas import Drawing, canvas
from course_lib.figures.charts.stacked_areas import FILLS

__all__ = ["strips"]

ROW_INCHES, ROOM_INCHES, LEGEND_INCHES, MARGIN_INCHES = 0.42, 0.75, 0.28, 0.3
LETTER = 0.08  # inches, of a name in a span
LEGEND, COLUMNS = {"frameon": False, "loc": "outside upper center"}, 3
NUMBERED = "0123456789 "
LIGHT = 0.3  # of the colour, so that a name in it can be read

Span = tuple[str, float, float]


def strips(
    rows: Mapping[str, Sequence[Span]],
    *,
    title: str,
    unit: str,
    marks: Mapping[str, float] | None = None,
    width: float = 5.6,
) -> Drawing:
    """Draw a strip of spans for each row, all over the same axis, told apart by colour, hatching and name.

    Spans whose names differ by a number at the end, such as "gather 1" and "gather 2", are of one kind and look alike.
    Names stand in the spans of a kind if all of them have room. If not, the kind is named in the legend; but where no
    row has it beside others, the row's own name does for that, and the spans have their numbers.

    Parameters
    ----------
    rows : mapping of str to sequence of (str, float, float)
        For each strip, from top to bottom, the name, start and length of its spans; at most six kinds in all.
    title : str
        What the figure shows, for its caption and its accessible name.
    unit : str
        Of starts and lengths.
    marks : mapping of str to float, optional
        Moments to mark by a line through all strips, and what they are called.
    width : float
        In inches of 96 pixels.

    Raises
    ------
    InputError
        If there are no spans, more than six kinds, or a number that is not finite or a length below 0.

    Examples
    --------
    >>> rows = {"host": [("launch", 0, 1), ("wait", 1, 4)], "GPU": [("kernel", 1, 4)]}
    >>> strips(rows, title="The host waits", unit="ms", marks={"done": 5})
    The host waits. host: launch 0 to 1, wait 1 to 5. GPU: kernel 1 to 5. ms. done at 5.
    """
    kinds = _check_spans(rows)
    spans = [(row, *span) for row, found in enumerate(rows.values()) for span in found]
    begin = min(start for _, _, start, _ in spans)
    end = max([start + length for _, _, start, length in spans] + list((marks or {}).values()))
    across = (width - LETTER * max(map(len, rows)) - MARGIN_INCHES) / (end - begin)  # inches of a unit
    keyed = {_kind(name) for _, name, _, length in spans if length * across < LETTER * (len(name) + 1)}
    mixed = {kind for found in rows.values() if len(both := {_kind(name) for name, _, _ in found}) > 1 for kind in both}
    key = [kind for kind in kinds if kind in keyed & mixed]
    height = ROOM_INCHES + ROW_INCHES * (len(rows) + bool(marks)) + LEGEND_INCHES * -(-len(key) // COLUMNS)
    with canvas(title, width=width, height=height) as page:
        axes, patches = page.figure.subplots(), dict[str, Any]()
        for row, name, start, length in spans:
            colour, hatch = FILLS[kinds.index(_kind(name))]
            bar = {"y": row, "width": length, "left": start, "height": 0.8, "linewidth": 0.6}
            drawn = [*axes.barh(**bar, facecolor=colour, edgecolor="black", alpha=LIGHT)]
            if _kind(name) in key:
                drawn += [*axes.barh(**bar, facecolor="none", edgecolor=colour, hatch=hatch)]
            else:
                label = name.removeprefix(_kind(name)).strip() if _kind(name) in keyed else name
                axes.text(start + length / 2, row, label, ha="center", va="center", fontsize=9)
            patches.setdefault(_kind(name), tuple(drawn))
        for name, at in (marks or {}).items():
            axes.axvline(at, color="black", linestyle="--", linewidth=1)
            side, aside = ("right", -4) if at > (begin + end) / 2 else ("left", 4)
            beside = {"xytext": (aside, 0), "textcoords": "offset points", "ha": side, "va": "center"}
            axes.annotate(name, (at, -0.95), fontsize=9, **beside)
        axes.set(xlabel=unit, xlim=(begin, end), ylim=(len(rows) - 0.5, -1.3 if marks else -0.5))
        axes.set_yticks(range(len(rows)), rows)
        axes.tick_params(axis="y", length=0)
        axes.spines[["top", "right", "left"]].set_visible(False)
        if key:
            page.figure.legend([patches[kind] for kind in key], key, ncols=COLUMNS, **LEGEND)
    said = [
        f"{row}: {', '.join(f'{name} {start:.3g} to {start + length:.3g}' for name, start, length in found)}."
        for row, found in rows.items()
    ]
    said += [f"{unit}.", *(f"{name} at {at:.3g}." for name, at in (marks or {}).items())]
    return page.drawing(f"{title}. {' '.join(said)}")


def _kind(name: str) -> str:
    """Return a name without the number at its end.

    Examples
    --------
    >>> _kind("gather 12")
    'gather'
    """
    return name.rstrip(NUMBERED) or name


def _check_spans(rows: Mapping[str, Sequence[Span]]) -> list[str]:
    """Check that every span can be drawn, and return the kinds in the order in which they come."""
    needs = f"strips need 1 to {len(FILLS)} kinds of spans, with finite starts and lengths of 0 or more"
    kinds = list(dict.fromkeys(_kind(name) for spans in rows.values() for name, _, _ in spans))
    if not 1 <= len(kinds) <= len(FILLS):
        raise InputError(f"{needs}, but got {len(kinds)} kinds. Give spans that do the same the same name.")
    for row, spans in rows.items():
        for name, start, length in spans:
            if not (math.isfinite(start) and 0 <= length < math.inf):
                raise InputError(f"{needs}, but {name!r} of {row!r} starts at {start:g} and lasts {length:g}.")
    return kinds
