"""Run the visible checks of a learner's own notebook, on their own machine.

Nothing but the notebook is needed. What each check must print, and a fingerprint of the code of checks and given cells,
travel in the cells' metadata, so a saved output that was edited or cleared makes no difference.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_output

from course_grader.grading.exercises.exercise import TOTAL_FACTOR
from course_grader.grading.exercises.submitted_notebook import CodeCell, Submission, course_metadata, read_submission
from course_grader.grading.exercises.ungraded_cells import UngradedCells
from course_grader.grading.grade_one.learner_messages import report_ungraded
from course_grader.grading.grade_one.pytest_session import KeyFailure, NotebookPlugin, run_session
from course_grader.grading.grade_one.report import Row
from course_grader.grading.kernel.kernel import Kernel, KernelStopped
from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.bubblewrap import NONE
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.text import one_line
from course_grader.notebooks.exercise_notebooks import code_digest
from course_lib.errors import InputError, NotebookError

__all__ = ["SelfCheck", "check_notebook"]

KINDS = ("given", "answer", "check")
FRESH = "copy it from a fresh notebook"


@dataclass(frozen=True)
class SelfCheck:
    """The result of ``course check``: a row for each visible check or failing cell, and warnings."""

    exercise: str
    title: str
    rows: tuple[Row, ...]
    warnings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return all(row.status == "passed" for row in self.rows)


def check_notebook(path: Path) -> SelfCheck:
    """Run the visible checks of an exercise notebook, without a sandbox: it is the learner's own code.

    Raises
    ------
    InputError
        If the file is not a notebook of an exercise.
    """
    try:
        submission = read_submission(path.resolve())  # a link is fine on the learner's own machine
    except NotebookError as error:
        raise InputError(f"{path}: {error}") from error
    cells = [cell for cell in submission.cells if cell.course.get("kind") in KINDS and cell.names]
    if not any(cell.course["kind"] == "check" for cell in cells):
        raise InputError(
            f"{path}: expected the notebook of an exercise, found one without its checks; start from a fresh copy"
        )
    ungraded = UngradedCells.of(submission)
    rows = _run(NotebookNode(cells=[_runnable_cell(cell) for cell in cells]), ungraded, _read_limits(submission), path)
    shown = [row for row in rows if row.kind == "check" or row.status != "passed"]
    course = course_metadata(submission.metadata)
    exercise = one_line(course.get("exercise") or min(submission.exercises, default=path.stem))
    return SelfCheck(
        exercise,
        one_line(course.get("title", exercise)),
        tuple(shown),
        (*_warn_of_edits(submission, cells), *report_ungraded(ungraded)),
    )


def _run(notebook: NotebookNode, ungraded: UngradedCells, limits: Limits, path: Path) -> list[Row]:
    """Run the cells beside the notebook, so that files lying there are found."""
    folder = path.resolve().parent
    try:
        with (
            tempfile.TemporaryDirectory(dir=scratch_dirs.own_folder()) as name,
            Kernel(limits=limits, sandbox=NONE, cwd=folder) as kernel,
        ):
            plugin = NotebookPlugin(notebook, kernel=kernel, ungraded=ungraded)
            return run_session(plugin, folder=Path(name).resolve())
    except (KernelStopped, KeyFailure) as error:
        raise InputError(f"{path}: expected to run it, but {error}; try again in a fresh environment") from error


def _read_limits(submission: Submission) -> Limits:
    """Take the time limit from the notebook; on the learner's own machine nothing else needs a limit."""
    seconds = course_metadata(submission.metadata).get("timeout_seconds")
    seconds = float(seconds) if isinstance(seconds, (int, float)) and 0 < seconds <= 3600 else Limits.cell_seconds
    return Limits(cell_seconds=seconds, total_seconds=TOTAL_FACTOR * seconds, enforced=False)


def _cell_name(cell: CodeCell) -> str:
    return one_line(cell.course.get("cell") or cell.names[0], chars=80)


def _runnable_cell(cell: CodeCell) -> NotebookNode:
    """Build the cell to run, with the output that a check must print."""
    kind, expect = cell.course["kind"], cell.course.get("expect")
    node = NotebookNode(id=_cell_name(cell), cell_type="code", source=cell.source, execution_count=None, outputs=[])
    node.metadata = NotebookNode(course=NotebookNode(kind=kind))
    if kind == "check":
        tolerance = cell.course.get("tolerance")
        if isinstance(tolerance, (int, float)) and tolerance >= 0:
            node.metadata.course.tolerance = tolerance
        node.execution_count = 1
        if isinstance(expect, str) and expect:
            node.outputs = [new_output("stream", name="stdout", text=expect)]
    return node


def _warn_of_edits(submission: Submission, cells: list[CodeCell]) -> list[str]:
    """Warn of edited, missing and repeated cells, which make a result mean less than it seems to."""
    said = [
        f"the check {_cell_name(cell)} was edited, so its result may not mean anything: take it from a fresh copy"
        for cell in cells
        if cell.course["kind"] == "check" and cell.course.get("digest") != code_digest(cell.source)
    ]
    said += [
        f"the given cell {_describe_cell(cell)} was edited: the checks here ran it as it is now, and grading runs it "
        f"as it was handed out; undo the change, or {FRESH}"
        for cell in cells
        if cell.course["kind"] == "given" and cell.course.get("digest", "") not in ("", code_digest(cell.source))
    ]
    said += _warn_of_missing(submission, {_cell_name(cell) for cell in cells})
    answers = Counter(_cell_name(cell) for cell in cells if cell.course["kind"] == "answer")
    said += [
        f"the answer cell `{name}` is there {count} times, and grading takes one at most: keep one, with all of it"
        for name, count in answers.items()
        if count > 1
    ]
    return said


def _describe_cell(cell: CodeCell) -> str:
    """Name a cell by its name and its first line: the editor shows no names."""
    begins = one_line(next((line for line in cell.source.splitlines() if line.strip()), ""), chars=60)
    return f"`{_cell_name(cell)}` (`{begins}`)" if begins else f"`{_cell_name(cell)}` (empty now)"


def _warn_of_missing(submission: Submission, there: set[str]) -> Iterator[str]:
    """Warn of answers and checks that were handed out and are not in the notebook any more."""
    handed_out = course_metadata(submission.metadata).get("cells")
    for cell, kind in handed_out.items() if isinstance(handed_out, dict) else ():
        name = one_line(cell, chars=80)
        if name not in there and kind == "answer":
            yield f"the answer cell `{name}` is missing, so it counts as unanswered: {FRESH}"
        elif name not in there and kind == "check":
            yield f"the check `{name}` is missing, so it tells you nothing: {FRESH}"
