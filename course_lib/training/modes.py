"""Training and evaluation mode, for as long as it is needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mode"]


@contextmanager
def mode(model: Any, *, training: bool) -> Iterator[None]:
    """Switch a model to training or evaluation, and afterwards each of its modules back to the mode it was in.

    Each for itself: whoever froze a batch norm with ``model.bn.eval()`` finds it frozen afterwards, which
    ``model.train()`` would undo. An exception changes nothing about that.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> with mode(model, training=False):
    ...     print(model[1].training)
    False
    >>> model[1].training
    True
    """
    before = [(module, module.training) for module in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, was in before:
            module.training = was
