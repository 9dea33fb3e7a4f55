"""What a command and everything it starts costs, as the kernel's control groups count it."""

import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "measure"]

# Version 1 mounts each controller in a folder of its own, version 2 has one tree.
V1, V2 = Path("/sys/fs/cgroup/cpuacct"), Path("/sys/fs/cgroup")
SAMPLE_SECONDS = 0.5  # each sample of a class with torch takes 40 ms of the very processors that grade


@dataclass(frozen=True)
class Cost:
    """CPU seconds (user and system) and wall seconds together; the most memory at one time, shared pages once."""

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


def measure(commands: list[list[str]], *, cwd: Path, env: dict[str, str]) -> Cost:
    """Run the commands one after the other and return what they cost together.

    Processes whose parent does not wait for them count too, which is why ``getrusage`` would not do.

    Raises
    ------
    OSError
        If no control group can be made: that takes root.
    RuntimeError
        If a command fails.
    """
    tree = V1 if V1.is_dir() else V2
    group = Path(tempfile.mkdtemp(prefix="bench-", dir=tree))
    peak, done = [0], threading.Event()
    sampler = threading.Thread(target=_sample, args=(group, peak, done))
    start = time.perf_counter()
    try:
        sampler.start()
        for command in commands:
            inside = ["/bin/sh", "-c", 'echo 0 > "$0/cgroup.procs" && exec "$@"', str(group), *command]
            ran = subprocess.run(inside, cwd=cwd, env=env, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise RuntimeError(f"{' '.join(command)} failed:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        wall = time.perf_counter() - start
    finally:
        done.set()
        sampler.join()
        cpu = _cpu_seconds(group)
        _remove(group)
    return Cost(cpu, wall, peak[0])


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


def _sample(group: Path, peak: list[int], done: threading.Event) -> None:
    while not done.wait(SAMPLE_SECONDS):
        numbers = (group / "cgroup.procs").read_text().split()
        peak[0] = max(peak[0], sum(_bytes(number) for number in numbers))


def _bytes(process: str) -> int:
    try:
        with Path(f"/proc/{process}/smaps_rollup").open(encoding="ascii") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
