"""Where a submission's code runs: a kernel provisioner that starts the kernel inside bubblewrap.

Inside there is no network, no other process, a small empty home in memory, and a read-only view of exactly what the
interpreter needs. Exercises, keys, submissions and grades are not in that view, so there is nothing to be read.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from course_lib.errors import InputError
from course_lib.grading import confine, pids
from course_lib.grading.limits import Limits
from course_lib.grading.seccomp import filter_file
from course_lib.grading.watch import use

__all__ = ["BUBBLEWRAP", "HOME", "NONE", "KernelProvisioner", "require"]

BUBBLEWRAP, NONE = "bubblewrap", "none"
HOME = "/home/learner"
SYSTEM = [
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
INSTALL = "install bubblewrap (Debian: apt-get install bubblewrap), or pass --no-sandbox if you trust every submission"


def environment(home: str) -> dict[str, str]:
    """Return the kernel's whole environment: nothing of the grader's, one thread each, equal hashes every time."""
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


def readable() -> Iterator[str]:
    """Yield the directories the interpreter needs: its own prefix, the virtual environment, this package."""
    yield sys.base_prefix
    yield sys.prefix
    yield str(Path(__file__).resolve().parents[1])


def bubblewrap(*, limits: Limits, sockets: str | None = None) -> list[str]:
    """Return the command line that precedes the one to be confined."""
    command = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
    ]
    command += ["--unshare-user", "--disable-userns", "--hostname", "sandbox", "--proc", "/proc", "--dev", "/dev"]
    for path in SYSTEM:
        linked = Path(path).is_symlink()
        command += ["--symlink", str(Path(path).readlink()), path] if linked else ["--ro-bind-try", path, path]
    for path in ("/tmp", HOME, "/dev/shm"):  # noqa: S108 - mount points inside the sandbox
        command += ["--size", str(limits.home_bytes), "--tmpfs", path]
    for path in dict.fromkeys(readable()):
        command += ["--ro-bind", path, path]
    if sockets is not None:
        command += ["--bind", sockets, sockets]
    for name, value in environment(HOME).items():
        command += ["--setenv", name, value]
    # What is mounted over them stays writable; they themselves are memory without a limit.
    return [*command, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--"]


@functools.cache
def require() -> None:
    """Raise unless a sandbox can be made on this machine: try one, since a kernel may forbid what a package offers.

    Raises
    ------
    InputError
        If bubblewrap is missing or may not create its namespaces.
    """
    if shutil.which("bwrap") is None:
        raise InputError(f"grading runs learners' code in a sandbox, and bwrap was not found: {INSTALL}")
    probe = [*bubblewrap(limits=Limits()), sys.executable, "-I", "-c", "import course_lib"]
    done = subprocess.run(  # noqa: S603 - every word of the command is ours
        probe, capture_output=True, text=True, timeout=60, check=False, env=environment("/")
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"grading runs learners' code in a sandbox, and bwrap failed here ({reason}): {INSTALL}")


class KernelProvisioner(LocalProvisioner):
    """Start :mod:`course_lib.grading.confine` inside the sandbox, or beside it when ``sandbox`` is ``"none"``."""

    sandbox: str
    limits: Limits
    folder: str
    home: str
    process = None
    _inner: int | None = None
    _first = 0
    _group: Path | None = None

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the process in a session of its own, so that Ctrl-C reaches the grader alone."""
        connection_file = cmd[cmd.index("-f") + 1]
        script = [sys.executable, "-I", "-X", "frozen_modules=off", str(confine.__file__)]
        script += [json.dumps(self.limits.rlimits()), connection_file]
        if self.sandbox == BUBBLEWRAP:
            self.process = self._start_inside(script)
        else:
            self.process = self._start(script, cwd=kwargs["cwd"])
        self.pid = self.pgid = self.process.pid
        return self.connection_info

    def _start_inside(self, script: list[str]) -> subprocess.Popen[bytes]:
        """Start in the sandbox and hold on to its first process: when that one is dead, so is every other."""
        reader, writer = os.pipe()
        calls = filter_file()
        try:
            wrapper = bubblewrap(limits=self.limits, sockets=self.folder)
            refused = [] if calls is None else ["--seccomp", str(calls)]
            command = [wrapper[0], "--info-fd", str(writer), *refused, *wrapper[1:], *script]
            self._group = group = pids.make(2 * self.limits.processes)  # threads count here, and the kernel has a dozen
            given = [writer] if calls is None else [writer, calls]
            process = self._start(pids.inside(group, command), cwd="/", pass_fds=given)
        finally:
            os.close(writer)
            if calls is not None:
                os.close(calls)
        with os.fdopen(reader, "rb") as info:
            said = info.read()  # bubblewrap closes its end once it has said all, or has failed
        if found := re.search(rb'"child-pid": (\d+)', said):
            with contextlib.suppress(ProcessLookupError):
                self._inner, self._first = os.pidfd_open(int(found[1])), int(found[1])
        return process

    def _start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - every word of the command is ours
            command,
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **options,
        )
        return process

    def use(self) -> tuple[int, int]:
        """Return how many processes and bytes of memory the sandbox uses; outside one nobody can tell."""
        return use(self._first) if self._inner is not None else (0, 0)

    def end(self) -> None:
        """Kill the kernel and, in a sandbox, everything it started; return when all of it is gone."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if self._inner is not None:
                signal.pidfd_send_signal(self._inner, signal.SIGKILL)
            else:
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process = None
        if self._inner is not None:
            os.close(self._inner)
            self._inner = None
        pids.remove(self._group)
