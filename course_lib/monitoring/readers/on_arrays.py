"""Measure the gradients of a model of this course's own engine, one after another, in double precision."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array, array_of
from course_lib.monitoring.readers.reading import Measures, Reading, Row, careful, measured, unscaled

__all__ = ["ArrayReader"]


class ArrayReader:
    """Reads the gradients of parameters; offers what :class:`TorchReader` offers.

    Parameters
    ----------
    parameters : sequence of course_lib.autograd.Tensor
        Whose ``.grad`` is read.
    """

    def __init__(self, parameters: Sequence[Any]) -> None:
        self.parameters = list(parameters)
        self.before: list[Array] = []
        self.seen = {i: np.zeros(p.shape, int) for i, p in enumerate(self.parameters) if len(p.shape) == 1}

    def moved(self, *, wholly: bool) -> bool:
        """Say whether a parameter is now elsewhere: never."""
        return False

    def keep_weights(self) -> None:
        """Note the parameters' values."""
        self.before = [array_of(p).copy() for p in self.parameters]

    def forget_weights(self) -> None:
        """Let the values go: they are not those of the step before."""
        self.before = []

    def measure(self, step: int = 0, *, weights: bool = False, extra: Any = None) -> Reading:
        """Measure every gradient, and the parameters if asked, and read a number."""
        count = len(self.parameters)
        rows = {i: careful_row(array_of(p.grad)) for i, p in enumerate(self.parameters) if p.grad is not None}
        for i in self.seen.keys() & rows.keys() if step else ():
            self.seen[i][array_of(self.parameters[i].grad) != 0] = step
        numbers = np.full((6, count), math.nan)
        if weights:
            before = self.before
            self.keep_weights()
            moved = [a - b for a, b in zip(self.before, before, strict=bool(before))]
            for k, arrays in enumerate([moved, before, self.before], start=3):
                numbers[k, : len(arrays)] = [careful_row(a)[0] for a in arrays]
        absent = [i for i in range(count) if i not in rows]
        measures = Measures.of(measured(numbers, np.ones(count), known=rows, absent=absent))
        return Reading(any(row[4] for row in rows.values()), float(extra or 0), lambda: measures)

    def last_seen(self) -> dict[int, Array]:
        """For each vector among the parameters, the last step at which each element had a gradient; 0 for never."""
        return dict(self.seen)


def careful_row(g: Array) -> Row:
    """Measure a NumPy array.

    Examples
    --------
    >>> f"{careful_row(np.array([3e200, 4e200]))[0]:.3g}"
    '5e+200'
    """
    if g.size == 0:
        return 0.0, 0.0, 0.0, 0.0, False
    with np.errstate(all="ignore"):
        m, mean, std, norm = careful(g.reshape(-1), sqrt=np.sqrt, where=np.where)
    return unscaled(float(m), float(mean), float(std), float(norm))
