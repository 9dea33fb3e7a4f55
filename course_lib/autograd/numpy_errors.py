"""Ignore NumPy's floating point errors: overflow and NaN are values like any others here, as they are in torch."""

from contextvars import copy_context

import numpy as np

__all__ = ["error_state", "ignore_errors", "quiet_context"]

# NumPy keeps its error state in the context, so ``quiet_context.copy().run(f, x)`` computes f(x) without warnings, at a
# tenth of the cost of entering ``np.errstate``. A copy, because two threads cannot be in one context at a time.
_ordinary_context = copy_context()
with np.errstate(all="ignore"):
    quiet_context = copy_context()

# The one variable that differs: where f is to stay in the caller's context, ``token = error_state.set(ignore_errors)``
# and then ``error_state.reset(token)`` do what the block does, again at a tenth of the cost.
[(error_state, ignore_errors)] = [
    (variable, value) for variable, value in quiet_context.items() if _ordinary_context.get(variable) is not value
]
