"""Measure torch gradients of one shape in a few batched kernels, as the rows of one matrix."""

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import MonitorError
from course_lib.monitoring.reading.gradient_measures import Care

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Stack"]

VECTOR = 512  # elements: in longer vectors it is not noted which have a gradient
ROW = 512  # numbers, whose squares are added up on their own: of millions one after another, rounding would add up
GRAD = attrgetter("grad")
LONG = 1 << 16


class Stack:
    """Parameters of one shape, device and precision.

    A hundred calls for as many small tensors take longer than one copy of all of them and a call for the copy. Only the
    copy is kept, so that a gradient is free to go when it is zeroed.

    Parameters
    ----------
    torch : module
        The library.
    parameters : sequence of torch.Tensor
        The parameters.
    where : sequence of int
        Their places in the model.

    Attributes
    ----------
    size : int
        How many real numbers each holds.
    dtype : torch.dtype
        What they are measured in: float64 for themselves, float32 for all that is less precise.
    kept, before : torch.Tensor or None
        The last copy of the parameters, and the one before.
    absent : list of int
        Which parameters had no gradient when they were measured.
    """

    def __init__(self, torch: ModuleType, parameters: Sequence["Tensor"], where: Sequence[int]) -> None:
        self.torch, self.parameters, self.where = torch, parameters, where
        first = parameters[0]
        self.dtype = torch.float64 if first.dtype in (torch.float64, torch.complex128) else torch.float32
        self.shape, self.size = first.shape, first.numel() * (2 if first.is_complex() else 1)
        self.scales = Care(self.dtype.itemsize).scales
        self.seen: Tensor | None = None
        if first.ndim == 1 and self.size <= VECTOR:
            self.seen = torch.zeros(len(where), self.size, dtype=torch.int32, device=first.device)
        self.buffer: Tensor | None = None
        self.kept: Tensor | None = None
        self.before: Tensor | None = None
        self.absent: list[int] = []

    def measure(self, step: int, care: Care) -> tuple["Tensor", ...]:
        """Return of each gradient the largest and the least element, norm, mean, and, if centred, norm without mean.

        Parameters
        ----------
        step : int
            What :meth:`last_seen` will say of the elements whose gradient is not 0; 0 to leave that out.
        care : Care
            With what care.
        """
        grads, self.absent = list(map(GRAD, self.parameters)), []
        if (matrix := self._stack(grads, buffer=True)) is not None:
            return self._reduce(matrix, self.seen, step, care)
        return self._reduce_one_by_one(grads, step, care)

    def last_seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector the last step at which each element had a gradient, or 0."""
        return {} if self.seen is None else dict(zip(self.where, self.seen.cpu().numpy(), strict=True))

    def keep_weights(self) -> None:
        """Copy the parameters; what was kept before is kept as well."""
        self.before, self.kept = self.kept, self._copy_weights()

    def weight_norms(self, care: Care) -> tuple["Tensor", ...]:
        """Return the norms of the change between the last two copies, of the one before, and of the last."""
        norms, now, before = self._safe_norms if care.weights_scaled else self._norms, self.kept, self.before
        assert now is not None
        if before is None:
            unknown = now.new_full((len(now),), math.nan)
            return unknown, unknown, norms(now)
        return norms(now - before), norms(before), norms(now)

    def _copy_weights(self) -> "Tensor":
        """Return a copy of all parameters as one matrix."""
        with self.torch.no_grad():
            matrix = self._stack(self.parameters)
            return self.torch.cat([self._elements(p) for p in self.parameters]) if matrix is None else matrix

    def _stack(self, tensors: Sequence["Tensor | None"], *, buffer: bool = False) -> "Tensor | None":
        """Copy the tensors into a matrix, new or the buffer; return None if one is missing, sparse or empty."""
        try:
            if tensors[0].shape != self.shape:  # type: ignore[union-attr]  # ``out`` would be resized
                return None
            if 0 in map(self.torch.Tensor.data_ptr, tensors):  # reading a freed storage would crash
                return None
            out = self._empty() if self.buffer is None or not buffer else self.buffer
            self.torch.stack(tensors, out=out)
        except self.torch.OutOfMemoryError:  # also a RuntimeError, and one that each step would meet again
            raise
        except (AttributeError, RuntimeError, TypeError):
            return None
        self.buffer = out if buffer and self.size <= LONG else None
        if out.is_complex():
            out = self.torch.view_as_real(out)
        return out.view(len(tensors), -1)

    def _empty(self) -> "Tensor":
        """Return memory for a copy of all parameters, or all gradients."""
        first = self.parameters[0]
        dtype = self.torch.promote_types(first.dtype, self.torch.float32)
        empty: Tensor = self.torch.empty(len(self.parameters), *self.shape, dtype=dtype, device=first.device)
        return empty

    def _reduce_one_by_one(self, grads: Sequence["Tensor | None"], step: int, care: Care) -> tuple["Tensor", ...]:
        """Measure gradients that do not lie in one matrix; one that is None counts as empty."""
        rows = []
        self.absent = [i for i, g in enumerate(grads) if g is None]
        for i, g in enumerate(grads):
            row = self.parameters[i].new_zeros(1, 0, dtype=self.dtype) if g is None else self._elements(g)
            seen = self.seen[i : i + 1] if self.seen is not None and g is not None else None
            rows.append(self._reduce(row, seen, step, care))
        return tuple(self.torch.cat(column) for column in zip(*rows, strict=True))

    def _elements(self, tensor: "Tensor") -> "Tensor":
        """Copy a tensor into a matrix of one row; of a sparse matrix only the elements that are not 0."""
        if tensor.shape != self.shape:
            raise MonitorError(
                f"a parameter and its gradient must keep their shape, which was {tuple(self.shape)} at the first step, "
                f"but one has shape {tuple(tensor.shape)} now. After a layer is resized, make a new "
                "GradientMonitor(model)."
            )
        dense = tensor.detach()
        if dense.layout is self.torch.sparse_coo and dense.ndim > 1:  # a vector's elements are told apart, to be seen
            dense = dense.coalesce().values()
        elif dense.layout is not self.torch.strided:
            dense = dense.to_dense()
        elif not (dense.is_meta or dense.untyped_storage().nbytes() or not dense.numel()):
            raise MonitorError(
                "parameters and gradients must be in memory, but the storage of one was freed. Call step() where their "
                "elements are."
            )
        if dense.is_complex():
            dense = self.torch.view_as_real(dense.resolve_conj())
        return dense.reshape(1, -1).to(self.dtype, copy=True)

    def _reduce(self, x: "Tensor", seen: "Tensor | None", step: int, care: Care) -> tuple["Tensor", ...]:
        """Measure the rows of a matrix, which is overwritten; elements that it leaves out are 0."""
        if not x.shape[1]:
            return (x.new_zeros(len(x)),) * (5 if care.centred else 4)
        if step and seen is not None:
            seen.masked_fill_(x != 0, step)
        top, bottom = x.amax(1), x.amin(1)  # vector_norm(inf) takes six times as long on a CPU
        if care.scaled:
            x.div_(self._scale(top, bottom))
        left_out, norm = self.size - x.shape[1], self._norms(x)
        mean = x.sum(1).div_(self.size) if left_out else x.mean(1)
        if not care.centred:
            return top, bottom, norm, mean
        x.sub_(mean.unsqueeze(1))
        if self.size > LONG and not left_out:  # where the sum is rounded enough to show in what is left
            rest = x.mean(1)
            x.sub_(rest.unsqueeze(1))
            mean += rest
        spread = self._norms(x)
        if left_out:
            spread = self.torch.hypot(spread, mean * left_out**0.5)
        return top, bottom, norm, mean, spread

    def _scale(self, top: "Tensor", bottom: "Tensor") -> "Tensor":
        """Return the largest absolute value of each row, or the nearest power of two that has a reciprocal."""
        largest: Tensor = self.torch.maximum(top, -bottom)
        return largest.clamp_(*self.scales).unsqueeze(1)

    def _safe_norms(self, x: "Tensor") -> "Tensor":
        """Return the norm of each row, wherever its squares are."""
        if not x.shape[1]:
            return x.new_zeros(len(x))
        scale = self._scale(x.amax(1), x.amin(1))
        return self._norms(x / scale).mul_(scale[:, 0])

    def _norms(self, x: "Tensor") -> "Tensor":
        """Return the norm of each row."""
        norm: Callable[..., Tensor] = self.torch.linalg.vector_norm
        if x.shape[1] <= LONG:
            return norm(x, dim=1)
        whole = x.shape[1] // ROW * ROW
        rows = x[:, :whole].view(len(x), -1, ROW)
        return norm(self.torch.cat([norm(rows, dim=2), norm(x[:, whole:], dim=1, keepdim=True)], 1), dim=1)
