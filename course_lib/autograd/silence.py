"""NumPy warns of overflow and NaN; in torch these are values like any others, and so they are here."""

from contextvars import copy_context

import numpy as np

__all__ = ["ignore", "silent", "state"]

# NumPy keeps its error state in the context, so ``silent.copy().run(f, x)`` computes f(x) without warnings, at a
# tenth of the cost of entering ``np.errstate``. A copy, because two threads cannot be in one context at a time.
before = copy_context()
with np.errstate(all="ignore"):
    silent = copy_context()

# The one variable that differs: where f is to stay in the caller's context, ``token = state.set(ignore)`` and then
# ``state.reset(token)`` do what the block does, again at a tenth of the cost.
[(state, ignore)] = [(variable, value) for variable, value in silent.items() if before.get(variable) is not value]
