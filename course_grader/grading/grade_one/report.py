"""The report of one submission: one row for each hidden test and each cell."""

import errno
import re
from dataclasses import dataclass, field, fields
from typing import Any

from course_grader.grading.sandbox.limits import StopCause

__all__ = ["SCHEMA_VERSION", "Row", "SubmissionReport"]

SCHEMA_VERSION = 1
# What an operating system refuses when a pool that several share is empty, and how a kernel ends for want of it.
POOLS = [getattr(errno, name, errno.EAGAIN) for name in ("EAGAIN", "ENOSPC", "ENFILE", "ENOBUFS", "ETOOMANYREFS")]
REFUSAL = re.compile(rf"\[Errno ({'|'.join(map(str, POOLS))})\]|can't start new thread|out of pty devices")
ENDS = {StopCause.DIED, StopCause.LATE_START, StopCause.LOST_OUTPUT, StopCause.CLOSED_CONNECTION}


@dataclass(frozen=True, slots=True)  # a class has a hundred thousand of them
class Row:
    """The outcome of one hidden test (``kind="test"``), visible check (``"check"``) or other cell.

    ``message`` is for the learner. ``detail`` is for the instructor: it may hold expected values and tracebacks.
    Cells are worth 0 points: their verdict comes out of the learner's own process, which can say what it likes.
    ``seconds`` is how long it ran, by a clock, and so no part of what is compared or reported. ``unwritten`` tells a
    stub from a wrong answer, and is not recorded.
    """

    name: str
    kind: str
    status: str
    points: float = 0
    max_points: float = 0
    title: str = ""
    message: str = ""
    detail: str = ""
    seconds: float | None = field(default=None, repr=False, compare=False)
    unwritten: bool = field(default=False, repr=False, compare=False)

    def as_record(self) -> dict[str, Any]:
        """Return what is kept of it, as plain data."""
        return {name: getattr(self, name) for name in _RECORDED}


_RECORDED = tuple(each.name for each in fields(Row) if each.compare)


@dataclass(frozen=True)
class SubmissionReport:
    """The points, messages and rows of one submission.

    Parameters
    ----------
    learner, exercise : str
        The names of the learner and of the exercise.
    status : {"graded", "stopped", "rejected", "missing", "error"}
        ``stopped``: its kernel died or broke a limit at least once, and what did that counts as not passed.
        ``rejected``: the file could not be graded. ``missing``: there is none. ``error``: the exercise or the
        grader failed, not the learner.
    points, max_points : float
        Sums over the hidden tests.
    messages : tuple of str
        For the learner: what to know about the file, then what each failed test says.
    rows : tuple of Row
        One for each test and cell.
    sandbox : str
        Where the code ran: ``"bubblewrap"``, ``"bubblewrap, warm"`` if forked there from a process that had imported
        what the exercise needs, ``"none"``, or ``""`` when it did not run.
    starved : bool
        Whether it ran out of time while it had a processor for less than half of it. It is not part of the record.
    causes : tuple of StopCause
        Why its kernel was stopped, each time; not part of the record, either.
    """

    learner: str
    exercise: str
    status: str
    points: float
    max_points: float
    messages: tuple[str, ...] = ()
    rows: tuple[Row, ...] = field(default=(), repr=False)
    sandbox: str = ""
    starved: bool = field(default=False, repr=False, compare=False)
    causes: tuple[StopCause, ...] = field(default=(), repr=False, compare=False)

    @property
    def was_refused(self) -> bool:
        """Whether the operating system refused it something, or its process died: others may have taken what it lacked.

        Its own words say so, in part: who makes them up is graded once more, and that is all.
        """
        words = (text for row in self.rows for text in (row.message, row.detail))
        failed = any(row.kind == "grader" for row in self.rows)
        return failed or bool(ENDS & set(self.causes)) or any(map(REFUSAL.search, words))

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data for JSON."""
        data = vars(self) | {"rows": tuple(row.as_record() for row in self.rows)}
        del data["starved"], data["causes"]
        return data
