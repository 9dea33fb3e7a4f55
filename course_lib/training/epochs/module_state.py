"""Switch modules between training and evaluation, and protect running averages from a batch that goes wrong."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from course_lib.types import AnyModule

__all__ = ["restore_averages_on_error", "running_averages", "switch_mode"]

AVERAGES = ("running_mean", "running_var", "num_batches_tracked")  # the same in torch and in course_lib.autograd


@contextmanager
def switch_mode(model: AnyModule, *, training: bool) -> Iterator[None]:
    """Switch a model to training or evaluation, and afterwards each of its modules back to the mode it was in.

    Each is switched on its own: a batch norm that ``model.bn.eval()`` froze in a model in training mode stays frozen
    while it trains, and afterwards, which ``model.train()`` would undo. If the model itself is in evaluation mode, or
    all of its layers are, nobody can tell what was frozen, and all of it trains. An exception changes nothing about
    that.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> with switch_mode(model, training=False):
    ...     print(model[1].training)
    False
    >>> model[1].training
    True
    >>> _ = model[1].eval()
    >>> with switch_mode(model, training=True):
    ...     print(model[0].training, model[1].training)
    True False
    """
    before = [(module, module.training) for module in model.modules()]
    layers = [module for module, _ in before if len(list(module.modules())) == 1]
    # A new wrapper around a model that is entirely in evaluation mode froze nothing.
    partly = training and model.training and any(layer.training for layer in layers)
    frozen = [module for module, was in before if partly and not was]
    model.train(training)
    for module in frozen:
        module.training = False
    try:
        yield
    finally:
        for module, was in before:
            module.training = was


def running_averages(model: AnyModule) -> list[Any]:
    """List the tensors in which a model's layers average over batches.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> [average.shape for average in running_averages(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))]
    [(3,), (3,), ()]
    """
    found = [getattr(module, name, None) for module in model.modules() for name in AVERAGES]
    return [average for average in found if average is not None]


@contextmanager
def restore_averages_on_error(averages: Sequence[Any]) -> Iterator[None]:
    """Restore running averages if the code inside raises: one NaN in them would stay for ever."""
    # What a lazy layer has not made yet holds nothing to go back to, and cannot be copied.
    averages = [average for average in averages if not hasattr(average, "materialize")]
    before = [average.detach().clone() for average in averages]
    try:
        yield
    except BaseException:
        for average, old in zip(averages, before, strict=True):
            average.detach().copy_(old)
        raise
