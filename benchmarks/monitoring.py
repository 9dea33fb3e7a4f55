"""What does watching every gradient at every step cost? GradientMonitor beside the loop that most people write.

A network of 100 parameter tensors with 0.2 million elements takes steps with AdamW, in float32, on one thread. Each way
of watching has a network of its own, from the same seed. In each round every way takes ten steps, in random order (the
monitor measures updates at one step in ten), and its CPU time is divided by that of ten steps without watching in the
same round, so that what the machine does meanwhile falls out of the ratio. Reported are medians and quartiles over the
rounds; "unwatched again" is a second network that nobody watches, and says how far to trust the rest. The loop measures
the norm alone; the monitor norm, mean, deviation, largest value and updates.

    python -m benchmarks.monitoring                # some minutes
    python -m benchmarks.monitoring --rounds 5     # a first look; writes nothing
"""

import argparse
import datetime
import json
import os
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import torch
from torch import nn

from benchmarks.autograd import quartiles, versions
from course_lib.monitoring import GradientMonitor

__all__ = ["main"]

LAYERS, WIDTH, BATCH, STEPS, ROUNDS = 50, 64, 64, 10, 100
TARGET = 1.05
GAINS = {"healthy": 2**0.5, "vanishing": 0.5}  # the standard deviation of weights, times sqrt(width)
WAYS = ("unwatched", "unwatched again", "GradientMonitor", "norms one by one", "norms together")


def network(gain: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a perceptron whose gradients keep their size from layer to layer, or vanish, and its optimizer."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [linear := nn.Linear(WIDTH, WIDTH), nn.ReLU()]
        nn.init.normal_(linear.weight, std=gain / WIDTH**0.5)
    model = nn.Sequential(*layers[:-1])
    return model, torch.optim.AdamW(model.parameters(), lr=1e-5)


def watching(way: str, model: nn.Module) -> Callable[[], Any]:
    """Return what is called between ``backward()`` and ``step()``."""
    parameters = list(model.parameters())
    return {
        "GradientMonitor": lambda: GradientMonitor(model).step,
        "norms one by one": lambda: lambda: [p.grad.norm().item() for p in parameters if p.grad is not None],
        "norms together": lambda: lambda: torch.stack(torch._foreach_norm([p.grad for p in parameters])).tolist(),
    }.get(way, lambda: lambda: None)()


def training(way: str, gain: float) -> Callable[[], float]:
    """Return a function that takes ten steps, and returns their CPU seconds."""
    model, optimizer = network(gain)
    watch = watching(way, model)
    x, y = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def run() -> float:
        start = time.process_time()
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            watch()
            optimizer.step()
        return time.process_time() - start

    return run


def measure(gain: float, rounds: int) -> dict[str, Any]:
    """Return the ratios to training that nobody watches, and the seconds of a step."""
    runs = {way: training(way, gain) for way in WAYS}
    for run in runs.values():
        run(), run(), run()  # the monitor measures updates at each of its first ten steps
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in random.sample(WAYS, len(WAYS)):
            seconds[way].append(runs[way]() / STEPS)
    return {
        way: {
            "ratio": quartiles([a / b for a, b in zip(times, seconds["unwatched"], strict=True)]),
            "median": statistics.median(times),
        }
        for way, times in seconds.items()
    }


def table(results: dict[str, Any]) -> str:
    """Lay the results out for a terminal."""
    lines = [f"{'gradients':11}{'watched by':20}{'ratio':>8}  {'quartiles':14}{'a step':>10}  target"]
    for work, ways in results.items():
        for way, result in ways.items():
            r, target = result["ratio"], ""
            if way == "GradientMonitor" and work == "healthy":
                target = f"<= {TARGET}: {'met' if r['median'] <= TARGET else 'NOT MET'}"
            spread = f"{r['low']:.3f}-{r['high']:.3f}"
            lines.append(f"{work:11}{way:20}{r['median']:8.3f}  {spread:14}{result['median'] * 1e3:7.2f} ms  {target}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "monitoring.json")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    results = {work: measure(gain, args.rounds) for work, gain in GAINS.items()}
    print(table(results))
    if args.rounds >= ROUNDS:  # a first look does not replace the whole
        about = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rounds": args.rounds,
            "versions": {name: version for name, version in versions().items() if name in ("numpy", "torch", "python")},
            "tensors": 2 * LAYERS,
            "parameters": LAYERS * (WIDTH * WIDTH + WIDTH),
            "units": "seconds of CPU a step",
            "results": results,
        }
        args.output.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
