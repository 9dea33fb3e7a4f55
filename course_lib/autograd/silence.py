"""NumPy warns of overflow and of what is not a number; in torch these are values like others, and so they are here."""

from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from typing import Any

import numpy as np

__all__ = ["silent", "silently"]

# NumPy keeps its error state in the context, so ``silent.copy().run(f, x)`` computes f(x) without warnings, for a
# tenth of what entering ``np.errstate`` costs. A copy, because two threads cannot be in one context at a time.
with np.errstate(all="ignore"):
    silent = copy_context()


def silently(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that is to compute without warnings, and that runs code of others.

    Their hooks and rules see the context of the caller: in a notebook it says to which cell a print belongs.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return call
