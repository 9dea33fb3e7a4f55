"""Measure the gradients of torch parameters that share a device and a precision."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.buffer import Buffer
from course_lib.monitoring.readers.part import Part
from course_lib.monitoring.readers.reading import Row, careful, unscaled
from course_lib.monitoring.readers.rows import Rows, by_tensor
from course_lib.monitoring.readers.weights import Weights

__all__ = ["InRows"]

CANCELS = 0.99  # of the mean square: if the mean accounts for more than this, their difference has lost too many digits
AT_MOST = 100  # bytes of rows that are kept per parameter and step; beyond that, rows are reduced to tensors


class InRows:
    """Parameters on one device, in one precision, reduced together by a few kernels.

    Sums are taken in single precision, which is fastest. From the first step on at which that is not enough, because
    squares are out of its range, or a standard deviation is a difference of nearly equal numbers, they are taken in
    double precision: squares of single precision neither overflow nor vanish in it.
    """

    outgrown = False  # a parameter that is elsewhere now is found before it is read

    def __init__(self, torch: ModuleType, parameters: Sequence[Any], where: list[int]) -> None:
        self.torch, self.rows = torch, Rows(torch, [parameters[i] for i in where])
        self.where = [where[k] for k in self.rows.order]
        self.parameters = [parameters[i] for i in self.where]
        self.complex = any(p.is_complex() for p in self.parameters)
        double = self.parameters[0].dtype in (torch.float64, torch.complex128)
        self.dtype = torch.float64 if double else torch.float32
        self.can_widen = not double and self.rows.device.type != "mps"  # which has no float64
        self.wide = False
        tiny = torch.finfo(self.dtype).tiny
        self.range = tiny**0.4, tiny**-0.4  # norms whose squares, and their sums, are in range
        # n mean^2 <= CANCELS n mean square; a single number is its mean, and has nothing to cancel
        self.cancels = np.sqrt(np.where(self.rows.lengths > 1, CANCELS * self.rows.lengths, 2))
        plain = self.plain if self.complex else None
        self.weights = Weights(torch, self.rows, self.parameters, dtype=self.dtype, plain=plain)
        self.grads = Buffer(self.rows, self.parameters, dtype=self.dtype)
        count, longest = self.rows.vectors
        self.shown = self.grads.rows[:count, :longest]
        self.nonzero = torch.empty_like(self.shown, dtype=torch.bool)
        self.seen = torch.zeros_like(self.shown, dtype=torch.int32)
        self.share(torch.zeros(1 + 6 * len(self.rows.lengths), dtype=self.dtype, device=self.rows.device))

    def share(self, waiting: Any) -> None:
        """Lay out what waits to be read: one number for someone else, and six for each row."""
        self.waiting, self.table = waiting, waiting[1:].view(6, -1)
        ends = np.cumsum([0, *self.rows.heights()]).tolist()
        self.outs = [[row[a:b] for row in self.table] for a, b in pairwise(ends)]

    def measure(self, step: int, *, weights: bool, extra: Any = None) -> Part:
        """Read each gradient, the parameters if asked, and ``extra``; see :class:`TorchReader`."""
        grads, absent = self.reduced()
        if weights:
            self.weights.compare(self.table, self.outs)
        if extra is not None:
            self.waiting[:1].copy_(extra.reshape(1))
        if step and self.seen.numel():
            self.seen.masked_fill_(self.torch.ne(self.shown, 0, out=self.nonzero), step)
        left, numbers = self.read(6 if weights else 3)
        known: Mapping[int, Row] = {}
        starts: NDArray[np.int_] | None = self.rows.starts
        if not self.wide and not self.fine(numbers):
            if self.can_widen:
                self.widen(grads)
                _, numbers = self.read(len(numbers))
            else:
                numbers, starts = by_tensor(numbers, self.rows.starts), None
                known = self.with_care(numbers, grads)
        nonfinite = not np.isfinite(numbers[2]).all()
        if weights and self.can_widen and not np.isfinite(numbers[5]).all():
            numbers = self.weights.with_care(numbers)
        if starts is not None and numbers.nbytes > AT_MOST * len(self.where):
            numbers, starts = by_tensor(numbers, starts), None
        extra = 0.0 if extra is None else left
        return Part(numbers, self.rows.sizes, self.where, absent, nonfinite, extra, starts, known)

    def read(self, count: int) -> tuple[float, Array]:
        """Bring what waits to the host, ``count`` numbers for each row: the one transfer."""
        waiting = self.waiting[: 1 + count * self.table.shape[1]]
        host: Array = waiting.to("cpu", copy=True).numpy()
        return float(host[0]), host[1:].reshape(count, -1)

    def reduced(self) -> tuple[list[Any], list[int]]:
        """Reduce each row of the gradients to its sum, norm and largest; return the gradients, and which are None."""
        grads, absent = self.loaded()
        self.reduce(grads)
        return grads, absent

    def reduce(self, grads: Sequence[Any]) -> None:
        """Write the sum, the norm and the largest absolute value of each row."""
        norm = self.torch.linalg.vector_norm
        for x, (sums, norms, largest, *_) in zip(self.rows.matrices(self.grads.rows, grads), self.outs, strict=True):
            self.torch.sum(x, 1, dtype=self.dtype, out=sums)
            norm(x, dim=1, dtype=self.dtype, out=norms)
            norm(x, math.inf, dim=1, dtype=self.dtype, out=largest)

    def loaded(self) -> tuple[list[Any], list[int]]:
        """Copy the small gradients side by side; return all, and which are None."""
        grads = [p.grad for p in self.parameters]
        large = () if self.rows.all_small else grads[self.rows.small :]
        if not self.complex and all(g is not None and g.layout is self.torch.strided for g in large):
            try:
                self.grads.load(grads)
                return grads, []
            except (TypeError, RuntimeError):  # one is None, or sparse; looking for that beforehand would take longer
                pass
        grads = [None if g is None else self.plain(g) for g in grads]
        self.grads.load_some(grads)
        return grads, [i for i, g in enumerate(grads) if g is None]

    def plain(self, tensor: Any) -> Any:
        """Return a tensor as dense real numbers."""
        dense = tensor.detach() if tensor.layout is self.torch.strided else tensor.detach().to_dense()
        return self.torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense

    @np.errstate(all="ignore")
    def fine(self, numbers: Array) -> bool:
        """Say whether the numbers of rows are in range, and none a difference of nearly equal ones.

        A row that is not finite is not looked at: nothing more precise can be said about it.
        """
        sums, norms, largest = numbers[:3]
        zero, (low, high) = norms == 0, self.range
        if largest[zero].any():  # something whose square vanished
            return False
        known = (norms > low) & (norms < high) & (np.abs(sums) <= self.cancels * norms)
        return bool((zero | known | ~np.isfinite(largest)).all())

    def widen(self, grads: Sequence[Any]) -> None:
        """Switch to sums in double precision."""
        self.wide, self.dtype = True, self.torch.float64
        self.share(self.waiting.double())
        self.reduce(grads)

    def with_care(self, numbers: Array, grads: list[Any]) -> Mapping[int, Row]:
        """Measure again, in one more transfer, what is finite and yet beyond what sums in this precision can do."""
        sums, norms, largest = numbers[:3]
        count = np.where(self.rows.sizes > 1, CANCELS * self.rows.sizes, 2)
        with np.errstate(all="ignore"):
            precise = (largest > self.range[0]) & (largest < self.range[1]) & (np.abs(sums) <= np.sqrt(count) * norms)
        flagged = np.flatnonzero(np.isfinite(largest) & (largest > 0) & ~precise).tolist()
        if not flagged:
            return {}
        torch = self.torch
        flat = [grads[i].reshape(-1).to(self.dtype) for i in flagged]
        rows = torch.stack([torch.stack(careful(g, sqrt=torch.sqrt, where=torch.where)) for g in flat]).tolist()
        return {i: unscaled(*row) for i, row in zip(flagged, rows, strict=True)}

    def keep_weights(self) -> None:
        """Keep the parameters as they are."""
        self.weights.keep(self.outs)

    def forget_weights(self) -> None:
        """Let the kept parameters go: they are not those of the step before."""
        self.weights.known = False

    def last_seen(self) -> dict[int, Array]:
        """Return the steps at which each element of each vector last had a gradient."""
        seen = self.seen.cpu().numpy()
        return {self.where[k]: row[: self.rows.sizes[k]] for k, row in enumerate(seen)}
