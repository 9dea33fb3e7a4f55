"""The grader's side of the zygote: start one for a set of imports, and have it fork kernels.

Where a machine cannot do it, or importing leaves something that must not be forked, there is no zygote and kernels
start cold: slower, and otherwise the same.
"""

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading import pids, zygote
from course_lib.grading.limits import Limits
from course_lib.grading.offspring import READY
from course_lib.grading.sandbox import EMPTY, HOME, bubblewrap, environment, machine_wide, readable
from course_lib.grading.started import Forked
from course_lib.grading.watch import number

__all__ = ["Unavailable", "Zygote", "zygotes"]

START_SECONDS = 120.0
FORK_SECONDS = 30.0
BACKLOG = 64
REASON_BYTES = 4096


class Unavailable(Exception):  # noqa: N818 - a state, answered by starting cold
    """No kernel can be had from a zygote, and why."""


@dataclass(frozen=True)
class Zygote:
    """Where a zygote can be reached; plain data, so that it can go to a worker.

    Parameters
    ----------
    imports : tuple of str
        What it has imported.
    folder : str
        Below it lie the folders of its kernels' sockets.
    address : str
        Its own socket, of which it sees nothing but a descriptor.
    """

    imports: tuple[str, ...]
    folder: str
    address: str

    def fork(self, connection_file: str, *, limits: Limits, folder: str) -> Forked:
        """Return a kernel that serves the connection file.

        Parameters
        ----------
        connection_file : str
            Its path; empty for a trial, which ends once it has been locked in.
        limits : Limits
            What it may use.
        folder : str
            Where its sockets lie; all that is shared with it.

        Raises
        ------
        Unavailable
            If the zygote is gone, or the walls do not stand.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(FORK_SECONDS)
        shared = [folder, *(path for path in readable() if path.startswith(tuple(f"{place}/" for place in EMPTY)))]
        order = {
            "view": {
                "shared": shared,
                "empty": EMPTY,
                "read_only": machine_wide(),
                "size_bytes": limits.home_bytes,
                "home": HOME,
            },
            "rlimits": limits.rlimits(),
            "connection_file": connection_file,
        }
        descriptors: list[int] = []
        try:
            connection.connect(self.address)
            said, descriptors, *_ = socket.recv_fds(connection, REASON_BYTES, 1)
            if not descriptors:
                raise Unavailable(said.decode(errors="replace"))
            return _ordered(connection, descriptors[0], order, limits)
        except OSError as error:
            connection.close()
            raise Unavailable(str(error)) from error
        except Unavailable:
            connection.close()
            raise


def _ordered(connection: socket.socket, descriptor: int, order: dict[str, object], limits: Limits) -> Forked:
    """Put a forked process into its group, tell it what to be, and wait until its walls stand."""
    group = pids.make(2 * limits.processes)
    process = Forked(descriptor, connection, group)
    try:
        pids.move(group, number(descriptor))
        connection.sendall(json.dumps(order).encode())
        if (said := connection.recv(REASON_BYTES)) != READY:
            raise Unavailable(said.decode(errors="replace") or "it died")
    except BaseException:
        process.end()
        raise
    connection.settimeout(None)
    return process


@contextlib.contextmanager
def zygotes(wanted: Iterable[tuple[str, ...]]) -> Iterator[dict[tuple[str, ...], Zygote]]:
    """Start a zygote for each set of imports, yield those that came to be, and end them.

    Parameters
    ----------
    wanted : iterable of tuple of str
        Names of modules.
    """
    with contextlib.ExitStack() as stack:
        ready = {}
        for imports in dict.fromkeys(wanted):
            with contextlib.suppress(Unavailable):
                ready[imports] = stack.enter_context(_zygote(imports))
        yield ready


@contextlib.contextmanager
def _zygote(imports: tuple[str, ...]) -> Iterator[Zygote]:
    # Socket paths hold 107 bytes at most, so not under TMPDIR, which can be long.
    with tempfile.TemporaryDirectory(prefix="z", dir="/tmp") as place:
        (folder := Path(place) / "k").mkdir()
        handle = Zygote(imports, str(folder), f"{place}/z")
        lifeline, held = os.pipe()
        with os.fdopen(held, "wb"):  # what the process lives by
            process = _start(handle, lifeline)
            try:
                _try(handle)
                yield handle
            finally:
                process.kill()
                process.wait()


def _start(handle: Zygote, lifeline: int) -> subprocess.Popen[bytes]:
    """Start the process, to which ``lifeline`` goes, and wait until it says that it is ready."""
    reader, writer = os.pipe()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, os.fdopen(reader, "rb") as said:
        listener.bind(handle.address)
        listener.listen(BACKLOG)
        command = [*bubblewrap(limits=Limits(), sockets=handle.folder, nesting=True), sys.executable, "-I"]
        command += ["-X", "frozen_modules=off", zygote.__file__, str(listener.fileno()), str(writer), str(lifeline)]
        process = subprocess.Popen(  # noqa: S603 - every word of the command is ours
            [*command, json.dumps(handle.imports)],
            env=environment("/"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[listener.fileno(), writer, lifeline],
        )
        os.close(writer)
        os.close(lifeline)
        heard = said.read() if select.select([said], [], [], START_SECONDS)[0] else b"it did not start in time"
    if heard != b"ready":
        process.kill()
        process.wait()
        raise Unavailable(heard.decode(errors="replace") or "it died")
    return process


def _try(handle: Zygote) -> None:
    """Fork once for nothing: what a machine forbids shows here, before anyone is graded."""
    folder = tempfile.mkdtemp(dir=handle.folder)
    try:
        handle.fork("", limits=Limits(), folder=folder).end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
