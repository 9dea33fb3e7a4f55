"""Grade a class into a gradebook: skip what is graded already, and record each grade at once.

A run that is interrupted, by Ctrl-C or by anything else, has lost nothing when it is started again.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from course_grader.grading.exercises.hashes import hash_key, hash_notebook
from course_grader.grading.exercises.submitted_notebook import read_notebook_bytes
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.submission_times import SubmissionTimes, submission_time
from course_grader.grading.sandbox.bubblewrap import NONE
from course_lib.errors import NotebookError

__all__ = ["Outcome", "grade_into"]

CHANGED = "the file was changed while it was being graded; grade again when it is complete"


@dataclass(frozen=True)
class Outcome:
    """The report of one submission, and whether it was graded before this run."""

    task: Task
    report: SubmissionReport
    already_graded: bool = False


@dataclass
class _Run:
    """The state that grading one class into one gradebook needs at every submission."""

    book: Gradebook
    times: SubmissionTimes
    sandbox: str
    hashes: dict[Task, str | None] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def find_graded(self, tasks: Sequence[Task]) -> dict[Task, Attempt]:
        """Find the attempts that need not be graded again: same notebook, same key, no weaker sandbox."""
        slugs = {task.exercise.slug for task in tasks if task.exercise}
        attempts = {
            (attempt.report.learner, slug, attempt.notebook_hash): attempt
            for slug in slugs
            for attempt in self.book.attempts(exercise=slug)
        }
        found = {}
        for task in tasks:
            slug = task.exercise.slug if task.exercise else ""
            attempt = attempts.get((task.learner, slug, self.hashes[task] or ""))
            if attempt and attempt.key_hash == self.keys[slug] and not self._lacked_sandbox(attempt):
                found[task] = attempt
        return found

    def _lacked_sandbox(self, attempt: Attempt) -> bool:
        """Tell whether an attempt ran without a sandbox, and now there is one."""
        return attempt.report.sandbox == NONE and self.sandbox != NONE

    def record(self, task: Task, report: SubmissionReport) -> SubmissionReport:
        """Record a grade, unless there is no notebook to attach it to, or the grader failed."""
        before = self.hashes[task]
        if report.status in ("missing", "error") or before is None:
            return report
        if _hash_submission(task) != before:
            worth = (0.0, report.max_points)
            return SubmissionReport(report.learner, report.exercise, "error", *worth, (CHANGED,))
        when = submission_time(task, self.times)
        key = self.keys[report.exercise]
        self.book.record(Attempt(report, before, key, when, when, graded_at=datetime.now(UTC)))
        return report


def grade_into(
    book: Gradebook,
    tasks: Sequence[Task],
    graders: Graders,
    *,
    regrade: bool = False,
    times: SubmissionTimes | None = None,
) -> Generator[Outcome]:
    """Grade the submissions that the gradebook does not have yet; yield each outcome once it is recorded.

    Parameters
    ----------
    book : Gradebook
        It is read and written.
    tasks : sequence of Task
        From :func:`course_grader.grading.grade_class.find_submissions.find_submissions`.
    graders : Graders
        The processes that grade.
    regrade : bool
        Grade everything again; each notebook replaces what it had.
    times : mapping, optional
        When notebooks were handed in, by learner and exercise; else the files' own times.
    """
    run = _Run(book, times or {}, graders.sandbox)
    run.hashes = {task: _hash_submission(task) for task in tasks}
    run.keys = {exercise.slug: hash_key(exercise) for exercise in {task.exercise for task in tasks} if exercise}
    _set_submission_times(run)
    graded = {} if regrade else run.find_graded(tasks)
    for task, attempt in graded.items():
        book.record_resubmission(attempt, submitted_at=submission_time(task, run.times))
        yield Outcome(task, attempt.report, already_graded=True)
    rest = [task for task in tasks if task not in graded]
    for task, report in graders.grade(rest):
        yield Outcome(task, run.record(task, report))


def _set_submission_times(run: _Run) -> None:
    """Record the times of the table before anything is graded: they hold for what is graded already, too."""
    times = {}
    for task, notebook_hash in run.hashes.items():
        slug = task.exercise.slug if task.exercise else ""
        if notebook_hash and (time := run.times.get((task.learner, slug))):
            times[task.learner, slug, notebook_hash] = time
    run.book.set_submission_times(times)


def _hash_submission(task: Task) -> str | None:
    """Return the hash of a submission's bytes, or None if they cannot be read."""
    try:
        return None if task.path is None else hash_notebook(read_notebook_bytes(task.path))
    except NotebookError:
        return None
