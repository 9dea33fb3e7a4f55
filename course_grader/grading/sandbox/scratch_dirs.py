"""A place for what is temporary, of which nothing stays: nothing of this process, and nothing of one that was killed.

A process that is killed cleans nothing up. So each holds a lock on the folder it makes, which the operating system
releases however the process ends, and the next one removes what nobody holds. It is a lock on the folder itself,
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

__all__ = ["PREFIX", "Held", "hold", "leave", "own", "short", "sweep"]

PREFIX = "course-grading-"
# Below this a sandbox has an empty place of its own, in which no other submission's sockets can be seen.
SHORT = "/tmp"  # noqa: S108 - mkdtemp makes a folder there that nobody else may enter
MOST_CHARS = 50
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MODE = 0o700


@dataclass(frozen=True)
class Held:
    """A folder of this process, and the descriptor by which it is locked."""

    path: Path
    descriptor: int

    def let_go(self) -> None:
        """Let others remove it, if it is still there."""
        os.close(self.descriptor)


# By the place they are in and the process they belong to: a fork has its own.
_own: dict[tuple[str, int], Held] = {}


def own() -> str:
    """Return the one folder of this process for temporary files; it is removed when Python ends."""
    return _own_in(tempfile.gettempdir())


def short() -> str:
    """Return the same with a short path, for sockets: theirs hold 107 bytes at most, and TMPDIR can be long."""
    usual = tempfile.gettempdir()
    return _own_in(usual if usual.startswith(f"{SHORT}/") and len(usual) <= MOST_CHARS else SHORT)


def _own_in(parent: str) -> str:
    here = parent, os.getpid()
    if here not in _own:
        sweep(parent, remove=_remove)
        _own[here] = hold(parent)
        atexit.register(leave)
    return str(_own[here].path)


def leave() -> None:
    """Remove this process's own folders now; one that ends by ``os._exit`` must do so."""
    for here in [here for here in _own if here[1] == os.getpid()]:
        held = _own.pop(here)
        _remove(held.path)
        held.let_go()


def hold(parent: str | Path) -> Held:
    """Make a folder that nobody else may enter, and hold it until it is let go or this process ends.

    Raises
    ------
    OSError
        If none can be made there.
    """
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # swept before it was held
            held = Held(path, os.open(path, FOLDER))
            with contextlib.suppress(OSError):  # no locks here, so that nobody sweeps here either
                fcntl.flock(held.descriptor, fcntl.LOCK_SH)
            if path.is_dir():
                return held
            held.let_go()


def sweep(parent: str | Path, *, remove: Callable[[Path], None]) -> None:
    """Remove the folders that :func:`hold` made for this user, and that nobody holds any more.

    Parameters
    ----------
    parent : str or Path
        Where they are.
    remove : callable
        How to remove one; nobody can come to hold it meanwhile.
    """
    for path in Path(parent).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it is not a folder, or held, or gone meanwhile
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
