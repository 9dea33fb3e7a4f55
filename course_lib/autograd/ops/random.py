"""The random numbers of dropout, ``rand`` and ``randn``."""

import numpy as np

__all__ = ["generator", "manual_seed"]

current = np.random.default_rng()


def generator() -> np.random.Generator:
    """Give the generator in use."""
    return current


def manual_seed(seed: int) -> None:
    """Start the random numbers anew. They are NumPy's, not torch's: the same seed gives other numbers there."""
    global current
    current = np.random.default_rng(seed)
