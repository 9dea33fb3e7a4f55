"""Compute final grades: the best or last attempt, less the late penalty, plus points given by hand."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempt_limits import NotCounted, limit_attempts
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.late_policy import Policies, Policy

__all__ = ["FinalGrade", "compute_final_grade", "compute_final_grades"]

ABSENT = "nothing was handed in"
MOST_TOLD = 3  # attempts that do not count
DECIMALS = 6  # what arithmetic with percents adds in the last places is not shown to anyone


@dataclass(frozen=True)
class FinalGrade:
    """The grade of one learner in one exercise, and how it came about.

    Parameters
    ----------
    report : SubmissionReport
        That of the attempt that counts, or the one that says why there is none.
    counted : Attempt, optional
        The attempt that counts.
    attempts : int
        How many there are, with those that do not count.
    days_late, percent_taken
        Of the attempt that counts.
    manual : tuple of ManualPoints
        Points given by hand, apart from those of the tests.
    not_counted : tuple of NotCounted
        Attempts that do not count: one too many, or too soon.
    policy : Policy
        The rules by which all this was computed.
    """

    report: SubmissionReport
    counted: Attempt | None = None
    attempts: int = 0
    days_late: int = 0
    percent_taken: float = 0
    manual: tuple[ManualPoints, ...] = ()
    not_counted: tuple[NotCounted, ...] = ()
    policy: Policy = field(default_factory=Policy)

    @property
    def automatic(self) -> float:
        """Points from the hidden tests, less the late penalty."""
        return round(self.report.points * (1 - self.percent_taken / 100), DECIMALS)

    @property
    def points(self) -> float:
        """All points that count."""
        return round(self.automatic + sum(given.points for given in self.manual), DECIMALS)

    @property
    def messages(self) -> tuple[str, ...]:
        """Messages for the learner, with the reason for each point that is not from the tests."""
        said = [each.explain(self.policy) for each in self.not_counted[-MOST_TOLD:]]
        said += self.report.messages
        if self.days_late and self.report.points:
            days = "1 day" if self.days_late == 1 else f"{self.days_late} days"
            said.append(f"handed in {days} late: {self.percent_taken:g} % of {self.report.points:g} points taken off")
        said += [f"{given.points:+g} by your instructor: {given.why}" for given in self.manual]
        return tuple(said)


def compute_final_grade(
    attempts: Sequence[Attempt], policy: Policy, manual: Sequence[ManualPoints] = (), *, came: SubmissionReport
) -> FinalGrade:
    """Compute the grade of one learner in one exercise.

    Parameters
    ----------
    attempts : sequence of Attempt
        Theirs at this exercise, as :meth:`course_grader.grading.gradebook.Gradebook.attempts` orders them.
    policy : Policy
        The rules.
    manual : sequence of ManualPoints
        Theirs for this exercise.
    came : SubmissionReport
        The report of this run, or that nothing was handed in. It is shown if there is no attempt, or if grading itself
        failed, so that this is not overlooked; recorded points count all the same.
    """
    given = tuple(manual)
    if not attempts:
        return FinalGrade(came, manual=given, policy=policy)
    counting, others = limit_attempts(attempts, policy)
    if policy.attempts == "last":
        # Of equal times the attempt that was recorded later: when it was graded says nothing, since it may be again.
        counted = max(reversed(counting), key=lambda attempt: attempt.last_submitted_at)
    else:
        counted = max(counting, key=lambda each: (_late_points(each, policy), -each.submitted_at.timestamp()))
    report = counted.report
    if came.status == "error":
        report = SubmissionReport(
            came.learner, came.exercise, came.status, report.points, report.max_points, came.messages, came.rows
        )
    days, percent = policy.days_late(counted.submitted_at), policy.percent_taken(counted.submitted_at)
    return FinalGrade(report, counted, len(attempts), days, percent, given, tuple(others), policy)


def _late_points(attempt: Attempt, policy: Policy) -> float:
    return attempt.report.points * (1 - policy.percent_taken(attempt.submitted_at) / 100)


def compute_final_grades(
    book: Gradebook, reports: Iterable[SubmissionReport], policies: Policies, *, exercise: str | None = None
) -> list[FinalGrade]:
    """Compute all grades, by learner and exercise: of the gradebook, of this run's reports, and of the roster.

    With ``exercise``, those of this one alone.
    """
    came: dict[tuple[str, str], SubmissionReport] = {}
    for report in reports:
        here = (report.learner, report.exercise)
        if here not in came or report.status == "error":
            came[here] = report
    found: list[FinalGrade] = []
    for each in {*book.exercises(), *(slug for _, slug in came)} if exercise is None else {exercise}:
        mine = {learner: report for (learner, slug), report in came.items() if slug == each}
        found += _final_grades_at(each, book, mine, policies)
    return sorted(found, key=lambda each: (each.report.learner, each.report.exercise))


def _final_grades_at(
    exercise: str, book: Gradebook, came: Mapping[str, SubmissionReport], policies: Policies
) -> Iterator[FinalGrade]:
    """Yield the grades of one exercise."""
    attempts: defaultdict[str, list[Attempt]] = defaultdict(list)
    for attempt in book.attempts(exercise=exercise):
        attempts[attempt.report.learner].append(attempt)
    manual: defaultdict[str, list[ManualPoints]] = defaultdict(list)
    for given in book.manual_points(exercise=exercise):
        manual[given.learner].append(given)
    graded = [attempt for theirs in attempts.values() for attempt in theirs]
    latest = max(graded, key=lambda attempt: attempt.graded_at, default=None)
    worth = latest.report.max_points if latest else max((report.max_points for report in came.values()), default=0)
    enrolled = {entry.username for entry in policies.roster if exercise}
    for learner in {*came, *attempts, *manual, *enrolled}:
        report = came.get(learner) or SubmissionReport(learner, exercise, "missing", 0, worth, (ABSENT,))
        policy = policies.of(exercise, learner)
        yield compute_final_grade(attempts[learner], policy, manual[learner], came=report)
