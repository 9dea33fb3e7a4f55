"""Render pages: Jinja2 templates in which every value is escaped, and a missing one is an error."""

import functools
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from course_grader.grading.text import format_time
from course_lib.extras import load

__all__ = ["STATIC", "show"]

HERE = Path(__file__).parent
STATIC = HERE / "static"


def show(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """Return a page; ``person`` is who asks for it, or None."""
    person = getattr(request.state, "person", None)
    return HTMLResponse(_environment().get_template(template).render(person=person, **values), status)


@functools.cache
def _environment() -> Any:
    jinja2: Any = load("jinja2", extra="serve")
    loader = jinja2.FileSystemLoader(HERE / "templates")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": lambda value: f"{value:g}", "moment": format_time}
    environment.filters["seconds"] = lambda value: "unknown" if value is None else f"{value:.2g}"
    return environment
