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
        The first tensor, and the one after the last.
    out : torch.Tensor
        Where they are joined: their part of the buffer, if each fills its last row.
    spread : tuple of torch.Tensor, or None
        Else, a row for each: where they lie in the buffer, and what goes there, which is ``out``.
    """

    first: int
    last: int
    out: Any
    spread: tuple[Any, Any] | None

    def load(self, torch: Any, tensors: Sequence[Any]) -> None:
        """Copy them all. They are not kept: a gradient must be free to go when it is zeroed."""
        torch.cat(tensors[self.first : self.last], out=self.out)
        if self.spread is not None:
            self.spread[0].copy_(self.spread[1])


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
        """Yield neighbours that can be joined: of the buffer's precision, and alike."""
        for _, group in groupby(range(len(self.views)), key=self.kind):
            first, *others = group
            if others:
                yield self.run(first, others[-1] + 1)

    def kind(self, i: int) -> Any:
        """Return what the neighbours of a tensor must share with it, or its number if it can have none.

        Those that leave zeros in their last row must be of one shape; others may differ in their first dimension.
        """
        view, shape = self.views[i], self.shapes[i]
        if not (view.ndim and view.numel() and self.same[i]):
            return i
        return shape if self.gap(i) else (..., *shape[1:])

    def gap(self, i: int) -> int:
        """Return how many zeros fill the last row of a tensor."""
        return int(self.starts[i + 1] - self.starts[i] - self.views[i].numel())

    def run(self, first: int, last: int) -> Run:
        """Lay out what is joined."""
        part, inner = self.flat[self.starts[first] : self.starts[last]], self.shapes[first][1:]
        if not self.gap(first):
            return Run(first, last, part.view(-1, *inner), None)
        count, size = last - first, self.views[first].numel()
        joined = part.new_empty(count, size)
        return Run(first, last, joined.view(-1, *inner), (part.view(count, -1)[:, :size], joined))
