"""Collect a notebook's cells as pytest items: nbval's, run in our kernel and compared as grading needs.

Four things differ from nbval. Its comments and tags have no effect, since a learner could write ``NBVAL_SKIP``. Only
checks are compared, and whatever else a learner's functions print or warn about costs nothing. Floating-point numbers
are compared as numbers, within the exercise's tolerance. A cell after the kernel has stopped for good fails, where
nbval would expect it to.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode
from nbval import plugin as nbval
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from course_grader.grading.grade_one.cell_verdict import (
    NOT_PRINTED,
    TOLERANCE,
    Failure,
    describe_exception,
    prints_as_expected,
)
from course_grader.grading.grade_one.learner_messages import explain_missing
from course_grader.grading.grade_one.pytest_session import TestsPlugin
from course_grader.grading.grade_one.report import Row
from course_grader.grading.kernel.kernel import Kernel, KernelStopped
from course_grader.grading.sandbox.memory_cap import cap_memory

__all__ = ["CellItem", "NotebookFile", "NotebookPlugin"]

NOTEBOOK = "notebook"  # what pytest is told to collect; without a suffix, so that nothing else takes it for its own
_Outputs = Iterable[NotebookNode]


class NotebookFile(IPyNbFile):  # type: ignore[misc] # nbval has no type information
    """A notebook in memory, run in a kernel that outlives it, for the hidden tests to call."""

    notebook: NotebookNode
    kernel: Kernel

    def collect(self) -> Iterator["CellItem"]:
        """Yield one item for each code cell, under the cell's own name."""
        for number, cell in enumerate(cell for cell in self.notebook.cells if cell.cell_type == "code"):
            options = defaultdict(bool, check=cell.metadata.course.kind == "check")
            yield CellItem.from_parent(self, name=cell.id, cell_num=number, cell=cell, options=options)

    def setup(self) -> None:
        """Leave starting the kernel to the grader."""

    def teardown(self) -> None:
        """Leave stopping the kernel to the grader."""


class CellItem(IPyNbCell):  # type: ignore[misc] # nbval has no type information
    """One code cell."""

    def setup(self) -> None:
        """Do not expect failure after a timeout, as nbval does: that would let the cell pass."""

    def runtest(self) -> None:
        """Run the cell; if it comes to an end, even in an error, later ones may count on it."""
        kernel: Kernel = self.parent.kernel
        kernel.activity = f"the cell `{self.name}`"
        kernel.revive()  # nbval itself refuses to begin with a dead one
        try:
            super().runtest()
        finally:
            if kernel.stopped_by is None and not self.options["check"]:
                kernel.replay_after_stop(self.cell.source)

    def compare_outputs(self, test: _Outputs, ref: _Outputs, skip_compare: object = None) -> bool:
        """Tell whether a check printed the reference's lines, in order, whatever else it printed."""
        self.comparison_traceback: list[str] = []
        tolerance = self.cell.metadata.course.get("tolerance", TOLERANCE)
        return prints_as_expected(_stdout_of(test), _stdout_of(ref), tolerance)

    def failure(self, error: BaseException) -> Failure:
        """Return why this cell failed."""
        if not isinstance(error, NbCellError):
            return Failure(str(error))
        raised = next((out for out in self.test_outputs or [] if out.output_type == "error"), None)
        if raised is None:
            return Failure(NOT_PRINTED)
        check = self.cell.source if self.options["check"] else ""
        return describe_exception(raised.ename, str(raised.evalue), check=check)


@dataclass(eq=False)
class NotebookPlugin(TestsPlugin):
    """A pytest plugin that runs one notebook and the hidden tests in one kernel, and keeps a row of each."""

    notebook: NotebookNode = field(default_factory=NotebookNode)
    placeholders = (NOTEBOOK, *TestsPlugin.placeholders)
    tells_all = False
    pytest_addoption = staticmethod(nbval.pytest_addoption)  # of nbval's plugin nothing else is used

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the notebook in memory for its placeholder, too."""
        if file_path.name != NOTEBOOK:
            return super().pytest_collect_file(file_path, parent)
        file: Any = NotebookFile.from_parent(parent, path=file_path)
        file.notebook, file.kernel = self.notebook, self.process
        return file  # type: ignore[no-any-return] # pytest's is untyped

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Bound the memory that a test may take with a learner's values."""
        with cap_memory():
            yield

    def make_row(self, item: pytest.Item, error: BaseException | None, detail: str) -> Row:
        """Return the row of a cell, or of a test."""
        if not isinstance(item, CellItem):
            return super().make_row(item, error, detail)
        kind = str(item.cell.metadata.course.kind)
        if error is None:
            return Row(name=item.name, kind=kind, status="passed")
        status = "not run" if isinstance(error, KernelStopped) and error.later else "failed"
        failure = item.failure(error)
        message = explain_missing(failure.message, failure.missing, self.ungraded)
        return Row(name=item.name, kind=kind, status=status, message=message, unwritten=failure.unwritten)


def _stdout_of(outputs: _Outputs) -> str:
    return "".join(out.text for out in outputs if out.output_type == "stream" and out.name == "stdout")
