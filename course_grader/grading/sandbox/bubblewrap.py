"""Bubblewrap: the command line that puts a sandbox around a process, and what is visible inside.

Inside there is no network, no other process, a small empty home in memory, and a read-only view of exactly what the
interpreter needs. Exercises, keys, submissions and grades are not in that view, or are covered, so they cannot be
read.
"""

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import course_lib
from course_grader.grading.sandbox.by_hand import DIFFERENTIATING
from course_grader.grading.sandbox.limits import Limits
from course_lib.errors import InputError

__all__ = [
    "ABSENT",
    "BUBBLEWRAP",
    "EMPTY_PLACES",
    "HOME",
    "NONE",
    "WARM",
    "bubblewrap_command",
    "differentiating_packages",
    "find_folders_to_hide",
    "machine_wide_paths",
    "make_environment",
    "readable_folders",
    "require_sandbox",
]

GRADER = Path(__file__).resolve().parents[2]
# Where a wheel brings the public keys, within what the sandbox shows; an editable one brings a copy, too.
KEYS = {GRADER / "exercises", Path(sysconfig.get_path("purelib"), GRADER.name, "exercises")}
# What is mounted over a package that is not to be there, and where packages lie below an interpreter's prefix.
ABSENT = str(GRADER / "grading" / "sandbox" / "absent")
PACKAGES = ("lib*/python3*/*-packages", "pkgs/*/lib/python3*/*-packages", "envs/*/lib/python3*/*-packages")
BUBBLEWRAP, WARM, NONE = "bubblewrap", "bubblewrap, warm", "none"
HOME = "/home/learner"
EMPTY_PLACES = ("/tmp", HOME, "/dev/shm")  # noqa: S108 - mount points inside the sandbox
SYSTEM_PATHS = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/localtime",
]
TRUST = "or pass --no-sandbox if you trust every submission"
INSTALL = f"install bubblewrap (Debian: apt-get install bubblewrap), {TRUST}"
ALLOW = f"allow ordinary users to make namespaces (docs/grading.md says how), {TRUST}"


def make_environment(home: str) -> dict[str, str]:
    """Make the kernel's environment variables: nothing of the grader's, one thread each, fixed hash seed."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
    return threads | {
        "HOME": home,
        "LANG": "C.UTF-8",
        "LOGNAME": "learner",
        "MALLOC_ARENA_MAX": "2",
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TMPDIR": "/tmp",  # noqa: S108 - inside the sandbox this is memory of its own
    }


def readable_folders() -> Iterator[str]:
    """Yield the folders that the interpreter reads: its own prefix, the virtual environment, the course's packages."""
    yield sys.base_prefix
    yield sys.prefix
    yield str(GRADER)
    yield str(Path(course_lib.__file__).resolve().parent)


def find_folders_to_hide(private: Iterable[Path]) -> tuple[str, ...]:
    """Return the paths to cover inside of the sandbox so that these folders are not visible there.

    The sandbox shows whole folders, such as ``/usr`` and the virtual environment, and a course may lie in one. With
    each folder goes the history of its repository.

    Raises
    ------
    InputError
        If one cannot be covered, because what the interpreter needs lies in it.
    """
    shown = _shown_places()
    found = set[Path]()
    for folder in private:
        here = Path(os.path.realpath(folder))
        covers = {cover for place in shown for cover in _visible_paths(here, Path(place))}
        if needed := [place for place in shown for cover in covers if _contains(cover, Path(place))]:
            raise InputError(
                f"expected keys, submissions and grades apart from what learners' code needs, found {needed[0]} in "
                f"{folder}; move one of them out of the other"
            )
        histories = [above / ".git" for above in (here, *here.parents) if (above / ".git").is_dir()] if covers else []
        found |= covers | {cover for git in histories for place in shown for cover in _visible_paths(git, Path(place))}
    return tuple(sorted(str(path) for path in found if not found & set(path.parents)))


@functools.cache
def differentiating_packages() -> tuple[str, ...]:
    """Return the folders of all packages that differentiate, at the paths at which the sandbox shows them."""
    prefixes = {Path(prefix) for prefix in (sys.prefix, sys.base_prefix, "/usr", "/usr/local")}
    places = {place for prefix in prefixes for pattern in PACKAGES for place in prefix.glob(pattern)}
    places |= {*map(Path, sys.path), *(Path(folder).parent for folder in readable_folders())}
    folders = {Path(os.path.realpath(place / name)) for place in places for name in DIFFERENTIATING}
    covers = {cover for folder in folders for place in _shown_places() for cover in _visible_paths(folder, Path(place))}
    return tuple(sorted(map(str, covers)))


