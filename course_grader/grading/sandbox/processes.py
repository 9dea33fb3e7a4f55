"""Kernel processes: start one in a sandbox or without, poll it, measure its use, kill it with all that it started."""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
from typing import BinaryIO, Protocol

from course_grader.grading.sandbox import cgroups, resource_usage
from course_grader.grading.sandbox.bubblewrap import bubblewrap_command, make_environment
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.sandbox.scratch_dirs import LockedFolder
from course_grader.grading.sandbox.seccomp import open_filter

__all__ = [
    "ForkedFromZygote",
    "KernelProcess",
    "Sandboxed",
    "Unsandboxed",
    "kill_sandbox",
    "open_first_process",
    "start_program",
]


class KernelProcess(Protocol):
    """A kernel's process, however it was started."""

    pid: int

    def poll(self) -> int | None:
        """Return None while it is alive."""

    def measure_use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""

    def measure_wait_seconds(self) -> float:
        """Return how long it was ready to run and had no processor."""

    def end(self) -> None:
        """Kill it, and in a sandbox everything it started; return when all of it is gone."""


def start_program(command: list[str], *, home: str, **options: object) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl-C reaches only the grader."""
    process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload] # noqa: S603 - all words are ours
        command,
        env=make_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )
    return process


def open_first_process(info: BinaryIO) -> int:
    """Open a descriptor of a sandbox's first process, with which all of it ends; return -1 if it is gone.

    Parameters
    ----------
    info : binary file
        Where bubblewrap writes its number, and then closes its end, also if it has failed.
    """
    if found := re.search(rb'"child-pid": (\d+)', info.read()):
        with contextlib.suppress(ProcessLookupError):
            return os.pidfd_open(int(found[1]))
    return -1


def kill_sandbox(process: subprocess.Popen[bytes], first: int) -> None:
    """Kill a sandbox: bubblewrap's ``process``, by killing the ``first`` one inside. Return when all of it is gone.

    If bubblewrap itself is killed while it prepares the sandbox, a process in there waits for it for ever.
    """
    with contextlib.suppress(ProcessLookupError):
        if first >= 0:
            signal.pidfd_send_signal(first, signal.SIGKILL)
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if first >= 0:
        os.close(first)


class Unsandboxed:
    """A process without a sandbox; what it uses is not measured.

    It is told which process started it, and dies with that. What it started itself may stay.
    """

    def __init__(self, script: list[str], *, home: str, cwd: str) -> None:
        self._process = start_program([*script, str(os.getpid())], home=home, cwd=cwd)
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return self._process.poll()

    def measure_use(self, *, enough: int) -> tuple[int, int]:
        """Return zeros: it is not measured."""
        return 0, 0

    def measure_wait_seconds(self) -> float:
        """Return zero: no other submission is graded beside it."""
        return 0.0

    def end(self) -> None:
        """Kill it and what stayed in its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Sandboxed:
    """A process under bubblewrap; when the sandbox's first process is dead, so is every other.

    The first one is given a pipe (its lifeline) and ends when the other end, which is held here, is closed: if the
    grader is killed while bubblewrap starts, bubblewrap never hears of it.
    """

    def __init__(self, script: list[str], *, limits: Limits, folder: str, home: str) -> None:
        reader, writer = os.pipe()
        lifeline, self._lifeline = os.pipe()
        calls = open_filter()
        self._first, self._number = -1, 0
        self._group = cgroups.make_group(2 * limits.processes, memory_bytes=limits.held_bytes)  # with threads
        try:
            wrapper = bubblewrap_command(limits=limits, sockets=folder)
            refused = [] if calls is None else ["--seccomp", str(calls)]
            command = [wrapper[0], "--as-pid-1", "--info-fd", str(writer), *refused, *wrapper[1:], *script]
            command = cgroups.run_in_group(self._group, [*command, str(lifeline)])
            passed = [writer, lifeline] if calls is None else [writer, lifeline, calls]
            self._process = start_program(command, home=home, cwd="/", pass_fds=passed)
        finally:
            os.close(writer)
            os.close(lifeline)
            if calls is not None:
                os.close(calls)
        self.pid = self._process.pid
        with os.fdopen(reader, "rb") as info:
            self._first = open_first_process(info)
        if self._first >= 0:
            self._number = resource_usage.read_pid(self._first)

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return self._process.poll()

    def measure_use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""
        return resource_usage.measure_sandbox(self._number, enough=enough) if self._first >= 0 else (0, 0)

    def measure_wait_seconds(self) -> float:
        """Return how long one of its threads was ready to run and had no processor."""
        return resource_usage.measure_wait_seconds(self._number) if self._first >= 0 else 0.0

    def end(self) -> None:
        """Kill it and everything it started; return when all of it is gone."""
        kill_sandbox(self._process, self._first)
        self._first = -1
        os.close(self._lifeline)
        cgroups.remove_group(self._group)


class ForkedFromZygote:
    """A process forked from the zygote; it is killed through its descriptor, and ends when its connection closes."""

    def __init__(self, descriptor: int, connection: socket.socket, group: LockedFolder | None) -> None:
        self._descriptor, self._connection, self._group = descriptor, connection, group
        self.pid = resource_usage.read_pid(descriptor)

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return -signal.SIGKILL if select.select([self._descriptor], [], [], 0)[0] else None

    def measure_use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""
        return resource_usage.measure_sandbox(self.pid, enough=enough)

    def measure_wait_seconds(self) -> float:
        """Return how long one of its threads was ready to run and had no processor."""
        return resource_usage.measure_wait_seconds(self.pid)

    def end(self) -> None:
        """Kill it and everything it started; return when all of it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        select.select([self._descriptor], [], [])  # readable once it and everything in there is gone
        os.close(self._descriptor)
        self._connection.close()
        cgroups.remove_group(self._group)
