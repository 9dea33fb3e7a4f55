"""How fast is course_lib.autograd? Every engine does the same work beside NumPy with the gradients written by hand.

Every engine runs in a process of its own, a new one every four rounds, BLAS on one thread. In each round all engines do
the work, in random order: the same step for 50 ms, which are not counted, and then for 250 ms, whose mean CPU time
per step is one measurement. Each is divided by that of the hand-written NumPy of the same round, so that what the
machine does meanwhile cancels out. Medians and quartiles over the rounds are reported.

What is measured is therefore a step among many, as in training, not one that finds its caches cold. ``tower`` is
measured in bytes: how far a forward and a backward pass raise the peak memory of their process.

    python -m benchmarks.autograd                # all, about ten minutes
    python -m benchmarks.autograd --rounds 5 --engines ours,pytorch --work small_mlp
"""

import argparse
import contextlib
import datetime
import importlib.metadata
import json
import os
import platform
import random
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

ENGINES = ("hand", "ours", "pytorch", "hips", "scalar_micrograd", "jax_eager", "jax_jit", "tiny", "tiny_jit")
WORK = ("mlp_batch_64", "mlp_batch_1", "small_mlp", "chain_1000", "chain_10000", "diamonds", "reuse", "tower")
TARGETS = {
    "mlp_batch_64": 1.06,
    "mlp_batch_1": 1.15,
    "small_mlp": 1.45,
    "chain_1000": 4.2,
    "chain_10000": 5.0,
    "tower": 1.10,
}
TARGETS_MS = {"diamonds": 3.0, "reuse": 4.0}
ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
FRESH = 4  # rounds with the same processes: where a process has its memory makes a difference of some percent
RETURN_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1000000"}  # or what malloc keeps for later would count as in use
PACKAGES = ("numpy", "torch", "autograd", "micrograd", "jax", "tinygrad")


class Engine:
    """A worker process."""

    def __init__(self, name: str, env: dict[str, str]) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", name]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | ONE_THREAD | env
        )
        assert self.process.stdout is not None
        self.why_absent: str | None = json.loads(self.process.stdout.readline())

    def measure(self, work: str) -> float | None:
        """Ask for one measurement; None if the engine cannot do this work."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(work + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        """Let the process end."""
        self.process.communicate()


def find_absent(engines: list[str]) -> dict[str, str]:
    """Say of each engine that cannot take part why: it is not installed, or lacks what it needs."""
    workers = {name: Engine(name, {}) for name in engines}
    close_all(workers)
    return {name: engine.why_absent for name, engine in workers.items() if engine.why_absent is not None}


def measure_rounds(work: str, engines: list[str], rounds: int) -> dict[str, list[float]]:
    """Measure one workload in all engines, in a different order each round."""
    workers: dict[str, Engine] = {}
    times: dict[str, list[float]] = {name: [] for name in engines}
    fresh = 1 if work == "tower" else FRESH  # the most a process has held never falls
    for i in range(min(rounds, 5) if work == "tower" else rounds):
        if i % fresh == 0:
            close_all(workers)
            workers = {name: Engine(name, RETURN_FREED_MEMORY if work == "tower" else {}) for name in engines}
        for name in random.sample(engines, len(engines)):
            value = workers[name].measure(work)
            if value is not None:
                times[name].append(value)
    close_all(workers)
    return {name: values for name, values in times.items() if values}


def close_all(workers: dict[str, Engine]) -> None:
    """End the worker processes."""
    for engine in workers.values():
        engine.close()


def compute_quartiles(values: list[float]) -> dict[str, float]:
    """Summarize: the median and what half of the values lie between."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
    return {"median": round(middle, 4), "low": round(low, 4), "high": round(high, 4)}


def summarize(times: dict[str, list[float]]) -> dict[str, Any]:
    """Pair each measurement with that of the hand-written NumPy of the same round."""
    return {
        name: {
            "ratio": compute_quartiles([a / b for a, b in zip(values, times["hand"], strict=True)]),
            "median": statistics.median(values),
        }
        for name, values in times.items()
    }


def list_versions() -> dict[str, str]:
    """Name the versions of Python and of the packages that are here."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def format_table(results: dict[str, Any]) -> str:
    """Lay the results out for a terminal."""
    lines = [f"{'work':14}{'engine':18}{'ratio to hand':>14}  {'quartiles':16}{'a step':>10}  target"]
    for work, engines in results.items():
        for name, result in engines.items():
            r, unit = result["ratio"], result["median"]
            size = f"{unit / 2**20:.0f} MiB" if work == "tower" else f"{unit * 1e3:.3f} ms"
            target = ""
            if name == "ours":
                met = unit * 1e3 <= TARGETS_MS[work] if work in TARGETS_MS else r["median"] <= TARGETS[work]
                goal = f"{TARGETS_MS[work]} ms" if work in TARGETS_MS else f"{TARGETS[work]}"
                target = f"<= {goal}: {'met' if met else 'NOT MET'}"
            lines.append(
                f"{work:14}{name:18}{r['median']:14.2f}  {r['low']:7.2f}-{r['high']:<7.2f}{size:>11}  {target}"
            )
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--work", default=",".join(WORK))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "autograd.json")
    args = parser.parse_args(argv)
    engines = list(dict.fromkeys(["hand", *args.engines.split(",")]))
    missing = find_absent(engines)
    present = [name for name in engines if name not in missing]
    results = {work: summarize(measure_rounds(work, present, args.rounds)) for work in args.work.split(",")}
    print(format_table(results), *(f"not measured: {name}: {why}" for name, why in missing.items()), sep="\n")
    if args.work == ",".join(WORK) and args.engines == ",".join(ENGINES):  # a part does not replace the whole
        about = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rounds": args.rounds,
            "versions": list_versions(),
            "absent": missing,
        }
        args.output.write_text(
            json.dumps(about | {"units": "seconds of CPU; bytes for tower", "results": results}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
