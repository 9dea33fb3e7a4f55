"""Scratch folders, locked by the process that made them, so that the next one can remove those of killed ones.

A process that is killed cleans nothing up. So each holds a lock on the folder it makes, which the operating system
releases however the process ends, and the next one removes folders without a lock. It is a lock on the folder itself,
because a control group is a folder that holds no files of ours; and systemd-tmpfiles leaves what is locked like this
alone.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "PREFIX",
    "LockedFolder",
    "make_locked_folder",
    "own_folder",
    "remove_own_folders",
    "short_folder",
    "sweep_unlocked",
]

PREFIX = "course-grading-"
# Below this a sandbox has an empty place of its own, in which no other submission's sockets can be seen.
SHORT = "/tmp"  # noqa: S108 - mkdtemp makes a folder there that nobody else may enter
MOST_CHARS = 50
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o700


@dataclass(frozen=True)
class LockedFolder:
    """A folder and the descriptor by which this process has locked it."""

    path: Path
    descriptor: int

    def unlock(self) -> None:
        """Release the lock, so that others may remove the folder if it is still there."""
        os.close(self.descriptor)


# By the place they are in and the process they belong to: a fork has its own.
_own_folders: dict[tuple[str, int], LockedFolder] = {}


def own_folder() -> str:
    """Return this process's folder for temporary files, made on first use and removed when Python ends."""
    return _own_folder_in(tempfile.gettempdir())


def short_folder() -> str:
    """Return such a folder with a short path, for sockets: theirs hold 107 bytes at most, and TMPDIR can be long."""
    usual = tempfile.gettempdir()
    return _own_folder_in(usual if usual.startswith(f"{SHORT}/") and len(usual) <= MOST_CHARS else SHORT)


def _own_folder_in(parent: str) -> str:
    here = parent, os.getpid()
    if here not in _own_folders:
        sweep_unlocked(parent, remove=_remove)
        _own_folders[here] = make_locked_folder(parent)
        atexit.register(remove_own_folders)
    return str(_own_folders[here].path)


def remove_own_folders() -> None:
    """Remove this process's folders now; a process that ends by ``os._exit`` must do so."""
    for here in [here for here in _own_folders if here[1] == os.getpid()]:
        folder = _own_folders.pop(here)
        _remove(folder.path)
        folder.unlock()


def make_locked_folder(parent: str | Path) -> LockedFolder:
    """Make a folder that no other user may enter, locked until it is unlocked or this process ends.

    Raises
    ------
    OSError
        If none can be made there.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # swept before it was locked
            folder = LockedFolder(path, os.open(path, FOLDER))
            with contextlib.suppress(OSError):  # no locks here, so that nobody sweeps here either
                fcntl.flock(folder.descriptor, fcntl.LOCK_SH)
            if path.is_dir():
                return folder
            folder.unlock()


def sweep_unlocked(parent: str | Path, *, remove: Callable[[Path], None]) -> None:
    """Remove folders of :func:`make_locked_folder` and of this user that no process has locked any more.

    Parameters
    ----------
    parent : str or Path
        Where they are.
    remove : callable
        How to remove one; it is locked meanwhile.
    """
    for path in Path(parent).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it is not a folder, or locked, or gone meanwhile
            descriptor = os.open(path, FOLDER)
            try:
                status = os.fstat(descriptor)
                if (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), MODE):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(path)
            finally:
                os.close(descriptor)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)  # it follows no links
