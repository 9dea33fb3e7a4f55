"""A pool of worker processes: Pebble's, on multiprocessing's forkserver.

A worker that dies, or is killed because it is late, costs the task it had. Workers die with the forkserver and that
with the grader: the operating system sees to it, also when the grader is killed.
"""

import enum
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import TYPE_CHECKING, NoReturn, TypeVar

from course_grader.grading.grade_class import preload
from course_grader.grading.learner_side.bootstrap import die_with
from course_grader.grading.sandbox import scratch_dirs
from course_lib.errors import GradingError

if TYPE_CHECKING:
    from pebble import ProcessPool

__all__ = ["COLLECT_AT", "Lost", "WorkerPool", "start_forkserver"]

T = TypeVar("T")
R = TypeVar("R")
COLLECT_AT = 20_000  # objects, where Python takes 2,000 at most: little is left behind, and looking for it takes longer
WATCH_SECONDS = 1.0
DYING_SECONDS = 10.0  # how long a killed process may take to go: it frees its memory first


class Lost(enum.Enum):
    """Reason that a task has no result: its worker died, or was killed because it took too long."""

    DIED = enum.auto()
    LATE = enum.auto()


class _Worker(ForkServerProcess):
    """A worker's process, as the grader sees it."""

    def start(self) -> None:
        """Start it; where the forkserver is being killed, try again until it is gone, and another takes its place."""
        until = time.monotonic() + DYING_SECONDS
        while True:
            try:
                return super().start()
            except (ConnectionError, EOFError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)

    @property
    def exitcode(self) -> int | None:
        """The exit status, never 0: Pebble takes a worker that ends with 0 for one that had nothing to do."""
        status = super().exitcode
        return 1 if status == 0 else status


class _Context(ForkServerContext):
    Process = _Worker


def start_forkserver() -> None:
    """Start the process that workers are forked from, which loads what they need; do nothing if it runs already.

    A process has one, which ends with the thread that has started it. It finds modules where this process does, and
    nowhere else: not in the current folder, which may be full of submissions. All that it leaves lies in this process's
    temporary folder.
    """
    multiprocessing.get_context("forkserver").set_forkserver_preload([preload.__name__])
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1", "TMPDIR": scratch_dirs.own_folder()}
    usual = {name: os.environ.get(name) for name in settings}
    # For its socket. Python would remove a folder of its own at exit, when ours, in which that lies, is gone already.
    multiprocessing.current_process()._config.setdefault("tempdir", scratch_dirs.short_folder())  # type: ignore[attr-defined]
    os.environ.update(settings)
    try:
        forkserver.ensure_running()
    finally:
        for name, value in usual.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


