"""Measure what a watched training loop costs, beside the same loop that nobody watches.

A network trains on one thread, in loops of some seconds: one that nobody watches, one inside ``watch``, and so on in
turn. Times are CPU seconds. A round's ratio is that of a watched loop to the mean of the loops before and after it, so
it has everything in it that the doctor did: its hooks, measuring gradients at the first steps and later, a look into
modules, and torch's profiler, where the loop is long enough for them. The median over the rounds is reported.

    python -m benchmarks.doctor                 # some minutes
    python -m benchmarks.doctor --rounds 3      # a first look; writes nothing
"""

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import torch
from torch import nn

from benchmarks.autograd import compute_quartiles, list_versions
from course_lib.doctor import watch
from course_lib.small_transformer import SmallTransformer, draw_lists, token_loss

__all__ = ["main"]

ROUNDS, SECONDS, TARGET = 11, 3.0, 1.03


def perceptron(width: int, layers: int) -> Callable[[], tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]]:
    """Return a function that makes a perceptron, and what computes its loss."""

    def make() -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
        parts = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]
        x, y = torch.randn(64, width), torch.randint(10, (64,))
        return nn.Sequential(*parts, nn.Linear(width, 10)), lambda m: nn.functional.cross_entropy(m(x), y)

    return make


def transformer() -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    """Return the small Transformer, and what computes its loss."""
    x, y = draw_lists(16)
    return SmallTransformer(), lambda m: token_loss(m(x), y)


WORK = {
    "perceptron 2 x 64": perceptron(64, 2),
    "perceptron 3 x 256": perceptron(256, 3),
    "perceptron 4 x 512": perceptron(512, 4),
    "small Transformer": transformer,
}


def measure(make: Callable[[], Any], rounds: int, seconds: float) -> dict[str, Any]:
    """Compare watched with unwatched steps."""
    torch.manual_seed(0)
    model, loss_of = make()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    ratios, bare_seconds = list[float](), list[float]()

    def run(steps: int) -> float:
        start = time.thread_time()
        for _ in range(steps):
            optimizer.zero_grad()
            loss_of(model).backward()
            optimizer.step()
        return time.thread_time() - start

    steps = max(20, round(20 * seconds / run(20)))
    before = run(steps)
    for _ in range(rounds):
        with watch(model, optimizer) as doctor:
            watched = run(steps)
        after = run(steps)
        ratios.append(2 * watched / (before + after))
        bare_seconds.append(after / steps)
        before = after
    report = doctor.report()
    looks = {"modules": bool(report.modules), "operations": report.bottlenecks is not None}
    return {
        "ratio": compute_quartiles(ratios),
        "step": compute_quartiles(bare_seconds)["median"],
        "steps": steps,
    } | looks


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "doctor.json")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    results = {name: measure(make, args.rounds, args.seconds) for name, make in WORK.items()}
    for name, found in results.items():
        r = found["ratio"]
        print(
            f"{name:22}{r['median']:6.3f}  {r['low']:.3f}-{r['high']:.3f}  {found['step'] * 1e3:7.3f} ms  "
            f"{'met' if r['median'] <= TARGET else 'NOT MET'}"
        )
    if args.rounds >= ROUNDS:  # a first look does not replace the whole
        versions = {name: text for name, text in list_versions().items() if name in ("numpy", "torch", "python")}
        date = datetime.datetime.now(datetime.UTC).date().isoformat()
        about = {"date": date, "rounds": args.rounds, "versions": versions, "units": "seconds of CPU a step"}
        args.output.write_text(json.dumps(about | {"results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
