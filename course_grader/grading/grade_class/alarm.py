"""Interrupt what this process does when its time is over, where no other process watches it."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from course_grader.grading.grade_class.worker_pool import Lost

__all__ = ["perform_in_time"]

T = TypeVar("T")
R = TypeVar("R")


class _TimeIsOverError(Exception):
    """What was to be done was not over in time."""


def perform_in_time(work: Callable[[T], R], task: T, seconds: float) -> R | Lost:
    """Perform one task in this process; after so long, interrupt it as Ctrl-C does.

    That is at Python's next step, and so not within one in compiled code. Nothing is limited outside the main thread,
    and where a system has no timers: Python gives no signals there.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        return work(task)
    try:
        with _limit_seconds(seconds):
            return work(task)
    except _TimeIsOverError:
        return Lost.LATE


@contextmanager
def _limit_seconds(seconds: float) -> Iterator[None]:
    """Raise _TimeIsOverError if the body takes longer."""
    over = False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal over
        over = True
        raise KeyboardInterrupt  # which pytest takes for the end of its run, and not for a test's failure

    usual = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except KeyboardInterrupt as error:
        if over:
            raise _TimeIsOverError from error
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
