"""When each notebook was handed in: what a table says, else when its file was last changed."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.text import one_line
from course_lib.errors import InputError

__all__ = ["Times", "read_times", "submitted_at"]

COLUMNS = ("learner", "exercise", "submitted")
NO_COMMAS = {";": "semicolons", "\t": "tabs"}  # what spreadsheets use in some countries, and for some formats
LAST_SECOND = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
Times = Mapping[tuple[str, str], datetime]


def read_times(path: Path) -> Times:
    """Read a CSV file with the columns ``learner``, ``exercise`` and ``submitted`` (ISO 8601 with an offset).

    Raises
    ------
    InputError
        With the first line that cannot be used, or says a different time from one before it.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file)
            _check_header(lines.fieldnames or [], path)
            return _distinct((f"{path}, line {number}", line) for number, line in enumerate(lines, 2))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"expected a CSV file at {path}, found other text: {error}; export it as UTF-8") from error


def _distinct(lines: Iterable[tuple[str, dict[str, str]]]) -> Times:
    """Return the times, of which there must be one for each notebook."""
    times: dict[tuple[str, str], datetime] = {}
    for place, line in lines:
        (learner, exercise), time = _entry(line, place)
        first = times.setdefault((learner, exercise), time)
        if time != first:
            raise InputError(
                f"{place}: expected one time for {exercise} of {learner}, found {time.isoformat()} after "
                f"{first.isoformat()}; keep the line of the notebook that is to be graded"
            )
    return times


def _check_header(names: Sequence[str], path: Path) -> None:
    if set(COLUMNS) <= set(names):
        return
    line = ",".join(names)
    came = repr(one_line(line, chars=80)) if line else "nothing"
    others = [word for sign, word in NO_COMMAS.items() if sign in line]
    fix = f"write commas in place of the {others[0]}, in all lines" if others else "name the columns there"
    raise InputError(
        f"{path}, line 1: expected the columns {', '.join(COLUMNS)}, with commas between them, found {came}; {fix}"
    )


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
    return told or _moment(task.path.stat(follow_symlinks=False).st_mtime)


def _moment(seconds: float) -> datetime:
    """Return the time of a file, to which whoever packed it may have set anything.

    Examples
    --------
    >>> _moment(2.0**40).year, _moment(-1.0).year
    (9999, 1970)
    """
    return datetime.fromtimestamp(min(max(seconds, 0.0), LAST_SECOND), UTC)
