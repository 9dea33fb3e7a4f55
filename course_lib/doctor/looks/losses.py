"""Keep the losses of a run: the first, the latest, and those that wait on an accelerator."""

import math
from collections import deque
from statistics import median
from typing import TYPE_CHECKING

from course_lib.extras import load

if TYPE_CHECKING:
    import torch

__all__ = ["Losses"]

FIRST, KEPT = 10, 2000


class Losses:
    """Losses as ``backward()`` got them.

    Attributes
    ----------
    first : list of float
        The first ten.
    latest : deque of float
        The latest two thousand.
    """

    def __init__(self) -> None:
        self.first, self.latest = list[float](), deque[float](maxlen=KEPT)
        self._waiting = list["torch.Tensor"]()

    def keep(self, value: float) -> None:
        """Keep a loss that has been read."""
        if len(self.first) < FIRST:
            self.first.append(value)
        self.latest.append(value)

    def defer(self, loss: "torch.Tensor") -> None:
        """Keep a loss where it is, to be read when its device is waited for anyway."""
        self._waiting.append(loss.detach())

    def read_deferred(self) -> tuple[float, int] | None:
        """Read those that wait, and return the first that is not finite, and how many came after it."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return None
        values = load("torch", extra="torch").stack([loss.float().reshape(()) for loss in waiting]).tolist()
        for value in values:
            self.keep(value)
        wrong = ((value, len(values) - i) for i, value in enumerate(values, start=1) if not math.isfinite(value))
        return next(wrong, None)

    def span(self) -> tuple[float, ...]:
        """Return the first and the last, or nothing."""
        return (self.first[0], self.latest[-1]) if self.latest else ()

    def trend(self) -> tuple[float, float]:
        """Return the medians of the first ten and of the last ten."""
        return median(self.first), median(list(self.latest)[-FIRST:])
