"""Multiply rows by powers of two, so that their squares neither overflow nor vanish in single precision."""

from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array

__all__ = ["Scales"]

MOST = 126  # the exponent of the largest power of two whose reciprocal is a normal number of single precision


class Scales:
    """A power of two for each row, which brings its norm near 1. To multiply by it and back changes no digit.

    A row that was always zero gets the largest: should anything come to it, be it the smallest number there is, its
    square does not vanish. In a row that was large, such a number vanishes itself.

    Parameters
    ----------
    norms : numpy.ndarray, shape (r,)
        Of rows as they are, in double precision, and finite.
    before : Scales, optional
        What rows that are zero were multiplied by when they were small.
    rows : torch.Tensor
        Of the precision and the device of those that will be multiplied.

    Attributes
    ----------
    undo : numpy.ndarray, shape (r,), float64
        What numbers that were read of the rows are to be multiplied by.
    untouched : torch.Tensor, shape (r,)
        1 for rows that were always zero, or are taken for such, else 0.
    down : numpy.ndarray of bool, shape (r,)
        Rows that were large, in which small numbers vanish.
    """

    def __init__(self, torch: Any, norms: Array, *, before: "Scales | None", rows: Any) -> None:
        self.torch, self.rows = torch, rows
        known, exponents = norms > 0, np.full(len(norms), np.nan)
        self.back = np.zeros(len(norms), dtype=bool)  # which were taken for untouched, and came back
        if before is not None:
            np.copyto(exponents, before.exponents, where=before.exponents > 0)
            self.back = before.back | (np.isnan(before.exponents) & known)
        exponents[known] = -np.log2(norms[known])
        self.set(exponents)

    def set(self, exponents: Array) -> None:
        """Prepare to multiply by these powers of two, rounded; NaN is for rows that are untouched."""
        powers = np.clip(np.round(np.nan_to_num(exponents, nan=MOST)), -MOST, MOST)
        self.exponents, self.undo, self.down = exponents, np.exp2(-powers), powers < 0
        self.by = self.torch.from_numpy(np.exp2(powers)).to(self.rows)[:, None]
        self.untouched = self.torch.from_numpy(np.isnan(exponents)).to(self.rows)

    def take(self, zero: Array) -> bool:
        """Take the rows that are zero for untouched, but not those that came back; say whether all are so."""
        taken = zero & ~self.back
        if np.isfinite(self.exponents[taken]).any():
            self.set(np.where(taken, np.nan, self.exponents))
        return not (zero & self.back).any()

    def apply(self) -> None:
        """Multiply the rows."""
        self.rows.mul_(self.by)
