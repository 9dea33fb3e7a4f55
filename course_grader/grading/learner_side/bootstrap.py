"""Bootstrap of a kernel: set the resource limits, then run it. The script that starts inside the sandbox.

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

__all__ = ["KERNEL_MODULES", "die_with", "disable_debugger", "main", "prepare_shell", "run_kernel", "set_rlimits"]

FIRST_PID = 1  # the number of a process namespace's first process
# History would be an SQLite file in the home; frontends and debuggers have no business in a grading run.
OPTIONS = {
    "HistoryManager": {"enabled": False},
    "InteractiveShell": {"colors": "nocolor"},
}
# What the kernel and its socket channel need from this package.
KERNEL_MODULES = ("course_grader.grading.learner_side.rpc_server", "course_grader.grading.learner_side.minimal_kernel")
DEBUGGER = "debugpy"
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def die_with(parent: int) -> None:
    """Make the operating system kill this process when its parent dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def set_rlimits(rlimits: dict[str, int]) -> None:
    """Lower this process's resource limits, by the names of :mod:`resource`; never raise one."""
    for name, value in rlimits.items():
        import resource  # not on every system a learner may have

        hard = resource.getrlimit(getattr(resource, name))[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(getattr(resource, name), (value, value))


def disable_debugger() -> None:
    """Hide the debugger from ipykernel, which would load and start it for every kernel."""
    sys.modules[DEBUGGER] = None  # type: ignore[assignment] # Python's way to say that a module cannot be imported
    importlib.import_module("ipykernel.debugger")
    del sys.modules[DEBUGGER]


def prepare_shell() -> None:
    """Make the kernel's shell, which needs no connection yet; do nothing if there is one."""
    from traitlets.config import Config

    from course_grader.grading.learner_side import minimal_kernel

    minimal_kernel.make_shell(Config(OPTIONS))


def run_kernel(connection_file: str) -> None:
    """Run the kernel of this connection file until it ends."""
    from traitlets.config import Config

    from course_grader.grading.learner_side import minimal_kernel, rpc_server

    prepare_shell()
    silent = logging.getLogger("course_lib.kernel")
    silent.setLevel(logging.CRITICAL + 1)  # else every message is formatted, for no reader
    app = minimal_kernel.MinimalApp.instance(config=Config(OPTIONS), connection_file=connection_file, log=silent)
    app.initialize([])  # type: ignore[no-untyped-call] # ipykernel has few types
    rpc_server.serve_requests(app.kernel, Path(connection_file).parent)
    app.start()  # type: ignore[no-untyped-call]


def main(arguments: list[str]) -> None:
    """Run a kernel under the limits ``arguments[0]``, a JSON object, with the connection file ``arguments[1]``.

    In a sandbox, end when nobody holds the other end of the pipe with the number ``arguments[2]`` any more; without
    one, ``arguments[2]`` is the number of the process that started this one: end when that ends.
    """
    # The very files the grader runs, wherever it found them, so that both ends of the channel use one protocol.
    sys.path.insert(0, str(Path(__file__).parents[3]))
    if os.getpid() == FIRST_PID:
        from course_grader.grading.learner_side import pid1

        if kernel := pid1.fork_kernel():
            pid1.wait_for_exit(kernel, *map(int, arguments[2:]))
            os._exit(0)
        os.closerange(3, 1 << 16)
    else:
        die_with(int(arguments[2]))
    set_rlimits(json.loads(arguments[0]))
    disable_debugger()
    for name in KERNEL_MODULES:
        importlib.import_module(name)
    sys.path.append(sys.path.pop(0))  # last: the course's library may be found in no other way
    run_kernel(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
