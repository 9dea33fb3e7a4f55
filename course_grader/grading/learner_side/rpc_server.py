"""The end of the wire inside the learner's kernel: find a name, call it, send back plain data.

Nothing here is trusted by the grader. The learner's code shares this process and may change all of it; it gains the
power to send other values, which it has anyway.
"""

import contextlib
import dis
import functools
import json
import sys
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tornado.ioloop import IOLoop

from course_grader.grading.protocol import socket_channel
from course_grader.grading.protocol.codec import CodecError, decode, encode

__all__ = ["answer", "listen"]

MESSAGE_CHARS = 600


def listen(kernel: Any, folder: Path) -> None:
    """Have an ipykernel answer what comes over the wire: between its cells, and in their thread."""
    connection = socket_channel.connect(folder)
    serve = functools.partial(_serve, kernel, connection.makefile("rwb"))
    IOLoop.current().add_handler(connection, serve, IOLoop.READ)


def _serve(kernel: Any, file: Any, connection: Any, _: int) -> None:
    """Carry out one request and reply to it, and say whether anything was broadcast meanwhile."""
    if not (head := file.read(socket_channel.HEAD.size)):
        IOLoop.current().remove_handler(connection)
        return
    request = json.loads(file.read(*socket_channel.HEAD.unpack(head)))
    before = kernel.broadcasts
    reply = answer(request, kernel.shell.user_ns) | {"id": request["id"]}
    with contextlib.suppress(Exception):  # the learner's code may have put anything in their place
        sys.stdout.flush()
        sys.stderr.flush()
    reply["silent"] = kernel.broadcasts == before
    if not reply["silent"]:  # what follows no longer belongs to this request
        kernel._publish_status("idle", "shell", parent={"header": {"msg_id": request["id"]}})
    try:
        file.write(socket_channel.pack(reply))
    except Exception:  # a lone surrogate, say; without any reply the grader would wait
        file.write(socket_channel.pack({"id": request["id"], "status": "unsendable", "silent": reply["silent"]}))
    file.flush()


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
            call, function = decode(request["call"]), value
            value = function(*call["args"], **call["kwargs"])
            with contextlib.suppress(Exception):  # it is the learner's object
                reply |= {"reads": reads} if (reads := _data_read(function, names)) else {}
            if request.get("arguments"):
                reply["call"] = encode(call)
        return reply | {"value": encode(value)}
    except CodecError as error:
        return {"status": "opaque", "message": _encodable(error)}
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the learner's errors here too
        raised: dict[str, Any] = {"status": "raised", "type": type(error).__name__, "message": _encodable(error)}
        with contextlib.suppress(Exception):  # it is the learner's object
            raised["reads"] = _data_read(value, names)
        return raised


def _data_read(function: Any, names: dict[str, Any]) -> list[str]:
    """Return which of the notebook's names for data a function reads, besides what it is given."""
    codes = [getattr(function, "__code__", None)]
    used = set()
    for code in codes:
        if isinstance(code, CodeType):
            used |= {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
            codes += code.co_consts
    kept = (name for name in sorted(used & names.keys()) if not name.isupper())
    return [name for name in kept if not (callable(names[name]) or isinstance(names[name], ModuleType))]


def _encodable(error: BaseException) -> str:
    """Return an exception's text without lone surrogates, which the kernel could not send."""
    try:
        text = str(error)
    except Exception:  # it is the learner's class
        text = "it cannot be printed"
    return text[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")
