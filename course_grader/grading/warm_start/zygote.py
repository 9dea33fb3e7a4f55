"""Zygote process: import what an exercise needs, once, and fork a kernel for each request. A script inside bubblewrap.

This process never computes, never starts a thread and never sees an answer, a test or a grade; what its children
inherit is modules, and a shell in which nothing was ever run. A process that connects to its socket gets a child behind
walls of its own, and a descriptor of that process.
"""

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

__all__ = ["main", "reason_not_to_fork"]

# What a kernel loads until its first cell has run. Importing them makes no thread, no socket and no event loop.
KERNEL_IMPORTS = (
    "IPython.core.completerlib",
    "IPython.core.debugger",
    "IPython.core.logger",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
    "faulthandler",
    "ipykernel.heartbeat",
    "tornado.platform.asyncio",
    "unicodedata",
)
# What a library imports only when it is used, which takes as long as all the rest of a submission.
LATE_IMPORTS = {
    "numpy": ("numpy.fft", "numpy.linalg", "numpy.random"),
    "torch": ("torch.fx.experimental.symbolic_shapes",),
}
SAMPLE_CELL = "def f(x):\n    return f'{x:.3f}', [0x1F, 2.5e3]  # read once, so that what reads cells is ready to\n"


def main(arguments: list[str]) -> None:
    """Load, and serve on the listening socket ``arguments[0]``.

    It writes ``ready`` to the descriptor ``arguments[1]``, or why it never will be, and closes that. From the pipe
    ``arguments[2]`` it reads one line, a JSON list of modules to import; like a ``Sandboxed`` process, it ends when the
    pipe's other end is closed.
    """
    listener = socket.socket(fileno=int(arguments[0]))
    status, lifeline = map(int, arguments[1:3])
    # The very files the grader runs, wherever it found them.
    sys.path.insert(0, str(Path(__file__).parents[3]))
    from course_grader.grading.sandbox import namespaces
    from course_grader.grading.warm_start import forked_kernel

    gc.disable()
    _load_kernel()
    if not (imports := _read_line(lifeline)):
        return
    _load_exercise(json.loads(imports))
    sys.path.append(sys.path.pop(0))  # last: the course's library may be found in no other way
    with contextlib.suppress(OSError):
        # As root bubblewrap covers parts of its /proc, and below one with covers a child may not mount its own.
        namespaces.mount_proc()
    namespaces.drop_capabilities(but=namespaces.SETFCAP if os.geteuid() == 0 else 0)
    namespaces.allow_tracing(False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()  # or the first collection in a child would copy every page that was shared
    gc.enable()
    reason = reason_not_to_fork({0, 1, 2, listener.fileno(), status, lifeline})
    os.write(status, (reason or "ready").encode())
    os.close(status)
    if not reason:
        run_child = functools.partial(forked_kernel.run_child, uid=os.geteuid(), gid=os.getegid())
        _serve(listener, lifeline, run_child, namespaces.clone_into_namespaces)


def _serve(
    listener: socket.socket,
    lifeline: int,
    run_child: Callable[[socket.socket], NoReturn],
    clone: Callable[[], tuple[int, int]],
) -> None:
    """Clone a child for each connection, and send a descriptor of it, until the lifeline is closed."""
    while listener.fileno() in select.select([listener.fileno(), lifeline], [], [])[0]:
        connection = listener.accept()[0]
        with connection:
            try:
                child, descriptor = clone()
            except OSError as error:
                connection.sendall(str(error).encode())
                continue
            if child == 0:
                listener.close()
                os.close(lifeline)
                run_child(connection)
            with contextlib.suppress(OSError):  # whoever asked is gone: so is, in a moment, the child
                socket.send_fds(connection, [b"+"], [descriptor])
            os.close(descriptor)


def _read_line(pipe: int) -> bytes:
    """Read up to the end of the line; return nothing if the pipe ends before."""
    read = b""
    while not read.endswith(b"\n"):
        if not (more := os.read(pipe, select.PIPE_BUF)):
            return b""
        read += more
    return read


def _load_kernel() -> None:
    """Import what every kernel needs."""
    from course_grader.grading.learner_side import bootstrap

    bootstrap.disable_debugger()
    _import_all([*bootstrap.KERNEL_MODULES, *KERNEL_IMPORTS])
    from IPython.core.inputtransformer2 import TransformerManager

    manager = TransformerManager()  # type: ignore[no-untyped-call] # IPython has few types
    manager.transform_cell(SAMPLE_CELL)  # compiles some twenty regular expressions


def _load_exercise(imports: list[str]) -> None:
    """Import what the exercise imports, and make the shell, which needs no connection."""
    from course_grader.grading.learner_side import bootstrap

    later = (name for first in {name.split(".")[0] for name in imports} for name in LATE_IMPORTS.get(first, ()))
    _import_all([*imports, *later])
    bootstrap.prepare_shell()


def _import_all(names: list[str]) -> None:
    for name in names:
        # A module that cannot be imported is reported to the learner by the cell that imports it.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def reason_not_to_fork(descriptors: set[int]) -> str:
    """Return why this process must not be forked (what a fork would lack, or share), or an empty string.

    Parameters
    ----------
    descriptors : set of int
        What may be open.
    """
    processes = Path("/proc/self")
    if (threads := len(list((processes / "task").iterdir()))) > 1:
        return f"importing left {threads} threads running"
    maps = (processes / "maps").read_text(encoding="utf-8", errors="replace").splitlines()
    if shared := [line for line in maps if line.split()[1][1:4:2] == "ws"]:
        return f"importing left memory that children would share: {shared[0]}"
    opened = {int(path.name) for path in (processes / "fd").iterdir()}
    if strange := [number for number in opened - descriptors if _is_open(number)]:
        return f"importing left a file open: {(processes / 'fd' / str(strange[0])).readlink()}"
    return ""


def _is_open(descriptor: int) -> bool:
    """Return whether a descriptor is open: the one that the list was read through was on the list."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
