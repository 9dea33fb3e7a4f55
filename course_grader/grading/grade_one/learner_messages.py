"""Tell learners about their notebook: answers that are missing or repeated, cells that are not graded."""

from collections.abc import Iterable, Iterator

from course_grader.grading.exercises.answers import AnswerFault, Fault
from course_grader.grading.exercises.name_analysis import MAX_CHARS
from course_grader.grading.exercises.ungraded_cells import UngradedCells

__all__ = ["explain_missing", "report_fault", "report_ungraded"]


def report_fault(answer: AnswerFault) -> str:
    """Return the message on an answer cell that is not graded: what is wrong, and what to do."""
    match answer.fault:
        case Fault.MISSING:
            return f"the answer cell `{answer.cell}` is missing, so it counts as unanswered: put it back"
        case Fault.AMBIGUOUS:
            return (
                f"the answer cell `{answer.cell}` is there {answer.count} times, so it counts as unanswered: keep one"
            )
        case Fault.SPLIT:
            return (
                f"the answer cell `{answer.cell}` is there {answer.count} times, and only the one that was handed out "
                "is graded: keep one, with all of the answer"
            )
        case Fault.TOO_LONG:
            return (
                f"the answer cell `{answer.cell}` has {answer.count:,} characters, and an answer may have "
                f"{MAX_CHARS:,}, so it counts as unanswered: take out what it does not need"
            )


def report_ungraded(cells: UngradedCells) -> Iterator[str]:
    """Yield a message on cells that are not graded, if there are any."""
    if cells.count:
        cells_are = "1 cell of your own was" if cells.count == 1 else f"{cells.count} cells of your own were"
        yield f"{cells_are} left out, since only answer cells are graded: what an answer needs must be inside it"
    if cells.unread:
        yield f"too long to be searched for names that answers lack: {cells.unread} of your own cells and checks"


def explain_missing(message: str, missing: Iterable[str], cells: UngradedCells) -> str:
    """Add to a message on missing names that one of them is defined in a cell which is not graded, or in a check."""
    for name in missing:
        if name in cells.names:
            return f"{message}; `{name}` is in a cell of your own, which is not graded: put it into the answer cell"
        if name in cells.check_names:
            return f"{message}; `{name}` is a name inside of a check, not yours to use: define it in the answer cell"
    return message