class WorkerPool:
    """Worker processes; use it in a ``with`` statement, at whose end they are gone.

    What they are to do must be a function of a module other than the main program, which they do not import.

    Parameters
    ----------
    jobs : int
        How many there are.
    """

    def __init__(self, jobs: int) -> None:
        start_forkserver()
        self.jobs, self._starting = jobs, threading.Lock()
        self._started: ProcessPool | None = None

    @property
    def _pool(self) -> "ProcessPool":
        """Pebble's pool, or another: it does not survive that a worker is killed while none has anything to do."""
        with self._starting:
            if self._started is None or not self._started.active:
                from pebble import ProcessPool  # here, as this process has time for it while the forkserver loads

                self.end()
                self._started = ProcessPool(self.jobs, initializer=_start_worker, context=_Context())
            return self._started

    def run(
        self, work: Callable[[T], R], tasks: Sequence[T], *, seconds: Callable[[T], float], jobs: int
    ) -> Iterator[tuple[T, R | Lost]]:
        """Start the tasks at once, and yield each with its result, in the order in which they finish.

        Parameters
        ----------
        work : callable
            A function of a module, called with one task in a process that does others before and after.
        tasks : sequence
            What can be pickled.
        seconds : callable
            How long a task may take.
        jobs : int
            How many of them to do at the same time.

        Raises
        ------
        GradingError
            If there are no workers, and none can be started.
        Exception
            What ``work`` raised.
        """
        waiting, running = list(reversed(tasks)), dict[Future[R], T]()

        def start() -> None:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                running[self._schedule(work, task, seconds(task))] = task

        start()
        return self._yield_results(waiting, running, start)

    def _yield_results(
        self, waiting: list[T], running: dict[Future[R], T], start: Callable[[], None]
    ) -> Iterator[tuple[T, R | Lost]]:
        """Yield results as they come, and start others in their place; try twice to start a task."""
        tried = set[int]()
        try:
            while running:
                for future in self._await_some(running):
                    task = running.pop(future)
                    try:
                        result = _take_result(future)
                    except (BrokenExecutor, CancelledError) as error:  # the pool broke before the task had begun
                        if id(task) in tried:
                            raise _make_error(error) from error
                        tried.add(id(task))
                        waiting.append(task)
                        start()
                    else:
                        start()
                        yield task, result
        finally:
            for future in running:
                future.cancel()

    def _schedule(self, work: Callable[[T], R], task: T, seconds: float) -> Future[R]:
        try:
            return self._pool.schedule(_perform, (work, task), timeout=seconds)
        except RuntimeError as error:  # as Pebble says that it cannot go on
            raise _make_error(error) from error

    def _await_some(self, running: dict[Future[R], T]) -> set[Future[R]]:
        """Wait until at least one is done; if the pool is broken, cancel and return them all."""
        while not (done := wait(running, WATCH_SECONDS, FIRST_COMPLETED).done):
            if self._started is None or not self._started.active:
                for future in running:
                    future.cancel()
                return set(running)
        return done

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def end(self) -> None:
        """End the workers, whatever they are doing; they clean up."""
        if self._started is not None:
            self._started.stop()  # type: ignore[no-untyped-call] # Pebble has few types
            self._started.join()


def _take_result(future: Future[R]) -> R | Lost:
    """Return a task's result, or raise what the task has raised."""
    from pebble import ProcessExpired

    try:
        return future.result()
    except ProcessExpired:
        return Lost.DIED
    except TimeoutError as error:
        if error.__cause__ is None:  # else the worker raised it, and Pebble adds where
            return Lost.LATE
        raise


def _make_error(error: BaseException) -> GradingError:
    reason = str(error.__cause__ or error) or "something killed them"
    return GradingError(f"expected processes that grade, and they have died: {reason}; fix that, or pass -j 1")


_working = _interrupted = False


def _start_worker() -> None:
    """Prepare a new worker: it dies with the forkserver, and cleans up when it is asked to end."""
    die_with(os.getppid())
    gc.enable()
    gc.set_threshold(COLLECT_AT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Pebble ignores it, and so would what the worker starts
    signal.signal(signal.SIGTERM, _interrupt)


def _perform(work: Callable[[T], R], task: T) -> R:
    """Perform one task in a worker; if that is interrupted, end the worker."""
    global _working
    _working = True
    try:
        return work(task)
    except (KeyboardInterrupt, SystemExit):
        _exit_worker()
    finally:
        _working = False
        if _interrupted:  # pytest catches what interrupts it, and comes to an end as usual
            _exit_worker()


def _interrupt(*_: object) -> None:
    """Interrupt what the worker does, so that it cleans up, or end it if it does nothing."""
    global _interrupted
    _interrupted = True
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what cleans up is not to be interrupted in its turn
    warnings.simplefilter("ignore")  # of coroutines that are not awaited any more
    if _working:
        raise KeyboardInterrupt
    _exit_worker()


def _exit_worker() -> NoReturn:
    """Remove the worker's temporary folders, and exit without taking the interpreter apart, which takes a while."""
    scratch_dirs.remove_own_folders()
    os._exit(1)
