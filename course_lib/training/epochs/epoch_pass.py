"""Run one pass over the data, batch by batch: move, forward, loss and, in training, backward."""

from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from course_lib.errors import InputError, TrainingError
from course_lib.training.argument_checks import check_count, check_library, check_metrics
from course_lib.training.data_parallel import reshard
from course_lib.training.epochs.criterion import Criterion, count_samples, tree_leaves
from course_lib.training.epochs.epoch_loss import EpochLoss, LossAccumulator, Metrics
from course_lib.training.epochs.error_notes import (
    add_note_to_errors,
    count_note,
    criterion_note,
    describe_shapes,
    model_note,
)
from course_lib.training.epochs.mixed_precision import autocast
from course_lib.training.epochs.module_state import restore_averages_on_error, running_averages
from course_lib.training.framework import Framework, framework_of
from course_lib.types import AnyArray, AnyDevice, AnyModule, AnyTensor, LossFunction, Number, Tree

__all__ = ["EpochPass", "call_model", "group_batches"]

READ_EVERY = 1000  # batches, on an accelerator: a batch that is not read yet takes at least 512 bytes there

_Nest = TypeVar("_Nest")
_Batch = TypeVar("_Batch")


@dataclass(frozen=True)
class EpochPass:
    """A pass over the data: the model, its criterion and device, and the losses so far."""

    model: AnyModule
    criterion: Criterion
    framework: Framework
    device: AnyDevice
    losses: LossAccumulator
    title: str
    autocast: Callable[[], AbstractContextManager[Any]]
    averages: tuple[AnyTensor, ...] = ()

    @classmethod
    def start(
        cls,
        model: AnyModule,
        criterion: LossFunction,
        device: AnyDevice,
        kind: str,
        epoch: int | None,
        metrics: Metrics | None,
        reduction: str | None,
        count: Callable[[Any], Number] | None,
        sync_every: int | None,
        precision: str | None,
    ) -> "EpochPass":
        """Start a pass: check the arguments, and find the framework."""
        framework = framework_of(model)
        reshard(model)
        place = framework.device(device, model)
        judged = Criterion.from_function(criterion, reduction=reduction, count=count)
        check_library(framework, criterion)
        if sync_every is None:
            sync_every = 1 if place is None or place.type == "cpu" else READ_EVERY
        check_count("sync_every", sync_every)
        check_metrics(metrics := metrics or {})
        losses = LossAccumulator(framework, judged.reduction, metrics, sync_every)
        casts = partial(autocast, framework, place, precision)
        casts()
        title = kind if epoch is None else f"{kind}, epoch {epoch}"
        looks = kind == "train" and sync_every == 1  # only then is a bad loss known before the next batch
        averages = tuple(running_averages(model)) if looks else ()
        return cls(model, judged, framework, place, losses, title, casts, averages)

    def name_batch(self, batch: int) -> str:
        """Name a batch in a message."""
        return f"{self.title}, batch {batch} (counted from 0)"

    def evaluate(self, batch: object) -> None:
        """Compute the loss of a batch."""
        where = self.name_batch(self.losses.batches)
        inputs, targets = self._move(_unpack_batch(batch, where), where)
        self._loss(inputs, targets, self._weight(targets, where))

    def backward(self, group: Sequence[object], scaler: Any = None) -> None:
        """Accumulate the gradients of some batches as those of one: each mean counts by its share of the whole."""
        pairs = [_unpack_batch(batch, self.name_batch(self.losses.batches + i)) for i, batch in enumerate(group)]
        wanted = [self._move(targets, self.name_batch(self.losses.batches + i)) for i, (_, targets) in enumerate(pairs)]
        weights = [self._weight(targets, self.name_batch(self.losses.batches + i)) for i, targets in enumerate(wanted)]
        shared = len(group) > 1 and self.criterion.reduction == "mean"
        total = sum(weights) if shared else 1
        for left, ((inputs, _), targets, weight) in enumerate(zip(pairs, wanted, weights, strict=True), 1 - len(group)):
            where = self.name_batch(self.losses.batches)
            # DDP adds up over processes in each backward; the sum of the last one has the others in it.
            with self.model.no_sync() if left and hasattr(self.model, "no_sync") else nullcontext():
                loss = self._loss(self._move(inputs, where), targets, weight)
                _check_connected(loss, where)
                if shared:  # in this order, integer tensors do not turn it into float32; and 0 is not divided by 0
                    loss = loss / (total + (total == 0)) * weight
                (loss if scaler is None else scaler.scale(loss)).backward()

    def _move(self, value: _Nest, where: str) -> _Nest:
        with add_note_to_errors(lambda: f"{where}: what was to become tensors is {describe_shapes(value)}."):
            moved: _Nest = self.framework.move(value, self.device)
        return moved

    def _weight(self, targets: Tree, where: str) -> Number:
        note = criterion_note if self.criterion.count is None else count_note
        with add_note_to_errors(lambda: note(where, targets)):
            return self.criterion.weight(targets)

    def _loss(self, inputs: Tree, targets: Tree, weight: Number) -> AnyTensor:
        """Compute the loss of a batch and add it to the others; if they are due, check that they are finite."""
        where, samples = self.name_batch(self.losses.batches), count_samples(targets)
        if not samples:
            raise InputError(f"{where}: a batch must have samples, but its targets are empty; leave such batches out")
        with restore_averages_on_error(self.averages) if self.averages else nullcontext():
            with self.autocast():
                with add_note_to_errors(lambda: model_note(where, self.model, inputs)):
                    outputs = call_model(self.model, inputs)
                loss = self.criterion(outputs, targets, where=where)
            self.losses.add(loss, weight, samples, outputs, targets, where=where)
            if self.losses.is_due:
                self._read(inputs, targets)
        return loss

    def _read(self, inputs: Tree = None, targets: Tree = None) -> None:
        """Read the losses back; raise if one is not finite, with its batch and what may have caused it."""
        last = self.losses.batches - 1

        def explain(batch: int) -> str:
            known = (inputs, targets) if batch == last else (None, None)
            return _explain_nonfinite(self.framework, self.model, *known)

        self.losses.read(self.name_batch, explain)

    def result(self, *, skipped: int = 0) -> EpochLoss:
        """Return the means over the samples of all processes; raise if there was no batch."""
        self._read()
        _, weight, _, batches, *_ = sums = self.framework.add_up(self.losses.sums(), self.model)
        if not batches:
            raise InputError(
                f"{self.title}: the loader must yield at least one batch, but yielded none. Is the data set empty, "
                "does drop_last=True drop all of it, or is the loader a generator that has been used up?"
            )
        if not weight:
            raise TrainingError(
                f"{self.title}: the loss must be the mean over some targets, but none of them counts; look at "
                "ignore_index, at the weights of the classes, and at count"
            )
        return self.losses.result(sums, skipped=skipped)


