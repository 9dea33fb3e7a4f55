"""Control groups (cgroups): a limit on processes, and on memory, that holds for root as well.

One is made for each submission. As an ordinary user none can be, and none is needed, since there ``RLIMIT_NPROC``
holds. Where the same group can limit memory, it does: then no other submission's is taken, however fast it goes and in
whatever form.
"""

import contextlib
from pathlib import Path

from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.scratch_dirs import LockedFolder

__all__ = ["make_group", "move_process", "remove_group", "run_in_group", "sweep_groups"]

# Version 1 of control groups mounts each controller in a folder of its own, version 2 has one tree for all.
TREES = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


def make_group(tasks: int, *, memory_bytes: int) -> LockedFolder | None:
    """Make a group for at most so many processes and threads; return None where that is not allowed.

    Parameters
    ----------
    tasks : int
        How many processes and threads.
    memory_bytes : int
        What all of them together may hold, with all that the operating system keeps for them, if it can be told to.
    """
    for tree in TREES:
        group = None
        try:
            group = scratch_dirs.make_locked_folder(tree)
            (group.path / "pids.max").write_text(str(tasks), encoding="ascii")
        except OSError:
            remove_group(group)
        else:
            _limit_memory(group, memory_bytes)
            return group
    return None


def _limit_memory(group: LockedFolder, memory_bytes: int) -> None:
    """Set the group's memory limit, at which it is killed as a whole; possible in version 2 only, if delegated."""
    for name, value in (("memory.oom.group", 1), ("memory.swap.max", 0), ("memory.max", memory_bytes)):
        with contextlib.suppress(OSError):
            (group.path / name).write_text(str(value), encoding="ascii")


def sweep_groups() -> None:
    """Remove the groups that killed graders have left behind."""
    for tree in TREES:
        scratch_dirs.sweep_unlocked(tree, remove=Path.rmdir)


def run_in_group(group: LockedFolder | None, command: list[str]) -> list[str]:
    """Return the command line that runs a command in the group, with all that it starts.

    A shell does it, so that the grader starts a program and need not fork itself, which threads would make unsafe.
    """
    if group is None:
        return command
    return ["/bin/sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(group.path), *command]


def move_process(group: LockedFolder | None, process: int) -> None:
    """Move a process into the group.

    Raises
    ------
    OSError
        If that is refused: a process that no group holds must not go on.
    """
    if group is not None:
        (group.path / "cgroup.procs").write_text(str(process), encoding="ascii")


def remove_group(group: LockedFolder | None) -> None:
    """Remove a group that has no process any more."""
    if group is not None:
        with contextlib.suppress(OSError):
            group.path.rmdir()
        group.unlock()
