"""What memory the machine has left for those it grades side by side, and whether it has killed one for want of it."""

import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_bytes", "kills", "share"]

# Three times what the largest of the reference answers holds, torch included.
FLOOR_BYTES = 1 << 30
SPARED = 4  # one part in so many is left: for the grader, and for what is taken between two looks
GROUPS = Path("/sys/fs/cgroup")
# In version 2 and in version 1 of control groups: where they are, what one may hold, holds, and could do without.
VERSIONS = {
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def share(jobs: int, *, available: int | None = None) -> int:
    """Return the bytes that the machine has for each of so many submissions at once, at least what a right one needs.

    Examples
    --------
    >>> share(3, available=16 << 30) >> 30, share(9, available=4 << 30) >> 30
    (4, 1)
    """
    part = (available_bytes() if available is None else available) * (SPARED - 1) // SPARED // jobs
    return max(part, FLOOR_BYTES)


def available_bytes(proc: Path = Path("/proc"), groups: Path = GROUPS) -> int:
    """Return the bytes of memory that can be had without anything being killed: the machine's, or its container's."""
    try:
        lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux: there is no sandbox to give a share to, either
        return sys.maxsize
    machine = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return min([machine, *_rooms(proc, groups)])


def _rooms(proc: Path, groups: Path) -> Iterator[int]:
    """Yield what is left in each of the control groups that this process is in."""
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for controller in set(controllers.split(",")) & VERSIONS.keys():
            root, most, used, spare = VERSIONS[controller]
            here = groups / root / path.lstrip("/")
            for folder in (here, *here.parents):
                if folder.is_relative_to(groups):
                    yield from _room(folder, most, used, spare)


def _room(folder: Path, most: str, used: str, spare: str) -> Iterator[int]:
    """Yield what is left in one group, if it has a limit; files that were read can be dropped."""
    try:
        limit, held = ((folder / name).read_text(encoding="ascii").strip() for name in (most, used))
        if limit.isdigit() and held.isdigit():
            counts = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
            yield max(0, int(limit) - int(held) + int(counts.get(spare, 0)))
    except (OSError, ValueError):
        return  # another container's, or none at all


def kills(proc: Path = Path("/proc")) -> int:
    """Return how many processes the operating system has killed for want of memory since it started."""
    try:
        lines = (proc / "vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
