"""Grade a class, one by one or several at a time, in worker processes that load in the background.

Modules that run notebooks and tests are imported where they are used: with workers, this process needs none of them.
"""

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_class.alarm import perform_in_time
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.grade_task import (
    LOOK_SECONDS,
    add_up_points,
    compute_deadline_seconds,
    grade_task,
    make_empty_report,
    make_error_report,
    unusable_tests,
)
from course_grader.grading.grade_class.worker_pool import Lost, WorkerPool
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.sandbox import cgroups, machine_memory
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, find_folders_to_hide, require_sandbox
from course_grader.grading.warm_start.zygote_client import Zygotes

__all__ = ["Graders", "grade_class"]

T = TypeVar("T")
R = TypeVar("R")


def grade_class(
    tasks: Sequence[Task], *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True
) -> Iterator[SubmissionReport]:
    """Grade submissions and yield each report as it is ready; the parameters are those of :class:`Graders`."""
    with Graders(jobs=jobs, sandbox=sandbox, warm=warm) as graders:
        graders.prepare(tasks)
        yield from (report for _, report in graders.grade(tasks))


class Graders:
    """Worker processes that grade a class; use it in a ``with`` statement, at whose end they are gone.

    They load from the start on, so it pays to have them before it is known what they are to grade. A submission that
    takes a worker much longer than its limits allow is an error, and so is one whose worker dies.

    Parameters
    ----------
    jobs : int, optional
        How many to grade at the same time. By default one more than there are processors, since each waits at times:
        for the operating system to make or remove a control group, say. With one, this process grades.
    sandbox : {"bubblewrap", "none"}
        Where learners' code runs.
    warm : bool
        Whether kernels in a sandbox are forked from a process that has imported what the exercise needs. The grades
        are the same either way.

    Raises
    ------
    InputError
        If they are to grade in a sandbox, and this machine cannot make one.
    """

    def __init__(self, *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True) -> None:
        # Elsewhere there is no sandbox and no descriptor of a process.
        self._jobs = (jobs or len(os.sched_getaffinity(0)) + 1) if sys.platform == "linux" else 1
        self.sandbox = sandbox
        self._points: Iterator[tuple[Exercise, float | Lost]] = iter(())
        self._private = set[Path]()
        with ExitStack() as stack:
            self._pool = stack.enter_context(WorkerPool(self._jobs)) if self._jobs > 1 else None
            if sandbox == BUBBLEWRAP:
                require_sandbox()
                cgroups.sweep_groups()
            self._zygotes = stack.enter_context(Zygotes()) if warm and sandbox == BUBBLEWRAP else None
            self._stack = stack.pop_all()

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Prepare to grade: start zygotes where that pays, and load the hidden tests.

        To be called once, and before they are graded.

        Parameters
        ----------
        tasks : sequence of Task
            What is to be graded, or some of it, from
            :func:`course_grader.grading.grade_class.find_submissions.find_submissions`.
        """
        if self._zygotes is not None:
            self._zygotes.load(_find_shared_imports([task for task in tasks if task.path is not None]))
        self._points = self._start_adding_points(_collect_exercises(tasks))

    def hide(self, folders: Iterable[Path]) -> None:
        """Hide these folders from learners' code, wherever they lie.

        Even without this, it sees nothing of the keys or of what is graded.
        """
        self._private |= set(folders)

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Grade submissions and yield each with its report as it is ready.

        What lost points while there was too little memory for all of them, was late because others had the processors,
        or was refused something by the operating system beside others, is graded once more, alone, when the others are
        through: what it then loses is its own doing.

        Raises
        ------
        InputError
            If the hidden tests of an exercise cannot be used, or a folder cannot be hidden; then nothing is graded.
        """
        # A broken key ends the run here, before anyone is graded by it.
        points = self._points_of(_collect_exercises(tasks))
        missing = (task for task in tasks if task.path is None)
        yield from ((task, make_empty_report(task, points, "missing", task.message)) for task in missing)
        present = [task for task in tasks if task.path is not None]
        zygotes = self._zygotes.ready if self._zygotes is not None and present else {}
        grade = functools.partial(grade_task, sandbox=self.sandbox, zygotes=zygotes, hidden=self._find_hidden(present))
        kills, again = machine_memory.count_oom_kills(), list[Task]()
        for jobs, some in ((min(self._jobs, len(present)), present), (1, again)):
            share = machine_memory.share_memory(jobs) if some else 0
            work = functools.partial(grade, share=share, beside_others=jobs > 1)
            for task, result in self._run(work, some, jobs=jobs, seconds=compute_deadline_seconds):
                killed = machine_memory.count_oom_kills() > kills or (result is Lost.DIED and jobs > 1)
                short = killed if isinstance(result, Lost) else result.was_short
                if short and some is present:
                    again.append(task)
                else:
                    yield task, make_error_report(task, points, result) if isinstance(result, Lost) else result.report

    def _find_hidden(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return the folders that the sandbox has to hide."""
        if self.sandbox != BUBBLEWRAP:
            return ()
        keys = {exercise.key for exercise in _collect_exercises(tasks)}
        submissions = {task.path.parent for task in tasks if task.path is not None}
        return find_folders_to_hide(self._private | keys | submissions)

    def _run(
        self, work: Callable[[T], R], tasks: Iterable[T], *, jobs: int, seconds: Callable[[T], float]
    ) -> Iterator[tuple[T, R | Lost]]:
        """Yield each task with its result: from the pool, or from this process if there is none."""
        if self._pool is not None:
            return self._pool.run(work, list(tasks), jobs=jobs, seconds=seconds)
        return ((task, perform_in_time(work, task, seconds(task))) for task in tasks)

    def _start_adding_points(self, exercises: set[Exercise]) -> Iterator[tuple[Exercise, float | Lost]]:
        """Yield each exercise with the points that its hidden tests give."""
        in_order = sorted(exercises, key=lambda one: one.slug)
        return self._run(add_up_points, in_order, jobs=1, seconds=lambda _: LOOK_SECONDS)

    def _points_of(self, exercises: set[Exercise]) -> dict[str, float]:
        """Return the points that each exercise gives, by its name.

        Raises
        ------
        InputError
            If the hidden tests of one cannot be used.
        """
        found = dict(self._points)
        found |= dict(self._start_adding_points(exercises - found.keys()))
        for exercise, points in found.items():
            if isinstance(points, Lost):
                raise unusable_tests(exercise, points)
        return {exercise.slug: points for exercise, points in found.items() if not isinstance(points, Lost)}

    def __enter__(self) -> "Graders":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()


def _collect_exercises(tasks: Sequence[Task]) -> set[Exercise]:
    return {task.exercise for task in tasks if task.exercise}


def _find_shared_imports(tasks: Sequence[Task]) -> list[tuple[str, ...]]:
    """Return the imports of exercises with several submissions: for one, a kernel from scratch is no slower."""
    counts = Counter(task.exercise.imports for task in tasks if task.exercise)
    return [imports for imports, count in counts.items() if count > 1]
