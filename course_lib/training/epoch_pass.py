"""What happens to each batch of a pass over the data: it is moved, judged, noted and, in training, differentiated."""

from collections import UserDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

from course_lib.errors import InputError, TrainingError
from course_lib.training.argument_checks import (
    check_connected,
    check_count,
    check_library,
    check_metrics,
    explain_nonfinite,
    unpack_batch,
)
from course_lib.training.criterion import Criterion, count_samples
from course_lib.training.epoch_loss import EpochLoss, LossAccumulator, Metrics
from course_lib.training.error_notes import add_note_to_errors, count_note, criterion_note, describe_shapes, model_note
from course_lib.training.framework import Framework, framework_of
from course_lib.training.module_state import restore_averages_on_error, running_averages

__all__ = ["EpochPass", "call_model", "group_batches"]

READ_EVERY = 1000  # batches, on an accelerator: a batch that is not read yet takes at least 512 bytes there


@dataclass(frozen=True)
class EpochPass:
    """One pass: the model, what judges it, where it runs, and what has been noted so far."""

    model: Any
    criterion: Criterion
    framework: Framework
    device: Any
    tally: LossAccumulator
    title: str
    averages: tuple[Any, ...] = ()

    @classmethod
    def over(
        cls,
        model: Any,
        criterion: Any,
        device: Any,
        kind: str,
        epoch: int | None,
        metrics: Metrics | None,
        reduction: str | None,
        count: Callable[[Any], Any] | None,
        sync_every: int | None,
    ) -> "EpochPass":
        """Check what can be checked before the first batch."""
        framework = framework_of(model)
        device = framework.device(device, model)
        judge = Criterion.of(criterion, reduction=reduction, count=count)
        check_library(framework, criterion)
        if sync_every is None:
            sync_every = 1 if device is None or device.type == "cpu" else READ_EVERY
        check_count("sync_every", sync_every)
        check_metrics(metrics := metrics or {})
        tally = LossAccumulator(framework, judge.reduction, metrics, sync_every)
        title = kind if epoch is None else f"{kind}, epoch {epoch}"
        looks = kind == "train" and sync_every == 1  # only then is a bad loss known before the next batch
        return cls(model, judge, framework, device, tally, title, tuple(running_averages(model)) if looks else ())

    def where(self, batch: int) -> str:
        """Name a batch in a message."""
        return f"{self.title}, batch {batch} (counted from 0)"

    def evaluate(self, batch: Any) -> None:
        """Note the loss of a batch."""
        where = self.where(self.tally.batches)
        inputs, targets = self._moved(unpack_batch(batch, where), where)
        self._loss(inputs, targets, self._weight(targets, where))

    def backward(self, group: list[Any]) -> None:
        """Add up the gradients of some batches as those of one: each mean counts by its share of the whole."""
        pairs = [unpack_batch(batch, self.where(self.tally.batches + i)) for i, batch in enumerate(group)]
        wanted = [self._moved(targets, self.where(self.tally.batches + i)) for i, (_, targets) in enumerate(pairs)]
        weights = [self._weight(targets, self.where(self.tally.batches + i)) for i, targets in enumerate(wanted)]
        shared = len(group) > 1 and self.criterion.reduction == "mean"
        total = sum(weights) if shared else 1
        for (inputs, _), targets, weight in zip(pairs, wanted, weights, strict=True):
            where = self.where(self.tally.batches)
            loss = self._loss(self._moved(inputs, where), targets, weight)
            check_connected(loss, where)
            if shared:  # in this order, integer tensors do not turn it into float32; and 0 is not divided by 0
                loss = loss / (total + (total == 0)) * weight
            loss.backward()

    def _moved(self, value: Any, where: str) -> Any:
        with add_note_to_errors(lambda: f"{where}: what was to become tensors is {describe_shapes(value)}."):
            return self.framework.move(value, self.device)

    def _weight(self, targets: Any, where: str) -> Any:
        about = criterion_note if self.criterion.count is None else count_note
        with add_note_to_errors(lambda: about(where, targets)):
            return self.criterion.weight(targets)

    def _loss(self, inputs: Any, targets: Any, weight: Any) -> Any:
        """Compute the loss of a batch and note it; if it is time to look, see that it is finite."""
        where, samples = self.where(self.tally.batches), count_samples(targets)
        if not samples:
            raise InputError(f"{where}: a batch must have samples, but its targets are empty; leave such batches out")
        with restore_averages_on_error(self.averages) if self.averages else nullcontext():
            with add_note_to_errors(lambda: model_note(where, self.model, inputs)):
                outputs = call_model(self.model, inputs)
            loss = self.criterion(outputs, targets, where=where)
            self.tally.add(loss, weight, samples, outputs, targets, where=where)
            if self.tally.due:
                self._read(inputs, targets)
        return loss

    def _read(self, inputs: Any = None, targets: Any = None) -> None:
        """Read the losses back, and if one is not finite, say where, and what that may come from."""
        last = self.tally.batches - 1

        def explain(batch: int) -> str:
            known = (inputs, targets) if batch == last else (None, None)
            return explain_nonfinite(self.framework, self.model, *known)

        self.tally.sync(self.where, explain)

    def result(self) -> EpochLoss:
        """Return the means over the samples, or refuse if there was no batch."""
        if not self.tally.batches:
            raise InputError(
                f"{self.title}: the loader must yield at least one batch, but yielded none. Is the data set empty, "
                "does drop_last=True drop all of it, or is the loader a generator that has been used up?"
            )
        self._read()
        if not self.tally.weight:
            raise TrainingError(
                f"{self.title}: the loss must be the mean over some targets, but none of them counts; look at "
                "ignore_index, at the weights of the classes, and at count"
            )
        return self.tally.result()


def group_batches(batches: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield the batches of each step together: their total size must be known before the first backward.

    Examples
    --------
    >>> list(group_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(batches)
    while group := list(islice(iterator, size)):
        yield group


def call_model(model: Any, inputs: Any) -> Any:
    """Call the model on one input, on several, or on named ones."""
    if isinstance(inputs, (dict, UserDict)):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, list) or type(inputs) is tuple else model(inputs)
