"""Copy small torch tensors side by side into rows, in as few calls as their shapes allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from course_lib.monitoring.readers.rows import WIDTH, Rows

__all__ = ["Buffer"]


@dataclass(frozen=True)
class Run:
    """Tensors that are joined along their first dimension, which takes half the time of as many copies.

    Attributes
    ----------
    first, last : int
        From which tensor to before which.
    pieces : list of torch.Tensor
        What is joined: a place for each tensor, and behind each the zeros that fill its last row, if it is not full.
    out : torch.Tensor
        Their part of the buffer.
    """

    first: int
    last: int
    pieces: list[Any]
    out: Any

    def load(self, torch: Any, tensors: Sequence[Any]) -> None:
        """Copy them all. They are not kept: a gradient must be free to go when it is zeroed."""
        pieces = self.pieces.copy()
        pieces[:: len(pieces) // (self.last - self.first)] = tensors[self.first : self.last]
        torch.cat(pieces, out=self.out)


class Buffer:
    """Rows that hold small tensors, and zeros elsewhere.

    Parameters
    ----------
    layout : Rows
        Which rows belong to which tensor.
    tensors : sequence of torch.Tensor
        Such as those that will be copied, in the order of the layout.
    dtype : torch.dtype
        What they become.

    Attributes
    ----------
    rows : torch.Tensor, shape (r, WIDTH)
    """

    def __init__(self, layout: Rows, tensors: Sequence[Any], *, dtype: Any) -> None:
        self.torch, count = layout.torch, layout.small
        self.rows = self.torch.zeros(layout.buffer_rows, WIDTH, dtype=dtype, device=layout.device)
        self.flat, self.shapes = self.rows.view(-1), layout.shapes[:count]
        self.starts = [*(layout.starts[:count] * WIDTH).tolist(), len(self.flat)]
        self.views = [
            self.flat[start : start + size].view(shape)
            for start, size, shape in zip(self.starts, layout.sizes.tolist(), self.shapes, strict=False)
        ]
        self.same = [tensor.dtype is dtype for tensor in tensors[:count]]
        self.runs = list(self.alike())
        joined = {i for run in self.runs for i in range(run.first, run.last)}
        self.alone = [i for i in range(count) if i not in joined]
        self.alone_views = [self.views[i] for i in self.alone]

    def load(self, tensors: Sequence[Any]) -> None:
        """Copy the tensors, none of which is None or sparse."""
        for run in self.runs:
            run.load(self.torch, tensors)
        if self.alone:
            self.torch._foreach_copy_(self.alone_views, [tensors[i] for i in self.alone])

    def load_some(self, tensors: Sequence[Any]) -> None:
        """Copy the tensors; one that is None leaves zeros."""
        for view, tensor in zip(self.views, tensors, strict=False):
            view.zero_() if tensor is None else view.copy_(tensor)

    def alike(self) -> Iterator[Run]:
        """Yield neighbours that can be joined: of the buffer's precision, and alike but for their first dimension."""
        for _, group in groupby(range(len(self.views)), key=self.kind):
            first, *others = group
            if others:
                yield self.run(first, others[-1] + 1)

    def kind(self, i: int) -> Any:
        """Return what the neighbours of a tensor must share with it, or its number if it can have none.

        The zeros behind it must be whole slices of it.
        """
        view, gap = self.views[i], self.gap(i)
        joinable = view.ndim and view.numel() and self.same[i] and gap % view[0].numel() == 0
        return (self.shapes[i][1:], gap > 0) if joinable else i

    def gap(self, i: int) -> int:
        """Return how many zeros fill the last row of a tensor."""
        return int(self.starts[i + 1] - self.starts[i] - self.views[i].numel())

    def run(self, first: int, last: int) -> Run:
        """Lay out what is joined."""
        inner, pieces = self.shapes[first][1:], []
        for i in range(first, last):
            zeros = [self.flat.new_zeros(self.gap(i)).view(-1, *inner)] if self.gap(i) else []
            pieces += [self.views[i], *zeros]
        return Run(first, last, pieces, self.flat[self.starts[first] : self.starts[last]].view(-1, *inner))
