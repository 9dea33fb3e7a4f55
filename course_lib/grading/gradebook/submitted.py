"""When each notebook was handed in: what a table says, else when its file was last changed."""

import csv
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from course_lib.errors import InputError
from course_lib.grading.classroom import Task

__all__ = ["Times", "read_times", "submitted_at"]

COLUMNS = ("learner", "exercise", "submitted")
Times = Mapping[tuple[str, str], datetime]


def read_times(path: Path) -> Times:
    """Read a CSV file with the columns ``learner``, ``exercise`` and ``submitted`` (ISO 8601 with an offset).

    Raises
    ------
    InputError
        With the first line that cannot be used.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return dict(_entry(line, f"{path}, line {number}") for number, line in enumerate(csv.DictReader(file), 2))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"expected a CSV file at {path}, found other text: {error}; export it as UTF-8") from error


def _entry(line: dict[str, str], place: str) -> tuple[tuple[str, str], datetime]:
    if missing := [name for name in COLUMNS if not line.get(name)]:
        raise InputError(
            f"{place}: expected the columns {', '.join(COLUMNS)}, found nothing in {missing[0]}; fill it in"
        )
    try:
        time = datetime.fromisoformat(line["submitted"])
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        wrong = f"expected a time with its offset, such as 2026-10-05T23:10:00+02:00, found {line['submitted']!r}"
        raise InputError(f"{place}: {wrong}; write the offset, or Z for UTC")
    return (line["learner"], line["exercise"]), time


def submitted_at(task: Task, times: Times) -> datetime:
    """Return when a notebook was handed in."""
    assert task.path is not None  # only what is there can be handed in
    assert task.exercise is not None
    told = times.get((task.learner, task.exercise.slug))
    return told or datetime.fromtimestamp(task.path.stat(follow_symlinks=False).st_mtime, UTC)
