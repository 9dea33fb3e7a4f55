"""The cells of a learner's own in a submission, which are not graded, and the names that an answer then lacks."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from course_grader.grading.exercises.name_analysis import Reading
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission

__all__ = ["LeftOut"]

ABSENT = re.compile(r"name '(\w+)' is not defined|`(\w+)` is not (?:defined|written yet)")


@dataclass(frozen=True)
class LeftOut:
    """The cells of a learner's own, which are not graded, and what they bind."""

    count: int
    names: frozenset[str]

    @classmethod
    def of(cls, submission: Submission) -> "LeftOut":
        """Find them in a submission."""
        cells = [cell for cell in submission.cells if _own(cell)]
        return cls(len(cells), frozenset(name for cell in cells for name in Reading.of(cell.source).bound))

    def notes(self) -> Iterable[str]:
        """Say that there are some."""
        if self.count:
            cells_are = "1 cell of your own was" if self.count == 1 else f"{self.count} cells of your own were"
            yield f"{cells_are} left out, since only answer cells are graded: what an answer needs must be inside it"

    def explain(self, message: str) -> str:
        """Add to a message about a missing name that it is in one of these."""
        for groups in ABSENT.findall(message):
            if (name := "".join(groups)) in self.names:
                return f"{message}; `{name}` is in a cell of your own, which is not graded: put it into the answer cell"
        return message


def _own(cell: CodeCell) -> bool:
    return not cell.course and bool(cell.source.strip()) and "set-up" not in cell.names
