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
    """Decorate a function that is to compute without warnings."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return silent.copy().run(function, *args, **kwargs)

    return call
