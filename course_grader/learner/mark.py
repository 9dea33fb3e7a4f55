"""The mark of one's own notebook: every part, its points and what its test says; as text, HTML and data."""

import html
import re
from collections import Counter
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from course_grader.grading.grade_one.report import Row
from course_grader.grading.text import one_line

__all__ = ["CODE", "Mark", "Verdict", "as_html"]

CODE = re.compile(r"`([^`]+)`")
CELL = "padding:.3rem .6rem;vertical-align:top;text-align:left"


class Verdict(Enum):
    """How a part stands; the value is how a learner is told."""

    RIGHT = "right"
    WRONG = "wrong"
    UNWRITTEN = "not written yet"
    NOT_RUN = "not run"

    @classmethod
    def of(cls, row: Row) -> "Verdict":
        """Return the verdict of a hidden test, a check or another cell."""
        if row.unwritten:
            return cls.UNWRITTEN
        return {"passed": cls.RIGHT, "not run": cls.NOT_RUN}.get(row.status, cls.WRONG)


SIGNS = {Verdict.RIGHT: "✓", Verdict.WRONG: "✗", Verdict.UNWRITTEN: "…", Verdict.NOT_RUN: "-"}


@dataclass(frozen=True)
class Mark:
    """The parts of an exercise as one learner's notebook has them, and notes on the notebook.

    ``rows`` are its checks, the cells that failed and, where its hidden tests could be run, those.

    Examples
    --------
    >>> rows = Row("check_f", "check", "passed"), Row("test_f", "test", "failed", 0, 2, "`f` is right", "it is not")
    >>> Mark("Doubling", rows)
    Doubling: 0 of 2 points. 1 part right, 1 wrong.
      ✓ right                    check_f
      ✗ wrong             0 / 2  `f` is right
                                 it is not
    """

    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every part is right."""
        return all(row.status == "passed" for row in self.rows)

    @property
    def points(self) -> float:
        """The points of its hidden tests."""
        return sum(row.points for row in self.rows)

    @property
    def max_points(self) -> float:
        """What its hidden tests are worth; 0 if there are none."""
        return sum(row.max_points for row in self.rows)

    @property
    def summary(self) -> str:
        """The points, and how many parts are right, wrong and not written yet."""
        counts = Counter(map(Verdict.of, self.rows))
        said = [f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]]
        first, *rest = said or ["nothing to mark"]
        if self.rows:
            number, verdict = first.split(" ", 1)
            noun = "part" if self.max_points else "check"
            first = f"{number} {noun}{'s' * (number != '1')} {verdict}"
        points = f"{self.points:g} of {self.max_points:g} points. " if self.max_points else ""
        return f"{points}{', '.join([first, *rest])}."

    def __repr__(self) -> str:
        lines = [f"{self.title}: {self.summary}"]
        for row in self.rows:
            verdict = Verdict.of(row)
            lines.append(f"  {SIGNS[verdict]} {verdict.value:<15}{_points(row):>8}  {_title(row)}".rstrip())
            lines += [" " * 29 + row.message] if row.message else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = "".join(map(_html_row, self.rows))
        notes = "".join(f"<p>{as_html(note)}</p>" for note in self.notes)
        heading = f"<p><b>{as_html(self.title)}</b><br>{self.summary}</p>"
        return f"<div>{heading}<table style='border-collapse:collapse'>{rows}</table>{notes}</div>"

    def as_dict(self) -> dict[str, Any]:
        """Return the mark as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Mark":
        """Return the mark of which this is the data."""
        return cls(data["title"], tuple(Row(**row) for row in data["rows"]), tuple(data["notes"]))


def _points(row: Row) -> str:
    return f"{row.points:g} / {row.max_points:g}" if row.max_points else ""


def _title(row: Row) -> str:
    return one_line(row.title or row.name)


def _html_row(row: Row) -> str:
    verdict = Verdict.of(row)
    said = f"<br><span style='opacity:.8'>{as_html(row.message)}</span>" if row.message else ""
    narrow = [f"{SIGNS[verdict]} {verdict.value}", _points(row)]
    cells = "".join(f"<td style='{CELL};white-space:nowrap'>{text}</td>" for text in narrow)
    return f"<tr>{cells}<td style='{CELL}'>{as_html(_title(row))}{said}</td></tr>"


def as_html(text: str) -> str:
    """Return text as HTML, with what stands in backticks as code."""
    return CODE.sub(r"<code>\1</code>", html.escape(text))
