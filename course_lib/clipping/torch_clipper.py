"""Clip gradients of torch parameters, in place."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from course_lib.clipping.clipper import FLOATS, EagerClipper, missing_gradient_error, unsupported_error
from course_lib.extras import load
from course_lib.instrument.backward_hooks import explain_missing_gradients
from course_lib.norms import LEAST_DOUBLE, Magnitude, group_alike, tensor_norms

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["TorchClipper"]

LEAST_FLOAT = -125  # the exponent of the smallest normal float32, in which torch also scales half precision


class TorchClipper(EagerClipper):
    """The ``.grad`` of parameters that have one; of any devices and floating-point dtypes."""

    def __init__(self, named: Iterable[tuple[str, "Tensor"]]) -> None:
        self.torch = load("torch", extra="torch")
        parameters = {id(p): (name, p) for name, p in named}
        with_grad = [
            (name, g) for name, p in parameters.values() if (p.is_leaf or p.retains_grad) and (g := p.grad) is not None
        ]
        if not with_grad:
            tensors = [p for _, p in parameters.values()]
            raise missing_gradient_error(
                len(tensors), explain_missing_gradients(tensors) or self._explain_gradients(tensors)
            )
        for name, p in parameters.values():
            if getattr(p, "_fsdp_flattened", False):  # as FullyShardedDataParallel marks them
                raise unsupported_error(
                    name, "one process's part of it", "Call the wrapped model's own clip_grad_norm_()."
                )
        for name, g in with_grad:
            self._refuse_unsupported(name, g)
        self.names = [name for name, g in with_grad if g.numel()]
        self.grads = [g for _, g in with_grad if g.numel()]

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

    def measure(self) -> list[Magnitude]:
        """Return the norm of each gradient, one wait for all devices."""
        return tensor_norms(self.grads)

    def multiply(self, norm: Magnitude, bound: float) -> None:
        """Multiply all by ``bound / norm``, if that is below 1."""
        with self.torch.no_grad():
            for group in group_alike(self.grads, self._each_once()):
                grads = [self.grads[i] for i in group]
                least = LEAST_DOUBLE if grads[0].dtype == self.torch.float64 else LEAST_FLOAT
                for factor in norm.factors(bound, least=least):
                    self._multiply(grads, factor)

    def _multiply(self, grads: Sequence["Tensor"], factor: float) -> None:
        if grads[0].device.type == "cpu":  # where _foreach_mul_ rounds the factor to half precision, and mul_ does not
            for g in grads:
                g.mul_(factor)
        else:
            self.torch._foreach_mul_(grads, factor)

    def clamp(self, bound: float, norms: Sequence[Magnitude]) -> None:
        """Move all entries into ``[-bound, bound]``; skip gradients whose norm is within, by more than rounding."""
        beyond = [i for i in self._each_once() if not norms[i].value < bound * (1 - 1e-6)]
        with self.torch.no_grad():
            for group in group_alike(self.grads, beyond):
                grads = [self.grads[i] for i in group]
                within = min(bound, self.torch.finfo(grads[0].dtype).max)
                self.torch._foreach_clamp_max_(grads, within)
                self.torch._foreach_clamp_min_(grads, -within)

    def zero(self) -> None:
        """Set all entries to 0."""
        with self.torch.no_grad():
            self.torch._foreach_zero_(self.grads)

    def answer(self, norm: float) -> "Tensor":
        """Return the norm as torch does, as a tensor."""
        tensor: Tensor = self.torch.tensor(norm, dtype=self.torch.float64, device="cpu")  # not the default device
        return tensor

    def _each_once(self) -> list[int]:
        """Leave out a tensor that is the gradient of a second parameter too: it counts twice and is changed once."""
        return list({id(g): i for i, g in enumerate(self.grads)}.values())

    def _refuse_unsupported(self, name: str, g: "Tensor") -> None:
        torch, dtype = self.torch, str(g.dtype).removeprefix("torch.")
        if hasattr(g, "device_mesh"):  # DTensor, without its import
            instead = "Each process holds a part: use torch.nn.utils.clip_grad_norm_."
            raise unsupported_error(name, "distributed (a DTensor)", instead)
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
