"""Draw a timeline of calls as a trace viewer does: calls made inside a call stand below it."""

import math
from collections.abc import Sequence

from course_lib.figures.charts.canvas import Drawing, canvas

__all__ = ["nesting_depths", "timeline"]

ROW_INCHES, ROOM_INCHES = 0.36, 0.75
LETTER = 0.018  # of the width, for a letter of a label
FILLS = ("#0072b2", "#d55e00", "#008f68")  # Okabe and Ito; names take turns with them


def timeline(spans: Sequence[tuple[str, float, float]], *, title: str, unit: str) -> Drawing:
    """Draw calls by when they began and how long they took; one too short for its name has a number instead.

    Parameters
    ----------
    spans : sequence of (str, float, float)
        Name, start and length of each call. A call that lies within another was made by it.
    title : str
        What the figure shows, for its caption and its accessible name.
    unit : str
        Of starts and lengths.

    Examples
    --------
    >>> timeline([("linear", 0, 10), ("addmm", 4, 5)], title="One layer", unit="µs")
    One layer. linear: 10 µs, of which 5 its own. addmm: 5 µs, of which 5 its own.
    """
    ordered = sorted(spans, key=lambda span: (span[1], -span[2]))
    start, end = min(s for _, s, _ in ordered), max(s + length for _, s, length in ordered)
    rows, names = nesting_depths(ordered), list(dict.fromkeys(name for name, _, _ in ordered))
    numbered: list[str] = []
    with canvas(title, height=ROOM_INCHES + ROW_INCHES * (max(rows) + 1)) as page:
        axes = page.figure.subplots()
        for (name, begin, length), row in zip(ordered, rows, strict=True):
            fill = {"facecolor": FILLS[names.index(name) % len(FILLS)], "alpha": 0.3}
            axes.barh(-row, length, left=begin - start, height=0.9, edgecolor="black", linewidth=0.6, **fill)
            letters = length / (end - start) / LETTER
            place = numbered.index(name) if name in numbered else len(numbered)
            label = name if letters > len(name) else str(place + 1)
            if letters >= len(label):
                if label != name and name not in numbered:
                    numbered.append(name)
                axes.text(begin - start + length / 2, -row, label, ha="center", va="center", fontsize=9)
        axes.set(xlabel=unit, yticks=[], xlim=(0, end - start))
        axes.spines[["top", "right", "left"]].set_visible(False)
    own = [length - math.fsum(_inner_lengths(i, ordered, rows)) for i, (_, _, length) in enumerate(ordered)]
    told = zip(ordered, own, strict=True)
    said = (
        f"{name}: {_format_short(length)} {unit}, of which {_format_short(rest)} its own."
        for (name, _, length), rest in told
    )
    key = ", ".join(f"{i}: {name}" for i, name in enumerate(numbered, start=1))
    return page.drawing(f"{title}. {' '.join(said)}", key=key)


def _format_short(value: float) -> str:
    """Format a time to three digits, or to all those before its point."""
    return f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"


def nesting_depths(ordered: Sequence[tuple[str, float, float]]) -> list[int]:
    """Return the nesting depth of each call, for calls in the order of their starts.

    Examples
    --------
    >>> nesting_depths([("step", 0, 10), ("linear", 1, 6), ("addmm", 2, 3), ("relu", 7, 2)])
    [0, 1, 2, 1]
    """
    found, open_until = [], list[float]()
    for _, begin, length in ordered:
        while open_until and open_until[-1] <= begin:
            open_until.pop()
        found.append(len(open_until))
        open_until.append(begin + length)
    return found


def _inner_lengths(i: int, ordered: Sequence[tuple[str, float, float]], rows: Sequence[int]) -> list[float]:
    """Return the lengths of the calls that call ``i`` made itself."""
    found = []
    for (_, _, length), row in zip(ordered[i + 1 :], rows[i + 1 :], strict=True):
        if row <= rows[i]:
            break
        if row == rows[i] + 1:
            found.append(length)
    return found
