"""Grade one task in a worker, and say what of its report may be owed to others beside it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.worker_pool import Lost
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.sandbox import machine_memory
from course_grader.grading.sandbox.limits import StopCause
from course_grader.grading.warm_start.zygote_client import Zygote
from course_lib.errors import InputError

__all__ = [
    "LOOK_SECONDS",
    "GradingResult",
    "add_up_points",
    "compute_deadline_seconds",
    "grade_task",
    "make_empty_report",
    "make_error_report",
    "unusable_tests",
]

LOOK_SECONDS = 300.0  # to load the hidden tests of an exercise, with all they import
# What a notebook may take ends sooner by itself: the rest, in its longest cells, is for what its hidden tests compute.
CELLS_MORE = 3
REASONS = {
    Lost.DIED: "the grader's own process died; grade this one again with -j 1",
    Lost.LATE: "grading this one was stopped, since it was not over after {seconds:.0f} s; look for what never ends in "
    "the hidden tests",
}


class GradesTasks(Protocol):
    """What grades a class: workers of this process, or those of the service."""

    sandbox: str

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Prepare to grade these, or some of them; to be called once."""

    def hide(self, folders: Iterable[Path]) -> None:
        """Hide these folders from learners' code."""

    def grade(self, tasks: Sequence[Task]) -> Iterator[tuple[Task, SubmissionReport]]:
        """Grade submissions, and yield each with its report as it is ready."""


@dataclass(frozen=True)
class GradingResult:
    """Report of a task, and whether it was short of something that others may have taken."""

    report: SubmissionReport
    was_short: bool


def grade_task(
    task: Task,
    *,
    sandbox: str,
    zygotes: dict[tuple[str, ...], Zygote],
    hidden: tuple[str, ...],
    share: int,
    beside_others: bool,
) -> GradingResult:
    """Grade one task: in a worker, or in this process.

    Parameters
    ----------
    task : Task
        With its file and its exercise.
    sandbox : {"bubblewrap", "none"}
        Where the learner's code runs.
    zygotes : dict
        Those there are, by the imports they have done.
    hidden : tuple of str
        Folders that the sandbox has to hide.
    share : int
        Memory in bytes that it may hold, if that is less than its limit.
    beside_others : bool
        Whether others are graded on this machine meanwhile.
    """
    from course_grader.grading.grade_one.grade_submission import grade_submission

    assert task.path is not None  # whoever hands out tasks sorts these out
    assert task.exercise is not None
    zygote, full = zygotes.get(task.exercise.imports), task.exercise.limits
    limits = replace(full, hidden=hidden, held_bytes=min(full.held_bytes, share))
    exercise, kills = replace(task.exercise, limits=limits), machine_memory.count_oom_kills()
    report = grade_submission(task.path, learner=task.learner, exercise=exercise, sandbox=sandbox, zygote=zygote)
    report = replace(report, messages=(*report.messages, *filter(None, [task.message])))
    lost_points = report.points < report.max_points or report.status != "graded"
    short_of_memory = limits.held_bytes < full.held_bytes and StopCause.MEMORY in report.causes
    disturbed = report.starved or machine_memory.count_oom_kills() > kills or (beside_others and report.was_refused)
    return GradingResult(report, was_short=short_of_memory or (lost_points and disturbed))


def compute_deadline_seconds(task: Task) -> float:
    """Return how long a worker may take for a task."""
    assert task.exercise is not None  # see grade_task
    limits = task.exercise.limits
    return limits.start_seconds + limits.total_seconds + CELLS_MORE * limits.cell_seconds


def make_error_report(task: Task, points: dict[str, float], lost: Lost) -> SubmissionReport:
    """Report that the grader failed; ``points`` are what each exercise is worth."""
    message = REASONS[lost].format(seconds=compute_deadline_seconds(task))
    return make_empty_report(task, points, "error", message)


def make_empty_report(task: Task, points: dict[str, float], status: str, message: str) -> SubmissionReport:
    """Report on a task that was not graded."""
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, status, 0, points.get(slug, 0), (message,))


def add_up_points(exercise: Exercise) -> float:
    """Return what the hidden tests of an exercise are worth."""
    from course_grader.grading.grade_one.grade_submission import hidden_tests

    return sum(row.max_points for row in hidden_tests(exercise))


def unusable_tests(exercise: Exercise, lost: Lost) -> InputError:
    """Say that the hidden tests of an exercise ended the process that loaded them, or never came to an end."""
    why = "end the process" if lost is Lost.DIED else f"do not load within {LOOK_SECONDS:g} s"
    return InputError(f"{exercise.tests} cannot be used: its tests {why}; run them through pytest")