def _unpack_batch(batch: object, where: str) -> tuple[Tree, Tree]:
    """Split a batch into inputs and targets."""
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        inputs, targets = batch
        return inputs, targets
    came = f"a {type(batch).__name__}" + (f" of {len(batch)}" if isinstance(batch, (tuple, list, dict)) else "")
    raise InputError(
        f"{where}: a batch must be a pair (inputs, targets), but got {came}; several inputs go into one tuple or dict"
    )


def _check_connected(loss: AnyTensor, where: str) -> None:
    """Check that the loss has a graph behind it."""
    if not loss.requires_grad:
        raise TrainingError(
            f"{where}: the loss must depend on the model's parameters, but it does not require grad; is the loop "
            "inside no_grad(), or does the forward pass use detach() or numpy()?"
        )


def _explain_nonfinite(framework: Framework, model: AnyModule, inputs: Tree = None, targets: Tree = None) -> str:
    """Explain a loss that is not finite by the inputs, targets or parameters that are not finite either."""
    for name, value in (("inputs", inputs), ("targets", targets)):
        if not all(framework.finite(leaf) for leaf in tree_leaves(value) if _is_floating(leaf)):
            return f"Its {name} hold NaN or infinity: clean the data, or leave such samples out."
    for name, p in model.named_parameters():
        if not framework.finite(p):
            return (
                f"The parameter {name!r} holds NaN or infinity as well: an earlier step went too far or met bad data. "
                "Lower the learning rate, clip the gradients, or pass sync_every=1 to stop before such a step."
            )
    seen = "Inputs, targets and parameters" if inputs is not None else "The parameters"
    return (
        f"{seen} are finite, so it arose in the forward pass or the criterion: look for overflow, log(0) or 0/0 there, "
        "or lower the learning rate if the losses before it grew."
    )


def _is_floating(value: object) -> bool:
    dtype = str(getattr(value, "dtype", ""))
    return ("float" in dtype or "complex" in dtype) and hasattr(value, "detach")


def group_batches(batches: Iterable[_Batch], size: int) -> Iterator[list[_Batch]]:
    """Yield the batches of each step together: their total size must be known before the first backward.

    Examples
    --------
    >>> list(group_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(batches)
    while group := list(islice(iterator, size)):
        yield group


def call_model(model: Callable[..., AnyArray], inputs: Tree) -> AnyArray:
    """Call the model on one input, on several, or on named ones."""
    if isinstance(inputs, (dict, UserDict)):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, list) or type(inputs) is tuple else model(inputs)
