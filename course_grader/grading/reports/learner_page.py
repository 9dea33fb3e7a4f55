"""Write one HTML page for each learner: nothing in it can run, whatever they wrote, and it makes no requests.

Text is escaped by Jinja2. Should something slip through all the same, the page's own policy (CSP level 3) forbids
scripts, requests, forms and every style but the one whose hash it names.
"""

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.text import format_time
from course_lib.extras import load

__all__ = ["as_page", "load_template"]

TEMPLATES = Path(__file__).parent / "templates"


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
        learner=grades[0].report.learner,
        grades=grades,
        titles=titles,
        style=load("markupsafe", extra="grade").Markup(style),
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        number=lambda value: f"{value:g}",
        moment=format_time,
    )
    return str(page)


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
