"""Submission times: from a table (CSV), else from when the notebook's file was last changed."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.text import normalize_name, one_line
from course_lib.errors import InputError

__all__ = ["SubmissionTimes", "read_times", "submission_time"]

COLUMNS = ("learner", "exercise", "submitted")
OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs"}  # what spreadsheets use in some countries, and for some formats
LAST_SECOND = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
SubmissionTimes = Mapping[tuple[str, str], datetime]


def read_times(path: Path) -> SubmissionTimes:
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
            return _collect_times((f"{path}, line {number}", line) for number, line in enumerate(lines, 2))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"expected a CSV file at {path}, found other text: {error}; export it as UTF-8") from error


def _collect_times(lines: Iterable[tuple[str, dict[str, str]]]) -> SubmissionTimes:
    """Collect the times, and check that there is one for each notebook."""
    times: dict[tuple[str, str], datetime] = {}
    for place, line in lines:
        (learner, exercise), time = _read_line(line, place)
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
    others = [word for sign, word in OTHER_SEPARATORS.items() if sign in line]
    fix = f"write commas in place of the {others[0]}, in all lines" if others else "name the columns there"
    raise InputError(
        f"{path}, line 1: expected the columns {', '.join(COLUMNS)}, with commas between them, found {came}; {fix}"
    )


def _read_line(line: dict[str, str], place: str) -> tuple[tuple[str, str], datetime]:
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
    return (normalize_name(line["learner"]), line["exercise"]), time


def submission_time(task: Task, times: SubmissionTimes) -> datetime:
    """Return the time at which a notebook was handed in."""
    assert task.path is not None  # only what is there can be handed in
    assert task.exercise is not None
    known = times.get((task.learner, task.exercise.slug))
    return known or _file_time(task.path.stat(follow_symlinks=False).st_mtime)


def _file_time(seconds: float) -> datetime:
    """Return a file's time, kept within what a datetime can hold: an archive may have set it to anything.

    Examples
    --------
    >>> _file_time(2.0**40).year, _file_time(-1.0).year
    (9999, 1970)
    """
    return datetime.fromtimestamp(min(max(seconds, 0.0), LAST_SECOND), UTC)
