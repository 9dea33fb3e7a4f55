"""RPC server inside the learner's kernel: look up a name, call it, send back plain data.

Nothing here is trusted by the grader. The learner's code shares this process and may change all of it; it gains the
power to send other values, which it has anyway.
"""

import contextlib
import dis
import functools
import json
import socket
import sys
from io import BufferedRWPair
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from tornado.ioloop import IOLoop

from course_grader.grading.protocol import socket_channel
from course_grader.grading.protocol.codec import CodecError, decode, encode

if TYPE_CHECKING:
    from course_grader.grading.learner_side.minimal_kernel import MinimalKernel

__all__ = ["handle_request", "serve_requests"]

MESSAGE_CHARS = 600


def serve_requests(kernel: "MinimalKernel", folder: Path) -> None:
    """Serve requests that come over the socket channel: between the kernel's cells, and in their thread."""
    connection = socket_channel.connect_to_grader(folder)
    serve = functools.partial(_serve_one, kernel, connection.makefile("rwb"))
    IOLoop.current().add_handler(connection, serve, IOLoop.READ)


def _serve_one(kernel: "MinimalKernel", file: BufferedRWPair, connection: socket.socket, _: int) -> None:
    """Carry out one request and reply to it, and say whether anything was broadcast meanwhile."""
    if not (length := file.read(socket_channel.LENGTH.size)):
        IOLoop.current().remove_handler(connection)
        return
    request = json.loads(file.read(*socket_channel.LENGTH.unpack(length)))
    before = kernel.broadcasts
    reply = handle_request(request, kernel.shell.user_ns) | {"id": request["id"]}
    with contextlib.suppress(Exception):  # the learner's code may have put anything in their place
        sys.stdout.flush()
        sys.stderr.flush()
    reply["silent"] = kernel.broadcasts == before
    if not reply["silent"]:  # what follows no longer belongs to this request
        kernel._publish_status("idle", "shell", parent={"header": {"msg_id": request["id"]}})
    try:
        file.write(socket_channel.pack_message(reply))
    except Exception:  # a lone surrogate, say; without any reply the grader would wait
        file.write(
            socket_channel.pack_message({"id": request["id"], "status": "unsendable", "silent": reply["silent"]})
        )
    file.flush()


def handle_request(request: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Look up or call what was asked for; return ``{"status": ..., ...}`` with the value, or with what went wrong.

    Examples
    --------
    >>> handle_request({"name": "double", "call": encode({"args": [2], "kwargs": {}})}, {"double": lambda x: 2 * x})
    {'status': 'ok', 'value': 4}
    >>> handle_request({"name": "triple"}, {})
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
                reply |= {"reads": reads} if (reads := _find_global_data(function, names)) else {}
            if request.get("arguments"):
                reply["call"] = encode(call)
        return reply | {"value": encode(value)}
    except CodecError as error:
        return {"status": "opaque", "message": _error_text(error)}
    except BaseException as error:  # sys.exit and KeyboardInterrupt are the learner's errors here too
        raised: dict[str, Any] = {"status": "raised", "type": type(error).__name__, "message": _error_text(error)}
        with contextlib.suppress(Exception):  # it is the learner's object
            raised["reads"] = _find_global_data(value, names)
        return raised


def _find_global_data(function: object, names: dict[str, Any]) -> list[str]:
    """Return which of the notebook's variables a function reads as globals."""
    codes = [getattr(function, "__code__", None)]
    used = set()
    for code in codes:
        if isinstance(code, CodeType):
            used |= {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
            codes += code.co_consts
    variables = (name for name in sorted(used & names.keys()) if not name.isupper())
    return [name for name in variables if not (callable(names[name]) or isinstance(names[name], ModuleType))]


def _error_text(error: BaseException) -> str:
    """Return an exception's message without lone surrogates, which the kernel could not send."""
    try:
        text = str(error)
    except Exception:  # it is the learner's class
        text = "it cannot be printed"
    return text[:MESSAGE_CHARS].encode("utf-8", "replace").decode("utf-8")
