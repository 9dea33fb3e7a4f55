"""A process that has loaded what grading takes, and forks those that grade: by itself each would take a second to load.

It is started afresh, runs no thread and holds nothing open, so a fork of it shares no lock and no connection with the
grader. Those it forks die with it, and it dies with the grader: the operating system sees to that. It is not a process
of multiprocessing's, which would run the grader's main program once more, and whatever a script does there.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe

from course_grader.grading.learner_side.bootstrap import die_with
from course_grader.grading.sandbox import scratch_dirs
from course_lib.errors import GradingError

__all__ = ["COLLECT_AT", "Foreman", "lead"]

REASON_BYTES = 4096
COLLECT_AT = 20_000  # objects, where Python takes 2,000 at most: little is left behind, and looking for it takes longer
# The rest is what pytest and the reading of a notebook load at the first submission only, each time anew.
LOADED = (
    "course_grader.grading.grade_one.grade_submission",
    "_pytest.helpconfig",
    "_pytest.skipping",
    "encodings.utf_8_sig",
)
Serve = Callable[[Connection], None]
# Modules are found where the grader finds them, wherever that is.
PROGRAM = f"import json, sys; sys.path[:] = json.loads(sys.argv[1]); from {__name__} import lead; lead()"


class Foreman:
    """Held by the grader; use it in a ``with`` statement.

    Parameters
    ----------
    serve : callable
        A function of a module, called in each forked process with its end of a pipe. It is loaded in the background,
        with all that grading takes.
    """

    def __init__(self, serve: Serve) -> None:
        # No fork, which would share this process's threads, locks and open database.
        self._channel, theirs = socket.socketpair()
        # Those that are killed clean nothing up; what they leave goes with this folder.
        self._temporary = tempfile.TemporaryDirectory(dir=scratch_dirs.own(), ignore_cleanup_errors=True)
        env = os.environ | {"TMPDIR": self._temporary.name}
        with theirs:
            command = [sys.executable, "-c", PROGRAM, json.dumps(sys.path), f"{serve.__module__}:{serve.__qualname__}"]
            command += [str(theirs.fileno()), str(os.getpid())]
            # In a session of its own, because Ctrl-C is the grader's to answer: it tells its processes.
            self._process = subprocess.Popen(  # noqa: S603 - all words are ours
                command, env=env, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True
            )

    def fork(self) -> tuple[Connection, int]:
        """Return a pipe to a new process, and a descriptor of that process.

        Raises
        ------
        GradingError
            If the foreman is gone, or could not load what grading takes.
        """
        ours, theirs = Pipe()
        said, descriptors = b"", list[int]()
        with theirs, contextlib.suppress(BrokenPipeError):  # what it said before it died can be read all the same
            socket.send_fds(self._channel, [b"+"], [theirs.fileno()])
        with contextlib.suppress(ConnectionResetError):
            said, descriptors, *_ = socket.recv_fds(self._channel, REASON_BYTES, 1)
        if not descriptors:
            ours.close()
            why = said.decode(errors="replace") or "something killed it"
            raise GradingError(f"the process that forks those that grade has died: {why}; fix that, or pass -j 1")
        return ours, descriptors[0]

    def __enter__(self) -> "Foreman":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill it, however far it has come; all that it forked and that still live die with it."""
        self._channel.close()
        self._process.kill()
        self._process.wait()
        self._temporary.cleanup()


def lead() -> None:
    """Load, and fork for each pipe that comes; a forked process ends when it has served its pipe.

    Of the command line, the words from the third on are the name of ``serve``, the number of the socket that pipes come
    through, and that of the grader's process.
    """
    name, number, parent = sys.argv[2:]
    die_with(int(parent))
    channel = socket.socket(fileno=int(number))
    try:
        serve: Serve = pkgutil.resolve_name(name)
        _load()
    except Exception as error:  # whatever it is, the grader says it, in one line
        channel.sendall(f"{type(error).__name__}: {error}".encode()[:REASON_BYTES])
        return
    while pipes := socket.recv_fds(channel, 1, 1)[1]:
        _bury()
        here = os.getpid()
        if (child := os.fork()) == 0:
            channel.close()
            die_with(here)
            gc.enable()
            gc.set_threshold(COLLECT_AT)
            with contextlib.suppress(SystemExit):
                serve(Connection(pipes[0]))
            scratch_dirs.leave()
            os._exit(0)  # what else is to be cleaned up is the foreman's, and taking all apart takes a while
        os.close(pipes[0])
        descriptor = os.pidfd_open(child)
        socket.send_fds(channel, [b"+"], [descriptor])
        os.close(descriptor)


def _load() -> None:
    """Load what grading takes, and keep the garbage collector from it: looking through it all would copy it all."""
    gc.disable()
    for name in LOADED:
        importlib.import_module(name)
    sys.modules["course_grader.grading.grade_one.pytest_isolation"].keep_compiled()
    gc.freeze()


def _bury() -> None:
    """Reap those that are dead; until then their numbers are not given to others."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
