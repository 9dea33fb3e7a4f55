"""What holds for every request and every answer: how large a body may be, and headers that keep browsers strict."""

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from course_grader.grading.exercises.submitted_notebook import MAX_BYTES

__all__ = ["HEADERS", "Edge", "too_large"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all, browsers send no origin to compare
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FORM_BYTES = 64 << 10  # what a form is larger than the file in it
DISCARDED = 8  # times the limit are read and dropped, so that a browser gets to see the answer


def too_large() -> HTTPException:
    """Return the refusal of a body that is too large."""
    wrong = f"expected at most {MAX_BYTES >> 20} MiB, found more"
    return HTTPException(413, f"{wrong}; clear the notebook's outputs and hand it in again")


class Edge:
    """Middleware around all of the service."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] == "http":
            await self._app(scope, _limit(receive), send_with_headers)
        else:
            await self._app(scope, receive, send)


def _limit(receive: Receive) -> Receive:
    """Count what comes, keep none of what is too much, and refuse it at its end, or when it is far too much."""
    most, found = MAX_BYTES + FORM_BYTES, 0

    async def receive_limited() -> Message:
        nonlocal found
        message = await receive()
        if message["type"] != "http.request":
            return message
        found += len(message.get("body", b""))
        if found <= most:
            return message
        if not message.get("more_body") or found > DISCARDED * most:
            raise too_large()
        return {"type": "http.request", "body": b"", "more_body": True}

    return receive_limited
