"""Measure all gradients of a torch model at once: in memory by one loop, else by some kernels and one transfer."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from course_lib.extras import load
from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.in_memory import InMemory
from course_lib.monitoring.readers.in_rows import InRows
from course_lib.monitoring.readers.loops import loops
from course_lib.monitoring.readers.part import Part
from course_lib.monitoring.readers.reading import Measures, Reading

__all__ = ["TorchReader"]


class TorchReader:
    """Reads the gradients of parameters, in one group for each device and precision.

    Parameters
    ----------
    parameters : sequence of torch.Tensor
        Whose ``.grad`` is read.
    often : bool
        Whether there will be enough readings to be worth the second that compiling loops takes.
    """

    def __init__(self, parameters: Sequence[Any], *, often: bool = True) -> None:
        self.torch, self.parameters, self.often = load("torch", extra="torch"), list(parameters), often
        self.seen: dict[int, Array] = {}  # what groups that are gone have seen
        self.arrange()

    def arrange(self) -> None:
        """Make the groups."""
        double = self.torch.float64, self.torch.complex128
        alike = defaultdict(list)
        for i, p in enumerate(self.parameters):
            alike[p.device, p.dtype in double, self.often and p.is_cpu and not p.is_complex()].append(i)
        self.groups = [
            InMemory(self.torch, self.parameters, where, loops=compiled)
            if in_memory and not double and (compiled := loops())
            else InRows(self.torch, self.parameters, where)
            for (_, double, in_memory), where in alike.items()
        ]
        self.kernels = any(isinstance(group, InRows) for group in self.groups)
        self.no_grad = self.torch.no_grad() if self.kernels else nullcontext()  # made once: that takes a while
        self.places = [(p.device, p.dtype) for p in self.parameters]

    def moved(self, *, wholly: bool) -> bool:
        """Say whether a parameter has a different device or precision from before.

        Unless ``wholly``, only the first is asked where there are no kernels: loops find others by themselves.
        """
        asked = self.parameters if wholly or self.kernels else self.parameters[:1]
        return any((p.device, p.dtype) != place for p, place in zip(asked, self.places, strict=False))

    def keep_weights(self) -> None:
        """Note the parameters' values, so that the next :meth:`measure` can tell how far they moved."""
        with self.no_grad:
            for group in self.groups:
                group.keep_weights()

    def forget_weights(self) -> None:
        """Let the values go: they are not those of the step before."""
        for group in self.groups:
            group.forget_weights()

    def measure(self, step: int = 0, *, weights: bool = False, extra: Any = None) -> Reading:
        """Measure every gradient, and the parameters if asked; read a number that waits on the device along with them.

        Parameters
        ----------
        step : int
            What :meth:`last_seen` will say of the elements whose gradient is not 0; 0 to leave that out.
        weights : bool
            Whether to measure the parameters and how far they moved since they were kept, and to keep them again.
        extra : torch.Tensor of one element, optional
            What else is to be read.
        """
        with self.no_grad:
            parts = [self.groups[0].measure(step, weights=weights, extra=extra)]
            for group in self.groups[1:]:
                parts.append(group.measure(step, weights=weights))
        if any(group.outgrown for group in self.groups) and self.moved(wholly=True):
            self.seen = self.last_seen()
            self.arrange()
            return self.measure(step, weights=weights, extra=extra)
        nonfinite = True in [part.nonfinite for part in parts]
        return Reading(nonfinite, parts[0].extra, partial(worked_out, parts, len(self.parameters)))

    def last_seen(self) -> dict[int, Array]:
        """For each vector among the parameters, the last step at which each element had a gradient; 0 for never."""
        found = {i: seen for group in self.groups for i, seen in group.last_seen().items()}
        before = {i: self.seen[i] for i in found if i in self.seen and len(self.seen[i]) == len(found[i])}
        return found | {i: np.maximum(found[i], seen) for i, seen in before.items()}


def worked_out(parts: Sequence[Part], count: int) -> Measures:
    """Bring the measures of all groups into the parameters' order."""
    table = np.empty((7, count))
    for part in parts:
        table[:, part.where] = part.columns()
    return Measures.of(table)
