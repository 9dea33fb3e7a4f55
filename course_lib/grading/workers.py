"""Processes that grade side by side: one that dies costs the task it had, and none outlives the grader."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

__all__ = ["Died", "in_processes"]

T = TypeVar("T")
R = TypeVar("R")
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
GOODBYE_SECONDS = 5.0


@dataclass(frozen=True)
class Died:
    """What stands in for a result: the process that had the task is gone."""


class _Worker(Generic[T, R]):
    """One process, the pipe to it, and what it is doing."""

    def __init__(self, work: Callable[[T], R]) -> None:
        # Spawned, because a fork would share this process's threads, locks and open database.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(work, theirs, os.getpid()), daemon=False)
        self.process.start()
        theirs.close()
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

    def end(self) -> None:
        """Ask it to clean up and go, and see that it is gone."""
        self.process.terminate()
        self.process.join(GOODBYE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self.pipe.close()


def in_processes(work: Callable[[T], R], tasks: Sequence[T], *, jobs: int) -> Iterator[tuple[T, R | Died]]:
    """Yield each task with what ``work`` made of it, in the order they come to an end.

    Parameters
    ----------
    work : callable
        A function of a module, called with one task in a process that does others before and after.
    tasks : sequence
        What can be pickled.
    jobs : int
        How many processes.

    Raises
    ------
    Exception
        What ``work`` raised. However the iteration ends, every process is gone when it has.
    """
    waiting, workers = list(reversed(tasks)), list[_Worker[T, R]]()
    try:
        while waiting and len(workers) < jobs:
            workers.append(_Worker(work))
            workers[-1].give(waiting.pop())
        while busy := {worker.pipe: worker for worker in workers if worker.task is not None}:
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index] # one of those waited for
                task, came = worker.task, worker.take()
                if isinstance(came, Died):
                    workers.remove(worker)
                    worker.end()
                    if waiting:
                        workers.append(worker := _Worker(work))
                if waiting:
                    worker.give(waiting.pop())
                yield task, came  # type: ignore[misc] # it was busy, so it had a task
    finally:
        for worker in workers:
            worker.end()


def _serve(work: Callable[[Any], Any], pipe: Connection, parent: int) -> None:
    """Do one task after the other until the pipe is closed."""
    _die_with(parent)
    working = False

    def interrupt(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what cleans up is not to be interrupted in its turn
        raise KeyboardInterrupt if working else SystemExit

    # Ctrl-C is the grader's to answer: it tells its processes, which then clean up. A handler that does nothing is
    # forgotten by programs started from here, where ignoring the signal would be inherited.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, interrupt)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        while True:
            task = pipe.recv()
            working = True
            try:
                came = work(task)
            except Exception as error:  # the grader raises it where the caller sees it
                came = error
            working = False
            pipe.send(came)


def _die_with(parent: int) -> None:
    """Have the operating system kill this process when its parent dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
