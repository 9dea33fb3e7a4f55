"""What was read of the torch parameters that share a device and a precision, before anyone looks at it."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.reading import Row, measured
from course_lib.monitoring.readers.rows import by_tensor

__all__ = ["Part"]


class Part(NamedTuple):
    """What was read of a group at one step, much as it came.

    Attributes
    ----------
    numbers : numpy.ndarray, shape (3, p) or (6, p)
        Of each gradient its sum, its norm and its largest absolute value, and of each parameter the norms of its
        change, of what it was and of what it is; or all that for each row, where a tensor has several.
    sizes : numpy.ndarray, shape (p,)
        How many elements each has.
    where : list of int
        The place of each parameter in the model.
    absent : list of int
        Parameters without a gradient.
    nonfinite : bool
        Whether an element is infinite or NaN.
    extra : float
        What else was read.
    starts : numpy.ndarray, shape (p,), or None
        Which row is the first of each parameter, if there are rows.
    known : mapping of int to tuple
        Gradients measured with care.
    """

    numbers: Array
    sizes: NDArray[np.int_]
    where: list[int]
    absent: Sequence[int]
    nonfinite: bool
    extra: float
    starts: NDArray[np.int_] | None = None
    known: Mapping[int, Row] = MappingProxyType({})

    def columns(self) -> Array:
        """Return the seven measures of each parameter."""
        numbers = np.full((6, len(self.where)), math.nan)
        numbers[: len(self.numbers)] = self.numbers if self.starts is None else by_tensor(self.numbers, self.starts)
        return measured(numbers, self.sizes, known=self.known, absent=self.absent)
