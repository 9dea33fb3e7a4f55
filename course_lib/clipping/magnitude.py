"""Norms that overflow only when they are read: a unit times a norm in that unit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LEAST_DOUBLE", "Magnitude", "total"]

LEAST_DOUBLE = -1021  # the exponent, in math.frexp's sense, of the smallest normal float64


@dataclass(frozen=True)
class Magnitude:
    """A norm, ``unit * scaled``; a unit that is infinite or NaN says that an entry is.

    >>> Magnitude(1e300, 5e10).value
    inf
    >>> Magnitude(1e300, 4e10).factors(2.0**-40)  # their product would have few digits
    (2.2250738585072014e-308, 1.0218702384817766e-15)
    """

    unit: float
    scaled: float

    @property
    def finite(self) -> bool:
        """Whether all entries are finite; the norm itself can still be beyond the largest float64."""
        return math.isfinite(self.unit)

    @property
    def value(self) -> float:
        """The norm, infinite where it is beyond float64."""
        return self.unit * self.scaled

    def factors(self, bound: float, *, least: int = LEAST_DOUBLE) -> tuple[float, ...]:
        """Return what to multiply by, in turn, to get from this norm to ``bound``; nothing if it is within.

        Parameters
        ----------
        bound : float
            Above 0.
        least : int
            The exponent of the smallest normal number of the type that is computed in. A product of numbers that are
            all at least as large replaces one that would be smaller, and would lose digits.
        """
        if not self.unit or math.isinf(bound):
            return ()
        (b, b_exponent), (u, u_exponent), (s, s_exponent) = map(math.frexp, (bound, self.unit, self.scaled))
        fraction, exponent = math.frexp(b / u / s)
        exponent += b_exponent - u_exponent - s_exponent
        if exponent > 0:
            return ()
        powers = []
        while exponent < least:
            powers.append(math.ldexp(1.0, least - 1))
            exponent -= least - 1
        return (*powers, math.ldexp(fraction, exponent))


def total(magnitudes: Sequence[Magnitude]) -> Magnitude:
    """Return the norm of all together: the largest unit, and the others in it.

    >>> total([Magnitude(3e200, 1.0), Magnitude(4e200, 1.0)])
    Magnitude(unit=4e+200, scaled=1.25)
    """
    units = [m.unit for m in magnitudes]
    if any(map(math.isnan, units)):
        return Magnitude(math.nan, 1.0)
    unit = max(units, default=0.0)
    if not unit or math.isinf(unit):
        return Magnitude(unit, 1.0)
    return Magnitude(unit, math.hypot(*(m.unit / unit * m.scaled for m in magnitudes)))
