"""Grade a class one by one or several at a time, in processes that load in the background.

Modules that run notebooks and tests are imported where they are used: if other processes grade, this one never does.
"""

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.worker_pool import Lost, WorkerPool
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.sandbox import cgroups, machine_memory
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, hidden, require
from course_grader.grading.warm_start.zygote_client import Zygote, Zygotes
from course_lib.errors import InputError

__all__ = ["Graders", "grade_class"]

T = TypeVar("T")
R = TypeVar("R")
LOOK_SECONDS = 300.0  # to load the hidden tests of an exercise, with all they import
# What a notebook may take ends sooner by itself: the rest is for what its hidden tests compute, and for a slow machine.
PATIENCE = 2
REASONS = {
    Lost.DIED: "the grader's own process died; grade this one again with -j 1",
    Lost.LATE: "grading this one was stopped, since it was not over after {seconds:.0f} s; look for what never ends in "
    "the hidden tests, or grade this one again with -j 1, which waits",
}


@dataclass(frozen=True)
class _Graded:
    """What came of a task, and whether that may be due to others, for want of memory or of a processor."""

    report: SubmissionReport
    cramped: bool


def grade_class(
    tasks: Sequence[Task], *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True
) -> Iterator[SubmissionReport]:
    """Grade submissions and yield each report as it is ready; the parameters are those of :class:`Graders`."""
    with Graders(jobs=jobs, sandbox=sandbox, warm=warm) as graders:
        graders.prepare(tasks)
        yield from (report for _, report in graders.grade(tasks))


class Graders:
    """The processes that grade a class; use it in a ``with`` statement, at whose end they are gone.

    They load from the start on, so it pays to have them before it is known what they are to grade.

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
        self._worth: Iterator[tuple[Exercise, float | Lost]] = iter(())
        self._private = set[Path]()
        with ExitStack() as stack:
            self._pool = stack.enter_context(WorkerPool(self._jobs)) if self._jobs > 1 else None
            if sandbox == BUBBLEWRAP:
                require()
                cgroups.sweep()
            self._zygotes = stack.enter_context(Zygotes()) if warm and sandbox == BUBBLEWRAP else None
            self._stack = stack.pop_all()

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Get ready for these: have their kernels forked, if that pays, and look at the hidden tests.

        To be called once, and before they are graded.

        Parameters
        ----------
        tasks : sequence of Task
            What is to be graded, or some of it, from
            :func:`course_grader.grading.grade_class.find_submissions.find_submissions`.
        """
        if self._zygotes is not None:
            self._zygotes.load(_shared_imports([task for task in tasks if task.path is not None]))
        self._worth = self._look(_exercises_of(tasks))

    def hide(self, folders: Iterable[Path]) -> None:
        """Make sure that learners' code sees nothing of these folders, wherever they lie.

        Even without this, it sees nothing of the keys or of what is graded.
        """
        self._private |= set(folders)

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Grade these and yield each with its report as it is ready.

        What lost points while there was too little memory for all of them, or was late because others had the
        processors, is graded once more, alone, when the others are through: what it then loses is its own doing.

        Raises
        ------
        InputError
            If the hidden tests of an exercise cannot be used, or what nobody may see cannot be hidden; then nobody is
            graded.
        """
        # A broken key ends the run here, before anyone is graded by it.
        worth = self._worths(_exercises_of(tasks))
        yield from ((task, _ungraded(task, worth, "missing", task.message)) for task in tasks if task.path is None)
        present = [task for task in tasks if task.path is not None]
        ready = self._zygotes.ready if self._zygotes is not None and present else {}
        grade = functools.partial(_grade, sandbox=self.sandbox, ready=ready, covered=self._covered(present))
        killed, again = machine_memory.kills(), list[Task]()
        for jobs, some in ((min(self._jobs, len(present)), present), (1, again)):
            work = functools.partial(grade, share=machine_memory.share(jobs)) if some else grade
            for task, result in self._each(work, some, jobs=jobs, seconds=_grading_seconds):
                cramped = machine_memory.kills() > killed if isinstance(result, Lost) else result.cramped
                if cramped and some is present:
                    again.append(task)
                else:
                    yield task, _lost(task, worth, result) if isinstance(result, Lost) else result.report

    def _covered(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return what the sandbox has to cover."""
        if self.sandbox != BUBBLEWRAP:
            return ()
        keys = {exercise.key for exercise in _exercises_of(tasks)}
        return hidden({*self._private, *keys, *(task.path.parent for task in tasks if task.path is not None)})

    def _each(
        self, work: Callable[[T], R], tasks: Iterable[T], *, jobs: int, seconds: Callable[[T], float]
    ) -> Iterator[tuple[T, R | Lost]]:
        """Yield each task with its result: from the pool, or from this process if there is none."""
        if self._pool is not None:
            return self._pool.run(work, list(tasks), jobs=jobs, seconds=seconds)
        return ((task, work(task)) for task in tasks)

    def _look(self, exercises: set[Exercise]) -> Iterator[tuple[Exercise, float | Lost]]:
        """Yield each exercise with what it is worth, which its hidden tests say."""
        in_order = sorted(exercises, key=lambda one: one.slug)
        return self._each(_worth, in_order, jobs=1, seconds=lambda _: LOOK_SECONDS)

    def _worths(self, exercises: set[Exercise]) -> dict[str, float]:
        """Return what each exercise is worth by its name.

        Raises
        ------
        InputError
            If the hidden tests of one cannot be used.
        """
        found = dict(self._worth)
        found |= dict(self._look(exercises - found.keys()))
        for exercise, worth in found.items():
            if isinstance(worth, Lost):
                why = "end the process" if worth is Lost.DIED else f"do not load within {LOOK_SECONDS:g} s"
                raise InputError(f"{exercise.tests} cannot be used: its tests {why}; run them through pytest")
        return {exercise.slug: worth for exercise, worth in found.items() if not isinstance(worth, Lost)}

    def __enter__(self) -> "Graders":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()


