"""NumPy warns of overflow and of what is not a number; in torch these are values like others, and so they are here."""

from contextvars import copy_context

import numpy as np

__all__ = ["silent"]

# NumPy keeps its error state in the context, so ``silent.copy().run(f, x)`` computes f(x) without warnings, for a
# tenth of what entering ``np.errstate`` costs. A copy, because two threads cannot be in one context at a time.
with np.errstate(all="ignore"):
    silent = copy_context()
