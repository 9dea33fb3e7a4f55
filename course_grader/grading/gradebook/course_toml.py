"""Read ``course.toml``, where all rules of a course stand; each key is checked."""

import math
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from course_grader.grading.grade_class.roster import RosterEntry, read_roster
from course_grader.grading.gradebook.late_policy import Policies, Policy
from course_lib.errors import InputError

__all__ = ["find_policies", "read_policies"]

RULES = Path("course.toml")  # in the folder where the command runs

ATTEMPTS = ("best", "last")
VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
DAY, WEEK = 24 * 60, 7 * 24 * 60  # in minutes
MOST_DAYS = 1000  # after which a percentage for each day rises no more
Rules = Mapping[str, Any]


def find_policies(path: Path | None) -> Policies:
    """Read the rules at ``path``, or else those of ``course.toml`` here, if there is one."""
    return read_policies(path or RULES) if path is not None or RULES.is_file() else Policies()


def read_policies(path: Path) -> Policies:
    """Read ``course.toml``: the tables ``[defaults]``, ``[exercises.<name>]`` and ``[extensions.<learner>]``, a roster.

    Rules of an exercise come before those of ``[defaults]``, and an extension before both.

    Raises
    ------
    InputError
        With the key that cannot be used, and what it must be.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"expected TOML in {path}, found text that is not: {error}; see docs/grading.md") from error
    if strange := sorted(data.keys() - {"roster", "defaults", "exercises", "extensions"}):
        wrong = f"expected roster, [defaults], [exercises.<name>] and [extensions.<learner>], found {strange[0]!r}"
        raise InputError(f"{path}: {wrong}; remove it")
    defaults = _read_rules(data.get("defaults", {}), f"{path}, [defaults]")
    tables = _read_tables(data, "exercises", "exercises.<name>", path)
    exercises = {
        slug: _merge_rules(defaults, _read_rules(table, f"{path}, [exercises.{slug}]"))
        for slug, table in tables.items()
    }
    return Policies(
        _make_policy(defaults),
        {slug: _make_policy(rules) for slug, rules in exercises.items()},
        _read_extensions(
            _read_tables(data, "extensions", "extensions.<learner>", path), exercises | {"": defaults}, path
        ),
        _read_roster(data["roster"], path) if "roster" in data else (),
    )


def _read_tables(data: Mapping[str, object], key: str, shown: str, path: Path) -> dict[str, object]:
    tables = data.get(key, {})
    if not isinstance(tables, dict):
        raise InputError(f"{path}: expected tables [{shown}], found {tables!r}; see docs/grading.md")
    return tables


def _read_roster(value: object, path: Path) -> tuple[RosterEntry, ...]:
    """Read the roster, whose path goes from the folder of ``course.toml``."""
    if not isinstance(value, str) or not (file := path.parent / value).is_file():
        raise InputError(f"{path}: roster: expected the path of a CSV file, found {value!r}; correct it")
    return tuple(read_roster(file))


def _read_extensions(
    tables: Mapping[str, object], shared: Mapping[str, Rules], path: Path
) -> dict[tuple[str, str], Policy]:
    """Return the rules of each learner with an extension, at each exercise that has rules.

    A table in a learner's table is an exercise; all else in it holds for every exercise.
    """
    found: dict[tuple[str, str], Policy] = {}
    for name, table in tables.items():
        place, learner = f"{path}, [extensions.{name}]", unicodedata.normalize("NFC", name)
        values = _check_table(table, place)
        special = {slug: value for slug, value in values.items() if isinstance(value, dict)}
        general = _read_rules({key: values[key] for key in values.keys() - special.keys()}, place, extension=True)
        for slug in {*shared, *special}:
            inside = f"{path}, [extensions.{name}.{slug}]"
            rules = shared.get(slug, shared[""])
            own = _merge_rules(general, _read_rules(special.get(slug, {}), inside, extension=True))
            if "due" in own and own["due"] < rules.get("due", own["due"]):
                wrong = f"expected a time after that for all, {rules['due']}, found {own['due']}"
                raise InputError(f"{inside if slug in special else place}: due: {wrong}; correct it")
            found[learner, slug] = _make_policy(_merge_rules(rules, own))
    return found


def _merge_rules(shared: Rules, own: Rules) -> dict[str, Any]:
    """Put rules of one's own over shared ones: a date of one's own takes the place of days added to another."""
    return {name: value for name, value in shared.items() if name != "extra" or "due" not in own} | dict(own)


def _make_policy(rules: Rules) -> Policy:
    values = dict(rules)
    extra = values.pop("extra", timedelta(0))
    return Policy(**values | ({"due": values["due"] + extra} if "due" in values else {}))


def _read_rules(value: object, place: str, *, extension: bool = False) -> dict[str, Any]:
    """Return one table's rules by the fields of a policy."""
    known = READERS | EXTENSION_READERS if extension else READERS
    values: dict[str, Any] = {}
    for key, raw in _check_table(value, place).items():
        if key not in known:
            raise InputError(f"{place}: expected one of {', '.join(known)}, found {key!r}; remove or correct it")
        field, read = known[key]
        if field in values:
            raise InputError(f"{place}: expected late_percent or late_percent_per_day, found both; keep one")
        values[field] = read(raw, f"{place}: {key}")
    if {"due", "extra"} <= values.keys():
        raise InputError(f"{place}: expected due or extra_days, found both; keep one")
    return values


