"""RPC server inside the learner's kernel: take requests from the grader's socket, and reply with plain data."""

import contextlib
import functools
import json
import socket
import sys
from io import BufferedRWPair
from pathlib import Path
from typing import TYPE_CHECKING

from tornado.ioloop import IOLoop

from course_grader.grading.learner_side.handle_request import handle_request
from course_grader.grading.protocol import socket_channel

if TYPE_CHECKING:
    from course_grader.grading.learner_side.minimal_kernel import MinimalKernel

__all__ = ["serve_requests"]


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
