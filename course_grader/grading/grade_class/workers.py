"""Processes that grade side by side: one that dies costs the task it had, and none outlives the grader."""

import contextlib
import os
import select
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from course_grader.grading.grade_class.foreman import Foreman

__all__ = ["Died", "in_processes", "serve"]

T = TypeVar("T")
R = TypeVar("R")
GOODBYE_SECONDS = 5.0


@dataclass(frozen=True)
class Died:
    """What stands in for a result: the process that had the task is gone."""


class _Worker(Generic[T, R]):
    """One process, the pipe to it, and what it is doing."""

    def __init__(self, work: Callable[[T], R], foreman: Foreman) -> None:
        self.pipe, self._process = foreman.fork()
        self.pipe.send(work)
        self.task: T | None = None

    def give(self, task: T) -> None:
        """Send it something to do; if it is dead, reading its answer will say so."""
        self.task = task
        with contextlib.suppress(BrokenPipeError):
            self.pipe.send(task)

    def take(self) -> R | Died:
        """Return what came of the task."""
        self.task = None
        try:
            came = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            return Died()
        if isinstance(came, BaseException):
            raise came
        return came  # type: ignore[no-any-return] # what work returned

    def ask_to_end(self) -> None:
        """Ask it to clean up and go."""
        self._signal(signal.SIGTERM)

    def end(self) -> None:
        """See that it is gone: it was asked to, or is dead."""
        if not select.select([self._process], [], [], GOODBYE_SECONDS)[0]:
            self._signal(signal.SIGKILL)
            select.select([self._process], [], [])
        os.close(self._process)
        self.pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)


def in_processes(
    work: Callable[[T], R], tasks: Sequence[T], *, jobs: int, foreman: Foreman
) -> Iterator[tuple[T, R | Died]]:
    """Start on the tasks at once, and yield each with what ``work`` made of it, in the order they come to an end.

    Parameters
    ----------
    work : callable
        A function of a module, called with one task in a process that does others before and after.
    tasks : sequence
        What can be pickled.
    jobs : int
        How many processes.
    foreman : Foreman
        Starts them, to run :func:`serve`.

    Raises
    ------
    Exception
        What ``work`` raised. However the iteration ends, every process is gone when it has; if it never begins, they
        are gone when the foreman is.
    """
    waiting, workers = list(reversed(tasks)), list[_Worker[T, R]]()
    while waiting and len(workers) < jobs:
        workers.append(_Worker(work, foreman))
        workers[-1].give(waiting.pop())
    return _done(work, waiting, workers, foreman)


def _done(
    work: Callable[[T], R], waiting: list[T], workers: list[_Worker[T, R]], foreman: Foreman
) -> Iterator[tuple[T, R | Died]]:
    """Yield what the workers have done, and give them what waits."""
    try:
        while busy := {worker.pipe: worker for worker in workers if worker.task is not None}:
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index] # one of those waited for
                task, came = worker.task, worker.take()
                if isinstance(came, Died):
                    workers.remove(worker)
                    worker.end()
                    if waiting:
                        workers.append(worker := _Worker(work, foreman))
                if waiting:
                    worker.give(waiting.pop())
                yield task, came  # type: ignore[misc] # it was busy, so it had a task
    finally:
        for worker in workers:
            worker.ask_to_end()
        for worker in workers:  # which clean up side by side
            worker.end()


def serve(pipe: Connection) -> None:
    """Do one task after the other until the pipe is closed; the first thing that comes is what to do with them."""
    working = False

    def interrupt(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what cleans up is not to be interrupted in its turn
        warnings.simplefilter("ignore")  # of coroutines that nobody will wait for
        raise KeyboardInterrupt if working else SystemExit

    signal.signal(signal.SIGTERM, interrupt)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        work = pipe.recv()
        while True:
            task = pipe.recv()
            working = True
            try:
                came = work(task)
            except Exception as error:  # the grader raises it where the caller sees it
                came = error
            working = False
            pipe.send(came)
