"""Measure all gradients of a torch model at once: a few kernels, and one transfer to the host."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.extras import load
from course_lib.monitoring.measures import careful, unscaled
from course_lib.monitoring.parameters import Array
from course_lib.monitoring.reading import Part, Reading
from course_lib.monitoring.rows import Rows

__all__ = ["TorchReader"]

CANCELS = 0.99  # of the mean square: if the mean accounts for more than this, their difference has lost too many digits


class TorchReader:
    """Reads the gradients of parameters, in one group for each device and precision.

    Parameters
    ----------
    parameters : sequence of torch.Tensor
        Whose ``.grad`` is read.
    """

    def __init__(self, parameters: Sequence[Any]) -> None:
        self.torch, self.parameters = load("torch", extra="torch"), list(parameters)
        places = defaultdict(list)
        for i, p in enumerate(self.parameters):
            places[p.device, p.dtype in (self.torch.float64, self.torch.complex128)].append(i)
        self.groups = [Group(self.torch, self.parameters, where) for where in places.values()]
        self.place = self.parameters[0].device, self.parameters[0].dtype

    def moved(self) -> bool:
        """Say whether the model is now on another device, or of another precision."""
        return self.place != (self.parameters[0].device, self.parameters[0].dtype)

    def keep_weights(self) -> None:
        """Note the parameters' values, so that the next :meth:`measure` can tell how far they moved."""
        with self.torch.no_grad():
            for group in self.groups:
                group.keep_weights()

    def forget_weights(self) -> None:
        """Let the values go: they are not those of the step before."""
        for group in self.groups:
            group.known = False

    def measure(self, step: int = 0, *, weights: bool = False, extra: Any = None) -> tuple[Reading, float]:
        """Measure every gradient, and the parameters if asked; read a number that waits on the device along with them.

        Parameters
        ----------
        step : int
            What :meth:`last_seen` will say of the elements whose gradient is not 0; 0 to leave that out.
        weights : bool
            Whether to measure the parameters and how far they moved since they were kept, and to keep them again.
        extra : torch.Tensor of one element, optional
            What else is to be read.
        """
        parts, read = [], 0.0
        with self.torch.no_grad():
            for k, group in enumerate(self.groups):
                mine = extra if extra is not None and (extra.device == group.rows.like.device or not k) else None
                part, one = group.measure(step, weights=weights, extra=mine)
                extra, read = (None, one) if mine is not None else (extra, read)
                parts.append(part)
        return Reading(tuple(parts), len(self.parameters)), read

    def last_seen(self) -> dict[int, Array]:
        """For each vector among the parameters, the last step at which each element had a gradient; 0 for never."""
        return {i: seen for group in self.groups for i, seen in group.last_seen().items()}


