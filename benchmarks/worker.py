"""One engine in a process of its own: reads a workload per line, and answers each with a line: CPU seconds, or bytes.

Before the first it says why it cannot take part, or null if it can.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["main"]

WARM_UP_SECONDS = 0.05
WINDOW_SECONDS = 0.25


def cpu_seconds(step: Any) -> float:
    """Time one step, as the mean over a window.

    The same steps run untimed before it: other processes have just had the core, and what is measured is the engine,
    not how it finds its caches and the clock.
    """
    steps, start = 0, time.process_time()
    while (spent := time.process_time() - start) < WARM_UP_SECONDS:
        step()
        steps += 1
    repeats = max(1, round(steps * WINDOW_SECONDS / spent))
    start = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - start) / repeats


def memory_bytes(field: str) -> int:
    """Read a figure of this process from the kernel: VmRSS, what it holds, or VmHWM, the most it has held."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(field))) * 1024


def main() -> None:
    """Answer until the input ends."""
    sys.setrecursionlimit(100_000)  # micrograd recurses
    try:
        work = importlib.import_module(f"benchmarks.engines.{sys.argv[1]}").WORK
    except (ImportError, RuntimeError) as error:  # not installed, or installed and without what it needs
        print(json.dumps(str(error).splitlines()[0]), flush=True)
        return
    print(json.dumps(None), flush=True)
    ready: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in work:
            answer: Any = None
        elif name == "tower":
            work[name](16)()  # what a library allocates once, for itself, is not the graph's
            step = work[name]()
            before = memory_bytes("VmRSS")
            kept = step()
            answer = memory_bytes("VmHWM") - before
            del kept
        else:
            if name not in ready:
                step = ready[name] = work[name]()
                step()  # compiles, in some
                step()
            answer = cpu_seconds(ready[name])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
