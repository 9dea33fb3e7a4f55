"""Read the clock of a training loop: which part of each step takes how long, without what the doctor itself does."""

from collections import deque
from dataclasses import dataclass
from math import ceil
from time import perf_counter

import numpy as np

__all__ = ["AFTER", "BACKWARD", "BEFORE", "FORWARD", "OPTIMIZER", "PARTS", "LoopClock", "StepTimes"]

PARTS = ("before the model", "forward and loss", "backward", "before the step", "optimizer")
BEFORE, FORWARD, BACKWARD, AFTER, OPTIMIZER = range(len(PARTS))
KEPT = 2000  # steps
AT_FIRST, LONGEST_GAP = 10, 100  # steps: all of the first are timed, and later one in so many at least
TIMED_SHARE = 0.002  # of a step, that timing may take


@dataclass(frozen=True)
class StepTimes:
    """Medians over the steps of a loop, in seconds.

    Attributes
    ----------
    step_seconds : float
        From one step of the first optimizer to the next: the sum of the parts.
    parts : dict of str to float
        Its parts: ``before the model`` (waiting for data, moving it, whatever the loop does there), ``forward and
        loss``, ``backward``, ``before the step`` (clipping, logging), and ``optimizer``. Where no call of the model was
        seen, the first two are one: ``until backward``.
    steps : int
        How many steps were read.
    """

    step_seconds: float
    parts: dict[str, float]
    steps: int


class LoopClock:
    """Clock of a loop: each moment belongs to the part that it ends.

    In a step that is timed, each handler of the doctor's calls :meth:`enter` first and :meth:`leave` last; what is
    between counts as its own. Where that would take more than its share of short steps, some are not timed.
    """

    def __init__(self) -> None:
        self.rows = deque[tuple[float, ...]](maxlen=KEPT)
        self.own_seconds, self.steps, self.is_timing, self.saw_model = 0.0, 0, True, False
        self._parts, self._in_forward, self._spoiled = [0.0] * len(PARTS), False, True  # a first step warms up
        self._slow, self._own_before, self._next_timed = list[float](), 0.0, 0
        self._entered = self._left = self.began = perf_counter()

    def enter(self, part: int) -> None:
        """End a part: the time since the doctor last had its turn is that part's."""
        self._entered = now = perf_counter()
        self._parts[part] += now - self._left

    def leave(self) -> None:
        """Give the turn back to the loop."""
        self._left = now = perf_counter()
        self.own_seconds += now - self._entered

    def charge(self, seconds: float) -> None:
        """Count time as the doctor's own, in a step that is not timed."""
        self.own_seconds += 0.0 if self.is_timing else seconds

    def enter_model(self) -> None:
        """Begin a forward pass; a second call before the backward pass goes on with it."""
        self.enter(FORWARD if self._in_forward else BEFORE)
        self._in_forward = self.saw_model = True

    def enter_backward(self) -> None:
        """Begin a backward pass."""
        self.enter(FORWARD)
        self._in_forward = False

    def end_timed_step(self, *, perturbed: bool) -> None:
        """Note a step that was timed, and decide when the next one is.

        One that was looked into takes longer, and is left out, as is the next one, whose beginning was.
        """
        took, self._own_before = self.own_seconds - self._own_before, self.own_seconds
        if perturbed:
            self._slow.append(sum(self._parts))
        elif not self._spoiled:
            self.rows.append(tuple(self._parts))
        self._spoiled, self._parts = perturbed, [0.0] * len(PARTS)
        gap = 1 if self.steps < AT_FIRST or perturbed else ceil(took / (TIMED_SHARE * self.step_seconds))
        self._next_timed = self.steps + min(gap, LONGEST_GAP)

    def time_next(self) -> None:
        """Time the next step, which is to be looked into."""
        self._next_timed = 0

    def count(self) -> bool:
        """Count a step, and return whether the next one is timed."""
        self.steps += 1
        if self.steps == 1:  # which has warmed up
            self.began, self.own_seconds, self._own_before = perf_counter(), 0.0, 0.0
        was, self.is_timing = self.is_timing, self.steps >= self._next_timed
        if self.is_timing and not was:
            self._parts, self._own_before = [0.0] * len(PARTS), self.own_seconds
            self._entered = self._left = perf_counter()
        return self.is_timing

    @property
    def loop_seconds(self) -> float:
        """The time since the beginning, without what the doctor took."""
        return perf_counter() - self.began - self.own_seconds

    @property
    def step_seconds(self) -> float:
        """About how long a step takes: the least of the latest."""
        recent = [sum(self.rows[-1 - i]) for i in range(min(5, len(self.rows)))]
        return max(1e-9, min(recent, default=self.loop_seconds / max(1, self.steps)))

    def price(self, *, without_seconds: float) -> float:
        """Return what looking took, as a share of the rest of the loop's time so far; some of it does not count."""
        usual = self.step_seconds
        took = self.own_seconds - without_seconds + sum(max(0.0, slow - usual) for slow in self._slow)
        rest = self._left - self.began - without_seconds - took
        return took / rest if rest > 0 else 0.0

    def times(self) -> StepTimes | None:
        """Return the medians, None before there are any."""
        if not self.rows:
            return None
        table = np.array(self.rows)
        medians = dict(zip(PARTS, np.median(table, axis=0).tolist(), strict=True))
        if not self.saw_model:
            medians = {"until backward": medians.pop(PARTS[BEFORE]) + medians.pop(PARTS[FORWARD]), **medians}
        return StepTimes(sum(medians.values()), medians, len(table))
