"""Write a class's grades as JSON, with everything in it, and as CSV for a spreadsheet."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import course_lib
from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.grade_one.report import SCHEMA_VERSION
from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.reports.safe_files import iterate_csv

__all__ = ["as_csv", "as_details", "as_json", "iterate_grades_csv", "iterate_json"]

COLUMNS = ("learner", "exercise", "points", "max_points", "status", "sandbox", "messages")


def as_json(grades: Iterable[FinalGrade], pairs: Sequence[Pair] = ()) -> str:
    """Return all grades as JSON: ``docs/grades.schema.json`` describes it; ``detail`` is for the instructor only."""
    return "".join(iterate_json(grades, pairs))


def iterate_json(grades: Iterable[FinalGrade], pairs: Sequence[Pair] = ()) -> Iterator[str]:
    """Yield the same JSON in pieces, a submission at a time: as one text it would be larger than all the rest."""
    yield f'{{\n  "schema_version": {SCHEMA_VERSION},\n  "grader_version": {json.dumps(course_lib.__version__)},\n'
    yield '  "submissions": ['
    yield from _iterate_entries(grades)
    yield f'],\n  "similar": {_to_json([asdict(pair) for pair in pairs], indent=2)}\n}}\n'


def as_details(grades: Iterable[FinalGrade], stamp: str) -> str:
    """Return all about one learner's grades as JSON, for the instructor; the stamp says what it was made from."""
    entries = "".join(_iterate_entries(grades))
    return f'{{\n  "made_from": "{stamp}",\n  "grader_version": {json.dumps(course_lib.__version__)},\n' + (
        f'  "submissions": [{entries}]\n}}\n'
    )


def _iterate_entries(grades: Iterable[FinalGrade]) -> Iterator[str]:
    """Yield what stands between the brackets of a list of submissions."""
    end = ""
    for grade in grades:
        yield f"{',' if end else ''}\n{_entry_json(_submission_entry(grade))}"
        end = "\n  "
    yield end


def _entry_json(entry: Mapping[str, object]) -> str:
    """Return an entry as JSON with a line for each test and cell, which takes a third of the time of one a field."""
    lines = [f'"{name}": {_to_json(value)}' for name, value in entry.items() if name != "rows"]
    rows = entry["rows"]
    assert isinstance(rows, tuple)
    inside = ",".join(f"\n        {_to_json(row)}" for row in rows)
    lines.append(f'"rows": [{inside}' + ("\n      ]" if rows else "]"))
    return "    {\n      " + ",\n      ".join(lines) + "\n    }"


def _to_json(data: object, *, indent: int | None = None) -> str:
    """Return JSON with nothing in it that a terminal may obey."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    if text.isprintable():
        return text
    unseen = [char for char in set(text) if char != "\n" and not char.isprintable()]
    return text.translate({ord(char): json.dumps(char)[1:-1] for char in unseen})


def _submission_entry(grade: FinalGrade) -> dict[str, object]:
    """Return one submission: its report, its final points and messages, and how they were computed."""
    entry = grade.report.as_dict()
    return entry | {"points": grade.points, "messages": list(grade.messages), "grade": _grade_entry(grade)}


def _grade_entry(grade: FinalGrade) -> dict[str, object]:
    counted = grade.counted
    return {
        "tests": grade.report.points,
        "days_late": grade.days_late,
        "percent_taken": grade.percent_taken,
        "automatic": grade.automatic,
        "manual": [
            {"points": given.points, "why": given.why, "given_at": given.given_at.isoformat()} for given in grade.manual
        ],
        "attempts": grade.attempts,
        "not_counted": [
            {
                "submitted_at": each.attempt.submitted_at.isoformat(),
                "notebook_hash": each.attempt.notebook_hash,
                "rule": each.reason.value,
            }
            for each in grade.not_counted
        ],
        "submitted_at": counted.submitted_at.isoformat() if counted else None,
        "graded_at": counted.graded_at.isoformat() if counted else None,
        "notebook_hash": counted.notebook_hash if counted else None,
        "key_hash": counted.key_hash if counted else None,
        "grader_version": counted.grader_version if counted else None,
    }


def as_csv(grades: Iterable[GradeLine]) -> str:
    """Return CSV with one line for each submission, safe to open in a spreadsheet.

    Examples
    --------
    >>> from course_grader.grading.grade_one.report import SubmissionReport
    >>> print(as_csv([FinalGrade(SubmissionReport("=1+1", "demo", "graded", 1.0, 2.0))]).splitlines()[1])
    '=1+1,demo,1,2,graded,,
    """
    return "".join(iterate_grades_csv(grades))


def iterate_grades_csv(grades: Iterable[GradeLine]) -> Iterator[str]:
    """Yield the same a line at a time."""
    yield from iterate_csv([COLUMNS])
    yield from iterate_csv(map(_csv_line, grades))


def _csv_line(grade: GradeLine) -> list[str]:
    numbers = [f"{grade.points:g}", f"{grade.max_points:g}"]
    return [grade.learner, grade.exercise, *numbers, grade.status, grade.sandbox, " | ".join(grade.messages)]
