"""Measure the gradients of torch parameters of single precision that lie in the machine's memory."""

import math
import struct
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.loops import Loops
from course_lib.monitoring.readers.part import Part
from course_lib.monitoring.readers.rows import WIDTH

__all__ = ["InMemory"]

BLOCK = 1 << 19  # bytes of tables that are made at once
NUMBER = np.dtype(np.float64).itemsize


class InMemory:
    """Parameters in memory, in single precision or less; what it offers is what :class:`InRows` offers.

    Each gradient is read once, where it lies. One that is sparse, or not contiguous, or of less precision, is copied.

    A step calls nothing of NumPy. Training sweeps its code out of the caches, and each first call then takes as long as
    a third of the loop.
    """

    def __init__(self, torch: ModuleType, parameters: Sequence[Any], where: list[int], *, loops: Loops) -> None:
        self.torch, self.where, self.loops = torch, where, loops
        self.parameters = [parameters[i] for i in where]
        self.single = torch.FloatTensor  # what is dense, in memory, and of this precision
        self.own = torch.Tensor, torch.nn.Parameter  # not a class that may keep its elements elsewhere
        self.nothing = torch.empty(0, dtype=torch.float32, device="cpu")
        self.expected = self.told = [p.numel() for p in self.parameters]
        self.sizes, self.addresses = np.array(self.expected, np.int64), np.zeros(len(where), np.int64)
        self.at = self.addresses.ctypes.data, self.sizes.ctypes.data
        self.counts = self.sizes.copy()
        self.pack = struct.Struct(f"{len(where)}q").pack_into
        shown = np.array([p.numel() if p.ndim == 1 and p.numel() <= WIDTH else 0 for p in self.parameters], np.int64)
        self.starts = np.where(shown, np.cumsum(shown) - shown, -1)
        self.seen = np.zeros(shown.sum(), np.int32)
        self.shown = self.starts.ctypes.data, self.seen.ctypes.data
        self.tables: list[tuple[Array, int]] = []
        self.kept: NDArray[np.float32] | None = None
        self.known = False

    def measure(self, step: int, *, weights: bool, extra: Any = None) -> Part:
        """Read each gradient, the parameters if asked, and ``extra``; see :class:`TorchReader`."""
        grads, (numbers, at) = [p.grad for p in self.parameters], self.table()
        nonfinite = self.run(self.loops.measure, grads, at, *self.shown, len(grads), step)
        if weights:
            known = self.known
            self.compare(at + 3 * len(grads) * NUMBER)
            if not known:
                numbers[3:5] = math.nan
        return Part(
            numbers,
            sizes=self.counts,
            where=self.where,
            absent=[i for i, g in enumerate(grads) if g is None],
            nonfinite=nonfinite > 0,
            extra=0.0 if extra is None else float(extra),
        )

    def table(self) -> tuple[Array, int]:
        """Return a table of six rows, NaN, and its address, which is good for as long as the table is kept."""
        if not self.tables:
            size = 6 * len(self.where) * NUMBER
            block = np.full((max(1, BLOCK // size), 6, len(self.where)), math.nan)
            first = block.ctypes.data
            self.tables = list(zip(block, range(first, first + block.nbytes, size), strict=True))
        return self.tables.pop()

    def keep_weights(self) -> None:
        """Keep the parameters as they are."""
        unread = np.empty((3, len(self.where)))
        self.compare(unread.ctypes.data)

    def compare(self, out: int) -> None:
        """Write the norms of the parameters' change, of what they were, and of what they are, and keep them."""
        if self.kept is None:
            self.kept = np.zeros(sum(self.expected), np.float32)
        self.run(self.loops.compare, self.parameters, self.kept.ctypes.data, out, len(self.where))
        self.known = True

    def forget_weights(self) -> None:
        """Let the kept parameters go: they are not those of the step before."""
        self.known = False

    def run(self, loop: Callable[..., Any], tensors: list[Any], *arguments: int) -> Any:
        """Run a loop over tensors, none of which can go meanwhile."""
        tensors = self.readable(tensors)
        if (sizes := [t.numel() for t in tensors]) != self.told:
            self.refuse_resized(tensors)
            self.sizes[:] = self.told = sizes
        self.pack(self.addresses.data, 0, *[t.data_ptr() for t in tensors])
        return loop(*self.at, *arguments)

    def readable(self, tensors: list[Any]) -> list[Any]:
        """Return the tensors, and instead of what the loops cannot read, a copy; None becomes one without elements."""
        single, own = self.single, self.own
        readable = [isinstance(t, single) and type(t) in own and t.is_contiguous() for t in tensors]
        if all(readable):
            return tensors
        return [t if can else self.plain(t) for t, can in zip(tensors, readable, strict=True)]

    def plain(self, tensor: Any) -> Any:
        """Return a copy that is dense, contiguous and of single precision."""
        if tensor is None:
            return self.nothing
        dense = tensor.detach() if tensor.layout is self.torch.strided else tensor.detach().to_dense()
        return self.torch.empty(dense.shape, dtype=self.torch.float32, device="cpu").copy_(dense)

    def refuse_resized(self, tensors: Sequence[Any]) -> None:
        """Raise what torch raises of sizes that do not match, unless a gradient is just not there."""
        for tensor, size in zip(tensors, self.expected, strict=True):
            if tensor is not self.nothing and tensor.numel() != size:
                raise RuntimeError(
                    f"a parameter and its gradient must keep their size, which was {size} at the first step, but one "
                    f"has {tensor.numel()} elements now. After a layer is resized, make a new GradientMonitor(model)."
                )

    def last_seen(self) -> dict[int, Array]:
        """Return the steps at which each element of each vector last had a gradient."""
        places = zip(self.where, self.starts.tolist(), self.expected, strict=True)
        return {i: self.seen[start : start + size].copy() for i, start, size in places if start >= 0}
