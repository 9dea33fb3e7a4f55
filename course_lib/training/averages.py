"""The running averages of normalization layers, which a forward pass changes before anybody has looked at its loss."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["kept_unless_good", "running_averages"]

NAMES = ("running_mean", "running_var", "num_batches_tracked")  # the same in torch and in course_lib.autograd


def running_averages(model: Any) -> list[Any]:
    """Return the tensors in which a model's layers average over batches.

    Examples
    --------
    >>> from course_lib.autograd import nn
    >>> [average.shape for average in running_averages(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))]
    [(3,), (3,), ()]
    """
    found = [getattr(module, name, None) for module in model.modules() for name in NAMES]
    return [average for average in found if average is not None]


@contextmanager
def kept_unless_good(averages: Sequence[Any]) -> Iterator[None]:
    """Put averages back if what happens inside raises: one NaN that got into them would stay for ever."""
    # What a lazy layer has not made yet holds nothing to go back to, and cannot be copied.
    averages = [average for average in averages if not hasattr(average, "materialize")]
    before = [average.detach().clone() for average in averages]
    try:
        yield
    except BaseException:
        for average, old in zip(averages, before, strict=True):
            average.detach().copy_(old)
        raise
