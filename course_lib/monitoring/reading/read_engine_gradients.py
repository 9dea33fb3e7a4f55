"""Read the gradients of a model of this course's engine, one array after another."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.reading.gradient_measures import Care, Float64, Reading, compute_measures
from course_lib.monitoring.reading.trainable_parameters import to_float64
from course_lib.norms import array_norm
from course_lib.types import AnyTensor

if TYPE_CHECKING:
    from course_lib.autograd import Tensor

__all__ = ["EngineReader"]

FULL_CARE = Care(itemsize=8, scaled=True, centred=True)


class EngineReader:
    """Reads gradients of parameters of this course's engine, one after another, in double precision.

    Parameters
    ----------
    parameters : sequence of course_lib.autograd.Tensor
        Whose ``.grad`` is read.
    """

    def __init__(self, parameters: Sequence["Tensor"]) -> None:
        self._parameters = list(parameters)
        self._kept: list[Float64] = []
        self._seen = {i: np.zeros(p.shape, int) for i, p in enumerate(self._parameters) if len(p.shape) == 1}

    def has_moved(self, *, wholly: bool) -> bool:
        """Return whether a parameter has another device or precision than before: never."""
        return False

    def keep_weights(self) -> None:
        """Copy the parameters, so that the next :meth:`measure` can tell how far they moved."""
        self._kept = [to_float64(p).copy() for p in self._parameters]

    def forget_weights(self) -> None:
        """Drop the copies: they are not those of the step before."""
        self._kept = []

    def measure(self, step: int = 0, *, weights: bool = False, extra: AnyTensor | None = None) -> Reading:
        """Measure every gradient; see :class:`GradientReader`."""
        grads = [None if p.grad is None else to_float64(p.grad) for p in self._parameters]
        for i in self._seen if step else ():
            if (g := grads[i]) is not None:
                self._seen[i][g != 0] = step
        numbers = np.full((8, len(grads)), math.nan)
        numbers[:5] = np.transpose([(0.0,) * 5 if g is None else _reduce(g) for g in grads])
        if weights:
            before = self._kept
            self.keep_weights()
            moved = [a - b for a, b in zip(self._kept, before, strict=bool(before))]
            for k, arrays in enumerate([moved, before, self._kept], start=5):
                numbers[k, : len(arrays)] = [array_norm(a).value for a in arrays]
        sizes = np.array([max(1, math.prod(p.shape)) for p in self._parameters])
        absent = [i for i, g in enumerate(grads) if g is None]
        measures = compute_measures(numbers, sizes, care=FULL_CARE, absent=absent)
        left = 0.0 if extra is None else float(extra.detach())
        return Reading(lambda: measures, nonfinite=bool(measures.nonfinite.any()), extra=left)

    def last_seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector among the parameters the last step at which each element had a gradient, or 0."""
        return dict(self._seen)


def _reduce(g: Float64) -> tuple[float, ...]:
    """Return of an array what :meth:`Stack.measure` returns of a gradient, scaled and centred."""
    top, bottom = g.max(initial=0.0), g.min(initial=0.0)
    with np.errstate(all="ignore"):
        scaled = g.reshape(-1) / FULL_CARE.scale_of(np.maximum(top, -bottom))
        mean = scaled.mean() if scaled.size else 0.0
        return tuple(map(float, (top, bottom, np.linalg.norm(scaled), mean, np.linalg.norm(scaled - mean))))
