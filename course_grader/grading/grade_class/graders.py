"""Grade a class, one by one or several at a time, in worker processes that load in the background.

Modules that run notebooks and tests are imported where they are used: with workers, this process needs none of them.
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
from course_grader.grading.grade_class.alarm import perform_in_time
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.worker_pool import Lost, WorkerPool
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.sandbox import cgroups, machine_memory
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, find_folders_to_hide, require_sandbox
from course_grader.grading.sandbox.limits import StopCause
from course_grader.grading.warm_start.zygote_client import Zygote, Zygotes
from course_lib.errors import InputError

__all__ = ["Graders", "grade_class"]

T = TypeVar("T")
R = TypeVar("R")
LOOK_SECONDS = 300.0  # to load the hidden tests of an exercise, with all they import
# What a notebook may take ends sooner by itself: the rest, in its longest cells, is for what its hidden tests compute.
CELLS_MORE = 3
REASONS = {
    Lost.DIED: "the grader's own process died; grade this one again with -j 1",
    Lost.LATE: "grading this one was stopped, since it was not over after {seconds:.0f} s; look for what never ends in "
    "the hidden tests",
}


@dataclass(frozen=True)
class _GradingResult:
    """Report of a task, and whether it was short of something that others may have taken."""

    report: SubmissionReport
    was_short: bool


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
        yield from ((task, _make_empty_report(task, points, "missing", task.message)) for task in missing)
        present = [task for task in tasks if task.path is not None]
        zygotes = self._zygotes.ready if self._zygotes is not None and present else {}
        grade = functools.partial(_grade, sandbox=self.sandbox, zygotes=zygotes, hidden=self._find_hidden(present))
        kills, again = machine_memory.count_oom_kills(), list[Task]()
        for jobs, some in ((min(self._jobs, len(present)), present), (1, again)):
            share = machine_memory.share_memory(jobs) if some else 0
            work = functools.partial(grade, share=share, beside_others=jobs > 1)
            for task, result in self._run(work, some, jobs=jobs, seconds=_compute_deadline_seconds):
                killed = machine_memory.count_oom_kills() > kills or (result is Lost.DIED and jobs > 1)
                short = killed if isinstance(result, Lost) else result.was_short
                if short and some is present:
                    again.append(task)
                else:
                    yield task, _make_error_report(task, points, result) if isinstance(result, Lost) else result.report

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
        return self._run(_add_up_points, in_order, jobs=1, seconds=lambda _: LOOK_SECONDS)

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
                why = "end the process" if points is Lost.DIED else f"do not load within {LOOK_SECONDS:g} s"
                raise InputError(f"{exercise.tests} cannot be used: its tests {why}; run them through pytest")
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


def _grade(
    task: Task,
    *,
    sandbox: str,
    zygotes: dict[tuple[str, ...], Zygote],
    hidden: tuple[str, ...],
    share: int,
    beside_others: bool,
) -> _GradingResult:
    from course_grader.grading.grade_one.grade_submission import grade_submission

    assert task.path is not None  # Graders.grade sorts these out
    assert task.exercise is not None
    zygote, full = zygotes.get(task.exercise.imports), task.exercise.limits
    limits = replace(full, hidden=hidden, held_bytes=min(full.held_bytes, share))
    exercise, kills = replace(task.exercise, limits=limits), machine_memory.count_oom_kills()
    report = grade_submission(task.path, learner=task.learner, exercise=exercise, sandbox=sandbox, zygote=zygote)
    report = replace(report, messages=(*report.messages, *filter(None, [task.message])))
    lost_points = report.points < report.max_points or report.status != "graded"
    short_of_memory = limits.held_bytes < full.held_bytes and StopCause.MEMORY in report.causes
    disturbed = report.starved or machine_memory.count_oom_kills() > kills or (beside_others and report.was_refused)
    return _GradingResult(report, was_short=short_of_memory or (lost_points and disturbed))


def _compute_deadline_seconds(task: Task) -> float:
    """Return how long a worker may take for a task."""
    assert task.exercise is not None  # see _grade
    limits = task.exercise.limits
    return limits.start_seconds + limits.total_seconds + CELLS_MORE * limits.cell_seconds


def _make_error_report(task: Task, points: dict[str, float], lost: Lost) -> SubmissionReport:
    message = REASONS[lost].format(seconds=_compute_deadline_seconds(task))
    return _make_empty_report(task, points, "error", message)


def _add_up_points(exercise: Exercise) -> float:
    from course_grader.grading.grade_one.grade_submission import hidden_tests

    return sum(row.max_points for row in hidden_tests(exercise))


def _make_empty_report(task: Task, points: dict[str, float], status: str, message: str) -> SubmissionReport:
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, status, 0, points.get(slug, 0), (message,))
