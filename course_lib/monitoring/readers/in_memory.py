"""Measure the gradients of torch parameters of single precision that lie in the machine's memory."""

import ctypes
import math
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.errors import MonitorError
from course_lib.monitoring.parameters import Array
from course_lib.monitoring.readers.loops import Loops
from course_lib.monitoring.readers.part import Part
from course_lib.monitoring.readers.rows import WIDTH

__all__ = ["InMemory"]

BLOCK = 1 << 19  # bytes of tables that are made at once
NUMBER = np.dtype(np.float64).itemsize


class InMemory:
    """Parameters in memory, in single precision or less; offers what :class:`InRows` offers.

    Each gradient is read once, where it lies. One with gaps, or of less precision, is copied; of one that is sparse, as
    an embedding's can be, the elements that are not 0. In which order the elements lie, channels first or last, is the
    same to a sum, a norm and a maximum.

    A step calls nothing from NumPy: training sweeps NumPy's code out of the caches, and each first call then takes a
    third of the time of the loop.
    """

    def __init__(self, torch: ModuleType, parameters: Sequence[Any], where: list[int], *, loops: Loops) -> None:
        self.torch, self.where, self.loops = torch, where, loops
        self.parameters = [parameters[i] for i in where]
        self.single = torch.FloatTensor  # what is dense, in memory, and of this precision
        self.own = torch.Tensor, torch.nn.Parameter  # not a class that may keep its elements elsewhere
        self.wide = torch.float64, torch.complex64, torch.complex128
        self.outgrown = False  # whether a tensor was met that has come to be elsewhere, or of more precision
        self.orders = {4: torch.channels_last, 5: torch.channels_last_3d}  # without gaps too, by number of dimensions
        self.nothing = torch.empty(0, dtype=torch.float32, device="cpu")
        self.expected = self.told = [p.numel() for p in self.parameters]
        self.counts, numbers = np.array(self.expected, np.int64), ctypes.c_int64 * len(where)
        self.sizes, self.addresses = numbers(*self.expected), numbers()
        self.unread = (ctypes.c_double * (3 * len(where)))()
        shown = np.array([p.numel() if p.ndim == 1 and p.numel() <= WIDTH else 0 for p in self.parameters], np.int64)
        self.starts = np.where(shown, np.cumsum(shown) - shown, -1)
        self.seen = np.zeros(shown.sum(), np.int32)
        self.shown = self.starts.ctypes.data, self.seen.ctypes.data
        self.tables: list[tuple[Array, int]] = []
        self.kept: Any = None
        self.turned: list[int] = []  # which are kept in another order than that of their elements
        self.known = False

    def measure(self, step: int, *, weights: bool, extra: Any = None) -> Part:
        """Read each gradient, the parameters if asked, and ``extra``; see :class:`TorchReader`."""
        grads, (numbers, at) = [p.grad for p in self.parameters], self.table()
        readable = self.readable(grads)
        nonfinite = self.run(self.loops.measure, readable, at, *self.shown, len(grads), step)
        if weights and not self.compare(at + 3 * len(grads) * NUMBER):
            numbers[3:5] = math.nan
        return Part(
            numbers,
            sizes=self.counts,
            where=self.where,
            absent=() if readable is grads else [i for i, g in enumerate(grads) if g is None],
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
        self.compare(self.unread)

    def compare(self, out: Any) -> bool:
        """Write the norms of the parameters' change, of what they were, and of what they are, and keep them.

        The first two are worth something if this returns True: they were known, and lay in the order in which they lie.
        """
        if self.kept is None:
            self.kept = (ctypes.c_float * sum(self.expected))()
        readable = self.readable(self.parameters)
        turned = [] if readable is self.parameters else [i for i, t in enumerate(readable) if not t.is_contiguous()]
        known, self.turned = self.known and turned == self.turned, turned
        self.run(self.loops.compare, readable, self.kept, out, len(self.where))
        self.known = True
        return known

    def forget_weights(self) -> None:
        """Let the kept parameters go: they are not those of the step before."""
        self.known = False

    def run(self, loop: Callable[..., Any], tensors: list[Any], *arguments: Any) -> Any:
        """Run a loop over readable tensors, none of which can go meanwhile."""
        if (sizes := [t.numel() for t in tensors]) != self.told:
            self.refuse_resized()
            self.sizes[:] = self.told = sizes
        self.addresses[:] = addresses = [t.data_ptr() for t in tensors]
        if 0 in addresses:
            self.refuse_freed(addresses)
        return loop(self.addresses, self.sizes, *arguments)

    def readable(self, tensors: list[Any]) -> list[Any]:
        """Return the tensors, with a copy for each that the loops cannot read; None becomes an empty tensor."""
        single, own = self.single, self.own
        readable = [isinstance(t, single) and type(t) in own and t.is_contiguous() for t in tensors]
        if all(readable):
            return tensors
        return [t if can or self.is_turned(t) else self.plain(t) for t, can in zip(tensors, readable, strict=True)]

    def is_turned(self, tensor: Any) -> bool:
        """Say whether a tensor differs from what the loops read in nothing but the order of its elements."""
        if not isinstance(tensor, self.single) or type(tensor) not in self.own or tensor.ndim not in self.orders:
            return False
        return bool(tensor.is_contiguous(memory_format=self.orders[tensor.ndim]))

    def plain(self, tensor: Any) -> Any:
        """Return a copy that is dense, contiguous and of single precision; of a sparse matrix only what is not 0."""
        if tensor is None:
            return self.nothing
        self.outgrown |= tensor.dtype in self.wide or not tensor.is_cpu
        dense = tensor.detach()
        if dense.layout is self.torch.sparse_coo and dense.ndim > 1:  # a vector's elements are told apart, to be seen
            dense = dense.coalesce().values()
        elif dense.layout is not self.torch.strided:
            dense = dense.to_dense()
        return self.torch.empty(dense.shape, dtype=self.torch.float32, device="cpu").copy_(dense)

    def refuse_resized(self) -> None:
        """Say which size does not match, unless a gradient is simply missing, or has fewer elements in memory."""
        for p, size in zip(self.parameters, self.expected, strict=True):
            for tensor in (p, p.grad):
                if tensor is not None and tensor.numel() != size:
                    raise MonitorError(
                        f"a parameter and its gradient must keep their size, which was {size} at the first step, but "
                        f"one has {tensor.numel()} elements now. After a layer is resized, make a new "
                        "GradientMonitor(model)."
                    )

    def refuse_freed(self, addresses: Sequence[int]) -> None:
        """Say that a tensor is at no address, unless it has no elements."""
        if any(size and not address for size, address in zip(self.told, addresses, strict=True)):
            raise MonitorError(
                "parameters and gradients must be in memory, but the storage of one was freed, or it only stands for "
                "a tensor, as where torch traces. Call step() where their elements are."
            )

    def last_seen(self) -> dict[int, Array]:
        """Return the steps at which each element of each vector last had a gradient."""
        places = zip(self.where, self.starts.tolist(), self.expected, strict=True)
        return {i: self.seen[start : start + size].copy() for i, start, size in places if start >= 0}
