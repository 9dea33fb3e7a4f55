"""Put the service together: its routes, what every answer carries, and how an error is told."""

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.middleware.base import RequestResponseEndpoint

import course_lib
from course_grader.service.course import Course
from course_grader.service.hand_ins import NoMoreAttemptsError, NotReadyError, TooSoonError
from course_grader.service.web import api
from course_grader.service.web.access import Limiter
from course_lib.errors import InputError

__all__ = ["make_app"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STATUSES: dict[type[Exception], int] = {NoMoreAttemptsError: 409, TooSoonError: 429, NotReadyError: 503}


def make_app(course: Course, *, url: str) -> FastAPI:
    """Return the service for a course, as an ASGI application; ``url`` is the address that learners see."""
    # Their pages would load scripts from another site: the description itself is at /openapi.json.
    app = FastAPI(title="The Backward Pass: hand in", version=course_lib.__version__, docs_url=None, redoc_url=None)
    app.state.course, app.state.limiter, app.state.url = course, Limiter(), url
    app.include_router(api.router)
    app.middleware("http")(_add_headers)
    app.exception_handler(InputError)(_tell_input_error)
    app.exception_handler(AnyHTTPException)(_tell_http_error)
    return app


async def _add_headers(request: Request, call_next: RequestResponseEndpoint) -> Response:
    response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _tell_input_error(request: Request, error: Exception) -> Response:
    return _tell(request, STATUSES.get(type(error), 422), str(error))


def _tell_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException | AnyHTTPException)
    return _tell(request, error.status_code, str(error.detail), dict(error.headers or {}))


def _tell(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Tell an error: to a program as JSON."""
    return JSONResponse({"error": message}, status, headers)
