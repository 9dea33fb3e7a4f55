"""What a reader brings back from a step, and what is worked out from it when someone looks."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.parameters import Array

__all__ = ["Measures", "Reading", "Row", "careful", "measured", "unscaled"]

ROUNDING = 4e-15  # of a difference between sums of squares in double precision
Row = tuple[float, float, float, float, bool]


@dataclass(frozen=True)
class Measures:
    """One number for each parameter, float64, NaN where it has no gradient.

    Attributes
    ----------
    norm, mean, std, largest : numpy.ndarray, shape (p,)
        Euclidean norm, mean, standard deviation (with n - 1, as torch's ``std``; 0 for one element), and the largest
        absolute value of the elements; a complex one counts as two real ones.
    nonfinite : numpy.ndarray of bool, shape (p,)
        Whether an element is infinite or NaN.
    update_ratio : numpy.ndarray, shape (p,)
        The norm of the parameter's last change over its norm before; NaN where that is not known.
    weight_norm : numpy.ndarray, shape (p,)
        The norm of the parameter itself.
    """

    norm: Array
    mean: Array
    std: Array
    largest: Array
    nonfinite: np.ndarray[Any, np.dtype[np.bool_]]
    update_ratio: Array
    weight_norm: Array

    @classmethod
    def of(cls, table: Array) -> "Measures":
        """Take the rows of a table apart."""
        norm, mean, std, largest, nonfinite, ratio, weight = table
        return cls(norm, mean, std, largest, nonfinite == 1, ratio, weight)


@dataclass
class Reading:
    """All parameters of a model at one step.

    Attributes
    ----------
    nonfinite : bool
        Whether an element of a gradient is infinite or NaN.
    extra : float
        What else was read along with the gradients.
    """

    nonfinite: bool
    extra: float
    work_out: Callable[[], Measures]

    @cached_property
    def measures(self) -> Measures:
        """The measures, worked out when they are first asked for."""
        return self.work_out()


@np.errstate(all="ignore")
def measured(numbers: Array, sizes: NDArray[Any], *, known: Mapping[int, Row], absent: Sequence[int]) -> Array:
    """Turn what was read of each parameter into its seven measures.

    Parameters
    ----------
    numbers : numpy.ndarray, shape (6, p)
        Of each gradient its sum, norm and largest absolute value; of each parameter the norms of its change, of what
        it was and of what it is.
    sizes : numpy.ndarray, shape (p,)
        How many elements each has.
    known : mapping of int to tuple
        For gradients measured with care: norm, mean, standard deviation, largest, whether an element is not finite.
    absent : sequence of int
        Parameters without a gradient.
    """
    sums, norms, largest, moved, before, now = numbers
    n, squares = np.maximum(sizes, 1), norms**2
    spread = squares - sums**2 / n
    spread = np.where((n > 1) & (spread > ROUNDING * squares), spread, 0)
    ratio = np.where((before > 0) & np.isfinite(moved), moved / before, math.nan)
    std = np.sqrt(spread / np.maximum(n - 1, 1))
    found = np.array([norms, sums / n, std, largest, 0 * n, ratio, now], dtype=np.float64)
    known = {int(i): unscaled(largest[i], 0, 0, 0) for i in np.flatnonzero(~np.isfinite(largest))} | dict(known)
    for i, row in known.items():
        found[:5, i] = row
    found[:5, list(absent)] = math.nan
    return found


def careful(g: Any, *, sqrt: Any, where: Any) -> tuple[Any, Any, Any, Any]:
    r"""Return the largest absolute value m, and mean, standard deviation and norm of ``g / m``.

    :math:`\|g\| = m \, \|g / m\|` has squares between 0 and 1, so that it overflows and underflows only where the norm
    itself does (Blue, 1978, *A portable Fortran program to find the Euclidean norm of a vector*).

    Parameters
    ----------
    g : array of shape (n,)
        Of NumPy or torch, n at least 1, real, of at least single precision.
    sqrt, where : callable
        The library's own.
    """
    m = abs(g).max()
    scaled = g / where((m > 0) & (m < math.inf), m, m * 0 + 1)
    mean = scaled.mean()
    count = max(len(g) - 1, 1)
    return m, mean, sqrt(((scaled - mean) ** 2).sum() / count), sqrt((scaled**2).sum())


def unscaled(m: float, mean: float, std: float, norm: float) -> Row:
    """Return norm, mean, standard deviation, largest and whether an element is not finite, from :func:`careful`."""
    if not math.isfinite(m):
        return m, math.nan, math.nan, m, True
    return m * norm, m * mean, m * std, m, False
