"""Resource usage of a sandbox: how many processes, how much memory, how long without a processor.

The operating system's own limits are for one process, or do not hold for root. This holds for everyone: the grader
counts while it waits, and ends the submission that uses too much.
"""

import functools
import os
from pathlib import Path

from course_grader.grading.sandbox.bubblewrap import EMPTY_PLACES

__all__ = ["measure_sandbox", "measure_wait_seconds", "read_pid", "resident_bytes"]

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
FILE_BYTES = 1024  # what the operating system keeps of a file in memory besides what is in it
SOCKETS = Path("/proc/sys/net")


def read_pid(descriptor: int) -> int:
    """Return the process number (PID), in this process's namespace, that a process descriptor stands for."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def measure_sandbox(first: int, *, enough: int) -> tuple[int, int]:
    """Count a sandbox's processes, and the bytes of memory they occupy with their files and sockets.

    Parameters
    ----------
    first : int
        The sandbox's first process, as the grader numbers it; once it is gone, so is everything.
    enough : int
        Bytes up to which a number that is too high will do: what processes share is then counted for each of them,
        where dividing it takes the operating system a hundred times as long.

    Returns
    -------
    processes, memory_bytes : int
        The sandbox's own ``/proc`` lists its processes and no others, however they came about.
    """
    folder = f"/proc/{first}/root/proc"
    try:
        processes = [f"{folder}/{name}" for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - it is quick
    except OSError:
        return 0, 0
    beside = _file_bytes(first) + _socket_bytes(first)
    memory_bytes = sum(map(resident_bytes, processes)) + beside
    return len(processes), memory_bytes if memory_bytes <= enough else sum(map(_memory_bytes, processes)) + beside


def measure_wait_seconds(first: int) -> float:
    """Return how many seconds one of a sandbox's threads was ready to run without a processor: the longest wait.

    Parameters
    ----------
    first : int
        The sandbox's first process, as the grader numbers it.
    """
    longest = 0
    for path in Path(f"/proc/{first}/root/proc").glob("[0-9]*/task/*/schedstat"):
        try:
            _, waited, _ = map(int, path.read_bytes().split())
        except (OSError, ValueError):
            continue  # ended meanwhile, or a machine that does not count
        longest = max(longest, waited)
    return longest / 1e9


def _file_bytes(first: int) -> int:
    """Return the bytes that the files of a sandbox occupy; empty ones count, too."""
    found = 0
    for place in EMPTY_PLACES:
        try:
            status = os.statvfs(f"/proc/{first}/root{place}")
        except OSError:
            continue  # ended meanwhile
        found += (status.f_blocks - status.f_bfree) * status.f_frsize
        found += (status.f_files - status.f_ffree) * FILE_BYTES
    return found


def _socket_bytes(first: int) -> int:
    """Return the bytes that the sockets of a sandbox may hold: what they do hold is not known."""
    every, streams = 0, 0
    for name in ("sockstat", "sockstat6"):
        try:
            lines = Path(f"/proc/{first}/net/{name}").read_text(encoding="ascii").splitlines()
        except OSError:
            continue  # ended meanwhile, or a machine without
        for protocol, _, count, *_ in map(str.split, lines):
            every += int(count) if protocol == "sockets:" else 0
            streams += int(count) if protocol in ("TCP:", "TCP6:") else 0
    most_bytes, stream_bytes = _socket_buffer_bytes()
    return every * most_bytes + streams * stream_bytes


@functools.cache
def _socket_buffer_bytes() -> tuple[int, int]:
    """Return the bytes that may lie in a socket, and those that a TCP one can grow to in addition."""
    usual = {"core/wmem_default": 212_992, "core/rmem_default": 212_992}  # which a container may not be shown
    usual |= {"ipv4/tcp_wmem": 4_194_304, "ipv4/tcp_rmem": 6_291_456}
    out, into, stream_out, stream_into = (_read_setting(SOCKETS / name, usually) for name, usually in usual.items())
    return out + into, stream_out + stream_into


def _read_setting(path: Path, usually: int) -> int:
    """Return the last number of a setting of the operating system."""
    try:
        return int(path.read_text(encoding="ascii").split()[-1])
    except OSError:
        return usually


def resident_bytes(process: str) -> int:
    """Return the memory that a process, given by its folder in ``/proc``, occupies with all that it shares."""
    try:
        with open(f"{process}/statm", "rb") as file:  # noqa: PTH123 - it is quick
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0  # ended meanwhile


def _memory_bytes(process: str) -> int:
    """Return a process's memory, what it shares with others divided among them: a fork is not twice as large."""
    try:
        lines = Path(f"{process}/smaps_rollup").read_bytes().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError):
        return 0
