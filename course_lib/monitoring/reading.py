"""What a reader brings back from a step, kept as it came until someone looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.monitoring.measures import Measures
from course_lib.monitoring.parameters import Array
from course_lib.monitoring.rows import Rows

__all__ = ["Done", "Part", "Reading"]

ROUNDING = 1e-15  # of a difference between sums of squares in double precision


@dataclass(frozen=True)
class Part:
    """The parameters of one device and precision.

    Attributes
    ----------
    numbers : numpy.ndarray, shape (4, r) or (7, r)
        Of each row its sum, norm, largest and smallest element, and of each row of the parameters the norms of its
        change, of what it was and of what it is. If ``reduced``, the same of each parameter, with squares for norms.
    rows : Rows
        Which rows belong to which parameter.
    where : sequence of int
        The place of each parameter in the model.
    fixes : dict
        For parameters measured again: norm, mean, standard deviation, largest, and whether an element is not finite.
    absent : list of int
        Parameters without a gradient.
    """

    numbers: Any
    rows: Rows
    where: list[int]
    reduced: bool
    fixes: Mapping[int, tuple[float, ...]]
    absent: list[int]

    def columns(self) -> Array:
        """Return the seven measures of each parameter."""
        rows = self.rows
        numbers = np.full((7, len(rows.sizes)), math.nan)
        numbers[: len(self.numbers), rows.order] = self.numbers if self.reduced else rows.by_tensor(self.numbers)
        return measured(numbers, rows.sizes, self.fixes, self.absent)


@dataclass(frozen=True)
class Done:
    """The same where everything was measured with care."""

    numbers: Array
    where: list[int]
    fixes: Mapping[int, tuple[float, ...]]
    absent: list[int]

    def columns(self) -> Array:
        """Return the seven measures of each parameter."""
        return measured(self.numbers, np.ones(len(self.where)), self.fixes, self.absent)


def measured(numbers: Array, sizes: Any, fixes: Mapping[int, tuple[float, ...]], absent: list[int]) -> Array:
    """Turn sums, squares, largest and smallest elements of gradients, and squares of weights, into the measures."""
    sums, squares, high, low, moved, before, now = numbers
    n = np.maximum(sizes, 1)
    spread = squares - sums**2 / n
    spread = np.where((n > 1) & (spread > ROUNDING * squares), spread, 0)
    variance = spread / np.maximum(n - 1, 1)
    ratio = np.where(before > 0, np.sqrt(moved / before), math.nan)
    columns = [np.sqrt(squares), sums / n, np.sqrt(variance), np.maximum(high, -low), 0 * n, ratio, np.sqrt(now)]
    found = np.array(columns, dtype=np.float64)
    for i, row in fixes.items():
        found[:5, i] = row
    found[:5, absent] = math.nan
    return found


@dataclass(frozen=True)
class Reading:
    """All parameters of a model at one step."""

    parts: tuple[Part | Done, ...]
    count: int

    @property
    def nonfinite(self) -> bool:
        """Whether an element of a gradient is infinite or NaN."""
        return any(row[4] for part in self.parts for row in part.fixes.values())

    def measures(self) -> Measures:
        """Work out the measures."""
        found = np.empty((7, self.count))
        with np.errstate(all="ignore"):
            for part in self.parts:
                found[:, part.where] = part.columns()
        norm, mean, std, largest, nonfinite, ratio, weight = found
        return Measures(norm, mean, std, largest, nonfinite == 1, ratio, weight)
