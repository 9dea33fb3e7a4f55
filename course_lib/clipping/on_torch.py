"""Gradients of torch parameters, changed in place."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from course_lib.clipping.gradients import FLOATS, Gradients, no_gradient, unsupported
from course_lib.clipping.magnitude import LEAST_DOUBLE, Magnitude
from course_lib.extras import load
from course_lib.instrument.backward_hooks import explain_missing_gradients

__all__ = ["TorchGradients"]

LEAST_FLOAT = -125  # the exponent of the smallest normal float32, in which torch also scales half precision


class TorchGradients(Gradients):
    """The ``.grad`` of parameters that have one; of any devices and floating-point dtypes."""

    def __init__(self, named: Iterable[tuple[str, Any]]) -> None:
        self.torch = load("torch", extra="torch")
        parameters = {id(p): (name, p) for name, p in named}
        with_grad = [
            (name, g) for name, p in parameters.values() if (p.is_leaf or p.retains_grad) and (g := p.grad) is not None
        ]
        if not with_grad:
            tensors = [p for _, p in parameters.values()]
            raise no_gradient(len(tensors), explain_missing_gradients(tensors) or self._themselves(tensors))
        for name, p in parameters.values():
            if getattr(p, "_fsdp_flattened", False):  # as FullyShardedDataParallel marks them
                raise unsupported(name, "one process's part of it", "Call the wrapped model's own clip_grad_norm_().")
        for name, g in with_grad:
            self._refuse_unsupported(name, g)
        self.names = [name for name, g in with_grad if g.numel()]
        self.grads = [g for _, g in with_grad if g.numel()]

    def _themselves(self, tensors: Sequence[Any]) -> str:
        """Say what to do with tensors that look like gradients themselves; else return an empty string."""
        if any(isinstance(t, self.torch.nn.Parameter) or (t.is_leaf and t.requires_grad) for t in tensors):
            return ""
        return (
            "None is a leaf that requires grad, so these look like gradients: torch's are changed where they lie, in "
            ".grad. Pass the parameters, not their gradients [p.grad, ...]. Scale by hand what torch.func.grad or "
            "torch.autograd.grad returned: norm = torch.nn.utils.get_total_norm(grads); "
            "[g * (max_norm / norm).clamp(max=1) for g in grads], or g.clamp(-c, c) by value."
        )

    def measure(self) -> list[Magnitude]:
        """Measure each group of tensors by kernels over all of it, and wait once for all groups."""
        host: list[tuple[list[int], Any]] = []
        device: list[tuple[list[int], Any]] = []
        with self.torch.no_grad():
            for group in self._groups(range(len(self.grads))):
                measured = self._norms([self.grads[i] for i in group])
                (host if measured.device.type == "cpu" else device).append((group, measured))
        found: dict[int, Magnitude] = {}
        for parts in (host, device):  # what is on the host is read without waiting
            if parts:
                hub = parts[0][1].device
                units, scaled = self.torch.cat([m.to(hub, non_blocking=True) for _, m in parts], dim=1).tolist()
                places = (i for group, _ in parts for i in group)
                found |= dict(zip(places, map(Magnitude, units, scaled), strict=True))
        return [found[i] for i in range(len(self.grads))]

    def _norms(self, grads: Sequence[Any]) -> Any:
        """Return units and scaled norms, (2, n), of gradients that share a dtype and a device."""
        torch, apple = self.torch, grads[0].device.type == "mps"
        if grads[0].dtype != torch.float64 and not apple:  # squares of float32 do not overflow in float64
            norms = torch.stack(torch._foreach_norm(grads, 2, dtype=torch.float64))
            return torch.stack([norms, torch.ones_like(norms)])
        wide = torch.float32 if apple else torch.float64
        units = torch._foreach_norm(grads, math.inf)
        scaled = [
            torch.linalg.vector_norm(g.to(wide) / torch.where((u > 0) & u.isfinite(), u, 1).to(wide))
            for g, u in zip(grads, units, strict=True)
        ]
        return torch.stack([torch.stack(units).to(wide), torch.stack(scaled)])

    def multiply(self, norm: Magnitude, bound: float) -> None:
        """Multiply all by ``bound / norm``, if that is below 1."""
        with self.torch.no_grad():
            for group in self._groups(self._each_once()):
                grads = [self.grads[i] for i in group]
                least = LEAST_DOUBLE if grads[0].dtype == self.torch.float64 else LEAST_FLOAT
                for factor in norm.factors(bound, least=least):
                    self._multiply(grads, factor)

    def _multiply(self, grads: Sequence[Any], factor: float) -> None:
        if grads[0].device.type == "cpu":  # where _foreach_mul_ rounds the factor to half precision, and mul_ does not
            for g in grads:
                g.mul_(factor)
        else:
            self.torch._foreach_mul_(grads, factor)

    def clamp(self, bound: float, norms: Sequence[Magnitude]) -> None:
        """Move all entries into ``[-bound, bound]``; skip gradients whose norm is within, by more than rounding."""
        beyond = [i for i in self._each_once() if not norms[i].value < bound * (1 - 1e-6)]
        with self.torch.no_grad():
            for group in self._groups(beyond):
                grads = [self.grads[i] for i in group]
                within = min(bound, self.torch.finfo(grads[0].dtype).max)
                self.torch._foreach_clamp_max_(grads, within)
                self.torch._foreach_clamp_min_(grads, -within)

    def zero(self) -> None:
        """Set all entries to 0."""
        with self.torch.no_grad():
            self.torch._foreach_zero_(self.grads)

    def answer(self, norm: float) -> Any:
        """Return the norm as torch does, as a tensor."""
        return self.torch.tensor(norm, dtype=self.torch.float64, device="cpu")  # whatever the default device is

    def _groups(self, indices: Iterable[int]) -> list[list[int]]:
        """Put together what one kernel can take."""
        groups = defaultdict(list)
        for i in indices:
            groups[self.grads[i].device, self.grads[i].dtype].append(i)
        return list(groups.values())

    def _each_once(self) -> list[int]:
        """Leave out a tensor that is the gradient of a second parameter too: it counts twice and is changed once."""
        return list({id(g): i for i, g in enumerate(self.grads)}.values())

    def _refuse_unsupported(self, name: str, g: Any) -> None:
        torch, dtype = self.torch, str(g.dtype).removeprefix("torch.")
        if hasattr(g, "device_mesh"):  # DTensor, without its import
            instead = "Each process holds a part: use torch.nn.utils.clip_grad_norm_."
            raise unsupported(name, "distributed (a DTensor)", instead)
        if g.layout != torch.strided or g.is_nested:
            layout = "nested" if g.is_nested else str(g.layout).removeprefix("torch.")
            instead = "Make it dense first, p.grad = p.grad.to_dense(), or leave it out."
            raise unsupported(name, layout, instead)
        if torch._debug_has_internal_overlap(g) == 1:
            instead = "They cannot be written one by one: set p.grad = p.grad.clone() first."
            raise unsupported(name, "a broadcast, whose entries share memory", instead)
        if g.is_inference() and not torch.is_inference_mode_enabled():
            instead = "It cannot be changed any more: set p.grad = p.grad.clone() first."
            raise unsupported(name, "made in inference mode", instead)
        if dtype not in FLOATS:
            instead = "Use torch.nn.utils.clip_grad_norm_, or torch.view_as_real(p.grad).clamp_(-c, c) by value."
            raise unsupported(name, dtype, instead if g.is_complex() else "Leave that parameter out.")
        if g.is_meta:
            raise unsupported(name, "on the meta device, without numbers", "Move the model to a device first.")
