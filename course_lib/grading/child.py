"""The end of the wire inside the learner's kernel: find a name, call it, send back plain data.

Nothing here is trusted by the grader. The learner's code shares this process and may change all of it; it gains the
power to send other values, which it has anyway.
"""

import json
from typing import Any

from course_lib.grading.codec import CodecError, decode, encode

__all__ = ["MIME", "answer", "serve"]

MIME = "application/vnd.course.value+json"
MESSAGE_CHARS = 600


def serve(request: str) -> None:
    """Carry out one request and publish the reply as a display message with a type of its own."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    shell.display_pub.publish(data={MIME: answer(json.loads(request), shell.user_ns)})


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
