"""Graders that stand by: one submission whenever it comes, from any thread, with kernels kept warm."""

import functools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.grade_task import (
    LOOK_SECONDS,
    add_up_points,
    compute_deadline_seconds,
    grade_task,
    make_error_report,
    unusable_tests,
)
from course_grader.grading.grade_class.worker_pool import Lost, WorkerPool
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.sandbox import cgroups, machine_memory
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, find_folders_to_hide, require_sandbox
from course_grader.grading.warm_start.zygote_client import Zygote, ZygoteProcess, ZygoteUnavailable

__all__ = ["StandbyGraders"]


class StandbyGraders:
    """Worker processes that grade what comes, for as long as the ``with`` statement lasts.

    A grade is the same as that of :class:`course_grader.grading.grade_class.graders.Graders`. To be made in a thread
    that outlives it, best the main one: the processes end with that thread.

    Parameters
    ----------
    jobs : int
        How many to grade at the same time.

    Raises
    ------
    InputError
        If this machine cannot make a sandbox.
    """

    def __init__(self, *, jobs: int) -> None:
        require_sandbox()
        with ExitStack() as stack:
            self._pool = stack.enter_context(WorkerPool(jobs))
            cgroups.sweep_groups()
            self._zygotes = stack.enter_context(_KeptZygotes())
            self._stack = stack.pop_all()
        self._jobs, self._places = jobs, _Places(jobs)

    def grade(self, task: Task, *, max_points: float) -> SubmissionReport:
        """Grade one submission, which has a file; what others may have cost it points is graded again, alone.

        Parameters
        ----------
        task : Task
            With its path and its exercise.
        max_points : float
            What the exercise is worth, for a report that says that grading failed.
        """
        assert task.exercise is not None
        assert task.path is not None
        zygote = self._zygotes.find(task.exercise)
        with self._places.take(1):
            report = self._grade(task, zygote, beside_others=self._jobs > 1)
        if report is None:
            with self._places.take(self._jobs):
                report = self._grade(task, zygote, beside_others=False)
        if report is None or isinstance(report, Lost):
            report = make_error_report(task, {task.exercise.slug: max_points}, report or Lost.DIED)
        return report

    def add_up_points(self, exercise: Exercise) -> float:
        """Return what an exercise is worth: its hidden tests are loaded in a worker.

        Raises
        ------
        InputError
            If they cannot be used.
        """
        [(_, points)] = self._pool.run(add_up_points, [exercise], seconds=lambda _: LOOK_SECONDS, jobs=1)
        if isinstance(points, Lost):
            raise unusable_tests(exercise, points)
        return points

    def _grade(self, task: Task, zygote: Zygote | None, *, beside_others: bool) -> SubmissionReport | Lost | None:
        """Return the report or why there is none; None if it was short of what others may have taken."""
        assert task.exercise is not None
        assert task.path is not None
        work = functools.partial(
            grade_task,
            zygotes={task.exercise.imports: zygote} if zygote else {},
            hidden=find_folders_to_hide({task.exercise.key, task.path.parent}),
            share=machine_memory.share_memory(self._jobs if beside_others else 1),
            beside_others=beside_others,
            sandbox=BUBBLEWRAP,
        )
        kills = machine_memory.count_oom_kills()
        [(_, result)] = self._pool.run(work, [task], seconds=compute_deadline_seconds, jobs=1)
        if isinstance(result, Lost):
            killed = machine_memory.count_oom_kills() > kills or (result is Lost.DIED and beside_others)
            return None if killed and beside_others else result
        return None if result.was_short and beside_others else result.report

    def __enter__(self) -> "StandbyGraders":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()


class _KeptZygotes:
    """A zygote for each set of imports, started when it is first wanted; one that died is started again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], tuple[ZygoteProcess, Zygote | None]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1)  # a zygote ends with the thread that started it

    def find(self, exercise: Exercise) -> Zygote | None:
        """Return the zygote for an exercise, or None where this machine cannot have one."""
        with self._lock:
            process, zygote = self._kept.get(exercise.imports, (None, None))
            if process is None or process.process.poll() is not None:
                if process is not None:
                    process.end()
                process, zygote = self._thread.submit(_start_zygote, exercise.imports).result()
                self._kept[exercise.imports] = process, zygote
            return zygote

    def __enter__(self) -> "_KeptZygotes":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process, _ in self._kept.values():
            process.end()
        self._thread.shutdown()


def _start_zygote(imports: tuple[str, ...]) -> tuple[ZygoteProcess, Zygote | None]:
    process, zygote = ZygoteProcess(), None
    process.load(imports)
    with suppress(ZygoteUnavailable):
        zygote = process.ready()
    return process, zygote


class _Places:
    """So many places to grade in; whoever must be alone takes all of them, and goes before those that come later."""

    def __init__(self, number: int) -> None:
        self._free = number
        self._changed, self._turn = threading.Condition(), threading.Lock()

    @contextmanager
    def take(self, number: int) -> Iterator[None]:
        """Wait for so many places, and give them back at the end."""
        with self._turn, self._changed:
            self._changed.wait_for(lambda: self._free >= number)
            self._free -= number
        try:
            yield
        finally:
            with self._changed:
                self._free += number
                self._changed.notify_all()
