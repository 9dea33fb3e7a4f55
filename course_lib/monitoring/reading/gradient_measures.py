"""Measures of all gradients of a model at one step, computed from a few numbers for each when they are asked for."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from course_lib.norms import exponent_limit

__all__ = ["Care", "Float64", "GradientMeasures", "LazyMeasures", "Reading", "compute_measures"]

Float64 = NDArray[np.float64]


@dataclass(frozen=True)
class GradientMeasures:
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

    norm: Float64
    mean: Float64
    std: Float64
    largest: Float64
    nonfinite: NDArray[np.bool_]
    update_ratio: Float64
    weight_norm: Float64


@dataclass
class LazyMeasures:
    """All parameters of a model at one step, before anybody has asked."""

    compute: Callable[[], GradientMeasures]

    @cached_property
    def measures(self) -> GradientMeasures:
        """The measures, computed when they are first asked for."""
        return self.compute()


@dataclass
class Reading(LazyMeasures):
    """The same, with what is known at once.

    Attributes
    ----------
    nonfinite : bool
        Whether an element of a gradient is infinite or NaN.
    extra : float
        What else was read along with the gradients.
    """

    nonfinite: bool
    extra: float


@dataclass(frozen=True)
class Care:
    """With what care gradients are measured: first with the least, and with more from the first step that calls for it.

    Attributes
    ----------
    itemsize : int
        Bytes of the floating-point numbers that are computed in.
    scaled : bool
        Whether each gradient is divided by its largest absolute value, as where its squares are out of range.
    centred : bool
        Whether the mean is subtracted before squares are summed, as where it accounts for nearly all of their sum.
    weights_scaled : bool
        Whether parameters are divided by their largest absolute values.
    """

    itemsize: int
    scaled: bool = False
    centred: bool = False
    weights_scaled: bool = False

    @property
    def range(self) -> tuple[float, float]:
        """Between what norms must be, so that the squares of elements and their sums are in range."""
        exponent = 50.0 * self.itemsize / 4
        return 2.0**-exponent, 2.0**exponent

    @property
    def scales(self) -> tuple[float, float]:
        """The least number, and the greatest, that anything is divided by: powers of two with a reciprocal."""
        limit = exponent_limit(self.itemsize)
        return 2.0**-limit, 2.0**limit

    def scale_of(self, largest: Float64) -> Float64:
        """Return what gradients are divided by: their largest absolute value, or the nearest number allowed."""
        return np.clip(largest, *self.scales)


@np.errstate(all="ignore")
def compute_measures(
    numbers: NDArray[np.floating], sizes: NDArray[np.int_], *, care: Care, absent: Sequence[int]
) -> GradientMeasures:
    """Turn what was read of each parameter into its measures.

    Parameters
    ----------
    numbers : numpy.ndarray, shape (4 to 8, p)
        Of each gradient the largest element and the least, and, in units of the scale, norm and mean, and, if centred,
        the norm without the mean. Then, if measured, of each parameter the norms of its change, of what it was and of
        what it is.
    sizes : numpy.ndarray, shape (p,)
        How many elements each has.
    care : Care
        With what care it was measured.
    absent : sequence of int
        Parameters without a gradient.
    """
    wide, count = numbers.astype(np.float64), 5 if care.centred else 4
    top, bottom, norm, mean, *centred = wide[:count]
    moved, before, now = wide[count:] if len(wide) > count else np.full((3, len(sizes)), math.nan)
    n, largest = np.maximum(sizes, 1), np.maximum(top, -bottom)
    spread = centred[0] if centred else np.sqrt(np.where(n > 1, np.maximum(norm**2 - n * mean**2, 0), 0))
    finite = np.isfinite(largest)
    scale = care.scale_of(largest) if care.scaled else np.ones_like(largest)
    measures = GradientMeasures(
        norm=np.where(finite, scale * norm, largest),
        mean=np.where(finite, scale * mean, math.nan),
        std=np.where(finite, scale * (spread / np.sqrt(np.maximum(n - 1, 1))), math.nan),
        largest=largest,
        nonfinite=~finite,
        update_ratio=np.where((before > 0) & np.isfinite(moved), moved / before, math.nan),
        weight_norm=now,
    )
    for column in (measures.norm, measures.mean, measures.std, measures.largest):
        column[list(absent)] = math.nan
    measures.nonfinite[list(absent)] = False
    return measures
