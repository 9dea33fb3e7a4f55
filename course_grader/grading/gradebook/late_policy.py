"""A course's rules: deadlines, late penalties, extensions, which attempts count, and who is in it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from course_grader.grading.grade_class.roster import RosterEntry

__all__ = ["Policies", "Policy"]

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Policy:
    """The rules for one exercise, or for one learner at one exercise.

    Parameters
    ----------
    due : datetime, optional
        With its offset from UTC; without a date nothing is late.
    attempts : {"best", "last"}
        Which attempt counts: the one with most points after what lateness took, or the one handed in last.
    late_percent : tuple of float
        Percent of the earned points that are taken, for the first day begun after ``due``, the second, and so on; the
        last number holds for all later days.
    grace : timedelta
        How long after ``due`` nothing is taken yet.
    max_attempts : int, optional
        How many attempts count; those that come later do not.
    pause : timedelta
        How long after an attempt that counts the next one may come.
    gradescope_visibility : str
        When Gradescope shows learners the hidden tests and what they say.
    """

    due: datetime | None = None
    attempts: str = "best"
    late_percent: tuple[float, ...] = ()
    grace: timedelta = timedelta(0)
    max_attempts: int | None = None
    pause: timedelta = timedelta(0)
    gradescope_visibility: str = "visible"

    def days_late(self, submitted_at: datetime) -> int:
        """Return how many days late a notebook came, each day begun counted as one.

        Examples
        --------
        >>> due = datetime.fromisoformat("2026-10-05T20:00+02:00")
        >>> Policy(due=due).days_late(due + timedelta(days=1, seconds=1))
        2
        >>> Policy(due=due, grace=timedelta(minutes=10)).days_late(due + timedelta(minutes=10))
        0
        """
        if self.due is None or submitted_at <= self.due + self.grace:
            return 0
        return math.ceil((submitted_at - self.due) / DAY)

    def percent_taken(self, submitted_at: datetime) -> float:
        """Return the percentage of the points earned that lateness takes.

        Examples
        --------
        >>> due = datetime.fromisoformat("2026-10-05T20:00+02:00")
        >>> policy = Policy(due=due, late_percent=(10, 25, 100))
        >>> [policy.percent_taken(due + timedelta(days=days)) for days in (0, 1, 1.5, 9)]
        [0.0, 10, 25, 100]
        """
        days = self.days_late(submitted_at)
        if not days or not self.late_percent:
            return 0.0
        return self.late_percent[min(days, len(self.late_percent)) - 1]


@dataclass(frozen=True)
class Policies:
    """All rules of a course, and its roster.

    Parameters
    ----------
    default : Policy
        For every exercise that has no rules of its own.
    exercises : mapping
        By exercise.
    extensions : mapping
        By learner and exercise; under an empty exercise those for every exercise that has no rules of its own.
    roster : tuple of RosterEntry
        Everyone in the course, or nobody if there is no roster.
    """

    default: Policy = Policy()
    exercises: Mapping[str, Policy] = field(default_factory=dict)
    extensions: Mapping[tuple[str, str], Policy] = field(default_factory=dict)
    roster: tuple[RosterEntry, ...] = ()

    def of(self, exercise: str, learner: str = "") -> Policy:
        """Return the rules for a learner at an exercise; without a learner, those for all."""
        shared = self.exercises.get(exercise, self.default)
        own = self.extensions.get((learner, exercise), self.extensions.get((learner, "")))
        return shared if own is None else own
