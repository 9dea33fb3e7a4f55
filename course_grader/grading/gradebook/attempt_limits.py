"""Tell which attempts count where a course allows so many, or wants a pause between two."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from course_grader.grading.gradebook.attempts import Attempt
from course_grader.grading.gradebook.late_policy import Policy
from course_grader.grading.text import format_time

__all__ = ["NotCounted", "Reason", "limit_attempts"]


class Reason(StrEnum):
    """Which rule keeps an attempt from counting."""

    TOO_MANY = "max_attempts"
    TOO_SOON = "pause_minutes"


@dataclass(frozen=True)
class NotCounted:
    """An attempt that is recorded and does not count, and why.

    ``again_from`` is when the same notebook can be handed in again to count; None if it cannot.
    """

    attempt: Attempt
    reason: Reason
    again_from: datetime | None = None

    def explain(self, policy: Policy) -> str:
        """Return what the learner is told."""
        came = f"the notebook handed in {format_time(self.attempt.last_submitted_at)} does not count: "
        if self.reason is Reason.TOO_MANY:
            allowed = (
                "1 attempt allowed was" if policy.max_attempts == 1 else f"{policy.max_attempts} attempts allowed were"
            )
            return f"{came}the {allowed} used before it"
        minutes = policy.pause.total_seconds() / 60
        again = f"; hand it in again from {format_time(self.again_from)} on" if self.again_from else ""
        return f"{came}it came less than {minutes:g} minutes after one that counts{again}"


def limit_attempts(attempts: Sequence[Attempt], policy: Policy) -> tuple[list[Attempt], list[NotCounted]]:
    """Return a learner's attempts that count, and the others, each by the time of submission.

    An attempt that came too soon neither starts a new pause nor uses up one of those allowed; handed in again, it
    counts from then on. Nor does a file that could not be graded: its learner was told nothing about the answers.
    """
    counting: dict[str, Attempt] = {}
    others: dict[str, tuple[Attempt, Reason]] = {}
    used, last = 0, None
    for time, attempt in _list_submissions(attempts):
        name = attempt.notebook_hash
        if name in counting:
            continue
        others.pop(name, None)
        if policy.max_attempts is not None and used >= policy.max_attempts:
            others[name] = attempt, Reason.TOO_MANY
        elif last is not None and time < last + policy.pause:
            others[name] = attempt, Reason.TOO_SOON
        else:
            counting[name] = attempt if time == attempt.submitted_at else replace(attempt, submitted_at=time)
            if attempt.report.status != "rejected":
                used, last = used + 1, time
    used_up = policy.max_attempts is not None and used >= policy.max_attempts
    again_from = None if last is None or used_up else last + policy.pause
    return list(counting.values()), [
        NotCounted(attempt, reason, again_from if reason is Reason.TOO_SOON else None)
        for attempt, reason in others.values()
    ]


def _list_submissions(attempts: Sequence[Attempt]) -> list[tuple[datetime, Attempt]]:
    """Return when each notebook first came and when it last came, in order of time."""
    came = [(time, attempt) for attempt in attempts for time in {attempt.submitted_at, attempt.last_submitted_at}]
    return sorted(came, key=lambda each: each[0])
