"""What a process forked from the zygote does: put up its walls, then mind a child that becomes the kernel.

It is the first of its process namespace, so when it dies everything in there dies with it. It dies when its child has
ended, when the connection to the grader closes, and when the grader kills it.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sys
from typing import Any, NoReturn

from course_grader.grading.learner_side import bootstrap, pid1
from course_grader.grading.sandbox import namespaces

__all__ = ["live"]

ORDER_BYTES = 1 << 16
READY = b"ready"


def live(connection: socket.socket, *, uid: int, gid: int) -> NoReturn:
    """Wait for an order on the connection, carry it out, and never return.

    The order is a JSON object: what :func:`course_grader.grading.sandbox.namespaces.furnish` needs, the ``rlimits``,
    and the ``connection_file`` of the kernel, without which it is a trial and the child ends at once. The numbers are
    those of the user it is to be, who is also the user it was.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        if not (text := connection.recv(ORDER_BYTES)):
            os._exit(1)
        order = json.loads(text)
        namespaces.name_user(0, uid, 0, gid)  # root of its own namespace: a devpts needs one
        namespaces.furnish(**order["view"])
        namespaces.lock(uid, gid)
        if not (kernel := pid1.beget()):
            _become_kernel(connection, order)
        pid1.mind(kernel, connection.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            connection.sendall(f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _become_kernel(connection: socket.socket, order: dict[str, Any]) -> NoReturn:
    """Be what a process started afresh would be; the connection is the last thing of the zygote's that is let go."""
    bootstrap.limit(order["rlimits"])
    _reseed()
    connection.sendall(READY)
    connection.close()
    os.closerange(3, 1 << 16)
    if order["connection_file"]:
        sys.argv = [bootstrap.__file__, json.dumps(order["rlimits"]), order["connection_file"]]
        bootstrap.serve(order["connection_file"])
    os._exit(0)


def _reseed() -> None:
    """Give every generator that seeded itself when it was imported another seed."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        process: Any = sys.modules["multiprocessing.process"]
        process.current_process().authkey = os.urandom(32)
