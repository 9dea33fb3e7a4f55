"""Clip gradients of torch parameters, in place."""

import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from course_lib.clipping.arguments import Bound, Nonfinite
from course_lib.clipping.clipper import FLOATS, EagerClipper, missing_gradient_error, unsupported_error
from course_lib.extras import load
from course_lib.instrument.backward_hooks import explain_missing_gradients
from course_lib.norms import LEAST_DOUBLE, Magnitude, combine_norms, tensor_norms
from course_lib.split_tensors import gather_parts, local_part, split_over

if TYPE_CHECKING:
    from torch import Tensor, dtype

__all__ = ["TorchClipper"]

LEAST_FLOAT = -125  # the exponent of the smallest normal float32, in which torch also scales half precision
LEAST_POWER = 1e-21  # of a norm, to its p: below it, powers of entries that count may be zero in float32
COPY = 1 << 16  # entries of small tensors to measure at once: a copy that stays in a CPU's cache
PIECE = 1 << 18  # entries: a CPU adds up float32 one after another, and in longer rows rounding adds up as well
DEVICE, DTYPE, LAYOUT, NESTED = map(attrgetter, ("device", "dtype", "layout", "is_nested"))

A = TypeVar("A")
B = TypeVar("B")


class TorchClipper(EagerClipper):
    """The ``.grad`` of parameters that have one; of any devices and floating-point dtypes.

    The norm is measured in float32 first, and again with more care if that is not finite, or so small that squares may
    have vanished.

    Parameters
    ----------
    parameters : sequence of torch.Tensor
        One that comes twice counts once.
    names : sequence of str
        What they are called.
    """

    def __init__(self, parameters: Sequence["Tensor"], names: Sequence[str]) -> None:
        # A thousand gradients of 64 x 64 are measured in 1.5 ms: whatever is asked of each counts, and is asked once.
        self.torch = torch = load("torch", extra="torch")
        if len(set(map(id, parameters))) < len(parameters):
            first = {id(p): i for i, p in reversed(list(enumerate(parameters)))}
            parameters, names = _at(sorted(first.values()), parameters, names)
        leaves = set(map(type, parameters)) == {torch.nn.Parameter}
        found = [p.grad if leaves or p.is_leaf or p.retains_grad else None for p in parameters]
        self.names, self.grads = names, [g for g in found if g is not None]
        if not self.grads:
            raise missing_gradient_error(
                len(parameters), explain_missing_gradients(parameters) or self._explain_gradients(parameters)
            )
        if "torch.distributed.fsdp" in sys.modules:
            self._refuse_flattened(parameters)
        if len(self.grads) < len(found):
            self.names, _ = _at([i for i, g in enumerate(found) if g is not None], names, found)
        self.devices, self.dtypes = set(map(DEVICE, self.grads)), set(map(DTYPE, self.grads))
        if not (usual := self._are_usual()):
            for name, g in zip(self.names, self.grads, strict=True):
                self._refuse_unsupported(name, g)
        if 0 in map(torch.Tensor.numel, self.grads):
            self.names, self.grads = _at([i for i, g in enumerate(self.grads) if g.numel()], self.names, self.grads)
        self.parts = self.grads if usual else list(map(local_part, self.grads))  # what this process holds of them
        self.alike = self._group(usual=usual)

    def clip_norm(self, bound: Bound, nonfinite: Nonfinite, p: float) -> object:
        """Bound the global p-norm: on the device, unless the host must know the norm to raise."""
        with self.torch.no_grad():
            if nonfinite != "error" and not all(part.is_cpu for part in self.parts):
                return self._clip_there(float(bound), nonfinite, p)
            totals = self._totals(p)
            on_host, elsewhere = [t for t in totals if t.is_cpu], [t for t in totals if not t.is_cpu]
            seen = [float(t) for t in (*on_host, *([self._join(elsewhere, p)] if elsewhere else []))]
            norm = combine_norms([Magnitude(t, 1.0) for t in seen], p).value
        if not LEAST_POWER ** (1 / p) < norm < math.inf:
            return super().clip_norm(bound, nonfinite, p)
        self.multiply(Magnitude(norm, 1.0), float(bound))
        return self.answer(norm)

    def _totals(self, p: float, *, once: bool = False) -> "list[Tensor]":
        """Return norms that together are that of all, where the gradients are: in float32, or ``once`` for all.

        The first are infinite, or lose what is small, where squares are out of range.
        """
        torch, totals = self.torch, []
        for places in self.alike:
            parts, groups = [self.parts[i] for i in places], split_over(self.grads[places[0]])
            double = torch.float32 if parts[0].is_mps else torch.float64  # Apple's GPUs have no float64
            wide = double if once else torch.promote_types(parts[0].dtype, torch.float32)
            if parts[0].is_cpu:
                parts = self._regroup(parts, wide)
            if groups:  # all of it may lie in other processes
                parts = [part if part.numel() else part.new_zeros(1) for part in parts]
            total = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(parts, p, dtype=wide)), p, dtype=double)
            totals.append(torch.linalg.vector_norm(gather_parts(total, groups), p) if groups else total)
        return totals

    def _join(self, totals: "list[Tensor]", p: float) -> "Tensor":
        """Return the norm of all together, on a device if one is there."""
        if len(totals) == 1:
            return totals[0]
        hub = next((total.device for total in totals if not total.is_cpu), totals[0].device)
        joined: Tensor = self.torch.linalg.vector_norm(self.torch.stack([total.to(hub) for total in totals]), p)
        return joined

    def _regroup(self, parts: "list[Tensor]", dtype: "dtype") -> "list[Tensor]":
        """Return tensors of the same norm together that a CPU measures well: long ones cut, small ones joined."""
        torch = self.torch
        if max(map(torch.Tensor.numel, parts)) > PIECE:
            parts = [piece for part in parts for piece in part.reshape(-1).split(PIECE)]
        if dtype != parts[0].dtype:  # half precision is copied anyway
            each = max(1, COPY // max(map(torch.Tensor.numel, parts)))
            batches = (parts[start : start + each] for start in range(0, len(parts), each))
            parts = [torch._utils._flatten_dense_tensors(batch) if each > 1 else batch[0] for batch in batches]
        return parts

    def _clip_there(self, bound: float, nonfinite: Nonfinite, p: float) -> "Tensor":
        """Multiply by a factor that the host never sees."""
        torch, norm = self.torch, self._join(self._totals(p, once=True), p)
        finite = norm.isfinite()
        factor = torch.where(finite, (bound / norm).clamp(max=1), 1.0)
        for places in self._once():
            parts = [self.parts[i] for i in places]
            dtype = torch.promote_types(parts[0].dtype, torch.float32)
            torch._foreach_mul_(parts, factor.to(parts[0].device, dtype))
            if nonfinite == "zero":
                for part in parts:
                    part.masked_fill_(~finite.to(part.device), 0.0)
        return norm

    def _explain_gradients(self, tensors: Sequence["Tensor"]) -> str:
        """Say what to do with tensors that look like gradients themselves; else return an empty string."""
        if any(isinstance(t, self.torch.nn.Parameter) or (t.is_leaf and t.requires_grad) for t in tensors):
            return ""
        return (
            "None is a leaf that requires grad, so these look like gradients: torch's are changed where they lie, in "
            ".grad. Pass the parameters, not their gradients [p.grad, ...]. Scale by hand what torch.func.grad or "
            "torch.autograd.grad returned: norm = torch.nn.utils.get_total_norm(grads); "
            "[g * (max_norm / norm).clamp(max=1) for g in grads], or g.clamp(-c, c) by value."
        )

    def measure(self, p: float) -> list[Magnitude]:
        """Return the p-norm of each gradient, one wait for all devices."""
        return tensor_norms(self.grads, p)

    def multiply(self, norm: Magnitude, bound: float) -> None:
        """Multiply all by ``bound / norm``, if that is below 1."""
        with self.torch.no_grad():
            for places in self._once():
                parts = [self.parts[i] for i in places]
                least = LEAST_DOUBLE if parts[0].dtype == self.torch.float64 else LEAST_FLOAT
                for factor in norm.factors(bound, least=least):
                    self._multiply(parts, factor)

    def _multiply(self, parts: Sequence["Tensor"], factor: float) -> None:
        first = parts[0]
        if first.is_cpu:  # one number as a tensor: a float would be made into one for each gradient
            dtype = self.torch.promote_types(first.dtype, self.torch.float32)
            self.torch._foreach_mul_(parts, self.torch.tensor(factor, dtype=dtype, device="cpu"))
        else:
            self.torch._foreach_mul_(parts, factor)

    def clamp(self, bound: float, norms: Sequence[Magnitude]) -> None:
        """Move all entries into ``[-bound, bound]``; skip gradients whose norm is within, by more than rounding."""
        with self.torch.no_grad():
            for places in self._once():
                parts = [self.parts[i] for i in places if not norms[i].value < bound * (1 - 1e-6)]
                if parts:
                    within = min(bound, self.torch.finfo(parts[0].dtype).max)
                    self.torch._foreach_clamp_max_(parts, within)
                    self.torch._foreach_clamp_min_(parts, -within)

    def zero(self) -> None:
        """Set all entries to 0."""
        with self.torch.no_grad():
            self.torch._foreach_zero_(self.parts)

    def answer(self, norm: float) -> "Tensor":
        """Return the norm as torch does, as a tensor."""
        tensor: Tensor = self.torch.tensor(norm, dtype=self.torch.float64, device="cpu")  # not the default device
        return tensor

    def _group(self, *, usual: bool) -> list[list[int]]:
        """Return the places of gradients of one device and dtype each, split over the same processes."""
        places = list(range(len(self.parts)))
        if places and usual and len(self.devices) == len(self.dtypes) == 1:
            return [places]
        alike = defaultdict(list)
        for i in places:
            alike[split_over(self.grads[i]), self.parts[i].device, self.parts[i].dtype].append(i)
        return list(alike.values())

    def _once(self) -> list[list[int]]:
        """Leave out a tensor that is the gradient of a second parameter too: it counts twice and is changed once."""
        if len(set(map(id, self.grads))) == len(self.grads):
            return self.alike
        first = set({id(g): i for i, g in reversed(list(enumerate(self.grads)))}.values())
        return [[i for i in places if i in first] for places in self.alike]

    def _are_usual(self) -> bool:
        """Return whether all are as nearly all gradients are: nothing else has to be asked of each then."""
        torch, grads = self.torch, self.grads
        strided = set(map(type, grads)) == {torch.Tensor} and set(map(LAYOUT, grads)) == {torch.strided}
        floats = self.dtypes <= {getattr(torch, name) for name in FLOATS}
        if not (strided and floats and all(map(torch.Tensor.is_contiguous, grads))):
            return False
        odd = any(map(NESTED, grads)) or any(map(torch.Tensor.is_inference, grads))
        return not odd and all(device.type != "meta" for device in self.devices)

    def _refuse_flattened(self, parameters: Sequence["Tensor"]) -> None:
        """Refuse what FullyShardedDataParallel has marked as its own."""
        for i, p in enumerate(parameters):
            if getattr(p, "_fsdp_flattened", False):
                instead = "Call the wrapped model's own clip_grad_norm_()."
                raise unsupported_error(self.names[i], "one process's part of it", instead)

    def _refuse_unsupported(self, name: str, g: Any) -> None:
        torch, dtype = self.torch, str(g.dtype).removeprefix("torch.")
        if hasattr(g, "device_mesh"):  # DTensor, without its import
            if any(placed.is_partial() for placed in g.placements):
                instead = "Add it up first: p.grad = p.grad.redistribute(placements=[Replicate()])."
                raise unsupported_error(name, "a sum that the processes have not added up (Partial)", instead)
            g = local_part(g)
        if g.layout != torch.strided or g.is_nested:
            layout = "nested" if g.is_nested else str(g.layout).removeprefix("torch.")
            instead = "Make it dense first, p.grad = p.grad.to_dense(), or leave it out."
            raise unsupported_error(name, layout, instead)
        if torch._debug_has_internal_overlap(g) == 1:
            instead = "They cannot be written one by one: set p.grad = p.grad.clone() first."
            raise unsupported_error(name, "a broadcast, whose entries share memory", instead)
        if g.is_inference() and not torch.is_inference_mode_enabled():
            instead = "It cannot be changed any more: set p.grad = p.grad.clone() first."
            raise unsupported_error(name, "made in inference mode", instead)
        if dtype not in FLOATS:
            instead = "Use torch.nn.utils.clip_grad_norm_, or torch.view_as_real(p.grad).clamp_(-c, c) by value."
            raise unsupported_error(name, dtype, instead if g.is_complex() else "Leave that parameter out.")
        if g.is_meta:
            raise unsupported_error(name, "on the meta device, without numbers", "Move the model to a device first.")


def _at(places: Sequence[int], first: Sequence[A], second: Sequence[B]) -> tuple[list[A], list[B]]:
    """Return what is at these places."""
    return [first[i] for i in places], [second[i] for i in places]
