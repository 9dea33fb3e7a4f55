"""What was read of the torch parameters that share a device and a precision, before anyone looks at it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.reading import Row, measured
from course_lib.monitoring.readers.rows import Rows

__all__ = ["Part"]


class Part(NamedTuple):
    """What was read of a group at one step, much as it came.

    Attributes
    ----------
    numbers : numpy.ndarray, shape (4, r) or (7, r)
        Of each row its sum, norm, largest and smallest element, and of each row of the parameters the norms of its
        change, of what it was and of what it is; or all that of each tensor.
    rows : Rows
        Which rows belong to which parameter.
    where : list of int
        The place of each parameter in the model.
    known : mapping of int to tuple
        Gradients measured with care.
    absent : list of int
        Parameters without a gradient.
    nonfinite : bool
        Whether an element is infinite or NaN.
    extra : float
    undo : numpy.ndarray, shape (r,), or None
        What the first four numbers of each row are to be multiplied by.
    """

    numbers: Array
    rows: Rows
    where: list[int]
    known: Mapping[int, Row]
    absent: Sequence[int]
    nonfinite: bool
    extra: float
    undo: Array | None

    def columns(self) -> Array:
        """Return the seven measures of each parameter."""
        numbers = np.full((7, len(self.where)), math.nan)
        numbers[: len(self.numbers)] = self.rows.by_tensor(self.numbers, self.undo)
        return measured(numbers, self.rows.sizes, known=self.known, absent=self.absent)
