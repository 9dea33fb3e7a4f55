"""Find the names in a submission that no answer can use: those of a learner's own cells, and those of checks."""

import re
from dataclasses import dataclass

from course_grader.grading.exercises.name_analysis import CellNames
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission

__all__ = ["UngradedCells", "missing_names"]

# Python's words for an undefined name, and those of a stub that is still to be filled in.
MISSING = re.compile(r"name '(\w+)' is not defined|`(\w+)` is not written yet")


@dataclass(frozen=True)
class UngradedCells:
    """The number of cells of a learner's own, and the names that they define; the names that checks use themselves."""

    count: int = 0
    names: frozenset[str] = frozenset()
    check_names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, submission: Submission) -> "UngradedCells":
        """Find them in a submission."""
        cells = [cell for cell in submission.cells if _is_learners_own(cell)]
        checks = [cell for cell in submission.cells if cell.course.get("kind") == "check"]
        names = frozenset(name for cell in cells for name in CellNames.of(cell.source).bound)
        return cls(len(cells), names, frozenset(name for cell in checks for name in CellNames.of(cell.source).stored))


def missing_names(error: str) -> tuple[str, ...]:
    """Return the names that the text of an exception says are not there.

    Examples
    --------
    >>> missing_names("name 'TWO' is not defined"), missing_names("`double` is not written yet")
    (('TWO',), ('double',))
    """
    return tuple("".join(groups) for groups in MISSING.findall(error))


def _is_learners_own(cell: CodeCell) -> bool:
    return not cell.course and bool(cell.source.strip()) and "set-up" not in cell.names
