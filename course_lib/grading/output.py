"""Write grades to files: JSON with everything in it, CSV for a spreadsheet or an LMS, each whole or not at all."""

import csv
import io
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import course_lib
from course_lib.errors import InputError
from course_lib.grading.report import SCHEMA_VERSION, SubmissionReport

__all__ = ["as_csv", "as_json", "check_folder", "write"]

FILES = ("grades.csv", "grades.json")
COLUMNS = ("learner", "exercise", "points", "max_points", "status", "sandbox", "messages")
# What a spreadsheet takes for the beginning of a formula.
FORMULA = tuple(
    "=+-@\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}"
)


def check_folder(folder: Path) -> None:
    """Raise if grades cannot be written to ``folder``; look before grading, not after.

    Raises
    ------
    InputError
        If something else is there, or it may not be written to.
    """
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir():
        raise InputError(f"expected a folder for the grades, found a file at {nearest}; name another with --out")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"expected a folder that can be written to, found {nearest}, which cannot; name another with --out"
        )
    for name in FILES:
        if (folder / name).is_dir():
            raise InputError(f"expected to write {folder / name}, found a folder there; name another folder with --out")


def write(reports: Sequence[SubmissionReport], folder: Path) -> tuple[Path, Path]:
    """Write ``grades.csv`` and ``grades.json`` and return their paths; a second run replaces the first one's."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    reports = sorted(reports, key=lambda report: (report.learner, report.exercise))
    table, data = (folder / name for name in FILES)
    _replace(data, as_json(reports))
    _replace(table, as_csv(reports))
    return table, data


def as_json(reports: Sequence[SubmissionReport]) -> str:
    """Return all reports; ``detail`` in the rows is for the instructor only."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "grader_version": course_lib.__version__,
        "submissions": [report.as_dict() for report in reports],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_csv(reports: Sequence[SubmissionReport]) -> str:
    """Return one line a submission, safe to open in a spreadsheet.

    Examples
    --------
    >>> print(as_csv([SubmissionReport("=1+1", "demo", "graded", 1.0, 2.0)]).splitlines()[1])
    '=1+1,demo,1,2,graded,,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for report in reports:
        said = " | ".join(report.messages)
        cells = [report.learner, report.exercise, f"{report.points:g}", f"{report.max_points:g}", report.status]
        writer.writerow([_plain(cell) for cell in [*cells, report.sandbox, said]])
    return text.getvalue()


def _plain(cell: str) -> str:
    """Return one printable line that a spreadsheet does not take for a formula."""
    cell = "".join(char if char.isprintable() else " " for char in cell)
    return f"'{cell}" if cell.lstrip().startswith(FORMULA) else cell


def _replace(path: Path, text: str) -> None:
    """Write beside and rename, so that a reader never sees half a file."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
