"""What every engine starts from: the same numbers, so that the same work is done."""

from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["LR", "chain", "dag", "images", "regression", "tower"]

LR = 0.01


def images(batch: int) -> dict[str, Any]:
    """Make an MLP 784-256-128-10, a batch of images, and their labels."""
    rng = np.random.default_rng(0)
    sizes = (784, 256, 128, 10)
    weights = [rng.uniform(-1, 1, (n, m)).astype("f") / np.float32(m**0.5) for m, n in pairwise(sizes)]
    biases = [np.zeros(n, "f") for n in sizes[1:]]
    return {
        "x": rng.standard_normal((batch, 784)).astype("f"),
        "y": rng.integers(0, 10, batch),
        "w": weights,
        "b": biases,
    }


def regression() -> dict[str, Any]:
    """Make an MLP 10-16-16-1 and a batch of 8."""
    rng = np.random.default_rng(0)
    sizes = (10, 16, 16, 1)
    weights = [rng.uniform(-1, 1, (n, m)).astype("f") / np.float32(m**0.5) for m, n in pairwise(sizes)]
    biases = [np.zeros(n, "f") for n in sizes[1:]]
    return {
        "x": rng.standard_normal((8, 10)).astype("f"),
        "y": rng.standard_normal((8, 1)).astype("f"),
        "w": weights,
        "b": biases,
    }


def chain() -> tuple[Any, Any, Any]:
    """Make a vector of 16, a factor and an addend, for a chain that neither overflows nor vanishes."""
    rng = np.random.default_rng(0)
    return rng.standard_normal(16).astype("f"), np.full(16, 0.9999, "f"), (1e-3 * rng.standard_normal(16)).astype("f")


def dag() -> Any:
    """Make a vector of 16 in float64, small enough to be doubled 1,000 times."""
    return np.full(16, 1e-3)


def tower(width: int) -> tuple[Any, list[Any], list[Any]]:
    """Make a batch of ``width`` rows and 20 layers of that width."""
    rng = np.random.default_rng(0)
    weights = [rng.uniform(-1, 1, (width, width)).astype("f") / np.float32(width**0.5) for _ in range(20)]
    return rng.standard_normal((width, width)).astype("f"), weights, [np.zeros(width, "f") for _ in range(20)]
