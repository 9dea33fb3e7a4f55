"""Norms that neither overflow nor underflow: divide by the largest entry first, and multiply by it in the end.

Squares of float32 end at 3e38, so that the plain norm of a gradient of 2e19 is infinite, and that of 1e-23 is 0 (Blue,
1978, *A portable Fortran program to find the Euclidean norm of a vector*).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.split_tensors import gather_parts, local_part, split_over
from course_lib.types import Array

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "LEAST_DOUBLE",
    "Magnitude",
    "array_norm",
    "check_norm_type",
    "combine_norms",
    "exponent_limit",
    "group_alike",
    "tensor_norms",
    "total_norms",
]

LEAST_DOUBLE = -1021
"""The exponent, in ``math.frexp``'s sense, of the smallest normal float64."""


@dataclass(frozen=True)
class Magnitude:
    """A norm that overflows only when it is read: ``scale * scaled``.

    Attributes
    ----------
    scale : float
        The largest absolute value, or another number of that size; infinite or NaN if an entry is.
    scaled : float
        The norm of the entries divided by it.

    Examples
    --------
    >>> Magnitude(1e300, 5e10).value
    inf
    >>> Magnitude(1e300, 4e10).factors(2.0**-40)  # their product would have few digits
    (2.2250738585072014e-308, 1.0218702384817766e-15)
    """

    scale: float
    scaled: float

    @property
    def is_finite(self) -> bool:
        """Whether all entries are finite; the norm itself can still be beyond the largest float64."""
        return math.isfinite(self.scale)

    @property
    def value(self) -> float:
        """The norm, infinite where it is beyond float64."""
        return self.scale * self.scaled

    def factors(self, bound: float, *, least: int = LEAST_DOUBLE) -> tuple[float, ...]:
        """Return what to multiply by, in turn, to get from this norm to ``bound``; nothing if it is within.

        Parameters
        ----------
        bound : float
            Above 0.
        least : int
            The exponent of the smallest normal number of the type that is computed in. A product of numbers that are
            all at least as large replaces one that would be smaller, and would lose digits.
        """
        if not self.scale or math.isinf(bound):
            return ()
        (b, b_exponent), (u, u_exponent), (s, s_exponent) = map(math.frexp, (bound, self.scale, self.scaled))
        fraction, exponent = math.frexp(b / u / s)
        exponent += b_exponent - u_exponent - s_exponent
        if exponent > 0:
            return ()
        powers = []
        while exponent < least:
            powers.append(math.ldexp(1.0, least - 1))
            exponent -= least - 1
        return (*powers, math.ldexp(fraction, exponent))


def check_norm_type(norm_type: float | str) -> float:
    """Return the p of a p-norm as a number, or refuse it.

    >>> check_norm_type("inf")
    inf
    """
    try:
        p = float(norm_type)
    except (TypeError, ValueError):
        p = math.nan
    if not p > 0:
        raise InputError(f"norm_type must be above 0, or math.inf, but it is {norm_type!r}: below 0 there is no norm.")
    return p


def combine_norms(magnitudes: Iterable[Magnitude], p: float = 2) -> Magnitude:
    """Return the p-norm of all together, in units of the largest scale.

    >>> combine_norms([Magnitude(3e200, 1.0), Magnitude(4e200, 1.0)])
    Magnitude(scale=4e+200, scaled=1.25)
    """
    magnitudes = list(magnitudes)
    scales = [m.scale for m in magnitudes]
    scale = math.nan if any(map(math.isnan, scales)) else max(scales, default=0.0)
    if not scale or not math.isfinite(scale) or p == math.inf:
        return Magnitude(scale, 1.0)
    parts = [m.scale / scale * m.scaled for m in magnitudes]
    top = max(parts)
    if p == 2 or math.isinf(top):
        return Magnitude(scale, math.hypot(*parts))
    return Magnitude(scale, top * _root(sum((part / top) ** p for part in parts), p))


