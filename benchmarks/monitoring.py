"""Measure the cost of watching every gradient: GradientMonitor beside ``get_total_norm`` and a loop of norms.

A network of 100 parameter tensors with 0.2 million elements takes steps with AdamW, in float32, on one thread. In each
round every way of watching has its turn, in random order: ten of its steps, each beside one that nobody watches, the
first of the two drawn by lot. (The monitor measures updates at one measured step in ten.) It is the same network for
all: where memory lies makes more difference between two networks than some ways of watching do. What is called at every
second step is, if anything, colder than what is called at each.

Two things are reported, in CPU time, medians over the rounds:

ratio   of the ten steps to the other ten: all that watching does, to caches too. The turn of nobody says how far to
        trust the rest.
share   of the calls that watch, in the time of the same ten steps less those calls. Whatever else the machine does
        slows down both, so this is the steadier number.

The monitor's one hook, on one parameter, stays there all the time: microseconds a step, which neither shows.

Beside each ratio stands the interval that holds the median with 95% confidence, by the ranks of its order statistics.
``get_total_norm`` and the loop measure only norms; the monitor norm, mean, deviation, largest value and updates.

    python -m benchmarks.monitoring                # some minutes
    python -m benchmarks.monitoring --rounds 10    # a first look; writes nothing
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

from benchmarks.autograd import compute_quartiles, list_versions
from course_lib.monitoring import GradientMonitor

__all__ = ["main"]

LAYERS, WIDTH, BATCH, STEPS, ROUNDS = 50, 64, 64, 10, 100
TARGETS = {"every=1": 1.08, "every=10": 1.015}  # ratio of watched to other steps
GAINS = {"healthy": 2**0.5, "vanishing": 0.5}  # the standard deviation of weights, times sqrt(width)
WAYS = ("nobody", "every=1", "every=10", "get_total_norm", "norms one by one")


def network(gain: float) -> tuple[nn.Module, torch.optim.Optimizer]:
    """Return a perceptron whose gradients keep their size from layer to layer, or vanish, and its optimizer."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [linear := nn.Linear(WIDTH, WIDTH), nn.ReLU()]
        nn.init.normal_(linear.weight, std=gain / WIDTH**0.5)
    model = nn.Sequential(*layers[:-1])
    return model, torch.optim.AdamW(model.parameters(), lr=1e-6)  # so little that the network stays as it is


def watching(way: str, model: nn.Module) -> Callable[[], Any]:
    """Return what is called between ``backward()`` and ``step()``."""
    parameters = list(model.parameters())
    return {
        "every=1": lambda: GradientMonitor(model).step,
        "every=10": lambda: GradientMonitor(model, every=10).step,
        "get_total_norm": lambda: lambda: nn.utils.get_total_norm([p.grad for p in parameters]).item(),
        "norms one by one": lambda: lambda: [p.grad.norm().item() for p in parameters if p.grad is not None],
    }.get(way, lambda: lambda: None)()


def training(gain: float) -> Callable[[str], tuple[float, float, float]]:
    """Return a function that takes ten steps watched in one way, and ten that are not, in pairs.

    It returns CPU seconds a step: of those that are watched, of those that are not, and of watching.
    """
    model, optimizer = network(gain)
    watch = {way: watching(way, model) for way in WAYS}
    x, y = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)

    def step(watched: Callable[[], Any]) -> tuple[float, float]:
        start = time.process_time()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        before = time.process_time()
        watched()
        after = time.process_time()
        optimizer.step()
        return time.process_time() - start, after - before

    def run(way: str) -> tuple[float, float, float]:
        watched, beside = list[tuple[float, float]](), list[tuple[float, float]]()
        for _ in range(STEPS):
            for who, steps in random.sample([(way, watched), ("nobody", beside)], 2):
                steps.append(step(watch[who]))
        seconds, calls = map(statistics.fmean, zip(*watched, strict=True))
        return seconds, statistics.fmean(plain for plain, _ in beside), calls

    return run


def measure(gain: float, rounds: int) -> dict[str, Any]:
    """Compare all ways with steps that nobody watches."""
    run = training(gain)
    for way in TARGETS:
        for _ in range(12):  # a monitor measures updates at each of the first ten steps that it measures
            run(way)
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in random.sample(WAYS, len(WAYS)):
            found[way].append(run(way))
    return {
        way: {
            "ratio": spread([watched / beside for watched, beside, _ in turns]),
            "share": compute_quartiles([calls / (watched - calls) for watched, _, calls in turns]),
            "median": statistics.median(watched for watched, _, _ in turns),
        }
        for way, turns in found.items()
    }


def spread(values: list[float]) -> dict[str, float]:
    """Return the median, the quartiles, and an interval that holds the true median with 95% confidence.

    The number of values below the true median is binomial, so the interval is between the values of two ranks.
    """
    values, half = sorted(values), 0.98 * len(values) ** 0.5  # 1.96 standard deviations of that number
    low, high = max(0, int(len(values) / 2 - half)), min(len(values) - 1, int(len(values) / 2 + half))
    return compute_quartiles(values) | {"from": round(values[low], 4), "to": round(values[high], 4)}


def table(results: dict[str, Any]) -> str:
    """Lay the results out for a terminal."""
    lines = [
        f"{'gradients':11}{'watched by':18}{'ratio':>6}  {'95%':13}{'quartiles':13}{'share':>6}{'a step':>10}  target"
    ]
    for work, ways in results.items():
        for way, result in ways.items():
            r, target = result["ratio"], ""
            if most := TARGETS.get(way):
                met = "met" if r["to"] <= most else "NOT MET" if r["from"] > most else "not shown: more rounds"
                target = f"<= {most}: {met}"
            ranges = f"{r['from']:.3f}-{r['to']:.3f}  {r['low']:.3f}-{r['high']:.3f}"
            numbers = f"{r['median']:6.3f}  {ranges}  {result['share']['median']:6.1%}{result['median'] * 1e3:7.2f} ms"
            lines.append(f"{work:11}{way:18}{numbers}  {target}")
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
            "versions": {
                name: version for name, version in list_versions().items() if name in ("numpy", "torch", "python")
            },
            "tensors": 2 * LAYERS,
            "parameters": LAYERS * (WIDTH * WIDTH + WIDTH),
            "units": "seconds of CPU a step",
            "results": results,
        }
        args.output.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
