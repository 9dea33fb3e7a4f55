"""What a process forked from the zygote does: put up its walls, then mind a child that becomes the kernel.

It is the first of its process namespace, so when it dies everything in there dies with it. It dies when its child has
ended, when the connection to the grader closes, and when the grader kills it.
"""

import contextlib
import json
import os
import random
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from course_lib.grading import confine, isolate

__all__ = ["live"]

ORDER_BYTES = 1 << 16
REAP_MILLISECONDS = 1000
READY = b"ready"


def live(connection: socket.socket, *, uid: int, gid: int) -> NoReturn:
    """Wait for an order on the connection, carry it out, and never return.

    The order is a JSON object: what :func:`course_lib.grading.isolate.furnish` needs, the ``rlimits``, and the
    ``connection_file`` of the kernel, without which it is a trial and the child ends at once. The numbers are those
    of the user it is to be, who is also the user it was.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        if not (text := connection.recv(ORDER_BYTES)):
            os._exit(1)
        order = json.loads(text)
        isolate.name_user(0, uid, 0, gid)  # root of its own namespace: a devpts needs one
        isolate.furnish(**order["view"])
        isolate.lock(uid, gid)
        kernel = os.fork()
        if kernel == 0:
            _become_kernel(connection, order)
        isolate.forgo_tracing()
        _mind(kernel, connection)
    except BaseException as error:
        with contextlib.suppress(OSError):
            connection.sendall(f"{type(error).__name__}: {error}".encode())
    os._exit(1)


def _mind(kernel: int, connection: socket.socket) -> None:
    """Return once the kernel is dead or the grader gone; meanwhile bury what other processes leave behind."""
    watch = select.poll()
    watch.register(descriptor := os.pidfd_open(kernel), select.POLLIN)
    watch.register(connection, select.POLLIN | select.POLLHUP)
    while not watch.poll(REAP_MILLISECONDS):
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os.close(descriptor)


def _become_kernel(connection: socket.socket, order: dict[str, Any]) -> NoReturn:
    """Be what a process started afresh would be; the connection is the last thing of the zygote's that is let go."""
    os.setsid()
    confine.limit(order["rlimits"])
    _reseed()
    connection.sendall(READY)
    connection.close()
    os.closerange(3, 1 << 16)
    if order["connection_file"]:
        sys.argv = [confine.__file__, json.dumps(order["rlimits"]), order["connection_file"]]
        confine.serve(order["connection_file"])
    os._exit(0)


def _reseed() -> None:
    """Give every generator that seeded itself when it was imported another seed."""
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        process: Any = sys.modules["multiprocessing.process"]
        process.current_process().authkey = os.urandom(32)
