"""Estimate gradients by central differences."""

import numpy as np

from course_lib.oracle.arrays import Arrays, select_floating
from course_lib.oracle.engines.engine import Engine

__all__ = ["estimate_grads"]

MOST_ENTRIES, FEWEST_ENTRIES = 400, 16  # of one tensor
MOST_READ = 4_000_000  # entries that are read in all; each entry of a gradient reads all arrays


def estimate_grads(engine: Engine, arrays: Arrays, probes: Arrays) -> Arrays:
    r"""Estimate :math:`(L(x + h) - L(x - h)) / 2h`; for large tensors at a regular sample of entries, NaN elsewhere."""
    grads = {}
    differentiated = {**select_floating(arrays), **probes}
    total = sum(a.size for a in differentiated.values())
    most = max(FEWEST_ENTRIES, min(MOST_ENTRIES, MOST_READ // max(1, total)))
    step = float(np.cbrt(np.finfo(np.float64).eps))
    for name, array in differentiated.items():
        g = np.full(array.shape, np.nan)
        for k in np.unique(np.linspace(0, array.size - 1, min(array.size, most)).astype(int)):
            index = tuple(int(i) for i in np.unravel_index(k, array.shape))
            h = step * max(1.0, abs(float(array[index])))
            above, below = (_shift_and_evaluate(engine, arrays, probes, name, index, d) for d in (h, -h))
            g[index] = (above - below) / (2 * h)
        grads[name] = g
    return grads


def _shift_and_evaluate(
    engine: Engine, arrays: Arrays, probes: Arrays, name: str, index: tuple[int, ...], by: float
) -> float:
    """Evaluate the loss with one entry shifted."""
    arrays, probes = ({n: a.copy() if n == name else a for n, a in some.items()} for some in (arrays, probes))
    (arrays if name in arrays else probes)[name][index] += by
    return engine.evaluate(arrays, probes)
