"""Warn learners of cells that were edited, lost or copied, which make a result mean less than it seems to."""

from collections import Counter
from collections.abc import Iterator

from course_grader.code_digest import code_digest
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission, course_metadata
from course_grader.grading.text import one_line

__all__ = ["cell_name", "warn_of_edited_checks", "warn_of_edited_given", "warn_of_lost_cells"]

FRESH = "copy it from a fresh notebook"


def cell_name(cell: CodeCell) -> str:
    """Return the name that a cell was handed out with."""
    return one_line(cell.course.get("cell") or cell.names[0], chars=80)


def warn_of_edited_checks(cells: list[CodeCell]) -> Iterator[str]:
    """Yield a warning for each check whose code was changed."""
    for cell in cells:
        if cell.course["kind"] == "check" and cell.course.get("digest") != code_digest(cell.source):
            yield f"the check {cell_name(cell)} was edited, so its result may not mean anything: {FRESH}"


def warn_of_edited_given(cells: list[CodeCell]) -> Iterator[str]:
    """Yield a warning for each given cell whose code was changed."""
    for cell in cells:
        if cell.course["kind"] == "given" and cell.course.get("digest", "") not in ("", code_digest(cell.source)):
            yield (
                f"the given cell {_describe_cell(cell)} was edited, and grading runs it as it was handed out; undo the "
                f"change, or {FRESH}"
            )


def warn_of_lost_cells(submission: Submission, cells: list[CodeCell]) -> Iterator[str]:
    """Yield a warning for each answer or check that was handed out and is not there, and for answers that are twice."""
    handed_out, there = course_metadata(submission.metadata).get("cells"), set(map(cell_name, cells))
    for cell, kind in handed_out.items() if isinstance(handed_out, dict) else ():
        name = one_line(cell, chars=80)
        if name not in there and kind == "answer":
            yield f"the answer cell `{name}` is missing, so it counts as unanswered: {FRESH}"
        elif name not in there and kind == "check":
            yield f"the check `{name}` is missing, so it tells you nothing: {FRESH}"
    for name, count in Counter(cell_name(cell) for cell in cells if cell.course["kind"] == "answer").items():
        if count > 1:
            yield f"the answer cell `{name}` is there {count} times, and grading takes one at most: keep one"


def _describe_cell(cell: CodeCell) -> str:
    """Name a cell by its name and its first line: the editor shows no names."""
    begins = one_line(next((line for line in cell.source.splitlines() if line.strip()), ""), chars=60)
    return f"`{cell_name(cell)}` (`{begins}`)" if begins else f"`{cell_name(cell)}` (empty now)"
