"""Pace the doctor's looks, so that they take no more than their share of the loop's time."""

from bisect import bisect_left
from dataclasses import dataclass, field
from math import ceil

from course_lib.monitoring.measuring_schedule import MeasuringSchedule

__all__ = ["LOOKS_SHARE", "PacedSchedule"]

GRADIENTS_SHARE, LOOKS_SHARE = 0.006, 0.003  # of the loop's time: of measuring gradients, and of each other look
ALWAYS = 3  # steps at the beginning that are all measured: fewer show little


@dataclass(frozen=True)
class PacedSchedule(MeasuringSchedule):
    """Measure the first steps, and then each time that the loop has run long enough to pay for it.

    Attributes
    ----------
    due : list of int
        The steps that are measured, in ascending order; the last one may be still to come.
    spent : list of float
        One number: seconds that measuring has taken.
    """

    due: list[int] = field(default_factory=lambda: list(range(1, ALWAYS + 1)))
    spent: list[float] = field(default_factory=lambda: [0.0])

    def concerns(self, step: int) -> bool:
        """Return whether there is something to do at a step: it is due, or the next one."""
        return step >= self.due[-1] - 1 or step <= ALWAYS

    def pay(self, step: int, seconds: float, *, step_seconds: float) -> None:
        """Note what a step's measuring took, and choose the next one once the last that was due is over."""
        if step > 1:  # where all is loaded and allocated
            self.spent[0] += seconds
        if step >= self.due[-1]:
            paid_at = ceil((self.spent[0] + seconds) / (GRADIENTS_SHARE * max(step_seconds, 1e-9)))
            self.due.append(max(step + 1, paid_at))

    def measures_gradients(self, step: int) -> bool:
        """Return whether gradients are measured at a step."""
        at = self._turn(step)
        return at < len(self.due) and self.due[at] == step

    def _turn(self, step: int) -> int:
        return bisect_left(self.due, step)
