"""Measure the gradients of torch parameters that share a device and a precision."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.buffer import Buffer
from course_lib.monitoring.readers.part import Part
from course_lib.monitoring.readers.reading import Row, careful, unscaled
from course_lib.monitoring.readers.rows import Rows
from course_lib.monitoring.readers.scales import Scales
from course_lib.monitoring.readers.shelf import Shelf
from course_lib.monitoring.readers.weights import Weights

__all__ = ["Group"]

CANCELS = 0.99  # of the mean square: if the mean accounts for more than this, their difference has lost too many digits
AHEAD = 3  # numbers that wait to be read ahead of those of the rows
TURNS = 20  # steps that are read twice before it is double precision for good
AT_MOST = 160  # bytes a parameter and step that are kept of rows; if there are too many, they are reduced to tensors


class Group:
    """Parameters on one device, in one precision.

    Sums are taken in single precision, which is fastest. At a step at which that is not enough, because squares are out
    of its range, or a standard deviation is a difference of nearly equal numbers, the gradients are read once more in
    double precision: squares of single precision neither overflow nor vanish in it. From then on rows are multiplied by
    powers of two, if range was what lacked. After twenty such steps, or one if there are large tensors, which are not
    copied, it is double precision for good.
    """

    def __init__(self, torch: ModuleType, parameters: Sequence[Any], where: list[int]) -> None:
        self.torch, self.rows = torch, Rows(torch, [parameters[i] for i in where])
        self.where = [where[k] for k in self.rows.order]
        self.parameters = [parameters[i] for i in self.where]
        self.complex = any(p.is_complex() for p in self.parameters)
        double = self.parameters[0].dtype in (torch.float64, torch.complex128)
        self.dtype = torch.float64 if double else torch.float32
        lengths, device = self.rows.lengths, self.rows.device
        self.wide, self.can_widen = False, not double and device.type != "mps"  # which has no float64
        self.scales: Scales | None = None
        self.turns = TURNS if self.rows.all_small else 1
        self.zeros = False  # whether a row is zero, as far as the last step showed: then the host must look at all
        tiny = torch.finfo(self.dtype).tiny
        self.range = tiny**0.4, tiny**-0.4  # norms whose squares, and their sums, are in range
        # n mean^2 <= CANCELS n mean square; a single number is its mean, and has nothing to cancel
        self.cancels = np.sqrt(np.where(lengths > 1, CANCELS * lengths, 2)).astype(np.float64 if double else np.float32)
        self.work = np.empty((2, len(lengths)), self.cancels.dtype)
        inverse = torch.from_numpy(1 / np.asarray(self.cancels)).to(device)
        self.shares = torch.stack([inverse, -inverse])
        self.margins = torch.empty_like(self.shares)
        self.prepare(torch.zeros(AHEAD + 7 * len(lengths), dtype=self.dtype, device=device))
        self.seen = torch.zeros(self.rows.vectors, dtype=torch.int32, device=device)
        plain = self.plain if self.complex else None
        self.weights = Weights(torch, self.rows, self.parameters, dtype=self.dtype, plain=plain)

    def prepare(self, waiting: Any) -> None:
        """Make room for the gradients, and for what waits to be read: three numbers, and seven of each row.

        The three are another's, and the least and the largest of those that show whether all is well.
        """
        self.waiting, self.table = waiting, waiting[AHEAD:].view(7, -1)
        (self.sums, self.norms), self.extremes = self.table[:2], self.table[2:4]
        self.ends = waiting[1], waiting[2]
        self.shelves = {count: Shelf(waiting[: AHEAD + count * self.table.shape[1]]) for count in (4, 7)}
        self.grads = Buffer(self.rows, self.parameters, dtype=self.dtype)
        count, longest = self.rows.vectors
        self.shown = self.grads.rows[:count, :longest]
        self.nonzero = self.torch.empty_like(self.shown, dtype=self.torch.bool)
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
        left, ends, numbers = self.read(7 if weights else 4)
        known: Mapping[int, Row] = {}
        at_once = self.wide or (not self.zeros and self.range[0] < ends[0] and ends[1] < math.inf)
        if not (fine := at_once or self.fine(numbers)):
            if self.can_widen:
                self.widen()
                self.reduced()
                _, ends, numbers = self.read(len(numbers))
            else:
                numbers = self.rows.by_tensor(numbers)
                known = self.with_care(numbers, grads)
        self.zeros = fine and not at_once and not numbers[1].all()
        undo = self.scales.undo if self.scales and not self.wide else None
        if self.zeros and self.scales:
            self.zeros = not self.scales.take(numbers[1] == 0)
        if self.wide:
            nonfinite = not math.isfinite(ends[0]) or not math.isfinite(ends[1])
        else:
            nonfinite = not at_once and not np.isfinite(numbers[2:4]).all()
        if self.wide and self.turns and not nonfinite:
            self.narrow(numbers[1])
        if weights and self.can_widen and not np.isfinite(numbers[6]).all():
            numbers = self.weights.with_care(numbers)
        if numbers.nbytes > AT_MOST * len(self.where):
            numbers, undo = self.rows.by_tensor(numbers, undo), None
        return Part(numbers, self.rows, self.where, known, absent, nonfinite, left if extra is not None else 0.0, undo)

    def read(self, count: int) -> tuple[float, tuple[float, float], Array]:
        """Bring what waits to the host, so many numbers of each row: the one transfer."""
        host = self.shelves[count].copy()
        left, least, most = host[:AHEAD].tolist()
        return left, (least, most), host[AHEAD:].reshape(count, -1)

    def reduced(self) -> tuple[list[Any], list[int]]:
        """Reduce each row of the gradients to its sum, norm, largest and smallest; return them, and which are None."""
        torch, dtype = self.torch, self.dtype
        grads, absent = self.loaded()
        if self.scales and not self.wide:
            self.scales.apply()
        for x, (sums, norms, high, low, *_) in zip(self.rows.matrices(self.grads.rows, grads), self.outs, strict=True):
            torch.sum(x, 1, dtype=dtype, out=sums)
            torch.linalg.vector_norm(x, dim=1, dtype=dtype, out=norms)
            if x.dtype is dtype:
                torch.amax(x, 1, out=high)
                torch.amin(x, 1, out=low)
            else:  # a large tensor of lower precision, which is looked at where it is
                high.copy_(x.amax(1))
                low.copy_(x.amin(1))
        if self.wide:
            torch.aminmax(self.extremes, out=self.ends)
        elif not self.zeros:
            # By how much each norm is above what the mean accounts for, whichever sign the mean has.
            torch.addcmul(self.norms, self.sums, self.shares, out=self.margins)
            if self.scales:
                self.margins.add_(self.scales.untouched, alpha=2 * self.range[0])
            torch.aminmax(self.margins, out=self.ends)
        return grads, absent

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

    def fine(self, numbers: Array) -> bool:
        """Say whether the numbers of rows are in range, and no difference of nearly equal ones.

        A row that is not finite is not looked at, unless it is because it was multiplied.
        """
        (sums, norms), cancels = numbers[:2], self.cancels
        zero = norms == 0
        if numbers[2:4, zero].any() or (self.scales and self.scales.down[zero].any()):  # something that vanished
            return False
        finite = np.isfinite(numbers[2:4]).all(axis=0)
        if not self.scales and not finite.all():  # of the others nothing can be said more precisely
            sums, norms, cancels, zero = sums[finite], norms[finite], cancels[finite], zero[finite]
        if not (zero | (norms > self.range[0]) & (norms < self.range[1])).all():
            return False
        left, right = self.work[:, : len(norms)]
        return bool(np.less_equal(np.abs(sums, out=left), np.multiply(cancels, norms, out=right)).all())

    def widen(self) -> None:
        """Go over to double precision."""
        self.wide, self.dtype, self.turns = True, self.torch.float64, self.turns - 1
        self.prepare(self.waiting.double())

    def narrow(self, norms: Array) -> None:
        """Go back to single precision, with rows of another size if these norms are out of its range."""
        self.wide, self.dtype = False, self.torch.float32
        self.prepare(self.waiting.float())
        if self.scales or not ((norms == 0) | (norms > self.range[0]) & (norms < self.range[1])).all():
            self.scales = Scales(self.torch, norms, before=self.scales, rows=self.grads.rows)

    def with_care(self, numbers: Array, grads: list[Any]) -> Mapping[int, Row]:
        """Measure again, in one more transfer, what is finite and yet beyond what sums in this precision can do."""
        sums, norms, high, low = numbers[:4]
        largest, count = np.maximum(high, -low), np.where(self.rows.sizes > 1, CANCELS * self.rows.sizes, 2)
        with np.errstate(all="ignore"):
            precise = (largest > self.range[0]) & (largest < self.range[1]) & (np.abs(sums) <= np.sqrt(count) * norms)
        flagged = np.flatnonzero(np.isfinite(largest) & (largest > 0) & ~precise).tolist()
        if not flagged:
            return {}
        torch = self.torch
        flat = [grads[i].reshape(-1).to(self.dtype) for i in flagged]
        rows = torch.stack([torch.stack(careful(g, sqrt=torch.sqrt, where=torch.where)) for g in flat]).tolist()
        return {i: unscaled(*row) for i, row in zip(flagged, rows, strict=True)}

    def last_seen(self) -> dict[int, Array]:
        """Return the steps at which each element of each vector last had a gradient."""
        seen = self.seen.cpu().numpy()
        return {self.where[k]: row[: self.rows.sizes[k]] for k, row in enumerate(seen)}