def _exercises_of(tasks: Sequence[Task]) -> set[Exercise]:
    return {task.exercise for task in tasks if task.exercise}


def _shared_imports(tasks: Sequence[Task]) -> list[tuple[str, ...]]:
    """Return what more than one submission imports: for a single one, a kernel from scratch is no slower."""
    counts = Counter(task.exercise.imports for task in tasks if task.exercise)
    return [imports for imports, count in counts.items() if count > 1]


def _grade(
    task: Task, *, sandbox: str, ready: dict[tuple[str, ...], Zygote], covered: tuple[str, ...], share: int
) -> _Graded:
    from course_grader.grading.grade_one.grade_submission import grade_submission

    assert task.path is not None  # Graders.grade sorts these out
    assert task.exercise is not None
    zygote, full = ready.get(task.exercise.imports), task.exercise.limits
    limits = replace(full, hidden=covered, held_bytes=min(full.held_bytes, share))
    exercise, killed = replace(task.exercise, limits=limits), machine_memory.kills()
    report = grade_submission(task.path, learner=task.learner, exercise=exercise, sandbox=sandbox, zygote=zygote)
    lost = report.points < report.max_points or report.status != "graded"
    stinted = limits.held_bytes < full.held_bytes and any(limits.too_much_memory in said for said in report.messages)
    return _Graded(report, cramped=stinted or (lost and (report.starved or machine_memory.kills() > killed)))


def _grading_seconds(task: Task) -> float:
    """Return how long a worker may take for a task."""
    assert task.exercise is not None  # see _grade
    limits = task.exercise.limits
    return PATIENCE * (limits.start_seconds + limits.total_seconds)


def _lost(task: Task, worths: dict[str, float], lost: Lost) -> SubmissionReport:
    message = REASONS[lost].format(seconds=_grading_seconds(task))
    return _ungraded(task, worths, "error", message)


def _worth(exercise: Exercise) -> float:
    from course_grader.grading.grade_one.grade_submission import hidden_tests

    return sum(row.max_points for row in hidden_tests(exercise))


def _ungraded(task: Task, worths: dict[str, float], status: str, message: str) -> SubmissionReport:
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, status, 0, worths.get(slug, 0), (message,))
