"""Put a submission's answers into the notebook as it was handed out; nothing else is taken from it."""

from collections.abc import Iterator

from nbformat import NotebookNode

from course_grader.grading.exercises.submitted_notebook import Submission
from course_grader.grading.text import one_line
from course_lib.errors import NotebookError

__all__ = ["answers_of", "check_exercise", "collect_answers", "merge"]


def check_exercise(submission: Submission, slug: str) -> None:
    """Raise if the notebook says that it belongs to other exercises only.

    Raises
    ------
    NotebookError
        With the exercise it does belong to.
    """
    if submission.exercises and slug not in submission.exercises:
        other = one_line(min(submission.exercises), chars=80)
        raise NotebookError(f"expected the notebook of {slug}, found the one of {other}; hand in {slug}.ipynb")


def collect_answers(submission: Submission, pristine: NotebookNode) -> tuple[dict[str, str], list[str]]:
    """Find the answer cells of ``pristine`` in a submission.

    Returns
    -------
    answers : dict
        The source of each answer cell by its name; an answer that is ambiguous is left out.
    notes : list of str
        For the learner: a sentence for each answer of which something is left out.

    Raises
    ------
    NotebookError
        If it has no answer cell.
    """
    wanted = [cell.id for cell in pristine.cells if _is_answer(cell)]
    answers, notes = {}, []
    for name in wanted:
        sources = list(_candidates(submission, name))
        if len(set(sources)) == 1:
            answers[name] = sources[0]
            if len(everywhere := {cell.source for cell in submission.cells if name in cell.names}) > 1:
                notes.append(
                    f"the answer cell `{name}` is there {len(everywhere)} times, and only the one that was handed out "
                    "is graded: keep one, with all of the answer"
                )
        elif sources:
            notes.append(
                f"the answer cell `{name}` is there {len(sources)} times, so it counts as unanswered: keep one"
            )
        else:
            notes.append(f"the answer cell `{name}` is missing, so it counts as unanswered: put it back")
    if len(notes) == len(wanted) and not answers and all("missing" in note for note in notes):
        raise NotebookError(
            f"expected the answer cells {', '.join(wanted)}, found none of them; start from the notebook handed out"
        )
    return answers, notes


def _candidates(submission: Submission, name: str) -> Iterator[str]:
    """Yield the cells known by ``name``; by id before metadata, because a copy of a cell keeps only the metadata."""
    for position in range(3):
        sources = [cell.source for cell in submission.cells if cell.names[position : position + 1] == (name,)]
        if sources:
            yield from sources
            return


def merge(pristine: NotebookNode, answers: dict[str, str]) -> NotebookNode:
    """Return ``pristine`` with these answers in place of its stubs; it is changed in place."""
    for cell in pristine.cells:
        if _is_answer(cell) and cell.id in answers:
            cell.source = answers[cell.id]
    return pristine


def answers_of(notebook: NotebookNode) -> dict[str, str]:
    """Return the text of the answer cells of a pristine or reference notebook by name."""
    return {cell.id: cell.source for cell in notebook.cells if _is_answer(cell)}


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.cell_type == "code" and cell.metadata.course.kind == "answer")
