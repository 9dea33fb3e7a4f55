"""The random numbers of dropout, ``rand`` and ``randn``."""

import numpy as np

__all__ = ["generator", "manual_seed"]

generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """Seed the random numbers. They are NumPy's, not torch's: the same seed yields different numbers there."""
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
