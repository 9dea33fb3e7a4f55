"""Histograms of gradients over powers of two, of both signs: the same bins for every parameter and step."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.extras import load
from course_lib.frameworks import is_torch_tensor
from course_lib.monitoring.reading.trainable_parameters import to_float64
from course_lib.split_tensors import local_part

__all__ = ["BINS", "EDGES", "LOWEST", "Counts", "GradientHistogram", "count_gradients", "trim"]

Counts = NDArray[np.int64]
LOWEST, HIGHEST = -64, 32  # exponents; what is smaller, 0 included, is in the middle bin, what is larger in the last
_POWERS = 2.0 ** np.arange(LOWEST, HIGHEST + 1)
EDGES = np.concatenate([-_POWERS[::-1], _POWERS])
BINS = len(EDGES) - 1
CHUNK = 1 << 20  # elements of which the bins are in memory at once


class GradientHistogram(NamedTuple):
    """How many elements of a gradient lie in each bin, as ``numpy.histogram`` returns it.

    Attributes
    ----------
    counts : numpy.ndarray of int, shape (n,)
        NaN is in none, an infinity in the last bin of its sign.
    edges : numpy.ndarray, shape (n + 1,)
        Powers of two, of either sign.
    """

    counts: Counts
    edges: NDArray[np.float64]


def trim(counts: Counts) -> GradientHistogram:
    """Return the bins from the first to the last that hold anything.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> trim(count_gradients([None, tensor([3.0, 5.0, 2.0])])[1])
    GradientHistogram(counts=array([2, 1]), edges=array([2., 4., 8.]))
    """
    there = np.flatnonzero(counts)
    low, high = (there[0], there[-1] + 1) if len(there) else (BINS // 2, BINS // 2 + 1)
    return GradientHistogram(counts[low:high], EDGES[low : high + 1])


def count_gradients(grads: Sequence[Any]) -> Counts:
    """Count the elements of each gradient by bin, shape (p, bins); a row of zeros for None."""
    counts = np.zeros((len(grads), BINS), np.int64)
    on_device = []
    for i, g in enumerate(grads):
        if is_torch_tensor(g):
            on_device.append((i, _count_tensor(g)))
        elif g is not None:
            x = to_float64(g).reshape(-1)
            where = np.clip(np.searchsorted(EDGES, x[~np.isnan(x)], side="right"), 1, BINS) - 1
            counts[i] = np.bincount(where, minlength=BINS)
    for i, row in on_device:
        counts[i] = row.cpu().numpy()
    return counts


def _count_tensor(gradient: Any) -> Any:
    """Count one tensor's elements, on its device."""
    torch = load("torch", extra="torch")
    x = local_part(gradient.detach()).to_dense()
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    x = x.reshape(-1).to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    edges = torch.as_tensor(EDGES, dtype=x.dtype, device=x.device)
    counts = torch.zeros(BINS + 1, dtype=torch.int64, device=x.device)
    for part in x.split(CHUNK):
        where = torch.bucketize(part, edges, right=True).clamp_(1, BINS).sub_(1).masked_fill_(part.isnan(), BINS)
        counts += torch.bincount(where, minlength=BINS + 1)
    return counts[:BINS]
