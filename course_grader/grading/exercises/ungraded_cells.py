"""Find the names in a submission that no answer can use: those of a learner's own cells, and those of checks."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from course_grader.grading.exercises.name_analysis import MAX_CHARS, CellNames
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission

__all__ = ["UNDEFINED", "UNWRITTEN", "UngradedCells", "missing_names"]

# Python's words for an undefined name, and those of a stub that is still to be filled in.
MAX_OWN_CHARS = 40_000  # of all such cells together that are searched for names: it is for a hint alone
UNDEFINED, UNWRITTEN = re.compile(r"name '(\w+)' is not defined"), re.compile(r"`(\w+)` is not written yet")
MISSING = re.compile(f"{UNDEFINED.pattern}|{UNWRITTEN.pattern}")


@dataclass(frozen=True)
class UngradedCells:
    """The number of cells of a learner's own, and the names that they define; the names that checks use themselves.

    ``unread`` is the number of those that are too long, with the ones before them, to be searched for names.
    """

    count: int = 0
    names: frozenset[str] = frozenset()
    check_names: frozenset[str] = frozenset()
    unread: int = 0

    @classmethod
    def of(cls, submission: Submission) -> "UngradedCells":
        """Find them in a submission."""
        cells = [cell for cell in submission.cells if _is_learners_own(cell)]
        checks = [cell for cell in submission.cells if cell.course.get("kind") == "check"]
        read_cells, read_checks = list(_short_enough(cells)), list(_short_enough(checks))
        return cls(
            len(cells),
            frozenset(name for cell in read_cells for name in CellNames.of(cell.source).bound),
            frozenset(name for cell in read_checks for name in CellNames.of(cell.source).stored),
            len(cells) - len(read_cells) + len(checks) - len(read_checks),
        )


def _short_enough(cells: Iterable[CodeCell]) -> Iterator[CodeCell]:
    """Yield cells up to so many characters together; a long one is left out, and those behind it are not."""
    left = MAX_OWN_CHARS
    for cell in cells:
        if (chars := len(cell.source)) <= min(left, MAX_CHARS):
            left -= chars
            yield cell


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
