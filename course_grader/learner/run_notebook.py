"""Mark a notebook: put its answers where they were handed out, run the cells, then the hidden tests."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from course_grader.grading.exercises.answers import collect_answers
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission, course_metadata, parse_submission
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.cell_verdict import (
    NOT_PRINTED,
    TOLERANCE,
    Failure,
    describe_exception,
    prints_as_expected,
)
from course_grader.grading.grade_one.edited_cells import (
    cell_name,
    warn_of_edited_checks,
    warn_of_edited_given,
    warn_of_lost_cells,
)
from course_grader.grading.grade_one.learner_messages import explain_missing, report_fault, report_ungraded
from course_grader.grading.grade_one.report import Row
from course_grader.grading.sandbox.limits import KernelStopped, Limits
from course_grader.grading.text import one_line
from course_grader.learner.mark import Mark
from course_grader.learner.own_process import OwnProcess
from course_grader.learner.public_key import PublicKey, exercise_of, find_key
from course_lib import extras
from course_lib.errors import InputError, NotebookError

__all__ = ["VISIBLE", "mark_notebook", "mark_with"]

KINDS = ("given", "answer", "check")
TOTAL_FACTOR = 10
WRONG_FORM = "{} returned something of the wrong form: compare it with what it should return"
VISIBLE = "visible checks alone, no points: {}. Your course marks what you hand in by its own tests, with other numbers"


@dataclass(frozen=True)
class _Parts:
    """What is run: cells, the answers among them by name, and what to tell about the notebook."""

    cells: list[CodeCell]
    answers: dict[str, str]
    notes: list[str]


def mark_notebook(raw: bytes) -> Mark:
    """Mark the text of a notebook by the exercise's public key; without one, by its visible checks.

    Raises
    ------
    NotebookError
        If it is not the notebook of an exercise.
    InputError
        If the exercise needs a package that is not installed.
    MissingExtraError
        If there are hidden tests, and no pytest to run them.
    """
    submission = parse_submission(raw)
    key, why = find_key(submission)
    mark = mark_with(submission, key)
    return mark if key else replace(mark, notes=(VISIBLE.format(why), *mark.notes))


def mark_with(submission: Submission, key: PublicKey | None, *, checks: bool = True) -> Mark:
    """Run a notebook in this process, with its ``checks`` or without, and return its mark.

    It is run as it is or, with a key, as it is graded.
    """
    exercise, ungraded = exercise_of(submission), UngradedCells.of(submission)
    parts = _as_graded(submission, key) if key else _as_they_are(submission)
    process = OwnProcess(_time_limits(submission))
    rows = [_run_cell(process, cell, ungraded) for cell in parts.cells if checks or cell.course["kind"] != "check"]
    rows = [row for row in rows if row.kind == "check" or row.status != "passed"]
    if key:
        rows += _run_tests(process, key, parts.answers, ungraded)
    title = one_line(course_metadata(submission.metadata).get("title", exercise))
    return Mark(title, tuple(rows), (*parts.notes, *report_ungraded(ungraded)))


def _time_limits(submission: Submission) -> Limits:
    """Take the time limit from the notebook, and whether it is done by hand; one's own code needs no other limit."""
    course = course_metadata(submission.metadata)
    seconds = course.get("timeout_seconds")
    seconds = float(seconds) if isinstance(seconds, (int, float)) and 0 < seconds <= 3600 else Limits.cell_seconds
    return Limits(
        cell_seconds=seconds,
        total_seconds=TOTAL_FACTOR * seconds,
        enforced=False,
        by_hand=course.get("by_hand") is True,
    )


def _as_graded(submission: Submission, key: PublicKey) -> _Parts:
    """Put the answers into the notebook as it was handed out, as grading does."""
    handed_out = _course_cells(key.notebook())
    stubs = [cell_name(cell) for cell in handed_out if cell.course["kind"] == "answer"]
    answers, faults = collect_answers(submission, stubs)
    cells = [replace(cell, source=answers.get(cell_name(cell), cell.source)) for cell in handed_out]
    notes = [*map(report_fault, faults), *warn_of_edited_given(_course_cells(submission))]
    return _Parts(cells, dict.fromkeys(stubs, "") | answers, notes)


def _as_they_are(submission: Submission) -> _Parts:
    cells = _course_cells(submission)
    if not any(cell.course["kind"] == "check" for cell in cells):
        raise NotebookError(
            "expected the notebook of an exercise, found one without its checks; start from a fresh copy"
        )
    notes = [*warn_of_edited_checks(cells), *warn_of_edited_given(cells), *warn_of_lost_cells(submission, cells)]
    return _Parts(cells, {}, notes)


def _course_cells(notebook: Submission) -> list[CodeCell]:
    return [cell for cell in notebook.cells if cell.course.get("kind") in KINDS and cell.names]


def _run_cell(process: OwnProcess, cell: CodeCell, ungraded: UngradedCells) -> Row:
    name, kind = cell_name(cell), cell.course["kind"]
    failure = _failure_of(process, cell)
    if failure is None:
        return Row(name=name, kind=kind, status="passed")
    message = explain_missing(failure.message, failure.missing, ungraded)
    return Row(name=name, kind=kind, status="failed", message=message, unwritten=failure.unwritten)


def _failure_of(process: OwnProcess, cell: CodeCell) -> Failure | None:
    try:
        printed = process.run_cell(cell_name(cell), cell.source)
    except KeyboardInterrupt:
        raise
    except KernelStopped as stopped:
        return Failure(str(stopped))
    except ModuleNotFoundError as error:
        if cell.course["kind"] == "given":
            raise InputError(
                f"expected {error.name}, which this exercise imports, found it not installed; install it in this "
                f"Python: pip install {str(error.name).partition('.')[0]}"
            ) from error
        return describe_exception("ModuleNotFoundError", str(error))
    except BaseException as error:  # sys.exit, too, is the learner's error here
        check = cell.source if cell.course["kind"] == "check" else ""
        return describe_exception(type(error).__name__, str(error), check=check)
    expect, tolerance = cell.course.get("expect"), cell.course.get("tolerance")
    tolerance = tolerance if isinstance(tolerance, (int, float)) and tolerance >= 0 else TOLERANCE
    if cell.course["kind"] != "check" or not isinstance(expect, str) or prints_as_expected(printed, expect, tolerance):
        return None
    return Failure(NOT_PRINTED)


def _run_tests(process: OwnProcess, key: PublicKey, answers: dict[str, str], ungraded: UngradedCells) -> Iterator[Row]:
    """Run the hidden tests; one that breaks is the answer's fault, since on the reference answers it does not."""
    extras.load("pytest", extra="check")
    from course_grader.grading.grade_one.pytest_session import TestsPlugin, run_session

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (tests := folder / "test_hidden.py").write_text(key.tests, encoding="utf-8")
        (root := folder / "root").mkdir()
        plugin = TestsPlugin(tests, process, answers, ("you",), ungraded)
        for row in run_session(plugin, folder=root, compiled=folder / "compiled"):
            message = WRONG_FORM.format(plugin.last_requests[row.name]) if row.status == "error" else row.message
            yield replace(row, message=message, status="failed" if row.status == "error" else row.status, detail="")
