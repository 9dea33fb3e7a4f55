"""Dropout: zero random elements while training."""

from course_lib.autograd.creation import generator
from course_lib.autograd.ops.elementwise import mul
from course_lib.autograd.variable import Tensor
from course_lib.errors import AutogradError

__all__ = ["dropout"]


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout (Srivastava et al., 2014): set elements to 0 with probability ``p``, divide the others by ``1 - p``.

    Examples
    --------
    >>> from course_lib.autograd import nn, ones
    >>> sorted(set(nn.functional.dropout(ones(1000), 0.75).tolist()))
    [0.0, 4.0]
    """
    check_probability(p)
    if not training or p == 0:
        return input
    keep = generator.random(input.shape) >= p
    return mul(input, (keep / (1 - p if p < 1 else 1)).astype(input.dtype))


def check_probability(p: float) -> None:
    """Refuse a value that is not in [0, 1]."""
    if not 0 <= p <= 1:
        raise AutogradError(f"a probability must be in [0, 1], but p is {p}. Pass the share of elements to drop.")
