"""Show a progress bar on standard error, where that is a terminal: counts by status, and the time left."""

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from course_grader.grading.gradebook import Outcome

__all__ = ["Progress"]


class Progress:
    """A progress bar of submissions; use it in a ``with`` statement.

    Parameters
    ----------
    total : int
        How many submissions there are.
    console : Console, optional
        Where to show it; nothing is shown where that is not a terminal.
    """

    def __init__(self, *, total: int, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(compact=True))
        counts = TextColumn("{task.fields[counts]}", markup=False)
        self._bar = RichProgress(*columns, counts, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("grading", total=total, counts="")
        self._left, self._counts = total, Counter[str]()

    def __enter__(self) -> "Progress":
        self._bar.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._bar.stop()

    def show(self, outcome: "Outcome") -> None:
        """Count one submission; those graded before are no work, so the time left is that of the others."""
        self._counts["known" if outcome.already_graded else outcome.report.status] += 1
        said = " · ".join(f"{count} {status}" for status, count in self._counts.items())
        if outcome.already_graded:
            self._left -= 1
            self._bar.update(self._task, total=self._left, counts=said)
        else:
            self._bar.update(self._task, advance=1, counts=said)
