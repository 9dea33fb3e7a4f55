"""What a sandbox's processes use together, seen from outside.

The operating system's own limits are for one process, or do not hold for root. This holds for everyone: the grader
counts while it waits, and ends the submission that uses too much.
"""

import os
from pathlib import Path

__all__ = ["number", "resident_bytes", "use"]

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def number(descriptor: int) -> int:
    """Return the number, in this process's own namespace, of the process that a descriptor stands for."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def use(first: int, *, enough: int) -> tuple[int, int]:
    """Return how many processes a sandbox has, and the bytes of memory they occupy.

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
    memory_bytes = sum(map(resident_bytes, processes))
    return len(processes), memory_bytes if memory_bytes <= enough else sum(map(_memory_bytes, processes))


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
