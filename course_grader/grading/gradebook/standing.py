"""Which of a learner's attempts counts: best or last, less what lateness takes, plus what was given by hand."""

from collections.abc import Sequence
from dataclasses import dataclass

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook.policy import Policy
from course_grader.grading.gradebook.records import Attempt, ManualPoints

__all__ = ["Standing", "standing"]

DECIMALS = 6  # what arithmetic with percents adds in the last places is not shown to anyone


@dataclass(frozen=True)
class Standing:
    """Where one learner stands in one exercise.

    Parameters
    ----------
    report : SubmissionReport
        Of the attempt that counts, or of what came in place of one.
    counted : Attempt, optional
        The attempt that counts.
    attempts : int
        How many there are.
    days_late, percent_taken
        Of the attempt that counts.
    manual : tuple of ManualPoints
        Kept apart from what the tests gave.
    """

    report: SubmissionReport
    counted: Attempt | None = None
    attempts: int = 0
    days_late: int = 0
    percent_taken: float = 0
    manual: tuple[ManualPoints, ...] = ()

    @property
    def automatic(self) -> float:
        """Points from the hidden tests, less what lateness takes."""
        return round(self.report.points * (1 - self.percent_taken / 100), DECIMALS)

    @property
    def points(self) -> float:
        """All points that count."""
        return round(self.automatic + sum(given.points for given in self.manual), DECIMALS)

    @property
    def messages(self) -> tuple[str, ...]:
        """What the learner is told, the reasons for other points than the tests' included."""
        said = list(self.report.messages)
        if self.days_late and self.report.points:
            days = "1 day" if self.days_late == 1 else f"{self.days_late} days"
            said.append(f"handed in {days} late: {self.percent_taken:g} % of {self.report.points:g} points taken off")
        said += [f"{given.points:+g} by your instructor: {given.why}" for given in self.manual]
        return tuple(said)


def standing(
    attempts: Sequence[Attempt], policy: Policy, manual: Sequence[ManualPoints] = (), *, came: SubmissionReport
) -> Standing:
    """Work out where a learner stands.

    Parameters
    ----------
    attempts : sequence of Attempt
        Theirs at this exercise.
    policy : Policy
        The rules.
    manual : sequence of ManualPoints
        Theirs for this exercise.
    came : SubmissionReport
        What this run found, or that there was nothing. It is shown if there is no attempt, or if grading itself failed,
        so that nobody overlooks that; recorded points count all the same.
    """
    given = tuple(manual)
    if not attempts:
        return Standing(came, manual=given)
    if policy.attempts == "last":
        counted = max(attempts, key=lambda attempt: (attempt.last_submitted_at, attempt.graded_at))
    else:
        counted = max(attempts, key=lambda attempt: (_worth(attempt, policy), -attempt.submitted_at.timestamp()))
    report = counted.report
    if came.status == "error":
        report = SubmissionReport(
            came.learner, came.exercise, came.status, report.points, report.max_points, came.messages, came.rows
        )
    days, percent = policy.days_late(counted.submitted_at), policy.percent_taken(counted.submitted_at)
    return Standing(report, counted, len(attempts), days, percent, given)


def _worth(attempt: Attempt, policy: Policy) -> float:
    return attempt.report.points * (1 - policy.percent_taken(attempt.submitted_at) / 100)
