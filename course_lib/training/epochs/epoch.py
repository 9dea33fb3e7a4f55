"""Train or validate for one epoch: a pass over the data."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from course_lib.errors import TrainingError
from course_lib.instrument.backward_hooks import explain_missing_gradients
from course_lib.training.argument_checks import (
    check_count,
    check_hook,
    check_loader,
    check_trainable,
    optimizer_parameter_ids,
)
from course_lib.training.epochs.epoch_loss import EpochLoss, Metrics
from course_lib.training.epochs.epoch_pass import EpochPass, group_batches
from course_lib.training.epochs.mixed_precision import Precision, check_scaler
from course_lib.training.epochs.module_state import switch_mode
from course_lib.training.epochs.step_skipping import Steps
from course_lib.training.progress import show_progress
from course_lib.types import AnyDevice, AnyModule, AnyOptimizer, LossFunction, Number

if TYPE_CHECKING:
    from torch.amp import GradScaler

__all__ = ["train_epoch", "validate"]


def train_epoch(
    model: AnyModule,
    loader: Iterable[object],
    criterion: LossFunction,
    optimizer: AnyOptimizer,
    device: AnyDevice,
    *,
    accumulate: int = 1,
    before_step: Callable[[Any], object] | None = None,
    precision: Precision | None = None,
    scaler: "GradScaler | None" = None,
    metrics: Metrics | None = None,
    reduction: str | None = None,
    count: Callable[[Any], Number] | None = None,
    sync_every: int | None = None,
    epoch: int | None = None,
    progress: bool = False,
) -> EpochLoss:
    r"""Train for one pass over the data, and return the mean loss over its samples.

    For each batch: ``zero_grad``, forward, loss, ``backward``, ``step``, in training mode, except for modules that you
    have put in evaluation mode within a model in training mode, such as a frozen batch norm. Afterwards every module is
    in the mode it was in, even after an exception. Each step begins without gradients, even for those parameters of
    the model that the optimizer does not hold.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module
        On ``device``.
    loader : iterable of (inputs, targets)
        Batches, such as a ``DataLoader`` or an :class:`ArrayLoader` yields. Inputs in a tuple or a list
        become the model's arguments, in a dict or ``UserDict`` its keyword arguments. Arrays become tensors. Targets
        have one row for each sample, or are a list of dicts, one for each.
    criterion : callable
        ``criterion(outputs, targets)``, one number for a batch.
    optimizer : torch.optim.Optimizer or one of course_lib.autograd.optim
        Made from the model's parameters.
    device : str or torch.device
        Where the batches go.
    accumulate : int
        Step once for this many batches, with the gradient that they would have as one large batch, equal in size or
        not. The last step of an epoch takes what is left. The batches of a step are fetched before the first is used,
        so the loader must not write one over another. DDP exchanges gradients once for each step.
    before_step : callable, optional
        Called with the model between ``backward`` and ``step``, when the gradients of the step are complete: to clip,
        as in ``partial(clip_by_global_norm, max_norm=1.0)``, or to watch them. If it returns False, the step is
        skipped; likewise if it returns a number that is not finite and some gradient is not finite either, as
        clipping with ``nonfinite="skip"`` does. Reading a number or a truth value waits for the accelerator it is on.
    precision : {"bf16", "fp16"}, optional
        Mixed precision: compute the outputs and the loss under ``torch.autocast``; parameters and gradients stay what
        they are. ``"fp16"`` needs a ``scaler``.
    scaler : torch.amp.GradScaler, optional
        Scales the loss, so that small gradients do not become 0 in float16; the same for all epochs. ``before_step``
        sees gradients that are unscaled already, so do not call ``unscale_`` there. A step whose gradients overflow is
        left out without asking ``before_step``, and is counted in the result's ``skipped``; the scale is lowered.
    metrics : mapping of str to callable, optional
        ``metric(outputs, targets)``, each the mean over a batch, such as :func:`accuracy`. ``"loss"`` is taken.
    reduction : {"mean", "sum"}, optional
        How the criterion reduces. By default its attribute ``reduction``, or the one bound by ``functools.partial``;
        a criterion that has neither is taken to return the mean.
    count : callable, optional
        ``count(targets)``, what the mean of a batch divides by. By default the number of samples, or for
        ``CrossEntropyLoss`` and ``NLLLoss`` the total weight of the samples that are not ignored. Needed where a module
        wraps one of these with weights, or with an ``ignore_index`` of its own.
    sync_every : int, optional
        Batches between two looks at the loss. Each look waits for the device, so by default it is 1 on the CPU, where
        a loss that is not finite is then found before it does harm, and 1000 elsewhere.
    epoch : int, optional
        Its number, for messages and the progress bar.
    progress : bool
        Show a bar.

    Returns
    -------
    EpochLoss
        A float, with ``samples``, ``batches``, ``metrics`` and ``skipped``. With weights :math:`n_i` and losses
        :math:`l_i` of the batches it is :math:`\sum_i n_i l_i / \sum_i n_i` for a criterion that gives the mean, and
        :math:`\sum_i l_i / \sum_i n_i` for one that gives the sum. Each loss is computed with the parameters at that
        moment. Of a model that DDP or FSDP2 wraps, the sums go over the batches of all processes, in one exchange at
        the end of the epoch, so that each sample counts once, however unequal the shards are (twice, if a
        ``DistributedSampler`` repeats it to make them equal). The gradients are DDP's: the plain mean over processes.

    Raises
    ------
    InputError
        If there are no batches, a batch is not a pair, the loss is not one number, the model has nothing to train, the
        optimizer holds none of its parameters, or the device does not exist or is not the model's.
    TrainingError
        If a loss is not finite (epoch and batch are named), no gradient reaches the optimizer's parameters, or no
        target counts.
    Exception
        What the model, the criterion or a metric raises for shapes and dtypes gets a note that names these and
        the batch.

    Examples
    --------
    >>> from course_lib.autograd import nn, optim
    >>> from course_lib.training import ArrayLoader
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 10, dtype=np.float32)[:, None]
    >>> model = nn.Linear(1, 1)
    >>> optimizer = optim.SGD(model.parameters(), lr=0.5)
    >>> for _ in range(50):
    ...     loss = train_epoch(model, ArrayLoader(x, 3 * x, batch_size=4), nn.MSELoss(), optimizer, "cpu")
    >>> loss.samples, loss.batches, round(loss, 4)
    (10, 3, 0.0)
    """
    one_pass = EpochPass.start(
        model, criterion, device, "train", epoch, metrics, reduction, count, sync_every, precision
    )
    check_scaler(one_pass.framework, precision, scaler)
    check_trainable(model, optimizer)
    check_loader(loader)
    check_count("accumulate", accumulate)
    check_hook(before_step)
    scaler = scaler if scaler is not None and scaler.is_enabled() else None
    others = _parameters_without_optimizer(model, optimizer)
    steps = Steps(model, optimizer, one_pass.framework, before_step, scaler)
    with switch_mode(model, training=True), show_progress(loader, one_pass.title, progress=progress) as batches:
        for group in group_batches(batches, accumulate):
            optimizer.zero_grad()
            for p in others:  # or they would pile up, and before_step would clip by them
                p.grad = None
            one_pass.framework.weights_changed()
            one_pass.backward(group, scaler)
            if one_pass.losses.batches <= accumulate:
                _check_gradients(model, optimizer, one_pass.name_batch(0))
            steps.take()
    steps.warn_if_none(one_pass.title)
    return one_pass.result(skipped=steps.skipped)


def _parameters_without_optimizer(model: AnyModule, optimizer: AnyOptimizer) -> list[Any]:
    """List the parameters of a model that the optimizer does not train, such as those below a new head."""
    held = optimizer_parameter_ids(optimizer)
    return [p for p in model.parameters() if id(p) not in held]


def _check_gradients(model: AnyModule, optimizer: AnyOptimizer, where: str) -> None:
    """Check that the backward pass reached a parameter of the optimizer."""
    held = [p for p in model.parameters() if id(p) in optimizer_parameter_ids(optimizer)]
    if all(p.grad is None for p in held):
        raise TrainingError(
            f"{where}: backward() must reach parameters that the optimizer holds, but all their gradients are None: "
            + (explain_missing_gradients(held) or "the loss does not depend on them: look for a detach() on the way")
        )


def validate(
    model: AnyModule,
    loader: Iterable[object],
    criterion: LossFunction,
    device: AnyDevice,
    *,
    precision: Precision | None = None,
    metrics: Metrics | None = None,
    reduction: str | None = None,
    count: Callable[[Any], Number] | None = None,
    sync_every: int | None = None,
    epoch: int | None = None,
    progress: bool = False,
) -> EpochLoss:
    """Validate: compute the mean loss over the samples, in evaluation mode and without a graph.

    Parameters and results are those of :func:`train_epoch`. Afterwards every module is in the mode it was in, even
    after an exception.

    Raises
    ------
    InputError
        If there are no batches, a batch is not a pair, the loss is not one number, or the device does not exist or is
        not the model's.
    TrainingError
        If a loss is not finite (epoch and batch are named), or no target counts.
    Exception
        As from :func:`train_epoch`, with a note.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> from course_lib.training import accuracy
    >>> model = nn.Sequential(nn.Flatten())  # the inputs are the logits
    >>> batches = [(tensor([[3.0, 0.0], [0.0, 3.0]]), tensor([0, 1])), (tensor([[0.0, 3.0]]), tensor([0]))]
    >>> loss = validate(model, batches, nn.CrossEntropyLoss(), "cpu", metrics={"accuracy": accuracy})
    >>> round(loss, 4), round(loss.metrics["accuracy"], 4)
    (1.0486, 0.6667)
    """
    one_pass = EpochPass.start(
        model, criterion, device, "validate", epoch, metrics, reduction, count, sync_every, precision
    )
    check_loader(loader)
    one_pass.framework.weights_changed()
    no_grad = one_pass.framework.no_grad
    with (
        switch_mode(model, training=False),
        no_grad(),
        show_progress(loader, one_pass.title, progress=progress) as batches,
    ):
        for batch in batches:
            one_pass.evaluate(batch)
    return one_pass.result()
