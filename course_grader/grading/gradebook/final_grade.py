"""Compute final grades: the best or last attempt, less the late penalty, plus points given by hand."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.attempt_limits import NotCounted, limit_attempts
from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.late_policy import Policy

__all__ = ["DECIMALS", "FinalGrade", "compute_final_grade"]

DIGEST_CHARS = 32
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
    def learner(self) -> str:
        """Whose it is."""
        return self.report.learner

    @property
    def exercise(self) -> str:
        """The name of the exercise, empty if it cannot be told."""
        return self.report.exercise

    @property
    def max_points(self) -> float:
        """What the exercise is worth."""
        return self.report.max_points

    @property
    def status(self) -> str:
        """That of the report."""
        return self.report.status

    @property
    def sandbox(self) -> str:
        """Where the code ran."""
        return self.report.sandbox

    @property
    def is_absent(self) -> bool:
        """Whether nothing was handed in and no points were given by hand."""
        return self.status == "missing" and not self.manual

    @property
    def digest(self) -> str:
        """A hash of all that a learner is shown, but for whose it is.

        What the tests of a recorded attempt say is told by its notebook and when that was graded.
        """
        counted, report = self.counted, self.report
        facts = [report.status, report.points, report.max_points, report.sandbox, self.messages, self.attempts]
        facts += [self.days_late, self.percent_taken, self.manual]
        facts += [(each.attempt.notebook_hash, each.attempt.submitted_at, each.reason) for each in self.not_counted]
        if counted is not None:
            facts += [counted.notebook_hash, counted.key_hash, counted.grader_version]
            facts += [counted.submitted_at, counted.graded_at]
        if counted is None or report is not counted.report:  # this run's, which nothing else tells from another
            facts += [(row.name, row.status, row.points, row.title, row.message) for row in report.rows]
        return hashlib.sha256(repr(facts).encode("utf-8", "backslashreplace")).hexdigest()[:DIGEST_CHARS]

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
