"""What is measured of each gradient, and how to measure one with care, on any array library.

The fast readers add up squares in the gradient's own precision. That is wrong where squares overflow or vanish, and
where a difference of two nearly equal numbers is left. They notice it in their own results, and measure such a gradient
again with :func:`careful`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array

__all__ = ["Measures", "careful", "careful_array", "unscaled"]


@dataclass(frozen=True)
class Measures:
    """One row of numbers for each parameter, float64, NaN where it has no gradient.

    Attributes
    ----------
    norm, mean, std, largest : numpy.ndarray, shape (p,)
        Euclidean norm, mean, standard deviation (with n - 1, as torch's ``std``; 0 for one element), and the largest
        absolute value of the elements.
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


def unscaled(m: float, mean: float, std: float, norm: float) -> tuple[float, float, float, float, bool]:
    """Return norm, mean, standard deviation, largest and whether an element is not finite, from :func:`careful`."""
    if not math.isfinite(m):
        return m, math.nan, math.nan, m, True
    return m * norm, m * mean, m * std, m, False


def careful_array(g: Array) -> tuple[float, float, float, float, bool]:
    """Measure a NumPy array.

    Examples
    --------
    >>> f"{careful_array(np.array([3e200, 4e200]))[0]:.3g}"
    '5e+200'
    """
    if g.size == 0:
        return 0.0, 0.0, 0.0, 0.0, False
    with np.errstate(invalid="ignore"):
        m, mean, std, norm = careful(g.reshape(-1), sqrt=np.sqrt, where=np.where)
    return unscaled(float(m), float(mean), float(std), float(norm))
