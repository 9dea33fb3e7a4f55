"""Measure the price of clipping: ``clip_by_global_norm`` beside ``torch.nn.utils.clip_grad_norm_`` and optax's.

Gradients of one shape lie in parameters (torch) or in a list that a compiled function gets (JAX). In each round both
have their turn, in random order, on the same numbers and one thread. ``clipped`` is bound to 0.1% less than the norm,
``within`` to more. Reported is the ratio of ours to the peer's CPU time, its median over the rounds with the
interval that holds the median with 95% confidence.

Of bfloat16, torch rounds the norm and the factor to bfloat16, that is by up to 0.4%; ours are float32's.

    python -m benchmarks.clipping                # some minutes
    python -m benchmarks.clipping --rounds 10    # a first look; writes nothing
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
from typing import Any, TypeAlias

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded
os.environ |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "NPROC": "1"}  # the size of its pool of threads

import jax
import optax
import torch

from benchmarks.autograd import list_versions
from benchmarks.monitoring import spread
from course_lib.clipping import clip_by_global_norm

__all__ = ["main"]

Pair: TypeAlias = tuple[Callable[[], float], Callable[[], float]]

SHAPES, TYPES, BOUNDS = ((100, 64), (1000, 64), (100, 512)), ("float32", "bfloat16", "float64"), ("clipped", "within")
ROUNDS, TARGET, TURN_SECONDS = 60, 1.10, 0.01
FACTORS = {"clipped": 0.999, "within": 1.001}  # of the bound before, which is the norm at first


def torch_pair(count: int, side: int, dtype: str, bound: str) -> Pair:
    """Return our call and torch's on the same gradients, which each call scales down a little, or leaves."""
    parameters = [torch.nn.Parameter(torch.zeros(side, side, dtype=getattr(torch, dtype))) for _ in range(count)]
    for p in parameters:
        p.grad = torch.ones_like(p)
    norm = side * count**0.5

    def timed(clip: Callable[[list[torch.nn.Parameter], float], Any]) -> Callable[[], float]:
        def run() -> float:
            nonlocal norm
            norm *= FACTORS[bound]
            start = time.thread_time()
            clip(parameters, norm)
            return time.thread_time() - start

        return run

    return timed(clip_by_global_norm), timed(torch.nn.utils.clip_grad_norm_)


def jax_pair(count: int, side: int, dtype: str, bound: str) -> Pair:
    """Return our call and optax's, each compiled."""
    grads = [jax.numpy.ones((side, side), dtype) for _ in range(count)]
    most = side * count**0.5 * FACTORS[bound]
    peer: Any = optax.clip_by_global_norm(most)
    ours = jax.jit(lambda g: clip_by_global_norm(g, most, nonfinite="skip")[0])
    theirs = jax.jit(lambda g: peer.update(g, optax.EmptyState())[0])

    def timed(clip: Callable[..., Any]) -> Callable[[], float]:
        def run() -> float:
            start = time.process_time()  # XLA computes on a thread of its own
            jax.block_until_ready(clip(grads))
            return time.process_time() - start

        return run

    return timed(ours), timed(theirs)


def measure(pair: Pair, rounds: int) -> dict[str, Any]:
    """Run both in turn, as often in each as a hundredth of a second takes."""
    ours, theirs = pair
    ours(), theirs()
    repeats = max(1, round(TURN_SECONDS / max(theirs(), 1e-6)))
    ratios, seconds = [], []
    for _ in range(rounds):
        turns = dict.fromkeys(pair, 0.0)
        for way in random.sample(pair, 2):
            turns[way] = statistics.median(way() for _ in range(repeats))
        ratios.append(turns[ours] / turns[theirs])
        seconds.append(turns[theirs])
    return {"ratio": spread(ratios), "peer": statistics.median(seconds)}


def table(results: dict[str, dict[str, Any]]) -> str:
    """Lay the results out for a terminal."""
    lines = [f"{'':44}{'ratio':>6}  {'95%':13}{'the peer':>12}  target"]
    for name, result in results.items():
        r = result["ratio"]
        met = "met" if r["to"] <= TARGET else "NOT MET" if r["from"] > TARGET else "not shown: more rounds"
        times = f"{result['peer'] * 1e6:9.0f} us"
        lines.append(f"{name:44}{r['median']:6.2f}  {r['from']:.2f}-{r['to']:.2f}    {times}  <= {TARGET}: {met}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "clipping.json")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    jax.config.update("jax_enable_x64", True)
    results = {
        f"{peer}: {count} of {side}x{side} {dtype}, {bound}": measure(pair(count, side, dtype, bound), args.rounds)
        for peer, pair in (("torch", torch_pair), ("optax", jax_pair))
        for count, side in SHAPES
        if peer == "torch" or count < 1000  # a compiled function of a thousand arguments is nobody's
        for dtype in TYPES
        for bound in BOUNDS
    }
    print(table(results))
    if args.rounds >= ROUNDS:  # a first look does not replace the whole
        versions = {name: version for name, version in list_versions().items() if name in ("torch", "jax", "python")}
        about = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rounds": args.rounds,
            "versions": versions | {"optax": optax.__version__},
            "units": "seconds of CPU a call",
            "results": results,
        }
        args.output.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
