"""Collect a notebook's cells as pytest items: nbval's, run in our kernel and compared as grading needs.

Four things differ from nbval. Its comments and tags have no effect, since a learner could write ``NBVAL_SKIP``. Only
checks are compared, and whatever else a learner's functions print or warn about costs nothing. Floating-point numbers
are compared as numbers, within the exercise's tolerance. A cell after the kernel has stopped for good fails, where
nbval would expect it to.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile, NbCellError

from course_grader.grading.exercises.ungraded_cells import missing_names
from course_grader.grading.kernel.kernel import Kernel
from course_grader.grading.text import one_line

__all__ = ["CellItem", "NotebookFile"]

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")  # in parentheses, so that a split keeps it
TOLERANCE = 1e-9  # for an exercise that sets none: what rounding in another order changes
_Outputs = Iterable[NotebookNode]
PLACE = re.compile(r"\s*\([^()]*, line (\d+)\)$")


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
        lines, reference = iter(_stdout_of(test).splitlines()), _stdout_of(ref).splitlines()
        self.comparison_traceback: list[str] = []
        tolerance = self.cell.metadata.course.get("tolerance", TOLERANCE)
        return all(any(_lines_agree(line, wanted, tolerance) for line in lines) for wanted in reference)

    def learner_message(self, error: BaseException) -> tuple[str, tuple[str, ...]]:
        """Return a message for the learner on why this cell failed, and the names that it lacked."""
        if not isinstance(error, NbCellError):
            return str(error), ()
        raised = next((out for out in self.test_outputs or [] if out.output_type == "error"), None)
        if raised is None:
            return "the check ran, but did not print what it prints for a right answer", ()
        name, text = one_line(raised.ename), one_line(ANSI.sub("", str(raised.evalue)))
        missing = missing_names(text)
        if name == "NotImplementedError":
            return text or "not written yet", missing
        if name == "AssertionError" and text:
            return text, missing
        text = PLACE.sub(r" (line \1)", text)  # IPython's name for the cell means nothing to anyone
        return f"{name}: {text}".rstrip(": "), missing


def _lines_agree(line: str, wanted: str, tolerance: float) -> bool:
    """Compare two lines: words and whole numbers exactly, other numbers within a relative or absolute tolerance."""
    if line == wanted:
        return True
    pieces, wanted_pieces = NUMBER.split(line), NUMBER.split(wanted)  # alternating: text, number, text, ...
    return len(pieces) == len(wanted_pieces) and all(
        piece == other
        or (i % 2 == 1 and not (_is_whole(piece) and _is_whole(other)) and _is_close(piece, other, tolerance))
        for i, (piece, other) in enumerate(zip(pieces, wanted_pieces, strict=True))
    )


def _is_whole(number: str) -> bool:
    return number.lstrip("+-").isdecimal()


def _is_close(number: str, wanted: str, tolerance: float) -> bool:
    return math.isclose(float(number), float(wanted), rel_tol=tolerance, abs_tol=tolerance)


def _stdout_of(outputs: _Outputs) -> str:
    return "".join(out.text for out in outputs if out.output_type == "stream" and out.name == "stdout")
