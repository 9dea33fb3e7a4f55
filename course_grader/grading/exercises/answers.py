"""Collect a submission's answers, and insert them into the notebook as it was handed out.

Nothing else is taken from a submission.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from course_grader.grading.exercises.name_analysis import MAX_CHARS
from course_grader.grading.exercises.submitted_notebook import Submission
from course_grader.grading.text import one_line
from course_lib.errors import NotebookError

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["AnswerFault", "Fault", "answers_of", "check_exercise", "collect_answers", "insert_answers"]


def check_exercise(submission: Submission, slug: str) -> None:
    """Refuse a notebook that says it belongs to other exercises only.

    Raises
    ------
    NotebookError
        With the exercise it does belong to.
    """
    if submission.exercises and slug not in submission.exercises:
        other = one_line(min(submission.exercises), chars=80)
        raise NotebookError(f"expected the notebook of {slug}, found the one of {other}; hand in {slug}.ipynb")


class Fault(Enum):
    """The reason why an answer is not graded, or not all of it."""

    MISSING = auto()
    """No cell has its name."""
    AMBIGUOUS = auto()
    """Several cells with different text have its name, and none is graded."""
    SPLIT = auto()
    """Copies of its cell have other text; only the cell that was handed out is graded."""
    TOO_LONG = auto()
    """It has more characters than are read, and is not graded."""


@dataclass(frozen=True)
class AnswerFault:
    """An answer cell that is not graded, or not all of it; ``count`` is how many cells have its name.

    Of one that is too long, it is how many characters it has.
    """

    cell: str
    fault: Fault
    count: int = 0


def collect_answers(submission: Submission, wanted: Collection[str]) -> tuple[dict[str, str], list[AnswerFault]]:
    """Find the answer cells of these names in a submission.

    Returns
    -------
    answers : dict
        The source of each answer cell by its name; an answer that is ambiguous is left out.
    faults : list of AnswerFault
        One for each answer of which something is left out.

    Raises
    ------
    NotebookError
        If it has no answer cell.
    """
    answers, faults = {}, []
    for name in wanted:
        sources = _sources_of(submission, name)
        if len(set(sources)) == 1 and len(sources[0]) > MAX_CHARS:
            faults.append(AnswerFault(name, Fault.TOO_LONG, len(sources[0])))
        elif len(set(sources)) == 1:
            answers[name] = sources[0]
            if (count := len({cell.source for cell in submission.cells if name in cell.names})) > 1:
                faults.append(AnswerFault(name, Fault.SPLIT, count))
        elif sources:
            faults.append(AnswerFault(name, Fault.AMBIGUOUS, len(sources)))
        else:
            faults.append(AnswerFault(name, Fault.MISSING))
    if sum(fault.fault is Fault.MISSING for fault in faults) == len(wanted):
        raise NotebookError(
            f"expected the answer cells {', '.join(wanted)}, found none of them; start from the notebook handed out"
        )
    return answers, faults


def _sources_of(submission: Submission, name: str) -> list[str]:
    """Return the text of the cells called ``name``; by id before metadata, which a copy of a cell keeps."""
    for position in range(3):
        sources = [cell.source for cell in submission.cells if cell.names[position : position + 1] == (name,)]
        if sources:
            return sources
    return []


def insert_answers(pristine: "NotebookNode", answers: dict[str, str]) -> "NotebookNode":
    """Replace the stubs of ``pristine`` by these answers, in place, and return it."""
    for cell in pristine.cells:
        if _is_answer(cell) and cell.id in answers:
            cell.source = answers[cell.id]
    return pristine


def answers_of(notebook: "NotebookNode") -> dict[str, str]:
    """Return the text of the answer cells of a pristine or reference notebook by name."""
    return {cell.id: cell.source for cell in notebook.cells if _is_answer(cell)}


def _is_answer(cell: "NotebookNode") -> bool:
    return bool(cell.cell_type == "code" and cell.metadata.course.kind == "answer")
