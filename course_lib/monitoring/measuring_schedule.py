"""Decide what the monitor measures at which step: ``every`` and ``update_every``, and what is always done at first."""

from dataclasses import dataclass
from numbers import Integral
from typing import TypeAlias

from course_lib.errors import InputError

__all__ = ["AT_FIRST", "Every", "MeasuringSchedule", "check_counts", "make_schedule"]

AT_FIRST = 10  # changes of the parameters that are all measured, before only one in ``update_every`` is
LOOK_EVERY = 5  # measured steps, once the first twenty are over, at which it is noted which units have a gradient


@dataclass(frozen=True)
class MeasuringSchedule:
    """Say for each step, counted from 1, what is due. Its *turn* is its number among the measured steps, from 0.

    Attributes
    ----------
    every : int
        Gradients are measured at the first of every so many steps.
    update_every : int or None
        Changes of the parameters are measured at one in so many of these; None for none.
    """

    every: int
    update_every: int | None

    def measures_gradients(self, step: int) -> bool:
        """Return whether gradients are measured at a step."""
        return (step - 1) % self.every == 0

    def measures_weights(self, step: int) -> bool:
        """Return whether the parameters are measured at a step: the first ten that are, and then some."""
        if self.update_every is None or not self.measures_gradients(step):
            return False
        turn = self._turn(step)
        return turn <= AT_FIRST or turn % self.update_every == 0

    def looks_at_units(self, step: int) -> bool:
        """Return whether it is noted which units have a gradient."""
        turn = self._turn(step)
        return turn < 2 * AT_FIRST or turn % LOOK_EVERY == 0

    def counts_histograms(self, step: int, histogram_every: int | None) -> bool:
        """Return whether the elements of gradients are counted at a step that is measured, one in so many."""
        return histogram_every is not None and self._turn(step) % histogram_every == 0

    def checks_parameters(self, step: int) -> bool:
        """Return whether to check that the parameters are still the model's, and where they are."""
        turn = self._turn(step)
        return turn <= AT_FIRST or turn % (10 * AT_FIRST) == 0

    def moves_watch(self, step: int) -> bool:
        """Return whether the hooks that look for gradients that are not zeroed go on to another layer."""
        return self._turn(step) % AT_FIRST == 0

    def _turn(self, step: int) -> int:
        return (step - 1) // self.every


Every: TypeAlias = int | MeasuringSchedule


def make_schedule(every: Every, update_every: int | None) -> MeasuringSchedule:
    """Return the schedule that two numbers describe, or the one that is given, after a look at them."""
    if isinstance(every, MeasuringSchedule):
        return every
    check_counts(every=every, update_every=1 if update_every is None else update_every)
    return MeasuringSchedule(every, update_every)


def check_counts(*, least: int = 1, **counts: object) -> None:
    """Refuse arguments that are not whole numbers of at least 1, or ``least``."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, but it is {value!r}.")
