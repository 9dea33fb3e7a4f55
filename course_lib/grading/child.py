"""The end of the wire inside the learner's kernel: find a name, call it, send back plain data.

Nothing here is trusted by the grader. The learner's code shares this process and may change all of it; it gains the
power to send other values, which it has anyway.
"""

import contextlib
import functools
import sys
from typing import Any

from course_lib.grading.codec import CodecError, decode, encode

__all__ = ["REQUEST", "answer", "listen"]

# A type of message of our own on the shell channel: running a line of code for each call would cost several times more.
REQUEST, REPLY = "course_request", "course_reply"
MESSAGE_CHARS = 600


def listen(kernel: Any) -> None:
    """Have an ipykernel answer requests."""
    kernel.shell_handlers[REQUEST] = functools.partial(_serve, kernel)


def _serve(kernel: Any, stream: Any, idents: Any, request: dict[str, Any]) -> None:
    """Carry out one request and reply to it, and say whether anything was broadcast meanwhile."""
    before = kernel.broadcasts
    reply = answer(request["content"], kernel.shell.user_ns)
    with contextlib.suppress(Exception):  # the learner's code may have put anything in their place
        sys.stdout.flush()
        sys.stderr.flush()
    reply["silent"] = kernel.silent = kernel.broadcasts == before
    try:
        kernel.session.send(stream, REPLY, reply, request, ident=idents)
    except Exception:  # half a character, say; without any reply the grader would wait
        kernel.session.send(stream, REPLY, {"status": "unsendable"}, request, ident=idents)


def answer(request: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return the reply: ``{"status": ..., ...}`` with the value, or with what went wrong.

    Examples
    --------
    >>> answer({"name": "double", "call": encode({"args": [2], "kwargs": {}})}, {"double": lambda x: 2 * x})
    {'status': 'ok', 'value': 4}
    >>> answer({"name": "triple"}, {})
    {'status': 'missing'}
    """
    if request["name"] not in names:
        return {"status": "missing"}
    value = names[request["name"]]
    reply: dict[str, Any] = {"status": "ok"}
    try:
        if "call" in request:
            if not callable(value):
                return {"status": "uncallable", "type": type(value).__name__}
            call = decode(request["call"])
            value = value(*call["args"], **call["kwargs"])
            if request.get("arguments"):
                reply["call"] = encode(call)
        return reply | {"value": encode(value)}
    except CodecError as error:
        return {"status": "opaque", "message": _encodable(error)}
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the learner's errors here too
        return {"status": "raised", "type": type(error).__name__, "message": _encodable(error)}


def _encodable(error: BaseException) -> str:
    """Return an exception's text without half characters, which the kernel could not send."""
    return str(error)[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")
