"""Grade a class into a gradebook: what is written down already is not graded again, and each grade is written at once.

So a run that is broken off, by Ctrl-C or by anything else, has lost nothing when it is started again.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from course_grader.grading.exercises import submitted_notebook
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_class.graders import Graders
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.policy import Policies, Policy
from course_grader.grading.gradebook.records import Attempt, ManualPoints, hash_key, hash_notebook
from course_grader.grading.gradebook.standing import Standing, standing
from course_grader.grading.gradebook.store import Gradebook
from course_grader.grading.gradebook.submitted import Times, submitted_at
from course_grader.grading.sandbox.bubblewrap import NONE
from course_lib.errors import NotebookError

__all__ = ["Outcome", "grade_into", "standings"]

ABSENT = "nothing was handed in"
CHANGED = "the file was changed while it was being graded; grade again when it is complete"


@dataclass(frozen=True)
class Outcome:
    """What came of one submission, and whether that was known before this run."""

    task: Task
    report: SubmissionReport
    known: bool = False


@dataclass
class _Run:
    """What grading one class into one gradebook needs at every submission."""

    book: Gradebook
    times: Times
    sandbox: str
    hashes: dict[Task, str | None] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def known(self, tasks: Sequence[Task]) -> dict[Task, Attempt]:
        """Return the attempts that need not be graded again: same notebook, same key, no weaker sandbox."""
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
            if attempt and attempt.key_hash == self.keys[slug] and not self._stamped(attempt):
                found[task] = attempt
        return found

    def _stamped(self, attempt: Attempt) -> bool:
        """Tell whether an attempt ran without a sandbox, and now there is one."""
        return attempt.report.sandbox == NONE and self.sandbox != NONE

    def record(self, task: Task, report: SubmissionReport) -> SubmissionReport:
        """Write a grade down, unless there is nothing to attach it to: no notebook, or a failure of the grader's."""
        before = self.hashes[task]
        if report.status in ("missing", "error") or before is None:
            return report
        if _hash(task) != before:
            worth = (0.0, report.max_points)
            return SubmissionReport(report.learner, report.exercise, "error", *worth, (CHANGED,))
        when = submitted_at(task, self.times)
        key = self.keys[report.exercise]
        self.book.record(Attempt(report, before, key, when, when, graded_at=datetime.now(UTC)))
        return report


def grade_into(
    book: Gradebook,
    tasks: Sequence[Task],
    graders: Graders,
    *,
    regrade: bool = False,
    times: Times | None = None,
) -> Generator[Outcome]:
    """Grade what the gradebook does not have yet; yield each outcome once it is written down.

    Parameters
    ----------
    book : Gradebook
        Where grades go.
    tasks : sequence of Task
        From :func:`course_grader.grading.grade_class.find_submissions.find_submissions`.
    graders : Graders
        Who grades.
    regrade : bool
        Grade everything again; each notebook replaces what it had.
    times : mapping, optional
        When notebooks were handed in, by learner and exercise; else the files' own times.
    """
    run = _Run(book, times or {}, graders.sandbox)
    run.hashes = {task: _hash(task) for task in tasks}
    run.keys = {exercise.slug: hash_key(exercise) for exercise in {task.exercise for task in tasks} if exercise}
    _tell(run)
    known = {} if regrade else run.known(tasks)
    for task, attempt in known.items():
        book.seen(attempt, submitted_at=submitted_at(task, run.times))
        yield Outcome(task, attempt.report, known=True)
    rest = [task for task in tasks if task not in known]
    for task, report in graders.grade(rest):
        yield Outcome(task, run.record(task, report))


def _tell(run: _Run) -> None:
    """Write the times of the table down, before anything is graded: they hold for what is known already, too."""
    told = {}
    for task, notebook_hash in run.hashes.items():
        slug = task.exercise.slug if task.exercise else ""
        if notebook_hash and (time := run.times.get((task.learner, slug))):
            told[task.learner, slug, notebook_hash] = time
    run.book.tell(told)


def _hash(task: Task) -> str | None:
    """Return the hash of a submission's bytes, or None if there are none to be had."""
    try:
        return None if task.path is None else hash_notebook(submitted_notebook.read_bytes(task.path))
    except NotebookError:
        return None


def standings(book: Gradebook, outcomes: Sequence[Outcome], policies: Policies) -> list[Standing]:
    """Return where everyone stands, by learner and exercise: who came in this run, and all who are in the gradebook."""
    came: dict[tuple[str, str], SubmissionReport] = {}
    for outcome in outcomes:
        here = (outcome.report.learner, outcome.report.exercise)
        if here not in came or outcome.report.status == "error":
            came[here] = outcome.report
    found: list[Standing] = []
    for exercise in {*book.exercises(), *(exercise for _, exercise in came)}:
        mine = {learner: report for (learner, slug), report in came.items() if slug == exercise}
        found += _standings_at(exercise, book, mine, policies.of(exercise))
    return sorted(found, key=lambda each: (each.report.learner, each.report.exercise))


def _standings_at(
    exercise: str, book: Gradebook, came: Mapping[str, SubmissionReport], policy: Policy
) -> Iterator[Standing]:
    """Yield where everyone stands at one exercise."""
    attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in book.attempts(exercise=exercise):
        attempts[attempt.report.learner].append(attempt)
    manual: defaultdict[str, list[ManualPoints]] = defaultdict(list)
    for given in book.manual_points(exercise=exercise):
        manual[given.learner].append(given)
    graded = [attempt for theirs in attempts.values() for attempt in theirs]
    latest = max(graded, key=lambda attempt: attempt.graded_at, default=None)
    worth = latest.report.max_points if latest else max((report.max_points for report in came.values()), default=0)
    for learner in {*came, *attempts, *manual}:
        report = came.get(learner) or SubmissionReport(learner, exercise, "missing", 0, worth, (ABSENT,))
        yield standing(attempts[learner], policy, manual[learner], came=report)
