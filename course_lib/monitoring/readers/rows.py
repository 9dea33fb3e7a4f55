"""Lay torch tensors of one device and precision out in rows, so that a few kernels reduce them all.

Each tensor begins a row of ``WIDTH`` numbers, and zeros fill its last one: they change no sum and no largest absolute
value. Small tensors are copied side by side into one buffer. Large ones are looked at where they are, since for them
the copy would cost more than the calls it saves.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.parameters import Array

__all__ = ["WIDTH", "Rows", "by_tensor"]

WIDTH = 512
LARGE = 1 << 16  # elements


class Rows:
    """How given tensors lie in rows.

    Parameters
    ----------
    torch : module
        The library.
    tensors : sequence of torch.Tensor
        Their shapes are laid out; they share a device.

    Attributes
    ----------
    order : list of int
        Which tensor comes first, second, and so on: vectors of one row each, so that they make a matrix, then other
        small ones, then large ones; of these, those of like shape together. All else here, and all that is passed in,
        is in this order.
    sizes, starts : numpy.ndarray, shape (p,)
        Of each tensor, how many elements it has and which row is its first.
    vectors : tuple of int
        How many vectors of one row there are, and the size of the longest.
    lengths : numpy.ndarray, shape (r,)
        How many elements of a tensor each row holds.
    """

    def __init__(self, torch: ModuleType, tensors: Sequence[Any]) -> None:
        self.torch, self.device = torch, tensors[0].device
        shapes = [(*t.shape, 2) if t.is_complex() else tuple(t.shape) for t in tensors]
        size = [int(np.prod(shape)) for shape in shapes]
        vector = [t.ndim == 1 and n <= WIDTH for t, n in zip(tensors, size, strict=True)]
        self.order = sorted(range(len(tensors)), key=lambda i: (size[i] > LARGE, not vector[i], shapes[i][::-1]))
        self.shapes, self.sizes = [shapes[i] for i in self.order], np.array([size[i] for i in self.order])
        self.small = int((self.sizes <= LARGE).sum())
        self.all_small = self.small == len(self.sizes)
        shown = [n for n, v in zip(size, vector, strict=True) if v]
        self.vectors = len(shown), max(shown, default=0)
        counts = np.maximum(-(-self.sizes // WIDTH), 1)
        ends = np.cumsum(counts)
        self.starts = ends - counts
        self.lengths = np.full(counts.sum(), WIDTH)
        self.lengths[ends - 1] = self.sizes - WIDTH * (counts - 1)
        self.buffer_rows = int(counts[: self.small].sum())

    def matrices(self, buffer: Any, tensors: Sequence[Any]) -> Sequence[Any]:
        """Return the loaded buffer and each large tensor, as matrices whose rows are in order together."""
        if self.all_small:
            return (buffer,)
        return [*([buffer] if self.small else []), *self.large(buffer, tensors)]

    def large(self, buffer: Any, tensors: Sequence[Any]) -> Iterator[Any]:
        """Yield each large tensor as one matrix or two."""
        for size, tensor in zip(self.sizes[self.small :].tolist(), tensors[self.small :], strict=True):
            flat = (tensor if tensor is not None else buffer.new_zeros(()).expand(size)).reshape(-1)
            whole = size // WIDTH * WIDTH
            yield flat[:whole].view(-1, WIDTH)
            if whole < size:
                yield flat[whole:].unsqueeze(0)

    def heights(self) -> Iterator[int]:
        """Yield the number of rows of each of these matrices."""
        if self.small:
            yield self.buffer_rows
        for size in self.sizes[self.small :].tolist():
            yield size // WIDTH
            if size % WIDTH:
                yield 1


@np.errstate(all="ignore")
def by_tensor(rows: Array, starts: NDArray[np.int_]) -> Array:
    """Reduce sums, norms and largest absolute values, and further norms, of rows to those of tensors.

    Examples
    --------
    >>> by_tensor(np.array([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0], [1.0, 2.0, 0.5]]), np.array([0, 2])).tolist()
    [[3.0, 3.0], [5.0, 5.0], [2.0, 0.5]]
    """
    if len(starts) == rows.shape[1]:
        return rows.astype(np.float64)
    result = np.empty((len(rows), len(starts)))
    np.add.reduceat(rows[0], starts, out=result[0], dtype=np.float64)
    result[2] = np.maximum.reduceat(rows[2], starts)
    for k in (1, *range(3, len(rows))):
        result[k] = np.sqrt(np.add.reduceat(np.square(rows[k], dtype=np.float64), starts))
    return result
