"""Memory that the machine has left for submissions graded side by side, and its kills when it ran out."""

import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_bytes", "count_oom_kills", "share_memory"]

# Three times what the largest of the reference answers holds, torch included.
FLOOR_BYTES = 1 << 30
SPARED = 4  # one part in so many is left: for the grader, and for what is taken between two looks
GROUPS = Path("/sys/fs/cgroup")
# In version 2 and in version 1 of control groups: where they are, what one may hold, holds, and could do without.
VERSIONS = {
    "": ("", "memory.max", "memory.current", "inactive_file"),
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}


def share_memory(jobs: int, *, available: int | None = None) -> int:
    """Divide the available memory among so many submissions at once; each gets at least what a right one needs.

    Examples
    --------
    >>> share_memory(3, available=16 << 30) >> 30, share_memory(9, available=4 << 30) >> 30
    (4, 1)
    """
    part = (available_bytes() if available is None else available) * (SPARED - 1) // SPARED // jobs
    return max(part, FLOOR_BYTES)


def available_bytes(proc: Path = Path("/proc"), groups: Path = GROUPS) -> int:
    """Return the bytes of memory available on the machine, or in its container."""
    try:
        lines = (proc / "meminfo").read_text(encoding="ascii").splitlines()
    except OSError:  # not Linux: there is no sandbox to give a share to, either
        return sys.maxsize
    machine = next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    return min([machine, *_group_headrooms(proc, groups)])


def _group_headrooms(proc: Path, groups: Path) -> Iterator[int]:
    """Yield the memory left in each of the control groups that this process is in."""
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
                    yield from _headroom(folder, most, used, spare)


def _headroom(folder: Path, most: str, used: str, spare: str) -> Iterator[int]:
    """Yield the memory left in one group, if it has a limit; cached files can be dropped."""
    try:
        limit, held = ((folder / name).read_text(encoding="ascii").strip() for name in (most, used))
        if limit.isdigit() and held.isdigit():
            counts = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
            yield max(0, int(limit) - int(held) + int(counts.get(spare, 0)))
    except (OSError, ValueError):
        return  # another container's, or none at all


def count_oom_kills(proc: Path = Path("/proc")) -> int:
    """Count the processes that the operating system has killed for want of memory since it started (``oom_kill``)."""
    try:
        lines = (proc / "vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
