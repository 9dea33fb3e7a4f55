"""Accumulate the losses of an epoch on the device, read them back seldom, and average them over samples."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

from course_lib.errors import InputError, TrainingError
from course_lib.training.epochs.criterion import is_scalar
from course_lib.training.epochs.error_notes import add_note_to_errors, metric_note
from course_lib.training.framework import Framework
from course_lib.types import Number, Tree

__all__ = ["EpochLoss", "LossAccumulator", "Metrics"]

NOTHING_COUNTS = "None of its targets counts: leave such batches out, or use reduction='sum'."
Metrics: TypeAlias = Mapping[str, Callable[[Any, Any], "Number"]]


class EpochLoss(float):
    """Mean loss of an epoch: a float, with the samples, batches and metrics behind it, and the steps left out.

    Attributes
    ----------
    samples : int
        Number of samples.
    batches : int
        Number of batches.
    metrics : dict of str to float
        The mean of each metric over the samples.
    skipped : int
        Steps of the optimizer that were left out: by ``before_step``, or by a scaler whose gradients overflowed.

    Examples
    --------
    >>> loss = EpochLoss(0.25, samples=100, batches=4, metrics={"accuracy": 0.9})
    >>> loss < 0.3, loss.metrics["accuracy"]
    (True, 0.9)
    """

    samples: int
    batches: int
    metrics: dict[str, float]
    skipped: int

    def __new__(  # noqa: D102 - as the class says
        cls, loss: float, *, samples: int, batches: int, metrics: Mapping[str, float], skipped: int = 0
    ) -> "EpochLoss":
        self = super().__new__(cls, loss)
        self.samples, self.batches, self.metrics, self.skipped = samples, batches, dict(metrics), skipped
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), vars(self)


@dataclass
class LossAccumulator:
    """Accumulator of an epoch's losses and metrics, in double precision, which seldom waits for the device."""

    framework: Framework
    reduction: str
    metrics: Metrics
    sync_every: int
    samples: int = 0
    batches: int = 0
    pending: list[tuple[Number, ...]] = field(default_factory=list)
    rows: list[list[float]] = field(default_factory=list)

    def add(self, loss: Number, weight: Number, samples: int, outputs: Any, targets: Tree, *, where: str) -> None:
        """Add a batch, without its graph."""
        outputs = outputs.detach() if self.metrics and hasattr(outputs, "detach") else outputs
        measured = {}
        for name, metric in self.metrics.items():
            with add_note_to_errors(partial(metric_note, where, name, outputs, targets)):
                measured[name] = metric(outputs, targets)
        for name, value in measured.items():
            if not is_scalar(value):
                shape = getattr(value, "shape", None)
                came = f"has shape {tuple(shape)}" if shape else f"is a {type(value).__name__}"
                raise InputError(
                    f"{where}: a metric must be one number for a batch, but {name!r} {came}; end it with .mean()"
                )
        self.pending.append((*map(self.framework.noted, (loss, weight, *measured.values())), samples))
        self.samples += samples
        self.batches += 1

    @property
    def is_due(self) -> bool:
        """Return whether it is time to read back."""
        return len(self.pending) >= self.sync_every

    def read(self, where: Callable[[int], str], why: Callable[[int], str]) -> None:
        """Read the pending losses back, and raise at the first that is not finite."""
        if not self.pending:
            return
        first = self.batches - len(self.pending)
        columns = self.framework.read(list(zip(*self.pending, strict=True)))
        self.pending.clear()
        for i, (loss, weight) in enumerate(zip(columns[0], columns[1], strict=True)):
            if not math.isfinite(loss):
                reason = why(first + i) if weight else NOTHING_COUNTS
                raise TrainingError(f"{where(first + i)}: the loss must be finite, but it is {loss}. {reason}")
            if not 0 <= weight < math.inf:
                raise InputError(
                    f"{where(first + i)}: what the mean loss divides by must be finite and not negative, but it is "
                    f"{weight:g}; look at count, and at the weights of the classes"
                )
        self.rows += [list(row) for row in zip(*columns, strict=True)]

    def sums(self) -> list[float]:
        """Return sums over the batches that were read: of losses, weights, samples, batches, and of each metric."""
        scale = [row[1] if self.reduction == "mean" else 1.0 for row in self.rows]
        losses = math.fsum(row[0] * s for row, s in zip(self.rows, scale, strict=True))
        weight = math.fsum(row[1] for row in self.rows)
        metrics = [math.fsum(row[2 + i] * row[-1] for row in self.rows) for i in range(len(self.metrics))]
        return [losses, weight, self.samples, self.batches, *metrics]

    def result(self, sums: Sequence[float], *, skipped: int) -> EpochLoss:
        """Return the means over the samples of the whole epoch from :meth:`sums`, those of all processes."""
        loss, weight, samples, batches, *measured = sums
        metrics = {name: number / samples for name, number in zip(self.metrics, measured, strict=True)}
        counts = {"samples": int(samples), "batches": int(batches), "skipped": skipped}
        return EpochLoss(loss / weight, metrics=metrics, **counts)
