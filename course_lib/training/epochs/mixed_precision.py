"""Mixed precision: autocast around the forward pass and the loss, and a GradScaler around backward and step."""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.training.framework import Framework
from course_lib.types import AnyDevice, AnyOptimizer

if TYPE_CHECKING:
    from torch.amp import GradScaler

__all__ = ["Precision", "autocast", "check_scaler", "make_scaler", "unscale"]

Precision: TypeAlias = Literal["bf16", "fp16"]

DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
CALLS = ("scale", "unscale_", "step", "update", "is_enabled")


def autocast(framework: Framework, device: Any, precision: str | None) -> AbstractContextManager[Any]:
    """Return torch's autocast in a precision, or refuse it; without one, everything stays as it is."""
    if precision is None:
        return nullcontext()
    if precision not in DTYPES:
        raise InputError(
            f"precision must be 'bf16', 'fp16' or None, but got {precision!r}; None computes in the model's own dtype"
        )
    if framework.name != "torch":
        raise InputError(
            f"precision={precision!r} needs a torch model, since {framework.name} computes in the dtype of its arrays; "
            "leave it out"
        )
    torch = load("torch", extra="torch")
    context: AbstractContextManager[Any] = torch.autocast(device.type, dtype=getattr(torch, DTYPES[precision]))
    return context


def check_scaler(framework: Framework, precision: str | None, scaler: Any) -> None:
    """Refuse what is no GradScaler, and float16 without one: its small gradients would become 0."""
    if scaler is None and precision == "fp16":
        raise InputError(
            "precision='fp16' needs a scaler, since small gradients become 0 in float16; make one for all epochs, "
            "scaler=torch.amp.GradScaler(device), or pass precision='bf16'"
        )
    if scaler is not None and not (framework.name == "torch" and all(hasattr(scaler, name) for name in CALLS)):
        raise InputError(
            f"the scaler must be a torch.amp.GradScaler, for a torch model, but got {scaler!r:.60} for one of "
            f"{framework.name}; pass torch.amp.GradScaler(device), or leave it out"
        )


def make_scaler(device: AnyDevice) -> "GradScaler":
    """Make a GradScaler for a device."""
    torch = load("torch", extra="torch")
    scaler: GradScaler = torch.amp.GradScaler(torch.empty(0, device=device).device.type)
    return scaler


def unscale(scaler: "GradScaler", optimizer: AnyOptimizer) -> bool:
    """Divide the gradients by the scale; return whether all are finite, waiting for the device."""
    scaler.unscale_(optimizer)  # type: ignore[arg-type]  # one of torch's
    found = scaler._found_inf_per_device(optimizer)  # type: ignore[arg-type]
    return not any(flag.item() for flag in found.values())
