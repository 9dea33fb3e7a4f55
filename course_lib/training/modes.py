"""Training and evaluation mode, for as long as it is needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["mode"]


@contextmanager
def mode(model: Any, *, training: bool) -> Iterator[None]:
    """Switch a model to training or evaluation, and afterwards each of its modules back to the mode it was in.

    Each is switched on its own: a batch norm that ``model.bn.eval()`` froze in a model in training mode stays frozen
    while it trains, and afterwards, which ``model.train()`` would undo. If the model itself is in evaluation mode, or
    all of its layers are, nobody can tell what was frozen, and all of it trains. An exception changes nothing about
    that.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    >>> with mode(model, training=False):
    ...     print(model[1].training)
    False
    >>> model[1].training
    True
    >>> _ = model[1].eval()
    >>> with mode(model, training=True):
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
