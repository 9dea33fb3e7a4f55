"""A process that has loaded what grading takes, and forks those that grade: by itself each would load for a second.

It is started afresh, runs no thread and holds nothing open, so a fork of it shares no lock and no connection with the
grader. Those it forks die with it, and it dies with the grader: the operating system sees to that.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["COLLECT_AT", "Foreman"]

SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
COLLECT_AT = 20_000  # objects, where Python takes 2,000 at most: little is left behind, and looking for it takes longer
# The rest is what pytest and the reading of a notebook load at the first submission only, each time anew.
LOADED = ("course_lib.grading.submission", "_pytest.helpconfig", "_pytest.skipping", "encodings.utf_8_sig")
Serve = Callable[[Connection], None]


class Foreman:
    """Held by the grader; use it in a ``with`` statement.

    Parameters
    ----------
    serve : callable
        A function of a module, called in each forked process with its end of a pipe. It is loaded in the background,
        with all that grading takes.
    """

    def __init__(self, serve: Serve) -> None:
        # Spawned, because a fork would share this process's threads, locks and open database.
        self._channel, theirs = socket.socketpair()
        arguments = (serve, theirs, os.getpid())
        self._process = get_context("spawn").Process(target=_lead, args=arguments, daemon=False)
        self._process.start()
        theirs.close()

    def fork(self) -> tuple[Connection, int]:
        """Return a pipe to a new process, and a descriptor of that process.

        Raises
        ------
        OSError
            If the foreman is gone.
        """
        ours, theirs = get_context("spawn").Pipe()
        with theirs:
            socket.send_fds(self._channel, [b"+"], [theirs.fileno()])
        _, descriptors, *_ = socket.recv_fds(self._channel, 1, 1)
        if not descriptors:
            ours.close()
            raise OSError("the process that starts those that grade has died")
        return ours, descriptors[0]

    def __enter__(self) -> "Foreman":
        return self

    def __exit__(self, *exc_info: object) -> None:
        """Kill it, however far it has come; whoever it forked and still lives dies with it."""
        self._channel.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def _lead(serve: Serve, channel: socket.socket, parent: int) -> None:
    """Load, and fork for each pipe that comes; a forked process ends when it has served its pipe."""
    _die_with(parent)
    # Ctrl-C is the grader's to answer: it tells its processes, which then clean up. A handler that does nothing is
    # forgotten by programs started from here, where ignoring the signal would be inherited.
    signal.signal(signal.SIGINT, lambda *_: None)
    _load()
    while pipes := socket.recv_fds(channel, 1, 1)[1]:
        _bury()
        here = os.getpid()
        if (child := os.fork()) == 0:
            channel.close()
            _die_with(here)
            gc.enable()
            gc.set_threshold(COLLECT_AT)
            with contextlib.suppress(SystemExit):
                serve(Connection(pipes[0]))
            os._exit(0)  # what is to be cleaned up at the end is the foreman's, and taking all apart takes a while
        os.close(pipes[0])
        descriptor = os.pidfd_open(child)
        socket.send_fds(channel, [b"+"], [descriptor])
        os.close(descriptor)


def _load() -> None:
    """Load what grading takes, and keep the garbage collector from it: looking through it all would copy it all."""
    gc.disable()
    for name in LOADED:
        importlib.import_module(name)
    sys.modules["course_lib.grading.session"].keep_compiled()
    gc.freeze()


def _bury() -> None:
    """Take notice of those that are dead; before that their numbers are not given to others."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue


def _die_with(parent: int) -> None:
    """Have the operating system kill this process when its parent dies, however it dies."""
    if sys.platform == "linux":
        prctl: Any = ctypes.CDLL(None).prctl
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
