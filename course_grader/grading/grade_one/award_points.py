"""Award the points of a hidden test by its outcome, and choose what its learner is told."""

import re
from collections.abc import Callable

import pytest

from course_grader.grading.authoring.learner import Learner
from course_grader.grading.authoring.learner_words import cut_confided, show_confided
from course_grader.grading.authoring.points import LearnerError, Mistake, points_of
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.learner_messages import explain_missing
from course_grader.grading.grade_one.report import Row
from course_grader.grading.sandbox.limits import KernelStopped
from course_grader.grading.text import one_line

__all__ = ["award_points"]

MESSAGE_CHARS = 1000  # a test's sentence may quote the learner twice
CASE = re.compile(r"\{(\w+)\}")  # in the title of a parametrized test: what this case has
UNNAMED = "this hidden test did not pass"
KEY_BROKE = "this hidden test itself failed: tell your instructor, it is not your answer's fault"


def award_points(
    item: pytest.Item, error: BaseException | None, detail: str, ungraded: UngradedCells, *, tells_all: bool = False
) -> Row:
    """Return the row of a hidden test: all of its points if it raised no error, else none.

    Parameters
    ----------
    item : pytest.Item
        The test, after its run.
    error : BaseException or None
        What it raised.
    detail : str
        For the instructor.
    ungraded : UngradedCells
        The cells beside the answers, which may define a name that an answer lacks.
    tells_all : bool
        Whether the learner is told the text of what their functions raised, too, which may hold what they were given.
    """
    function = getattr(item, "function", None)
    worth = points_of(function) if function is not None else 0
    title = (getattr(function, "__doc__", None) or item.name).strip().splitlines()[0]
    if (case := getattr(item, "callspec", None)) is not None:
        title = CASE.sub(lambda name: str(case.params.get(name[1], name[0])), title)
    tell = show_confided if tells_all else cut_confided
    status, message = _judge(error, getattr(item, "funcargs", {}).get("learner"), ungraded, tell)
    return Row(
        name=item.name,
        kind="test",
        status=status,
        points=worth if status == "passed" else 0,
        max_points=worth,
        title=title,
        message=message,
        detail=detail,
        unwritten=bool((failure := _failure_behind(error)) and failure.unwritten),
    )


def _judge(
    error: BaseException | None, learner: Learner | None, ungraded: UngradedCells, tell: Callable[[str], str]
) -> tuple[str, str]:
    """Return the status of a hidden test, and what the learner may know: of an assertion, only that it failed."""
    match error:
        case None:
            return "passed", ""
        case KernelStopped():
            return "not run" if error.later else "failed", str(error)
        case Mistake():
            said, failure = tell(str(error)), _failure_behind(error)
            if learner is not None and said and not (failure and failure.reads):
                said += learner.hardcoded_data_note()
            said = one_line(said, chars=MESSAGE_CHARS) or UNNAMED
            return "failed", explain_missing(said, failure.missing if failure else (), ungraded)
        case AssertionError():
            return "failed", UNNAMED
    return "error", KEY_BROKE


def _failure_behind(error: BaseException | None) -> LearnerError | None:
    """Return the learner's error behind a mistake: itself, or the error that was being handled when it was raised."""
    while error is not None and not isinstance(error, LearnerError):
        error = error.__context__
    return error
