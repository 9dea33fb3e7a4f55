"""A ceiling on processes that holds for root as well: a control group of the submission's own, where one can be made.

As an ordinary user none can, and none is needed, since there ``RLIMIT_NPROC`` holds. Where the same group can limit
memory, it does: then nobody else's is taken, however fast it goes and in whatever form.
"""

import contextlib
from pathlib import Path

from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.scratch_dirs import Held

__all__ = ["inside", "make", "move", "remove", "sweep"]

# Version 1 of control groups mounts each controller in a folder of its own, version 2 has one tree for all.
TREES = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


def make(tasks: int, *, memory_bytes: int) -> Held | None:
    """Return a new group that holds at most so many processes and threads, or None where that is not allowed.

    Parameters
    ----------
    tasks : int
        How many.
    memory_bytes : int
        What all of them together may hold, with all that the operating system keeps for them, if it can be told to.
    """
    for tree in TREES:
        group = None
        try:
            group = scratch_dirs.hold(tree)
            (group.path / "pids.max").write_text(str(tasks), encoding="ascii")
        except OSError:
            remove(group)
        else:
            _limit_memory(group, memory_bytes)
            return group
    return None


def _limit_memory(group: Held, memory_bytes: int) -> None:
    """Have the group killed as a whole when it wants more, where that can be set: only in version 2, if delegated."""
    for name, value in (("memory.oom.group", 1), ("memory.swap.max", 0), ("memory.max", memory_bytes)):
        with contextlib.suppress(OSError):
            (group.path / name).write_text(str(value), encoding="ascii")


def sweep() -> None:
    """Remove the groups of graders that were killed, which the operating system would keep."""
    for tree in TREES:
        scratch_dirs.sweep(tree, remove=Path.rmdir)


def inside(group: Held | None, command: list[str]) -> list[str]:
    """Return the command that first moves into the group, where all that it starts is born too.

    A shell does it, so that the grader starts a program and need not fork itself, which threads would make unsafe.
    """
    if group is None:
        return command
    return ["/bin/sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(group.path), *command]


def move(group: Held | None, process: int) -> None:
    """Move a process into the group.

    Raises
    ------
    OSError
        If that is refused: a process that no group holds must not go on.
    """
    if group is not None:
        (group.path / "cgroup.procs").write_text(str(process), encoding="ascii")


def remove(group: Held | None) -> None:
    """Remove a group that has no process any more."""
    if group is not None:
        with contextlib.suppress(OSError):
            group.path.rmdir()
        group.let_go()
