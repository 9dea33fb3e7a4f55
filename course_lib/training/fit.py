"""Many epochs, and what they were like."""

import time
from collections.abc import Callable, Iterable
from inspect import signature
from typing import Any

from course_lib.training.checks import check_count, check_scheduler
from course_lib.training.epoch import train_epoch, validate
from course_lib.training.history import History
from course_lib.training.progress import epochs_bar
from course_lib.training.tally import EpochLoss, Metrics

__all__ = ["fit"]


def fit(
    model: Any,
    train_loader: Iterable[Any],
    criterion: Callable[[Any, Any], Any],
    optimizer: Any,
    device: Any,
    *,
    epochs: int,
    val_loader: Iterable[Any] | None = None,
    scheduler: Any = None,
    metrics: Metrics | None = None,
    accumulate: int = 1,
    before_step: Callable[[Any], object] | None = None,
    reduction: str | None = None,
    count: Callable[[Any], Any] | None = None,
    sync_every: int | None = None,
    progress: bool = True,
) -> History:
    """Train for some epochs, validating after each, and return the history.

    Parameters
    ----------
    model, train_loader, criterion, optimizer, device
        As :func:`train_epoch` takes them.
    epochs : int
        How many passes over the data.
    val_loader : iterable of (inputs, targets), optional
        What to :func:`validate` on after each epoch.
    scheduler : object with ``step()``, optional
        Changes the learning rate; called after each epoch, with the validation loss (without one, the training loss)
        if its ``step`` takes ``metrics``, as that of ``ReduceLROnPlateau`` does.
    metrics, accumulate, before_step, reduction, count, sync_every
        As :func:`train_epoch` takes them.
    progress : bool
        Show one bar for all of it, with the last losses.

    Returns
    -------
    History
        With ``train_loss``, ``val_loss``, metrics, learning rates, and ``plot()``.

    Raises
    ------
    InputError, TrainingError
        As :func:`train_epoch`; the message names the epoch.

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
    check_scheduler(scheduler)
    shared: dict[str, Any] = {"metrics": metrics, "reduction": reduction, "count": count, "sync_every": sync_every}
    stepping: dict[str, Any] = {"accumulate": accumulate, "before_step": before_step}
    train, val, rates, seconds = [], [], [], []
    with epochs_bar(epochs, train_loader, progress=progress) as bar:
        for epoch in range(epochs):
            start, shared["epoch"] = time.perf_counter(), epoch
            batches = bar.watch(train_loader, epoch)
            train.append(train_epoch(model, batches, criterion, optimizer, device, **stepping, **shared))
            rates.append(float(optimizer.param_groups[0]["lr"]))
            if val_loader is not None:
                val.append(validate(model, val_loader, criterion, device, **shared))
            advance(scheduler, val[-1] if val else train[-1])
            seconds.append(time.perf_counter() - start)
            bar.note(train=train[-1], **({"val": val[-1]} if val else {}))
    return History(*by_name(train, val), learning_rate=tuple(rates), seconds=tuple(seconds))


def advance(scheduler: Any, loss: float) -> None:
    """Let the learning rate change, by the loss if the scheduler goes by it."""
    if scheduler is not None:
        takes_loss = "metrics" in signature(scheduler.step).parameters
        scheduler.step(*([float(loss)] if takes_loss else []))


def by_name(train: list[EpochLoss], val: list[EpochLoss]) -> tuple[Any, Any, Any, Any]:
    """Turn the results of epochs into the columns of a history: losses, then metrics by name."""
    losses = [tuple(float(loss) for loss in results) for results in (train, val)]
    names = train[0].metrics
    measured = [{n: tuple(r.metrics[n] for r in results) for n in names if results} for results in (train, val)]
    return losses[0], losses[1], measured[0], measured[1]
