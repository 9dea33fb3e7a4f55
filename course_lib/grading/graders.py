"""Grade a class one by one or several at a time, in processes that load while whoever made them goes on.

What runs notebooks and tests is loaded by the functions that do: where other processes grade, this one is spared it.
"""

import functools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

from course_lib.errors import InputError
from course_lib.grading.classroom import Task
from course_lib.grading.exercise import Exercise
from course_lib.grading.foreman import Foreman
from course_lib.grading.report import SubmissionReport
from course_lib.grading.sandbox import BUBBLEWRAP, require
from course_lib.grading.warm import Zygote, Zygotes
from course_lib.grading.workers import Died, in_processes, serve

__all__ = ["Graders", "grade_class"]

T = TypeVar("T")
R = TypeVar("R")
DIED = "the grader's own process died; grade this one again with -j 1"


def grade_class(
    tasks: Sequence[Task], *, jobs: int | None = None, sandbox: str = BUBBLEWRAP, warm: bool = True
) -> Iterator[SubmissionReport]:
    """Grade submissions and yield each report as it is ready; the parameters are those of :class:`Graders`."""
    with Graders(jobs=jobs, sandbox=sandbox, warm=warm) as graders:
        graders.expect(tasks)
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
        with ExitStack() as stack:
            self._foreman = stack.enter_context(Foreman(serve)) if self._jobs > 1 else None
            if sandbox == BUBBLEWRAP:
                require()
            self._zygotes = stack.enter_context(Zygotes()) if warm and sandbox == BUBBLEWRAP else None
            self._stack = stack.pop_all()

    def expect(self, tasks: Sequence[Task]) -> None:
        """Have the kernels of these forked, if that pays; to be called once, and before they are graded.

        Parameters
        ----------
        tasks : sequence of Task
            From :func:`course_lib.grading.classroom.find_submissions`: what is to be graded, or some of it.
        """
        if self._zygotes is not None:
            self._zygotes.load(_shared_imports([task for task in tasks if task.path is not None]))

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Grade these and yield each with its report as it is ready.

        Raises
        ------
        InputError
            If the hidden tests of an exercise cannot be used; then nobody is graded.
        """
        # A broken key ends the run here, before anyone is graded by it.
        worth = self._worths({task.exercise for task in tasks if task.exercise})
        yield from ((task, _ungraded(task, worth, "missing", task.message)) for task in tasks if task.path is None)
        present = [task for task in tasks if task.path is not None]
        ready = self._zygotes.ready if self._zygotes is not None and present else {}
        grade = functools.partial(_grade, sandbox=self.sandbox, ready=ready)
        for task, came in self._each(grade, present, jobs=self._jobs):
            yield task, _ungraded(task, worth, "error", DIED) if isinstance(came, Died) else came

    def _each(self, work: Callable[[T], R], tasks: Sequence[T], *, jobs: int) -> Iterator[tuple[T, R | Died]]:
        """Yield each task with what came of it: from processes of the foreman's, or from this one if there is none."""
        if self._foreman is not None:
            yield from in_processes(work, tasks, jobs=jobs, foreman=self._foreman)
        else:
            yield from ((task, work(task)) for task in tasks)

    def _worths(self, exercises: set[Exercise]) -> dict[str, float]:
        """Return what each exercise is worth by its name.

        Raises
        ------
        InputError
            If the hidden tests of one cannot be used.
        """
        found = {}
        for exercise, worth in self._each(_worth, sorted(exercises, key=lambda one: one.slug), jobs=1):
            if isinstance(worth, Died):
                raise InputError(f"{exercise.tests} cannot be used: they end the process; run them through pytest")
            found[exercise.slug] = worth
        return found

    def __enter__(self) -> "Graders":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stack.close()


def _shared_imports(tasks: Sequence[Task]) -> list[tuple[str, ...]]:
    """Return what more than one submission imports: for a single one, a kernel from scratch is no slower."""
    counts = Counter(task.exercise.imports for task in tasks if task.exercise)
    return [imports for imports, count in counts.items() if count > 1]


def _grade(task: Task, *, sandbox: str, ready: dict[tuple[str, ...], Zygote]) -> SubmissionReport:
    from course_lib.grading.submission import grade_submission

    assert task.path is not None  # Graders.grade sorts these out
    assert task.exercise is not None
    zygote = ready.get(task.exercise.imports)
    return grade_submission(task.path, learner=task.learner, exercise=task.exercise, sandbox=sandbox, zygote=zygote)


def _worth(exercise: Exercise) -> float:
    from course_lib.grading.submission import hidden_tests

    return sum(row.max_points for row in hidden_tests(exercise))


def _ungraded(task: Task, worths: dict[str, float], status: str, message: str) -> SubmissionReport:
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, status, 0, worths.get(slug, 0), (message,))
