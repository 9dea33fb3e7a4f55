"""Read the gradients of a torch model in a few batched kernels, and one transfer for each device and precision."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, ge, mul
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.extras import load
from course_lib.monitoring.reading.batched_kernels import Stack
from course_lib.monitoring.reading.gradient_measures import Care, GradientMeasures, Reading, compute_measures

if TYPE_CHECKING:
    import torch

__all__ = ["Part", "TorchReader", "join_parts"]

LARGE = 1 << 16  # elements: larger tensors are copied one at a time, so that the copy takes little memory
CANCELS = 0.99  # of the mean square: if the mean accounts for more, their difference has lost too many digits
DTYPE = attrgetter("dtype")


class TorchReader:
    """Reads gradients of torch parameters, those of each device and precision together.

    Parameters
    ----------
    parameters : sequence of torch.Tensor
        Whose ``.grad`` is read.
    """

    def __init__(self, parameters: Sequence["torch.Tensor"]) -> None:
        self._torch, self._parameters = load("torch", extra="torch"), list(parameters)
        doubles = self._torch.float64, self._torch.complex128
        alike = defaultdict(list)
        for i, p in enumerate(self._parameters):
            alike[p.device, p.dtype in doubles].append(i)
        self._batches = [_Batch(self._torch, self._parameters, where) for where in alike.values()]
        self._devices, self._dtypes = [p.device for p in self._parameters], list(map(DTYPE, self._parameters))

    def has_moved(self, *, wholly: bool) -> bool:
        """Return whether a parameter has another precision, or one (``wholly``: any) another device than before."""
        devices = [p.device for p in (self._parameters if wholly else self._parameters[:1])]
        return devices != self._devices[: len(devices)] or list(map(DTYPE, self._parameters)) != self._dtypes

    def keep_weights(self) -> None:
        """Copy the parameters, so that the next :meth:`measure` can tell how far they moved."""
        for stack in self._stacks():
            stack.keep_weights()

    def forget_weights(self) -> None:
        """Drop the copies: they are not those of the step before."""
        for stack in self._stacks():
            stack.kept = stack.before = None

    def measure(self, step: int = 0, *, weights: bool = False, extra: "torch.Tensor | None" = None) -> Reading:
        """Measure every gradient; see :class:`GradientReader`."""
        parts = self.measure_parts(step, weights=weights, extra=extra)
        return Reading(partial(join_parts, parts), any(part.nonfinite for part in parts), parts[0].extra)

    def measure_parts(self, step: int, *, weights: bool, extra: "torch.Tensor | None" = None) -> "list[Part]":
        """Read the gradients of each device and precision."""
        first, *others = self._batches
        parts = [first.measure(step, weights=weights, extra=extra)]
        return parts + [batch.measure(step, weights=weights) for batch in others]

    def last_seen(self) -> dict[int, NDArray[np.int_]]:
        """Return for each vector among the parameters the last step at which each element had a gradient, or 0."""
        return {i: seen for stack in self._stacks() for i, seen in stack.last_seen().items()}

    def _stacks(self) -> Iterable[Stack]:
        return (stack for batch in self._batches for stack in batch.stacks)


class Part(NamedTuple):
    """Raw readings of a batch at one step: see :func:`compute_measures`."""

    numbers: NDArray[np.floating]
    sizes: NDArray[np.int_]
    where: Sequence[int]
    care: Care
    absent: Sequence[int]
    nonfinite: bool
    extra: float

    def measures(self) -> GradientMeasures:
        """Compute the measures."""
        return compute_measures(self.numbers, self.sizes, care=self.care, absent=self.absent)


class _Batch:
    """Parameters of one device and precision, in stacks of one shape each, read in one transfer."""

    def __init__(self, torch: ModuleType, parameters: Sequence["torch.Tensor"], where: Sequence[int]) -> None:
        self.torch, alike = torch, defaultdict(list)
        for i in where:
            p = parameters[i]
            alike[p.shape, p.is_complex(), i if p.numel() > LARGE else -1].append(i)
        self.stacks = [Stack(torch, [parameters[i] for i in group], group) for group in alike.values()]
        self.where = [i for group in alike.values() for i in group]
        self.sizes = np.array([stack.size for stack in self.stacks for _ in stack.where])
        self.care = Care(self.stacks[0].dtype.itemsize)
        self.roots = [(n / CANCELS) ** 0.5 if n > 1 else 0.0 for n in self.sizes.tolist()]

    def measure(self, step: int, *, weights: bool, extra: "torch.Tensor | None" = None) -> Part:
        """Read each gradient, the parameters if asked, and ``extra``; see :class:`GradientReader`."""
        if weights:
            for stack in self.stacks:
                stack.keep_weights()
        while True:
            left, numbers = self._read(step, weights, extra)
            care, nonfinite = self._required_care(numbers, weights)
            if care == self.care:
                break
            self.care = care
        for stack in self.stacks:
            stack.before = None
        return Part(numbers, self.sizes, self.where, care, self._absent(), nonfinite, left)

    def _read(self, step: int, weights: bool, extra: "torch.Tensor | None") -> tuple[float, NDArray[np.floating]]:
        """Bring one number and the columns of all stacks to the host."""
        rows = [stack.measure(step, self.care) for stack in self.stacks]
        if weights:
            rows = [row + stack.weight_norms(self.care) for row, stack in zip(rows, self.stacks, strict=True)]
        columns = [column for measure in zip(*rows, strict=True) for column in measure]
        first = [] if extra is None else [extra.reshape(1)]
        host = self.torch.cat(first + columns).to("cpu").numpy()
        return float(host[0]) if first else 0.0, host[len(first) :].reshape(-1, len(self.where))

    def _required_care(self, numbers: NDArray[np.floating], weights: bool) -> tuple[Care, bool]:
        """Return what the numbers call for, besides the present care, and whether a gradient is not finite.

        All is done in Python: for some hundred numbers, calls of NumPy take longer.
        """
        care, (low, high) = self.care, self.care.range
        sizes = numbers[-3:].ravel().tolist() if weights else [1.0]
        if not (min(sizes) > low and sum(sizes) < high) and any(x and not low < x < high and x == x for x in sizes):
            care = replace(care, weights_scaled=True)
        norms, means = numbers[2:4].tolist()
        if min(norms) > low and sum(norms) < high and all(map(ge, norms, map(mul, map(abs, means), self.roots))):
            return care, False  # none is NaN, since no sum with NaN is below anything
        nonfinite = False
        for top, bottom, norm, mean, root in zip(*numbers[:2].tolist(), norms, means, self.roots, strict=True):
            largest = max(top, -bottom)
            if not math.isfinite(largest):
                nonfinite = True
            elif largest and not low < norm < high:
                care = replace(care, scaled=True)
            elif abs(mean) * root > norm:
                care = replace(care, centred=True)
        return care, nonfinite

    def _absent(self) -> list[int]:
        """Return the rows of parameters without a gradient."""
        if not any(stack.absent for stack in self.stacks):
            return []
        starts = np.cumsum([0, *(len(stack.where) for stack in self.stacks)])
        return [int(start) + i for start, stack in zip(starts, self.stacks, strict=False) for i in stack.absent]


def join_parts(parts: Sequence[Part]) -> GradientMeasures:
    """Bring the measures of all batches into the parameters' order."""
    order = np.argsort([i for part in parts for i in part.where])
    columns = zip(*(vars(part.measures()).values() for part in parts), strict=True)
    return GradientMeasures(*(np.concatenate(column)[order] for column in columns))
