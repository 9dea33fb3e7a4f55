"""NumPy warns of overflow and NaN; in torch these are values like any others, and so they are here."""

from contextvars import copy_context

import numpy as np

__all__ = ["silent"]

# NumPy keeps its error state in the context, so ``silent.copy().run(f, x)`` computes f(x) without warnings, at a
# tenth of the cost of entering ``np.errstate``. A copy, because two threads cannot be in one context at a time.
with np.errstate(all="ignore"):
    silent = copy_context()
