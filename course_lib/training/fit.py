"""Train for several epochs, record their history, and go on where a run was killed."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from course_lib.training.argument_checks import check_count, check_loader, check_scheduler
from course_lib.training.checkpoint import Checkpoint
from course_lib.training.epochs.epoch import train_epoch, validate
from course_lib.training.epochs.epoch_loss import EpochLoss, Metrics
from course_lib.training.epochs.mixed_precision import Precision, make_scaler
from course_lib.training.history import TrainingHistory
from course_lib.training.progress import open_epochs_bar
from course_lib.types import AnyDevice, AnyModule, AnyOptimizer, LossFunction, Number

if TYPE_CHECKING:
    from torch.amp import GradScaler

__all__ = ["Scheduler", "fit"]


class Scheduler(Protocol):
    """A scheduler of the learning rate, as those in ``torch.optim.lr_scheduler``."""

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """Change the learning rate."""


def fit(
    model: AnyModule,
    train_loader: Iterable[object],
    criterion: LossFunction,
    optimizer: AnyOptimizer,
    device: AnyDevice,
    *,
    epochs: int,
    val_loader: Iterable[object] | None = None,
    scheduler: Scheduler | None = None,
    metrics: Metrics | None = None,
    accumulate: int = 1,
    before_step: Callable[[Any], object] | None = None,
    precision: Precision | None = None,
    scaler: "GradScaler | None" = None,
    reduction: str | None = None,
    count: Callable[[Any], Number] | None = None,
    sync_every: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    keep: Mapping[str, object] | None = None,
    progress: bool = True,
) -> TrainingHistory:
    """Train for some epochs, validating after each, and return the history.

    Parameters
    ----------
    model, train_loader, criterion, optimizer, device
        As for :func:`train_epoch`. A loader or sampler that has ``set_epoch``, such as torch's
        ``DistributedSampler``, is told each epoch; otherwise it would shuffle in the same way every time.
    epochs : int
        How many passes over the data.
    val_loader : iterable of (inputs, targets), optional
        What to :func:`validate` on after each epoch.
    scheduler : object with ``step()``, optional
        Changes the learning rate; called after each epoch, with the validation loss (without one, the training loss)
        if its ``step`` takes ``metrics``, as that of ``ReduceLROnPlateau`` does. One that is to move on after each
        step is left out here, and moved by the optimizer's ``register_step_post_hook``.
    metrics, accumulate, before_step, precision, scaler, reduction, count, sync_every
        As for :func:`train_epoch`; ``precision="fp16"`` without a scaler makes one.
    checkpoint : path, optional
        A file in which the run is kept, of a torch model. It is written before the first epoch and after each, whole or
        not at all; if it is there already, training goes on from it: a run that was killed, called again in the same
        way, ends with the same weights and history to the last bit, as far as two runs of the script do. To begin
        anew, delete it. It holds the states of model, optimizer, scheduler and scaler, of the generators of Python,
        NumPy and torch, and of the loaders: their ``generator``, and what their ``state_dict()`` says. It does not hold
        the generators of ``persistent_workers``. Under DDP, one process writes it, and all read it.
    keep : mapping of str to object, optional
        What else belongs into the checkpoint, since it changes during the run: a schedule that a hook moves, averaged
        weights. Each has ``state_dict()`` and ``load_state_dict()``.
    progress : bool
        Show one bar for all of it, with the latest losses.

    Returns
    -------
    History
        With ``train_loss``, ``val_loss``, metrics, learning rates, and ``plot()``.

    Raises
    ------
    InputError, TrainingError
        As for :func:`train_epoch`; the message names the epoch.
    BaseException
        Any exception that stops it once it has begun, even Ctrl-C, has the history of the complete epochs in its
        attribute ``history``.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.autograd import nn, optim
    >>> from course_lib.training import ArrayLoader
    >>> x = np.linspace(-1, 1, 10, dtype=np.float32)[:, None]
    >>> model = nn.Linear(1, 1)
    >>> sgd = optim.SGD(model.parameters(), lr=0.5)
    >>> history = fit(model, ArrayLoader(x, 3 * x, batch_size=5), nn.MSELoss(), sgd, "cpu", epochs=20, progress=False)
    >>> len(history), history.train_loss[-1] < history.train_loss[0]
    (20, True)
    """
    check_count("epochs", epochs)
    check_count("accumulate", accumulate)
    check_loader(train_loader)
    check_loader(() if val_loader is None else val_loader)
    check_scheduler(scheduler, optimizer, epochs, train_loader, accumulate)
    shared: dict[str, Any] = {"metrics": metrics, "reduction": reduction, "count": count, "sync_every": sync_every}
    shared["precision"] = precision
    scaler = make_scaler(device) if precision == "fp16" and scaler is None else scaler
    stepping: dict[str, Any] = {"accumulate": accumulate, "before_step": before_step, "scaler": scaler}
    kept, past = None, list[_EpochResult]()
    if checkpoint is not None:
        loaders = [train_loader] if val_loader is None else [train_loader, val_loader]
        parts: dict[str, Any] = {"loaders": loaders, "scheduler": scheduler, "scaler": scaler, "keep": keep}
        kept = Checkpoint.open(checkpoint, model, optimizer, device, **parts)
        past = [_EpochResult.from_plain(**epoch) for epoch in kept.resume()]
    bars = open_epochs_bar(epochs, train_loader, progress=progress, done=len(past))
    with _attach_history_to_errors(past), bars as bar:
        for epoch in range(len(past), epochs):
            start, shared["epoch"] = time.perf_counter(), epoch
            _set_epoch(train_loader, epoch)
            batches = bar.track(train_loader, epoch)
            train = train_epoch(model, batches, criterion, optimizer, device, **stepping, **shared)
            rate = float(optimizer.param_groups[0]["lr"])
            val = None if val_loader is None else validate(model, val_loader, criterion, device, **shared)
            _step_scheduler(scheduler, train if val is None else val)
            past.append(_EpochResult(train, val, rate, time.perf_counter() - start))
            if kept is not None:
                kept.save([each.as_plain() for each in past])
            bar.show(train=train, **({} if val is None else {"val": val}))
    return _build_history(past)


def _set_epoch(loader: object, epoch: int) -> None:
    """Set the epoch of a loader or sampler that shuffles by its number."""
    for part in (loader, getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)):
        if callable(set_epoch := getattr(part, "set_epoch", None)):
            set_epoch(epoch)


def _step_scheduler(scheduler: Scheduler | None, loss: float) -> None:
    """Step the scheduler, with the loss if its step() takes it."""
    if scheduler is not None:
        takes_loss = "metrics" in signature(scheduler.step).parameters
        scheduler.step(*([float(loss)] if takes_loss else []))


class _EpochResult(NamedTuple):
    """Losses, learning rate and seconds of one epoch."""

    train: EpochLoss
    val: EpochLoss | None
    rate: float
    seconds: float

    def as_plain(self) -> dict[str, Any]:
        """Return it as numbers and names, for a file."""
        losses = {"train": _plain(self.train), "val": None if self.val is None else _plain(self.val)}
        return losses | {"rate": self.rate, "seconds": self.seconds}

    @classmethod
    def from_plain(
        cls, train: dict[str, Any], val: dict[str, Any] | None, rate: float, seconds: float
    ) -> "_EpochResult":
        """Make it again."""
        return cls(EpochLoss(**train), None if val is None else EpochLoss(**val), rate, seconds)


def _plain(loss: EpochLoss) -> dict[str, Any]:
    return {"loss": float(loss), **vars(loss)}


@contextmanager
def _attach_history_to_errors(past: list[_EpochResult]) -> Iterator[None]:
    """Attach the history so far to any error that ends training: it may hold hours of work."""
    try:
        yield
    except BaseException as error:
        error.history = _build_history(past)  # type: ignore[attr-defined] # the attribute is new
        if past:
            error.add_note(f"The history of the {len(past)} epochs before is in this error's attribute history.")
        raise


def _build_history(past: list[_EpochResult]) -> TrainingHistory:
    """Turn epochs into the columns of a history: losses, and metrics by name."""
    train, val = [epoch.train for epoch in past], [epoch.val for epoch in past if epoch.val is not None]
    return TrainingHistory(
        tuple(map(float, train)),
        tuple(map(float, val)),
        _collect_metrics(train),
        _collect_metrics(val),
        tuple(epoch.rate for epoch in past),
        tuple(epoch.seconds for epoch in past),
        tuple(epoch.train.skipped for epoch in past),
    )


def _collect_metrics(losses: list[EpochLoss]) -> dict[str, tuple[float, ...]]:
    """Collect each metric, epoch by epoch."""
    names = losses[0].metrics if losses else ()
    return {name: tuple(loss.metrics[name] for loss in losses) for name in names}
