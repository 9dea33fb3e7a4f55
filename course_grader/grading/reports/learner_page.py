"""Write one HTML page for each learner: nothing in it can run, whatever they wrote, and it makes no requests.

Text is escaped by Jinja2. Should something slip through all the same, the page's own policy (CSP level 3) forbids
scripts, requests, forms and every style but the one whose hash it names.
"""

import base64
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.gradebook.standing import GradeLine
from course_grader.grading.text import format_time
from course_lib.extras import load

__all__ = ["as_page", "has_stamp", "load_template", "make_stamp"]

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
        stamp=load("markupsafe", extra="grade").Markup(STAMP.format(make_stamp(grades, titles))),
        learner=grades[0].report.learner,
        grades=grades,
        titles=titles,
        style=load("markupsafe", extra="grade").Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        number=lambda value: f"{value:g}",
        moment=format_time,
    )
    return str(page)


def make_stamp(grades: Iterable[GradeLine], titles: Mapping[str, str]) -> str:
    """Return a hash of all that a learner's page is made of: the grades, the titles, and its form."""
    facts = [(each.exercise, titles.get(each.exercise), each.digest) for each in grades]
    return hashlib.sha256(json.dumps([_form(), facts]).encode()).hexdigest()


def has_stamp(path: str, stamp: str) -> bool:
    """Tell whether a learner's file is there, made from these very grades: to make it anew takes far longer."""
    try:
        descriptor = os.open(path, os.O_RDONLY)  # there are tens of thousands, and a file object takes twice as long
    except OSError:
        return False
    try:
        return stamp.encode() in os.read(descriptor, HEAD_BYTES)
    except OSError:
        return False
    finally:
        os.close(descriptor)


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
