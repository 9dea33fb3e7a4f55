"""What does torch.compile gain? The same training step, eager and compiled, where there is a C++ compiler.

Three steps, forward and backward: a chain of small element-wise operations on few numbers, where calling costs more
than computing; the same chain on many numbers, where memory does; and a network of large products, where compiling has
little to find. Each step is compiled by Inductor, its results are compared with the eager ones, and then both take
their turns, in random order, on one thread. Reported: medians and quartiles over the rounds, of CPU time; and the
seconds of the first compiled call, which compiles. "eager again" says how far to trust the rest.

    python -m benchmarks.compile                # a few minutes
    python -m benchmarks.compile --rounds 5     # a first look; writes nothing
"""

import argparse
import datetime
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import torch
from torch import nn

from benchmarks.autograd import compute_quartiles, list_versions

__all__ = ["main"]

ROUNDS, SAMPLE_SECONDS, DEPTH = 50, 0.02, 12
Loss = Callable[[], torch.Tensor]


def gelu(x: torch.Tensor) -> torch.Tensor:
    """Compute GELU, by its tanh approximation, in the eight operations of its formula."""
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def chain(x: torch.Tensor) -> torch.Tensor:
    """Scale and bend the numbers a dozen times."""
    for _ in range(DEPTH):
        x = gelu(x) * 1.1
    return x.square().mean()


def network() -> nn.Module:
    """Return a network that spends its time in large products."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512))


def losses() -> dict[str, tuple[Callable[..., torch.Tensor], torch.Tensor]]:
    """Return for each kind of work a function of one tensor, and the tensor."""
    model = network()
    draw = torch.Generator().manual_seed(0)
    return {
        "small": (chain, torch.randn(1_000, generator=draw)),
        "large": (chain, torch.randn(200_000, generator=draw)),
        "products": (lambda x: model(x).square().mean(), torch.randn(256, 512, generator=draw)),
    }


def step(loss: Callable[..., torch.Tensor], x: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Return a function that runs forward and backward, and returns the gradient of the input."""

    def run() -> torch.Tensor:
        leaf = x.detach().requires_grad_()
        loss(leaf).backward()
        assert leaf.grad is not None
        return leaf.grad

    return run


def cpu_seconds(run: Callable[[], Any], repeats: int) -> float:
    """Time one call, as the mean of several."""
    start = time.process_time()
    for _ in range(repeats):
        run()
    return (time.process_time() - start) / repeats


def measure(loss: Callable[..., torch.Tensor], x: torch.Tensor, rounds: int) -> dict[str, Any]:
    """Compile a step, compare it with the eager one, and time both."""
    eager = step(loss, x)
    compiled = step(torch.compile(loss), x)
    start = time.perf_counter()
    gradient = compiled()
    first_call = time.perf_counter() - start
    torch.testing.assert_close(gradient, eager(), rtol=1e-3, atol=1e-6)
    runs = {"eager": eager, "eager again": step(loss, x), "compiled": compiled}
    repeats = {}
    for way, run in runs.items():
        cpu_seconds(run, 3)
        repeats[way] = max(1, round(SAMPLE_SECONDS / max(cpu_seconds(run, 3), 1e-6)))
    seconds: dict[str, list[float]] = {way: [] for way in runs}
    for _ in range(rounds):
        for way in random.sample(list(runs), len(runs)):
            seconds[way].append(cpu_seconds(runs[way], repeats[way]))
    return {"first_call_seconds": round(first_call, 1)} | {
        way: {
            "ratio": compute_quartiles([a / b for a, b in zip(times, seconds["eager"], strict=True)]),
            "median": statistics.median(times),
        }
        for way, times in seconds.items()
    }


def compiler() -> str:
    """Name the C++ compiler that Inductor will use, and its version; stop if there is none."""
    wanted = os.environ.get("CXX", "g++")
    if (path := shutil.which(wanted)) is None:
        sys.exit(f"torch.compile needs a C++ compiler on a CPU, but {wanted} is not installed: nothing was measured.")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


def table(results: dict[str, Any]) -> str:
    """Lay the results out for a terminal."""
    lines = [f"{'work':10}{'way':13}{'ratio to eager':>15}  {'quartiles':14}{'a step':>12}"]
    for work, found in results.items():
        for way in ("eager again", "eager", "compiled"):
            r = found[way]["ratio"]
            times = f"{r['low']:.2f}-{r['high']:.2f}"
            lines.append(f"{work:10}{way:13}{r['median']:15.2f}  {times:14}{found[way]['median'] * 1e3:9.3f} ms")
        lines.append(f"{work:10}the first compiled call took {found['first_call_seconds']} s")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "compile.json")
    args = parser.parse_args(argv)
    used = compiler()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as cache:  # or an earlier run would have compiled it already
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        results = {work: measure(*given, args.rounds) for work, given in losses().items()}
    print(table(results))
    if args.rounds >= ROUNDS:  # a first look does not replace the whole
        found = {name: version for name, version in list_versions().items() if name in ("torch", "python")}
        about = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rounds": args.rounds,
            "versions": found | {"compiler": used, "machine": platform.machine()},
            "units": "seconds of CPU a step",
            "results": results,
        }
        args.output.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
