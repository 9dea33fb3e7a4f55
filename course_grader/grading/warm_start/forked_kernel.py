"""Child of the zygote: build its own sandbox, fork the kernel, wait for it.

It is the first process of its namespace, so when it dies everything in there dies with it. It dies when its child has
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

__all__ = ["run_child"]

ORDER_BYTES = 1 << 16
READY = b"ready"


def run_child(connection: socket.socket, *, uid: int, gid: int) -> NoReturn:
    """Receive an order on the connection, carry it out, and never return.

    The order is a JSON object: what :func:`course_grader.grading.sandbox.namespaces.build_view` needs, the ``rlimits``,
    and the ``connection_file`` of the kernel, without which it is a trial and the child ends at once. The numbers are
    those of the user it is to be, who is also the user it was.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        if not (text := connection.recv(ORDER_BYTES)):
            os._exit(1)
        order = json.loads(text)
        namespaces.map_user(0, uid, 0, gid)  # root of its own namespace: a devpts needs one
        namespaces.build_view(**order["view"])
        namespaces.drop_privileges(uid, gid)
        if not (kernel := pid1.fork_kernel()):
            _become_kernel(connection, order)
        pid1.wait_for_exit(kernel, connection.fileno())
    except BaseException as error:
        with contextlib.suppress(OSError):
            connection.sendall(f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _become_kernel(connection: socket.socket, order: dict[str, Any]) -> NoReturn:
    """Turn into the kernel: close all that was the zygote's, the connection last."""
    bootstrap.set_rlimits(order["rlimits"])
    _reseed_generators()
    connection.sendall(READY)
    connection.close()
    os.closerange(3, 1 << 16)
    if order["connection_file"]:
        sys.argv = [bootstrap.__file__, json.dumps(order["rlimits"]), order["connection_file"]]
        bootstrap.run_kernel(order["connection_file"])
    os._exit(0)


def _reseed_generators() -> None:
    """Reseed every random generator that seeded itself when it was imported."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
