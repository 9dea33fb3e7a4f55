"""Read what is sent, no more than may be: a notebook as a request's body, or as a form's file."""

from collections.abc import Callable
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import HTTPException, Request
from starlette.datastructures import UploadFile

from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.service.web.edge import too_large

__all__ = ["INTAKE", "read_limited", "read_upload", "take_in"]

T = TypeVar("T")
MOST_FIELDS = 8
INTAKE = 2  # notebooks are taken in at the same time: a class that presses at once leaves threads for those who read


async def read_limited(request: Request) -> bytes:
    """Read a request's body, and stop at the first byte too many."""
    raw = bytearray()
    async for part in request.stream():
        raw += part
        if len(raw) > MAX_BYTES:
            raise too_large()
    return bytes(raw)


async def read_upload(request: Request, file: str) -> tuple[bytes, dict[str, str]]:
    """Read a form with one file in it: return the file's bytes, and the other fields."""
    form: Any = await request.form(max_files=1, max_fields=MOST_FIELDS)
    try:
        upload = form.get(file)
        if not isinstance(upload, UploadFile) or not upload.filename:
            raise HTTPException(422, "expected a file, found none; choose one and send it again")
        raw = await upload.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise too_large()
        return raw, {name: value for name, value in form.items() if isinstance(value, str)}
    finally:
        await form.close()


async def take_in(request: Request, hand_in: Callable[[], T]) -> T:
    """Hand in, when it is this one's turn."""
    return await to_thread.run_sync(hand_in, limiter=request.app.state.intake)
