"""Lay torch tensors of one device and precision out in rows, so that a few kernels reduce them all.

Each tensor begins a row of ``WIDTH`` numbers, and zeros fill its last one: they change no sum and no largest absolute
value. Small tensors are copied side by side into one buffer. Large ones are looked at where they are, since for them
the copy would cost more than the calls it saves.
"""

from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["LARGE", "WIDTH", "Rows"]

WIDTH = 512
LARGE = 1 << 16  # elements
MANY = 8  # rows a tensor: if there are more, a step's numbers take less room reduced at once than kept as they are


class Rows:
    """How given tensors lie in rows.

    Parameters
    ----------
    torch : module
        The library.
    tensors : sequence of torch.Tensor
        Shapes, device and precision are taken from them; vectors are laid first.
    """

    def __init__(self, torch: ModuleType, tensors: Sequence[Any]) -> None:
        self.torch, self.like = torch, tensors[0]
        self.dtype = torch.float64 if self.like.dtype in (torch.float64, torch.complex128) else torch.float32
        parts = [2 if t.is_complex() else 1 for t in tensors]
        self.sizes = np.array([t.numel() * k for t, k in zip(tensors, parts, strict=True)])
        small, order = self.sizes <= LARGE, range(len(tensors))
        self.small = sorted((i for i in order if small[i]), key=lambda i: (tensors[i].ndim != 1, self.sizes[i] > WIDTH))
        self.large = [i for i in order if not small[i]]
        self.shapes = [torch.view_as_real(t).shape if t.is_complex() else t.shape for t in tensors]
        counts = np.maximum(-(-self.sizes // WIDTH), 1)
        self.order = [*self.small, *self.large]  # the tensor of each run of rows
        ends = np.cumsum(counts[self.order])
        self.starts = ends - counts[self.order]
        self.many = counts.sum() > MANY * len(tensors)
        self.lengths = np.full(counts.sum(), WIDTH)
        self.lengths[ends - 1] = self.sizes[self.order] - WIDTH * (counts[self.order] - 1)
        self.buffer_rows = int(counts[self.small].sum())
        # Vectors come first, and those of one row each first of all, so that they make a matrix.
        self.vectors = [i for i in self.small if tensors[i].ndim == 1 and self.sizes[i] <= WIDTH]
        longest = max((int(self.sizes[i]) for i in self.vectors), default=0)
        self.vector_shape = len(self.vectors), longest

    def new_buffer(self) -> tuple[Any, list[Any]]:
        """Return zeros for the small tensors, and a view of the shape of each."""
        buffer = self.torch.zeros(self.buffer_rows, WIDTH, dtype=self.dtype, device=self.like.device)
        flat = buffer.view(-1)
        views = []
        for i, start in zip(self.small, self.starts, strict=False):
            first = int(start) * WIDTH
            views.append(flat[first : first + int(self.sizes[i])].view(self.shapes[i]))
        return buffer, views

    def load(self, views: list[Any], tensors: Sequence[Any], *, gaps: bool = False) -> None:
        """Copy the small tensors into a buffer; where there are gaps, one that is None leaves zeros."""
        chosen = [tensors[i] for i in self.small]
        if gaps:
            for view, tensor in zip(views, chosen, strict=True):
                if tensor is None:
                    view.zero_()
            views = [view for view, tensor in zip(views, chosen, strict=True) if tensor is not None]
            chosen = [tensor for tensor in chosen if tensor is not None]
        if chosen:
            self.torch._foreach_copy_(views, chosen)

    def matrices(self, buffer: Any, tensors: Sequence[Any]) -> Iterator[Any]:
        """Yield the loaded buffer and each large tensor, as matrices whose rows are in order together."""
        if self.small:
            yield buffer
        for i in self.large:
            tensor = tensors[i] if tensors[i] is not None else buffer.new_zeros(()).expand(int(self.sizes[i]))
            flat = tensor.reshape(-1)
            whole = len(flat) // WIDTH * WIDTH
            yield flat[:whole].view(-1, WIDTH)
            if whole < len(flat):
                yield flat[whole:].unsqueeze(0)

    def by_tensor(self, rows: Any) -> Any:
        """Reduce sums, norms, largest and smallest elements, and further norms, of rows to those of tensors.

        They come in the order of ``self.order``; of norms, the squares are returned, in double precision.
        """
        result = np.empty((len(rows), len(self.order)))
        with np.errstate(all="ignore"):
            np.add.reduceat(rows[0], self.starts, out=result[0], dtype=np.float64)
            result[2] = np.maximum.reduceat(rows[2], self.starts)
            result[3] = np.minimum.reduceat(rows[3], self.starts)
            for k in (1, *range(4, len(rows))):
                np.add.reduceat(np.square(rows[k], dtype=np.float64), self.starts, out=result[k])
        return result
