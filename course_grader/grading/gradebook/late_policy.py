"""Deadlines, late penalties and which attempt counts: a cohort's rules, read from ``course.toml``."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from course_lib.errors import InputError

__all__ = ["Policies", "Policy", "read_policies"]

ATTEMPTS = ("best", "last")
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Policy:
    """The rules for one exercise.

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
    """

    due: datetime | None = None
    attempts: str = "best"
    late_percent: tuple[float, ...] = ()
    grace: timedelta = timedelta(0)

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
    """The rules for every exercise: its own, else the cohort's."""

    default: Policy = Policy()
    exercises: Mapping[str, Policy] = field(default_factory=dict)

    def of(self, exercise: str) -> Policy:
        """Return the rules for one exercise."""
        return self.exercises.get(exercise, self.default)


def read_policies(path: Path) -> Policies:
    """Read ``course.toml``: tables ``[defaults]`` and ``[exercises.<slug>]``, whose keys are checked one by one.

    Raises
    ------
    InputError
        With the key that cannot be used, and what it must be.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"expected TOML in {path}, found text that is not: {error}; see docs/grading.md") from error
    if strange := sorted(data.keys() - {"defaults", "exercises"}):
        raise InputError(f"{path}: expected [defaults] and [exercises.<name>], found {strange[0]!r}; remove it")
    defaults, exercises = data.get("defaults", {}), data.get("exercises", {})
    if not isinstance(exercises, dict):
        raise InputError(f"{path}: expected tables [exercises.<name>], found {exercises!r}; see docs/grading.md")
    own = {slug: _read_policy(rules, defaults, f"{path}, [exercises.{slug}]") for slug, rules in exercises.items()}
    return Policies(_read_policy({}, defaults, f"{path}, [defaults]"), own)


def _read_policy(rules: object, defaults: object, place: str) -> Policy:
    own, shared = _read_table(rules, place), _read_table(defaults, place)
    both = shared | own
    if "late_percent" in own or "late_percent_per_day" in own:  # an exercise's own rule, in whichever form
        both = {key: value for key, value in both.items() if not key.startswith("late_percent") or key in own}
    known = {"due": _read_due, "attempts": _read_attempts, "grace_minutes": _read_minutes}
    known |= {"late_percent": _read_percents, "late_percent_per_day": _read_percent_per_day}
    values: dict[str, Any] = {}
    for key, value in both.items():
        if key not in known:
            raise InputError(f"{place}: expected one of {', '.join(known)}, found {key!r}; remove or correct it")
        name = {"grace_minutes": "grace", "late_percent_per_day": "late_percent"}.get(key, key)
        if name in values:
            raise InputError(f"{place}: expected late_percent or late_percent_per_day, found both; keep one")
        values[name] = known[key](value, f"{place}: {key}")
    return Policy(**values)


def _read_table(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a table, found {value!r}; see docs/grading.md")
    return value


def _read_due(value: object, place: str) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        wrong = f"expected a date and time with its offset, such as 2026-10-05T23:59:00+02:00, found {value}"
        raise InputError(f"{place}: {wrong}; write the offset, or Z for UTC")
    return value


def _read_attempts(value: object, place: str) -> str:
    if value not in ATTEMPTS:
        raise InputError(f'{place}: expected "best" or "last", found {value!r}; write one of the two')
    return str(value)


def _read_number(value: object, place: str, *, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise InputError(f"{place}: expected a number from 0 to {most:g}, found {value!r}; correct it")
    return value


def _read_minutes(value: object, place: str) -> timedelta:
    return timedelta(minutes=_read_number(value, place, most=1440))


def _read_percent_per_day(value: object, place: str) -> tuple[float, ...]:
    percent = _read_number(value, place, most=100)
    return tuple(min(100.0, percent * day) for day in range(1, math.ceil(100 / percent) + 1)) if percent else ()


def _read_percents(value: object, place: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{place}: expected a list of percents, such as [10, 25, 100], found {value!r}; correct it")
    return tuple(_read_number(percent, place, most=100) for percent in value)
