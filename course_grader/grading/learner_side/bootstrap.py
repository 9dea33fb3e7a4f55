"""Run as a script, the first thing inside the sandbox: set the resource limits, then become the kernel.

There the kernel is a fork of this process, because a second interpreter would cost every submission another start-up,
and the process that bubblewrap would keep beside it is open to all others of the same user. Without a sandbox the
kernel is this very process. One forked from the zygote calls the same functions.
"""

import ctypes
import importlib
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

__all__ = ["OURS", "die_with", "forgo_debugger", "limit", "main", "serve"]

FIRST = 1  # the number of a process namespace's first process
# History would be an SQLite file in the home; frontends and debuggers have no business in a grading run.
OPTIONS = {
    "HistoryManager": {"enabled": False},
    "InteractiveShell": {"colors": "nocolor"},
}
# What both ends of the wire and the kernel need from this package.
OURS = ("course_grader.grading.learner_side.rpc_server", "course_grader.grading.learner_side.minimal_kernel")
DEBUGGER = "debugpy"
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def die_with(parent: int) -> None:
    """Have the operating system kill this process when its parent dies, however it dies."""
    if sys.platform == "linux":
        prctl: Any = ctypes.CDLL(None).prctl
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def limit(rlimits: dict[str, int]) -> None:
    """Lower this process's limits, by the names of :mod:`resource`, and never raise one."""
    for name, value in rlimits.items():
        import resource  # not on every system a learner may have

        hard = resource.getrlimit(getattr(resource, name))[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(getattr(resource, name), (value, value))


def forgo_debugger() -> None:
    """Have ipykernel find no debugger, which it would load and start for every kernel."""
    sys.modules[DEBUGGER] = None  # type: ignore[assignment] # Python's way to say that a module cannot be imported
    importlib.import_module("ipykernel.debugger")
    del sys.modules[DEBUGGER]


def prepare() -> Any:
    """Make what a kernel has before it has a connection, once; return the module that holds it."""
    from traitlets.config import Config

    lean: Any = importlib.import_module("course_grader.grading.learner_side.minimal_kernel")
    lean.prepare(Config(OPTIONS))
    return lean


def serve(connection_file: str) -> None:
    """Be the kernel of this connection file until it ends."""
    from traitlets.config import Config

    lean = prepare()
    silent = logging.getLogger("course_lib.kernel")
    silent.setLevel(logging.CRITICAL + 1)  # else every message is put into words that nobody reads
    app = lean.App.instance(config=Config(OPTIONS), connection_file=connection_file, log=silent)
    app.initialize([])
    importlib.import_module(OURS[0]).listen(app.kernel, Path(connection_file).parent)
    app.start()


def main(arguments: list[str]) -> None:
    """Apply ``arguments[0]``, a JSON object of rlimits, and serve the connection file ``arguments[1]``.

    In a sandbox, end when nobody holds the other end of the pipe with the number ``arguments[2]`` any more; without
    one, ``arguments[2]`` is the number of the process that started this one: end when that ends.
    """
    # The very files the grader runs, wherever it found them, so that both ends of the wire speak alike.
    sys.path.insert(0, str(Path(__file__).parents[3]))
    if os.getpid() == FIRST:
        first = importlib.import_module("course_grader.grading.learner_side.pid1")
        if kernel := first.beget():
            first.mind(kernel, *map(int, arguments[2:]))
            os._exit(0)
        os.closerange(3, 1 << 16)
    else:
        die_with(int(arguments[2]))
    limit(json.loads(arguments[0]))
    forgo_debugger()
    for name in OURS:
        importlib.import_module(name)
    del sys.path[0]
    serve(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