def total_norms(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean norms over the last axis.

    >>> total_norms(np.array([[3e200, 4e200], [0.0, 0.0]]))
    array([5.e+200, 0.e+000])
    """
    largest = norms.max(axis=-1, keepdims=True)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    with np.errstate(over="ignore"):
        return np.asarray(scale[..., 0] * np.sqrt(((norms / scale) ** 2).sum(axis=-1)))


def array_norm(array: Array, p: float = 2) -> Magnitude:
    """Return the p-norm of a NumPy array, computed in float64."""
    entries = np.abs(array.astype(np.float64))
    scale = float(entries.max(initial=0.0))
    if not scale or not math.isfinite(scale) or p == math.inf:
        return Magnitude(scale, 1.0)
    scaled = (entries / scale).ravel()
    return Magnitude(scale, float(np.linalg.norm(scaled)) if p == 2 else _root(float((scaled**p).sum()), p))


def tensor_norms(tensors: Sequence["Tensor"], p: float = 2) -> list[Magnitude]:
    """Return the p-norm of each torch tensor, of any device, dtype and layout; wait for the devices once.

    Euclidean norms of float32 or less are taken by one kernel for all, in float64, which their squares fit. Of DTensors
    every process measures its part, and all of them must ask for the same: the parts' norms are gathered.
    """
    torch = load("torch", extra="torch")
    norms, split = _local_norms(torch, [local_part(tensor) for tensor in tensors], p), defaultdict(list)
    for i, tensor in enumerate(tensors):
        if groups := split_over(tensor):
            split[groups].append(i)
    for groups, places in split.items():
        pairs = torch.tensor([(norms[i].scale, norms[i].scaled) for i in places], dtype=torch.float64)
        device = local_part(tensors[places[0]]).device
        for i, parts in zip(places, gather_parts(pairs.to(device), groups).transpose(0, 1).tolist(), strict=True):
            norms[i] = combine_norms([Magnitude(scale, scaled) for scale, scaled in parts], p)
    return norms


def _local_norms(torch: ModuleType, tensors: Sequence["Tensor"], p: float) -> list[Magnitude]:
    """Return the p-norm of each tensor of this process."""
    on_host: list[tuple[list[int], Tensor]] = []
    on_device: list[tuple[list[int], Tensor]] = []
    with torch.no_grad():
        entries = [_entries(torch, tensor) for tensor in tensors]
        for group in group_alike(entries):
            pairs = _scales_and_sums(torch, [entries[i] for i in group], p)
            (on_host if pairs.device.type == "cpu" else on_device).append((group, pairs))
    found: dict[int, Magnitude] = {}
    for parts in (on_host, on_device):  # what is on the host is read without waiting
        if parts:
            hub = parts[0][1].device
            scales, sums = torch.cat([pairs.to(hub, non_blocking=True) for _, pairs in parts], dim=1).tolist()
            places = (i for group, _ in parts for i in group)
            for i, scale, total in zip(places, scales, sums, strict=True):
                found[i] = Magnitude(scale, _root(total, p) if 0 < scale < math.inf and p < math.inf else 1.0)
    return [found[i] for i in range(len(tensors))]


def group_alike(tensors: Sequence["Tensor"], indices: Iterable[int] | None = None) -> list[list[int]]:
    """Return the indices of torch tensors, all or the given ones, in groups of one device and dtype each."""
    groups = defaultdict(list)
    for i in range(len(tensors)) if indices is None else indices:
        groups[tensors[i].device, tensors[i].dtype].append(i)
    return list(groups.values())


def _entries(torch: ModuleType, tensor: "Tensor") -> "Tensor":
    """Return a dense, real tensor with the same norm; of a sparse one only the entries that are there."""
    if tensor.layout is torch.sparse_coo:
        tensor = tensor.detach().coalesce().values()
    elif tensor.layout is not torch.strided or tensor.is_nested:
        tensor = tensor.detach().to_dense()
    return tensor.abs() if tensor.is_complex() else tensor


def _scales_and_sums(torch: ModuleType, tensors: Sequence["Tensor"], p: float) -> "Tensor":
    """Return scales and sums of powers of the tensors over them, shape (2, n)."""
    apple = tensors[0].device.type == "mps"  # which has no float64
    if p == 2 and tensors[0].dtype is not torch.float64 and not apple:
        scales = torch.stack(torch._foreach_norm(tensors, 2, dtype=torch.float64))
        sums = torch.ones_like(scales)
    else:
        wide = torch.float32 if apple else torch.float64
        scales = torch.stack([t.abs().amax() if t.numel() else t.new_zeros(()) for t in tensors]).to(wide)
        safe = torch.where((scales > 0) & scales.isfinite(), scales, 1)
        sums = torch.stack([(t.to(wide) / scale).abs().pow(p).sum() for t, scale in zip(tensors, safe, strict=True)])
    pairs: Tensor = torch.stack([scales, sums])
    return pairs


def exponent_limit(itemsize: int) -> int:
    """Return an exponent whose power of two is far from both ends of a floating-point type of so many bytes."""
    return 1000 if itemsize == 8 else 100


def _root(x: float, p: float) -> float:
    """Return the p-th root, or infinity where it is beyond double precision."""
    with np.errstate(over="ignore"):
        return float(np.float64(x) ** (1 / p))
