"""Load mini-batches of NumPy arrays, without torch's DataLoader."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from course_lib.errors import InputError
from course_lib.training.argument_checks import check_count
from course_lib.types import Array

__all__ = ["ArrayLoader"]


class ArrayLoader:
    """Cut arrays into batches along their first dimension; each pass, if shuffled, in an order of its own.

    Parameters
    ----------
    *arrays : array
        NumPy arrays, or what NumPy turns into arrays, of equal length: usually inputs ``(n, ...)`` and targets
        ``(n, ...)``.
    batch_size : int
        Samples in a batch. The last batch is smaller if this does not divide ``n``.
    shuffle : bool
        Draw a new order for each pass.
    seed : int
        What the orders depend on, together with the number of the pass: a new loader with the same seed repeats them.
        At least 0.

    Raises
    ------
    InputError
        If there are no arrays, NumPy cannot hold one, their lengths differ, ``batch_size`` is not a positive integer,
        or ``seed`` is not an integer of 0 or more.

    Examples
    --------
    >>> loader = ArrayLoader(np.arange(5.0), np.arange(5), batch_size=2)
    >>> [y.tolist() for x, y in loader]
    [[0, 1], [2, 3], [4]]
    >>> len(loader)
    3
    """

    def __init__(self, *arrays: ArrayLike, batch_size: int, shuffle: bool = False, seed: int = 0) -> None:
        self.arrays = tuple(_as_array(array, i) for i, array in enumerate(arrays))
        lengths = {len(array) for array in self.arrays if array.ndim}
        if len(lengths) != 1 or not all(array.ndim for array in self.arrays):
            shapes = ", ".join(str(array.shape) for array in self.arrays) or "none"
            raise InputError(f"a loader needs arrays of equal length, but got shapes {shapes}. Pass a row per sample.")
        check_count("batch_size", batch_size)
        check_count("seed", seed, least=0)
        self.batch_size, self.shuffle, self.seed = batch_size, shuffle, seed
        self.passes = 0

    def __len__(self) -> int:
        return -(-len(self.arrays[0]) // self.batch_size)

    def __iter__(self) -> Iterator[tuple[Array, ...]]:
        order = np.arange(len(self.arrays[0]))
        if self.shuffle:
            order = np.random.default_rng([self.seed, self.passes]).permutation(order)
        self.passes += 1
        return self._batches(order)

    def state_dict(self) -> dict[str, int]:
        """Return how many passes were begun, on which the next order depends."""
        return {"passes": self.passes}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where another loader of the same arrays and seed was."""
        self.passes = state["passes"]

    def _batches(self, order: Array) -> Iterator[tuple[Array, ...]]:
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            yield tuple(array[rows] for array in self.arrays)


def _as_array(array: ArrayLike, place: int) -> Array:
    """Convert an argument to a NumPy array, or refuse it by its place."""
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError) as error:  # bfloat16, rows of several lengths, a graph behind it
        raise InputError(
            f"a loader needs arrays that NumPy can hold, but it cannot hold the one at place {place}, a "
            f"{type(array).__name__} ({error}). Detach tensors, give them a dtype that NumPy has, pad rows."
        ) from error
