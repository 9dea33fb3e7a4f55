"""Write one HTML page for each learner: nothing in it can run, whatever they wrote, and it makes no requests.

Text is escaped by Jinja2. Should something slip through all the same, the page's own policy (CSP level 3) forbids
scripts, requests, forms and every style but the one whose hash it names.
"""

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.reports.csv_json import submission_entry
from course_grader.grading.text import format_time
from course_lib.extras import load

__all__ = ["as_page", "is_up_to_date", "load_template"]

TEMPLATES = Path(__file__).parent / "templates"
STAMP = '<meta name="made-from" content="{}">'
HEAD_BYTES = 1_000  # within which the stamp stands


def as_page(grades: Sequence[FinalGrade], *, titles: Mapping[str, str]) -> str:
    """Render the HTML page of one learner.

    Parameters
    ----------
    grades : sequence of FinalGrade
        All of the same learner.
    titles : mapping
        The exercises' titles by slug.
    """
    compiled, style = load_template()
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode()
    page = compiled.render(
        stamp=load("markupsafe", extra="grade").Markup(STAMP.format(_digest(grades, titles))),
        learner=grades[0].report.learner,
        grades=grades,
        titles=titles,
        style=load("markupsafe", extra="grade").Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        number=lambda value: f"{value:g}",
        moment=format_time,
    )
    return str(page)


def is_up_to_date(path: Path, grades: Sequence[FinalGrade], *, titles: Mapping[str, str]) -> bool:
    """Tell whether a learner's page is there, made from these very grades: to render it takes far longer."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return STAMP.format(_digest(grades, titles)).encode() in head


def _digest(grades: Sequence[FinalGrade], titles: Mapping[str, str]) -> str:
    """Return a hash of all that a page is made of: the grades, but for what only the instructor sees, and its form."""
    entries = [
        submission_entry(grade) | {"rows": [row.as_record() | {"detail": ""} for row in grade.report.rows]}
        for grade in grades
    ]
    mine = {grade.report.exercise: titles.get(grade.report.exercise) for grade in grades}
    return hashlib.sha256(json.dumps([_form(), mine, entries]).encode()).hexdigest()


@functools.cache
def _form() -> str:
    """Return a hash of the template and its style sheet."""
    files = (TEMPLATES / "learner.html", TEMPLATES / "learner.css")
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


@functools.cache
def load_template() -> tuple[Any, str]:
    """Return the compiled template and the style sheet, read once.

    Raises
    ------
    MissingExtraError
        If Jinja2 is not installed.
    """
    jinja2: Any = load("jinja2", extra="grade")
    loader = jinja2.FileSystemLoader(TEMPLATES)
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template("learner.html"), (TEMPLATES / "learner.css").read_text(encoding="utf-8")
