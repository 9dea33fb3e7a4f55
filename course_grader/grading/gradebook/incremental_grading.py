"""Grade a class into a gradebook: skip what is graded already, and record each grade at once.

A run that is interrupted, by Ctrl-C or by anything else, has lost nothing when it is started again.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from course_grader.grading.exercises.hashes import hash_key, hash_notebook
from course_grader.grading.exercises.submitted_notebook import read_notebook_bytes
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.grade_task import GradesTasks
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempts import Attempt, AttemptHeader
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.standings import LEARNERS_AT_ONCE, batched
from course_grader.grading.gradebook.submission_times import SubmissionTimes, submission_time
from course_grader.grading.sandbox.bubblewrap import NONE
from course_lib.errors import NotebookError

__all__ = ["Outcome", "grade_into", "hash_submission"]

CHANGED = "the file was changed while it was being graded; grade again when it is complete"
DAMAGED = "the gradebook's copy of this notebook is damaged, so its marks stay as they were; grade the file once more"
BATCH = 200  # so many notebooks out of the gradebook lie on disk at once: seconds of work for every worker


@dataclass(frozen=True)
class Outcome:
    """The report of one submission: whether it was graded before this run, or is one that the gradebook kept."""

    task: Task
    report: SubmissionReport
    already_graded: bool = False
    kept: bool = False


@dataclass
class _Run:
    """The state that grading one class into one gradebook needs at every submission."""

    book: Gradebook
    times: SubmissionTimes
    sandbox: str
    kept: Mapping[Task, AttemptHeader]
    hashes: dict[Task, str | None] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def find_graded(self, tasks: Sequence[Task]) -> dict[Task, Attempt]:
        """Find the attempts that need not be graded again: same notebook, same key, no weaker sandbox."""
        attempts = {
            (attempt.report.learner, attempt.report.exercise, attempt.notebook_hash): attempt
            for some in batched({task.learner for task in tasks}, LEARNERS_AT_ONCE)
            for attempt in self.book.attempts(learner=some, with_rows=False)
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
        raw = _read_submission(task)
        if raw is None or hash_notebook(raw) != before:
            return _report_error(task, CHANGED, max_points=report.max_points)
        header = self.kept.get(task)
        when = (header.submitted_at, header.last_submitted_at) if header else (submission_time(task, self.times),) * 2
        attempt = Attempt(report, before, self.keys[report.exercise], *when, graded_at=datetime.now(UTC))
        self.book.record(attempt, raw if header is None else None)
        return report

    def record_known(self, task: Task, attempt: Attempt, *, keep: bool) -> None:
        """Record that a notebook which is graded lies there; keep it, if the gradebook has only its hash."""
        raw = _read_submission(task) if keep else None
        unchanged = raw is not None and hash_notebook(raw) == attempt.notebook_hash
        when = submission_time(task, self.times)
        self.book.record_resubmission(attempt, submitted_at=when, notebook=raw if unchanged else None)

    @contextmanager
    def written(self, tasks: Sequence[Task]) -> Iterator[tuple[list[Task], list[Task]]]:
        """Write the notebooks of kept attempts for as long as they are graded; say which there are, and which not."""
        there, damaged = list[Task](), list[Task]()
        try:
            for task in tasks:
                assert task.path is not None  # see find_kept_attempts
                raw = self.book.notebook(self.kept[task].notebook_hash)
                if raw is not None:
                    task.path.parent.mkdir(exist_ok=True)
                    task.path.write_bytes(raw)
                (damaged if raw is None else there).append(task)
            yield there, damaged
        finally:
            for task in there:
                assert task.path is not None
                task.path.unlink(missing_ok=True)  # two learners may have handed in the same bytes


def grade_into(
    book: Gradebook,
    tasks: Sequence[Task],
    graders: GradesTasks,
    *,
    regrade: bool = False,
    times: SubmissionTimes | None = None,
    kept: Mapping[Task, AttemptHeader] | None = None,
) -> Generator[Outcome]:
    """Grade the submissions that the gradebook does not have yet; yield each outcome once it is recorded.

    Parameters
    ----------
    book : Gradebook
        It is read and written.
    tasks : sequence of Task
        From :func:`course_grader.grading.grade_class.find_submissions.find_submissions`.
    graders : GradesTasks
        The processes that grade.
    regrade : bool
        Grade all these submissions again; each notebook replaces what it had.
    times : mapping, optional
        When notebooks were handed in, by learner and exercise; else the files' own times.
    kept : mapping of Task to AttemptHeader, optional
        Attempts to be graded again from the notebooks that the gradebook keeps, after the others, from
        :func:`course_grader.grading.gradebook.kept_attempts.find_kept_attempts`. When they were handed in stays.
    """
    run = _Run(book, times or {}, graders.sandbox, kept or {})
    run.hashes = {task: hash_submission(task) for task in tasks}
    run.hashes |= {task: header.notebook_hash for task, header in run.kept.items()}
    exercises = {task.exercise for task in (*tasks, *run.kept) if task.exercise}
    run.keys = {exercise.slug: hash_key(exercise) for exercise in exercises}
    _set_submission_times(run, tasks)
    yield from _grade_files(run, tasks, graders, regrade=regrade)
    again = list(run.kept)
    for start in range(0, len(again), BATCH):
        with run.written(again[start : start + BATCH]) as (there, damaged):
            yield from (Outcome(task, _report_error(task, DAMAGED), kept=True) for task in damaged)
            yield from (Outcome(task, run.record(task, report), kept=True) for task, report in graders.grade(there))


def _grade_files(run: _Run, tasks: Sequence[Task], graders: GradesTasks, *, regrade: bool) -> Iterator[Outcome]:
    """Grade the submissions that are files, or those of them that are not graded yet."""
    graded = {} if regrade else run.find_graded(tasks)
    kept = {
        header.notebook_hash
        for some in batched({task.learner for task in graded}, LEARNERS_AT_ONCE)
        for header in run.book.attempt_headers(learner=some)
        if header.notebook_kept
    }
    for task, attempt in graded.items():
        run.record_known(task, attempt, keep=attempt.notebook_hash not in kept)
        yield Outcome(task, attempt.report, already_graded=True)
    rest = [task for task in tasks if task not in graded]
    for task, report in graders.grade(rest):
        yield Outcome(task, run.record(task, report))


def _set_submission_times(run: _Run, tasks: Sequence[Task]) -> None:
    """Record the times of the table before anything is graded: they hold for what is graded already, too."""
    times = {}
    for task in tasks:
        slug, notebook_hash = task.exercise.slug if task.exercise else "", run.hashes[task]
        if notebook_hash and (time := run.times.get((task.learner, slug))):
            times[task.learner, slug, notebook_hash] = time
    run.book.set_submission_times(times)


def hash_submission(task: Task) -> str | None:
    """Return the hash of a submission's bytes, or None if they cannot be read."""
    raw = _read_submission(task)
    return None if raw is None else hash_notebook(raw)


def _read_submission(task: Task) -> bytes | None:
    try:
        return None if task.path is None else read_notebook_bytes(task.path)
    except NotebookError:
        return None


def _report_error(task: Task, message: str, *, max_points: float = 0) -> SubmissionReport:
    slug = task.exercise.slug if task.exercise else ""
    return SubmissionReport(task.learner, slug, "error", 0.0, max_points, (message,))
