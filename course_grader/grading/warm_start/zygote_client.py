"""Client of the zygotes: start one for each set of imports, and have it fork kernels.

Where a machine cannot do it, or importing leaves something that must not be forked, there is no zygote and kernels
start cold: slower, and otherwise the same.
"""

import contextlib
import functools
import json
import os
import select
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_grader.grading.sandbox import cgroups, scratch_dirs
from course_grader.grading.sandbox.bubblewrap import (
    ABSENT,
    EMPTY_PLACES,
    HOME,
    bubblewrap_command,
    differentiating_packages,
    machine_wide_paths,
    readable_folders,
)
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.sandbox.processes import ForkedFromZygote, kill_sandbox, open_first_process, start_program
from course_grader.grading.sandbox.resource_usage import read_pid
from course_grader.grading.warm_start import zygote
from course_grader.grading.warm_start.forked_kernel import READY

__all__ = ["Zygote", "ZygoteProcess", "ZygoteUnavailable", "Zygotes"]

START_SECONDS = 120.0
FORK_SECONDS = 30.0
BACKLOG = 64
REASON_BYTES = 4096


class ZygoteUnavailable(Exception):  # noqa: N818 - a state, answered by starting cold
    """A zygote cannot fork a kernel, and why."""


@dataclass(frozen=True)
class Zygote:
    """Address of a zygote; plain data, so that it can be sent to a worker.

    Parameters
    ----------
    folder : str
        Below it lie the folders of its kernels' sockets.
    address : str
        Its own socket, of which it sees nothing but a descriptor.
    """

    folder: str
    address: str

    def fork(self, connection_file: str, *, limits: Limits, folder: str) -> ForkedFromZygote:
        """Fork a kernel that serves the connection file.

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
        ZygoteUnavailable
            If the zygote is gone, or the child cannot build its sandbox.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(FORK_SECONDS)
        order = _make_order(connection_file, limits, folder)
        try:
            connection.connect(self.address)
            reason, descriptors, *_ = socket.recv_fds(connection, REASON_BYTES, 1)
            if not descriptors:
                raise ZygoteUnavailable(reason.decode(errors="replace"))
            return _send_order(connection, descriptors[0], order, limits)
        except OSError as error:
            connection.close()
            raise ZygoteUnavailable(str(error)) from error
        except ZygoteUnavailable:
            connection.close()
            raise


def _make_order(connection_file: str, limits: Limits, folder: str) -> dict[str, object]:
    """Make the order for :func:`course_grader.grading.warm_start.forked_kernel.run_child`."""
    covered = tuple(f"{place}/" for place in EMPTY_PLACES)
    view = {
        "shared": [folder, *(path for path in readable_folders() if path.startswith(covered))],
        "empty": EMPTY_PLACES,
        "read_only": machine_wide_paths(),
        "hidden": limits.hidden,
        "replaced": dict.fromkeys(differentiating_packages(), ABSENT) if limits.by_hand else {},
        "size_bytes": limits.home_bytes,
        "files": limits.home_files,
        "terminals": limits.terminals,
        "home": HOME,
    }
    return {"view": view, "rlimits": limits.rlimits(), "connection_file": connection_file}


def _send_order(
    connection: socket.socket, descriptor: int, order: dict[str, object], limits: Limits
) -> ForkedFromZygote:
    """Move a forked process into a control group, send it its order, and wait until it is in its sandbox."""
    group = cgroups.make_group(2 * limits.processes, memory_bytes=limits.held_bytes)
    process = ForkedFromZygote(descriptor, connection, group)
    try:
        cgroups.move_process(group, read_pid(descriptor))
        connection.sendall(json.dumps(order).encode())
        if (answer := connection.recv(REASON_BYTES)) != READY:
            raise ZygoteUnavailable(answer.decode(errors="replace") or "it died")
    except BaseException:
        process.end()
        raise
    connection.settimeout(None)
    return process


class Zygotes:
    """The zygotes of a class; use it in a ``with`` statement, at whose end they are gone.

    One is started at once: it loads what every kernel needs before it is known what else there is to import.
    """

    def __init__(self) -> None:
        self._started: dict[tuple[str, ...], ZygoteProcess] = {}
        self._spare: ZygoteProcess | None = ZygoteProcess()

    def load(self, imports_of_exercises: Iterable[tuple[str, ...]]) -> None:
        """Start one zygote for each set of imports; to be called once."""
        for imports in dict.fromkeys(imports_of_exercises):
            starting, self._spare = self._spare or ZygoteProcess(), None
            self._started[imports] = starting
            starting.load(imports)
        self._end_spare()

    @functools.cached_property
    def ready(self) -> dict[tuple[str, ...], Zygote]:
        """The zygotes that started, by their imports; waits until each is ready or has failed."""
        found = {}
        for imports, starting in self._started.items():
            with contextlib.suppress(ZygoteUnavailable):
                found[imports] = starting.ready()
        return found

    def __enter__(self) -> "Zygotes":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for starting in self._started.values():
            starting.end()
        self._end_spare()

    def _end_spare(self) -> None:
        if self._spare is not None:
            self._spare.end()
            self._spare = None


class ZygoteProcess:
    """Process of a zygote, from its start to its end."""

    def __init__(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="z", dir=scratch_dirs.short_folder())
        (folder := Path(self._temporary.name) / "k").mkdir()
        self._zygote = Zygote(str(folder), f"{self._temporary.name}/z")
        lifeline, self.lifeline = os.pipe()  # it lives for as long as someone holds the other end
        (status, status_writer), (info, info_writer) = os.pipe(), os.pipe()
        self._status = os.fdopen(status, "rb")
        passed = [lifeline, status_writer, info_writer]
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(self._zygote.address)
                listener.listen(BACKLOG)
                wrapper = bubblewrap_command(limits=Limits(), sockets=str(folder), nesting=True)
                command = [wrapper[0], "--info-fd", str(info_writer), *wrapper[1:], sys.executable, "-I"]
                command += ["-X", "frozen_modules=off", zygote.__file__, str(listener.fileno())]
                command += [str(status_writer), str(lifeline)]
                self.process = start_program(command, home="/", pass_fds=[listener.fileno(), *passed])
        finally:
            for descriptor in passed:
                os.close(descriptor)
        with os.fdopen(info, "rb") as file:
            self._first = open_first_process(file)  # now, while its number cannot have become another's

    def load(self, imports: tuple[str, ...]) -> None:
        """Send it the names of the modules to import."""
        with contextlib.suppress(BrokenPipeError):  # a dead one is noticed when it should be ready
            os.write(self.lifeline, json.dumps(imports).encode() + b"\n")

    def ready(self) -> Zygote:
        """Wait until it is ready, and fork once as a trial: what a machine forbids shows here.

        Raises
        ------
        ZygoteUnavailable
            If it never will be.
        """
        late = not select.select([self._status], [], [], START_SECONDS)[0]
        if (status := b"it did not start in time" if late else self._status.read()) != b"ready":
            raise ZygoteUnavailable(status.decode(errors="replace") or "it died")
        folder = tempfile.mkdtemp(dir=self._zygote.folder)
        try:
            self._zygote.fork("", limits=Limits(), folder=folder).end()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return self._zygote

    def end(self) -> None:
        """Kill it, however far it has come; return when all of it is gone."""
        kill_sandbox(self.process, self._first)
        self._status.close()
        os.close(self.lifeline)
        self._temporary.cleanup()