def _check_table(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a table, found {value!r}; see docs/grading.md")
    return value


def _read_due(value: object, place: str) -> datetime:
    if not isinstance(value, datetime) or value.tzinfo is None:
        wrong = f"expected a date and time with its offset, such as 2026-10-05T23:59:00+02:00, found {value}"
        raise InputError(f"{place}: {wrong}; write the offset, or Z for UTC")
    return value


def _read_word(words: Sequence[str]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if value not in words:
            raise InputError(f"{place}: expected {_either(words)}, found {value!r}; write one of these")
        return str(value)

    return read


def _either(words: Sequence[str]) -> str:
    *first, last = (f'"{word}"' for word in words)
    return f"{', '.join(first)} or {last}"


def _read_number(value: object, place: str, *, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise InputError(f"{place}: expected a number from 0 to {most:g}, found {value!r}; correct it")
    return value


def _read_minutes(most: float) -> Callable[[object, str], timedelta]:
    return lambda value, place: timedelta(minutes=_read_number(value, place, most=most))


def _read_days(value: object, place: str) -> timedelta:
    return timedelta(days=_read_number(value, place, most=MOST_DAYS))


def _read_count(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{place}: expected a whole number from 1 on, found {value!r}; correct it")
    return value


def _read_percent_per_day(value: object, place: str) -> tuple[float, ...]:
    percent = _read_number(value, place, most=100)
    days = math.ceil(min(100 / percent, MOST_DAYS)) if percent else 0
    return tuple(min(100.0, percent * day) for day in range(1, days + 1))


def _read_percents(value: object, place: str) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"{place}: expected a list of percents, such as [10, 25, 100], found {value!r}; correct it")
    percents = tuple(_read_number(percent, place, most=100) for percent in value)
    for before, after in pairwise(percents):
        if after < before:
            wrong = f"expected percents that do not fall from day to day, found {after:g} after {before:g}"
            raise InputError(f"{place}: {wrong}; put them in order: the last one holds for all later days")
    return percents


# Each key's field of a policy, and what reads its value.
READERS: dict[str, tuple[str, Callable[[object, str], Any]]] = {
    "due": ("due", _read_due),
    "attempts": ("attempts", _read_word(ATTEMPTS)),
    "grace_minutes": ("grace", _read_minutes(DAY)),
    "late_percent": ("late_percent", _read_percents),
    "late_percent_per_day": ("late_percent", _read_percent_per_day),
    "max_attempts": ("max_attempts", _read_count),
    "pause_minutes": ("pause", _read_minutes(WEEK)),
    "gradescope_visibility": ("gradescope_visibility", _read_word(VISIBILITIES)),
}
EXTENSION_READERS = {"extra_days": ("extra", _read_days)}
