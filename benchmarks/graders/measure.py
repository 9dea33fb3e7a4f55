"""What a command and everything it starts costs, as the kernel's control groups count it."""

import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["cost", "peak"]

# Version 1 mounts each controller in a folder of its own, version 2 has one tree.
V1, V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")
SAMPLE_SECONDS = 0.25


def cost(commands: list[list[str]], *, cwd: Path, env: dict[str, str]) -> tuple[float, float]:
    """Run the commands one after the other and return the CPU seconds (user and system) and the wall seconds they took.

    Processes whose parent does not wait for them count too, which is why ``getrusage`` would not do.

    Raises
    ------
    OSError
        If no control group can be made: that takes root.
    RuntimeError
        If a command fails.
    """
    with _group() as group:
        start = time.perf_counter()
        _run(commands, group, cwd=cwd, env=env)
        wall = time.perf_counter() - start
        return _cpu_seconds(group), wall


def peak(commands: list[list[str]], *, cwd: Path, env: dict[str, str]) -> int:
    """Run the commands likewise, and return the most bytes they held at one time, shared pages counted once.

    Looking takes as much processor time as part of the grading, so what that costs is measured in another run.
    """
    most, done = [0], threading.Event()
    with _group() as group:
        sampler = threading.Thread(target=_sample, args=(group, most, done))
        sampler.start()
        try:
            _run(commands, group, cwd=cwd, env=env)
        finally:
            done.set()
            sampler.join()
    return most[0]


@contextmanager
def _group() -> Iterator[Path]:
    tree = V1 if V1.is_dir() else V2
    group = Path(tempfile.mkdtemp(prefix="bench-", dir=tree))
    try:
        yield group
    finally:
        _remove(group)


def _run(commands: list[list[str]], group: Path, *, cwd: Path, env: dict[str, str]) -> None:
    for command in commands:
        inside = ["/bin/sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(group), *command]
        ran = subprocess.run(inside, cwd=cwd, env=env, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")


def _remove(group: Path) -> None:
    """Remove the group once its last process, killed with its sandbox, is gone."""
    while (group / "cgroup.procs").read_text():
        time.sleep(SAMPLE_SECONDS)
    group.rmdir()


def _cpu_seconds(group: Path) -> float:
    if (v1 := group / "cpuacct.usage").exists():
        return int(v1.read_text()) / 1e9
    lines = (group / "cpu.stat").read_text().splitlines()
    return next(int(line.split()[1]) / 1e6 for line in lines if line.startswith("usage_usec"))


def _sample(group: Path, most: list[int], done: threading.Event) -> None:
    while not done.wait(SAMPLE_SECONDS):
        numbers = (group / "cgroup.procs").read_text().split()
        most[0] = max(most[0], sum(_bytes(number) for number in numbers))


def _bytes(process: str) -> int:
    try:
        with Path(f"/proc/{process}/smaps_rollup").open(encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