def _shown_places() -> list[str]:
    return [*(path for path in SYSTEM_PATHS if not Path(path).is_symlink()), *readable_folders()]


def _visible_paths(folder: Path, place: Path) -> Iterator[Path]:
    """Yield the path at which a folder, if it exists, is visible below a place that the sandbox shows."""
    real = Path(os.path.realpath(place))
    if folder.is_dir() and folder.is_relative_to(real):
        yield place / folder.relative_to(real)


def _contains(folder: Path, place: Path) -> bool:
    """Return whether a place lies in a folder, by its name or by its real path."""
    real = Path(os.path.realpath(folder))
    return place.is_relative_to(folder) or Path(os.path.realpath(place)).is_relative_to(real)


def machine_wide_paths() -> list[str]:
    """Return the paths in ``/proc`` that are the machine's, and that root could write to without capabilities.

    Bubblewrap covers some of it, but not ``/proc/sys``, whose folder is read-only and whose files root may write.
    """
    entries = (path for path in Path("/proc").iterdir() if not path.name.isdigit() and not path.is_symlink())
    return sorted(str(path) for path in entries if path.is_dir() or path.stat().st_mode & 0o222)


def bubblewrap_command(*, limits: Limits, sockets: str | None = None, nesting: bool = False) -> list[str]:
    """Return the bubblewrap command line that precedes the one to be sandboxed.

    Parameters
    ----------
    limits : Limits
        They set the size of each writable place, and what is hidden.
    sockets : str, optional
        The one folder shared with the outside.
    nesting : bool
        Whether the process, which is ours, is to make sandboxes itself; what a learner's code runs in may not.
    """
    command = [shutil.which("bwrap") or "bwrap", "--unshare-all", "--unshare-user", "--die-with-parent"]
    command += ["--new-session", "--cap-drop", "ALL", "--clearenv", "--hostname", "sandbox"]
    command += ["--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETFCAP"] if nesting else ["--disable-userns"]
    command += ["--proc", "/proc", "--dev", "/dev"]
    for path in () if nesting else machine_wide_paths():
        command += ["--ro-bind-try", path, path]
    for path in SYSTEM_PATHS:
        linked = Path(path).is_symlink()
        command += ["--symlink", str(Path(path).readlink()), path] if linked else ["--ro-bind-try", path, path]
    for path in EMPTY_PLACES:
        command += ["--size", str(limits.home_bytes), "--tmpfs", path]
    for path in dict.fromkeys(readable_folders()):
        command += ["--ro-bind", path, path]
    hidden = (*limits.hidden, *(str(path) for path in sorted(KEYS) if path.is_dir()))
    for path in hidden:
        command += ["--tmpfs", path]
    for path in differentiating_packages() if limits.by_hand else ():
        command += ["--ro-bind", ABSENT, path]
    if sockets is not None:
        command += ["--bind", sockets, sockets]
    for name, value in make_environment(HOME).items():
        command += ["--setenv", name, value]
    # What is mounted over them stays writable; they themselves are memory without a limit.
    for path in (*hidden, "/dev", "/"):
        command += ["--remount-ro", path]
    return [*command, "--chdir", HOME, "--"]


@functools.cache
def require_sandbox() -> None:
    """Check that this machine can make a sandbox: try one, since a kernel may forbid what a package offers.

    Raises
    ------
    InputError
        If bubblewrap is missing or may not create its namespaces.
    """
    if shutil.which("bwrap") is None:
        raise InputError(f"grading runs learners' code in a sandbox, and bwrap was not found: {INSTALL}")
    # Found the way the kernel finds it, which is not by being installed.
    code = f"import sys; sys.path.insert(0, {str(GRADER.parent)!r}); import course_grader"
    probe = [*bubblewrap_command(limits=Limits()), sys.executable, "-I", "-c", code]
    done = subprocess.run(  # noqa: S603 - every word of the command is ours
        probe, capture_output=True, text=True, timeout=60, check=False, env=make_environment("/")
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"grading runs learners' code in a sandbox, and bwrap failed here ({reason}): {ALLOW}")
