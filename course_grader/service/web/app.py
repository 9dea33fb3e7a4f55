"""Put the service together: its routes, what every answer carries, and how an error is told."""

import logging

from anyio import CapacityLimiter
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException as AnyHTTPException

import course_lib
from course_grader.grading.gradebook.database import UnavailableError
from course_grader.grading.text import one_line
from course_grader.service.course import Course
from course_grader.service.refusals import NoMoreAttemptsError, NotReadyError, TooSoonError
from course_grader.service.web import api, entry, health, instructor_pages, learner_pages, people_pages
from course_grader.service.web.access import Limiter
from course_grader.service.web.edge import HEADERS, Edge
from course_grader.service.web.pages import STATIC, show
from course_grader.service.web.queue_places import QueuePlaces
from course_grader.service.web.uploads import INTAKE
from course_lib.errors import InputError

__all__ = ["make_app"]

STATUSES: dict[type[Exception], int] = {NoMoreAttemptsError: 409, TooSoonError: 429, NotReadyError: 503}
# What Starlette and FastAPI say in words of their own.
SAID = {
    400: "expected a form that can be read, found another; send it again from its page",
    404: "expected an address that there is, found another; start from your own page",
    405: "expected another way to ask for this address; go back, and use the page's buttons",
}
FAILED = "something is wrong with the service, not with what you did; try again in a minute, and tell your instructor"
STATUSES[UnavailableError] = 503
AWAY = "expected the course's database to answer, found that it does not; try again in a minute"
log = logging.getLogger("course.serve")


def make_app(course: Course, *, url: str) -> FastAPI:
    """Return the service for a course, as an ASGI application; ``url`` is the address that learners see."""
    # Their pages would load scripts from another site: the description itself is at /openapi.json.
    app = FastAPI(title="The Backward Pass: hand in", version=course_lib.__version__, docs_url=None, redoc_url=None)
    app.state.course, app.state.limiter, app.state.url = course, Limiter(), url
    app.state.places, app.state.intake = QueuePlaces(course), CapacityLimiter(INTAKE)
    for part in (api, entry, health, learner_pages, instructor_pages, people_pages):
        app.include_router(part.router)
    app.mount("/static", StaticFiles(directory=STATIC))
    app.add_middleware(Edge)
    app.exception_handler(InputError)(_tell_input_error)
    app.exception_handler(AnyHTTPException)(_tell_http_error)
    app.exception_handler(RequestValidationError)(_tell_validation_error)
    app.exception_handler(Exception)(_tell_failure)
    return app


def _tell_input_error(request: Request, error: Exception) -> Response:
    message = str(error)
    if isinstance(error, UnavailableError):  # which names the database
        log.error("%s", message)
        message = AWAY
    return _tell(request, STATUSES.get(type(error), 422), message)


def _tell_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException | AnyHTTPException)
    ours = " " in str(error.detail) and str(error.detail).startswith("expected")
    message = str(error.detail) if ours else SAID.get(error.status_code, FAILED)
    return _tell(request, error.status_code, message, dict(error.headers or {}))


def _tell_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    wrong = error.errors()[0]
    where, *names = wrong["loc"]
    if where == "path":
        return _tell(request, 404, SAID[404])
    field = ".".join(map(str, names)) or "the request"
    said = one_line(wrong["msg"], chars=200)
    return _tell(request, 422, f"expected what this address takes, found something else in {field}: {said}; correct it")


def _tell_failure(request: Request, _error: Exception) -> Response:
    return _tell(request, 500, FAILED, dict(HEADERS))


def _tell(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Tell an error: to a browser as a page, to a program as JSON."""
    if "text/html" in request.headers.get("accept", ""):
        response: Response = show(request, "error.html", status=status, message=message)
        response.headers.update(headers or {})
        return response
    return JSONResponse({"error": message}, status, headers)