class Group:
    """Parameters on one device, in one precision.

    Sums start in single precision, which is fastest. The first step at which that is not enough, because squares are
    out of its range, or a standard deviation is a difference of nearly equal numbers, they are read once more in
    double precision, and from then on only there: squares of single precision neither overflow nor vanish in it.
    """

    def __init__(self, torch: ModuleType, parameters: Sequence[Any], where: list[int]) -> None:
        self.torch, self.where = torch, where
        self.parameters = [parameters[i] for i in where]
        self.strided, self.complex = torch.strided, any(p.is_complex() for p in self.parameters)
        self.rows = Rows(torch, self.parameters)
        self.grads, self.grad_views = self.rows.new_buffer()
        self.known = False
        self.large_before: list[Any] = []
        self.seen = torch.zeros(self.rows.vector_shape, dtype=torch.int32, device=self.rows.like.device)
        self.wide, self.sums_in = False, self.rows.dtype
        self.can_widen = self.sums_in is torch.float32 and self.rows.like.device.type != "mps"  # which has no float64
        tiny = torch.finfo(self.sums_in).tiny
        self.range = tiny**0.4, tiny**-0.4  # absolute values and norms whose squares, and their sums, are in range
        sizes = self.rows.sizes[self.rows.order]
        # n mean^2 <= CANCELS n mean square; a single number is its mean, and has nothing to cancel
        self.cancels = np.where(sizes > 1, CANCELS * sizes, 2)
        self.row_cancels = np.sqrt(np.where(self.rows.lengths > 1, CANCELS * self.rows.lengths, 2))

    def measure(self, step: int, *, weights: bool, extra: Any) -> tuple[Part, float]:
        """Return the numbers of each parameter, and ``extra`` as a number."""
        grads = [p.grad for p in self.parameters]
        odd = self.complex or any([g is None or g.layout is not self.strided for g in grads])  # noqa: C419  # twice as fast
        grads = [self.plain(g) for g in grads] if odd else grads
        self.rows.load(self.grad_views, grads, gaps=odd)
        waiting = self.reduced(grads)
        waiting += self.weights() if weights else []
        waiting += [] if extra is None else [extra.to(waiting[0]).reshape(1)]
        host = self.torch.cat(waiting).cpu().numpy()  # the one transfer
        if step and self.seen.numel():
            seen = self.grads[: self.seen.shape[0], : self.seen.shape[1]]
            self.seen.masked_fill_(seen != 0, step)
        numbers = host[: len(host) - (extra is not None)].reshape(7 if weights else 4, -1)
        fine = self.fine(numbers)
        fixes: Mapping[int, tuple[float, ...]] = {}
        if not fine and self.can_widen and not self.wide:
            self.wide, self.sums_in = True, self.torch.float64
            again = self.torch.cat(self.reduced(grads)).cpu().numpy().reshape(4, -1)
            numbers = np.concatenate([again, numbers[4:]])
        if reduce := self.rows.many or self.wide or not fine:
            numbers = self.rows.by_tensor(numbers)
            fixes = self.fixes(numbers, grads)
        absent = [i for i, g in enumerate(grads) if g is None] if odd else []
        part = Part(numbers, self.rows, self.where, reduced=reduce, fixes=fixes, absent=absent)
        return part, float(host[-1]) if extra is not None else 0.0

    def fine(self, numbers: Array) -> bool:
        """Say whether the numbers of all rows are finite, in range, and no difference of nearly equal ones."""
        sums, norms, high, low = numbers[:4]
        if not norms.max() < self.range[1]:
            return False
        if (least := norms.min()) == 0:
            zero = norms == 0
            if high[zero].any() or low[zero].any():  # squares that vanished
                return False
            least = norms[~zero].min(initial=math.inf)
        return bool(least > self.range[0] and (np.abs(sums) <= self.row_cancels * norms).all())

    def reduced(self, grads: list[Any]) -> list[Any]:
        """Reduce each row to its sum, norm, largest and smallest element: one vector for each of the four."""
        dtype, kinds = self.sums_in, ([], [], [], [])  # type: tuple[Any, tuple[list[Any], ...]]
        for x in self.rows.matrices(self.grads.to(dtype), grads):
            kinds[0].append(x.sum(1, dtype=dtype))
            kinds[1].append(self.torch.linalg.vector_norm(x, dim=1, dtype=dtype))
            kinds[2].append(x.amax(1).to(dtype))
            kinds[3].append(x.amin(1).to(dtype))
        return [row for kind in kinds for row in kind]

    def fixes(self, numbers: Array, grads: list[Any]) -> Mapping[int, tuple[float, ...]]:
        """Return the measures of what is not finite; and, unless sums are wide, of what they are not enough for.

        Those are measured again, in one more transfer.
        """
        sums, squares, high, low = numbers[:4]
        largest = np.maximum(high, -low)
        broken = {self.rows.order[k]: unscaled(largest[k], 0, 0, 0) for k in np.flatnonzero(~np.isfinite(largest))}
        if self.wide:
            return broken
        with np.errstate(all="ignore"):
            precise = sums * sums <= self.cancels * squares
        fine = (largest == 0) | (largest > self.range[0]) & (largest < self.range[1]) & precise
        flagged = [i for i in (self.rows.order[k] for k in np.flatnonzero(~fine)) if i not in broken]
        if not flagged:
            return broken
        sqrt, where, dtype = self.torch.sqrt, self.torch.where, self.rows.dtype
        found = [self.torch.stack(careful(grads[i].reshape(-1).to(dtype), sqrt=sqrt, where=where)) for i in flagged]
        rows = self.torch.stack(found).tolist()
        return broken | {i: unscaled(*row) for i, row in zip(flagged, rows, strict=True)}

    def plain(self, tensor: Any) -> Any:
        """Return a tensor as dense real numbers."""
        if tensor is None:
            return None
        dense = tensor.detach() if tensor.layout is self.strided else tensor.detach().to_dense()
        return self.torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense

    def weights(self) -> list[Any]:
        """Return the norms of each row of the parameters' change, of what they were and of what they are."""
        now = self.loaded_weights()
        before = [self.before, *self.large_before][-len(now) :] if self.known else now
        moved = [self.norms(a - b) for a, b in zip(now, before, strict=True)]
        size_before = self.size if self.known else [x * math.nan for x in moved]
        self.keep(now)
        return [*moved, *size_before, *self.size]

    def keep_weights(self) -> None:
        """Keep the parameters as they are."""
        self.keep(self.loaded_weights())

    def loaded_weights(self) -> list[Any]:
        """Return the parameters as matrices."""
        if not hasattr(self, "now"):
            (self.before, self.before_views), (self.now, self.now_views) = (self.rows.new_buffer() for _ in range(2))
        weights = [self.plain(p) for p in self.parameters] if self.complex else self.parameters
        self.rows.load(self.now_views, weights)
        return list(self.rows.matrices(self.now, weights))

    def norms(self, x: Any) -> Any:
        """Return the norm of each row."""
        return self.torch.linalg.vector_norm(x, dim=1, dtype=self.rows.dtype)

    def keep(self, now: list[Any]) -> None:
        """Make what was just loaded the values before; large ones are copied."""
        large = now[1:] if self.rows.small else now
        if self.large_before:
            self.torch._foreach_copy_(self.large_before, large)
        else:
            self.large_before = [x.clone() for x in large]
        self.size, self.known = [self.norms(x) for x in now], True
        self.before, self.now = self.now, self.before
        self.before_views, self.now_views = self.now_views, self.before_views

    def last_seen(self) -> dict[int, Array]:
        """Return the steps at which each element of each vector last had a gradient."""
        seen = self.seen.cpu().numpy()
        return {self.where[i]: seen[k, : self.rows.sizes[i]] for k, i in enumerate(self.rows.vectors)}
