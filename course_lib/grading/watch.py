"""What a sandbox's processes use together, seen from outside.

The operating system's own limits are for one process, or do not hold for root. This holds for everyone: the grader
counts while it waits, and ends the submission that uses too much.
"""

import os
from pathlib import Path

__all__ = ["number", "use"]


def number(descriptor: int) -> int:
    """Return the number, in this process's own namespace, of the process that a descriptor stands for."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))


def use(first: int) -> tuple[int, int]:
    """Return how many processes a sandbox has, and the bytes of memory they occupy.

    Parameters
    ----------
    first : int
        The sandbox's first process, as the grader numbers it; once it is gone, so is everything.

    Returns
    -------
    processes, memory_bytes : int
        The sandbox's own ``/proc`` lists its processes and no others, however they came about.
    """
    folder = Path(f"/proc/{first}/root/proc")
    try:
        processes = [folder / name for name in os.listdir(folder) if name.isdigit()]  # noqa: PTH208 - a path for each is slow
    except OSError:
        return 0, 0
    return len(processes), sum(_memory_bytes(process) for process in processes)


def _memory_bytes(process: Path) -> int:
    """Return a process's memory, what it shares with others divided among them: a fork is not twice as large."""
    try:
        lines = (process / "smaps_rollup").read_bytes().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(b"Pss:"))
    except (OSError, ValueError, IndexError):
        return 0  # ended meanwhile
