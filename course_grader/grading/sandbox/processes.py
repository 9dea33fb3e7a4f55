"""A kernel's process as the grader holds it: is it alive, what does it use, end it with all that it started."""

import contextlib
import os
import re
import select
import signal
import socket
import subprocess
from typing import BinaryIO, Protocol

from course_grader.grading.sandbox import cgroups, resource_usage
from course_grader.grading.sandbox.bubblewrap import bubblewrap, environment
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.sandbox.scratch_dirs import Held
from course_grader.grading.sandbox.seccomp import filter_file

__all__ = ["Beside", "Forked", "Inside", "Started", "end_sandbox", "first_of", "start"]


class Started(Protocol):
    """What a kernel's process can be asked."""

    pid: int

    def poll(self) -> int | None:
        """Return None while it is alive."""

    def use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""

    def waited_seconds(self) -> float:
        """Return how long it was ready to run and had no processor."""

    def end(self) -> None:
        """Kill it, and in a sandbox everything it started; return when all of it is gone."""


def start(command: list[str], *, home: str, **options: object) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl-C reaches only the grader."""
    process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload] # noqa: S603 - all words are ours
        command,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )
    return process


def first_of(info: BinaryIO) -> int:
    """Return a descriptor of a sandbox's first process, with which all of it ends, or -1 if it is gone.

    Parameters
    ----------
    info : binary file
        Where bubblewrap says what that is: it closes its end once it has, or has failed.
    """
    if found := re.search(rb'"child-pid": (\d+)', info.read()):
        with contextlib.suppress(ProcessLookupError):
            return os.pidfd_open(int(found[1]))
    return -1


def end_sandbox(process: subprocess.Popen[bytes], first: int) -> None:
    """Kill bubblewrap's ``process`` by killing the ``first`` one inside, and return when all of it is gone.

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


class Beside:
    """A process without a sandbox; nobody can tell what those it starts use.

    It is told which process started it, and dies with that. What it started itself may stay.
    """

    def __init__(self, script: list[str], *, home: str, cwd: str) -> None:
        self._process = start([*script, str(os.getpid())], home=home, cwd=cwd)
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return self._process.poll()

    def use(self, *, enough: int) -> tuple[int, int]:
        """Return zeros: nobody can tell."""
        return 0, 0

    def waited_seconds(self) -> float:
        """Return zero: nobody else is graded beside it."""
        return 0.0

    def end(self) -> None:
        """Kill it and what stayed in its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


class Inside:
    """A process under bubblewrap, held by the sandbox's first one: when that is dead, so is every other.

    The first one is given a pipe whose other end is held here, and ends when nobody holds that any more: if the
    grader is killed while bubblewrap starts, bubblewrap never hears of it.
    """

    def __init__(self, script: list[str], *, limits: Limits, folder: str, home: str) -> None:
        reader, writer = os.pipe()
        lifeline, self._lifeline = os.pipe()
        calls = filter_file()
        self._first, self._number = -1, 0
        self._group = cgroups.make(2 * limits.processes, memory_bytes=limits.held_bytes)  # threads count here, too
        try:
            wrapper = bubblewrap(limits=limits, sockets=folder)
            refused = [] if calls is None else ["--seccomp", str(calls)]
            command = [wrapper[0], "--as-pid-1", "--info-fd", str(writer), *refused, *wrapper[1:], *script]
            command.append(str(lifeline))
            given = [writer, lifeline] if calls is None else [writer, lifeline, calls]
            self._process = start(cgroups.inside(self._group, command), home=home, cwd="/", pass_fds=given)
        finally:
            os.close(writer)
            os.close(lifeline)
            if calls is not None:
                os.close(calls)
        self.pid = self._process.pid
        with os.fdopen(reader, "rb") as info:
            self._first = first_of(info)
        if self._first >= 0:
            self._number = resource_usage.number(self._first)

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return self._process.poll()

    def use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""
        return resource_usage.use(self._number, enough=enough) if self._first >= 0 else (0, 0)

    def waited_seconds(self) -> float:
        """Return how long one of its threads was ready to run and had no processor."""
        return resource_usage.waited_seconds(self._number) if self._first >= 0 else 0.0

    def end(self) -> None:
        """Kill it and everything it started; return when all of it is gone."""
        end_sandbox(self._process, self._first)
        self._first = -1
        os.close(self._lifeline)
        cgroups.remove(self._group)


class Forked:
    """A process forked from the zygote, held by its descriptor and by a connection that ends it when closed."""

    def __init__(self, descriptor: int, connection: socket.socket, group: Held | None) -> None:
        self._descriptor, self._connection, self._group = descriptor, connection, group
        self.pid = resource_usage.number(descriptor)

    def poll(self) -> int | None:
        """Return None while it is alive."""
        return -signal.SIGKILL if select.select([self._descriptor], [], [], 0)[0] else None

    def use(self, *, enough: int) -> tuple[int, int]:
        """Return how many processes there are and the bytes of memory they occupy, at most if ``enough``."""
        return resource_usage.use(self.pid, enough=enough)

    def waited_seconds(self) -> float:
        """Return how long one of its threads was ready to run and had no processor."""
        return resource_usage.waited_seconds(self.pid)

    def end(self) -> None:
        """Kill it and everything it started; return when all of it is gone."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        select.select([self._descriptor], [], [])  # readable once it and everything in there is gone
        os.close(self._descriptor)
        self._connection.close()
        cgroups.remove(self._group)
