"""Watch the gradients that one optimizer steps by: all of them now and then, and one of them at each step."""

import cmath
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from course_lib.doctor.loop.pace import PacedSchedule
from course_lib.errors import InputError
from course_lib.frameworks import parameter_names
from course_lib.instrument.restore_model import optimizer_parameters
from course_lib.monitoring import GradientMonitor

if TYPE_CHECKING:
    import torch

__all__ = ["WatchedOptimizer", "called_parts"]

SMALL = 1 << 16  # elements of the gradient that is looked at in each step
EARLY = 3  # the part of the model, from its input, whose smallest gradient that is: what is not finite comes this far


class _OwnParameters:
    """The parameters of a model that an optimizer steps, in the place of the model."""

    def __init__(self, model: "torch.nn.Module", ids: set[int]) -> None:
        self.model, self.ids = model, ids

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((name, p) for name, p in self.model.named_parameters() if id(p) in self.ids)

    def named_buffers(self) -> Any:
        return self.model.named_buffers()


class WatchedOptimizer:
    """An optimizer in a loop, and the monitor of its gradients.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
    model : torch.nn.Module
        Which has its parameters, and their names.

    Raises
    ------
    InputError
        If it steps no parameter of the model.
    """

    def __init__(self, optimizer: "torch.optim.Optimizer", model: "torch.nn.Module") -> None:
        self.optimizer, self.model = optimizer, model
        self.schedule = PacedSchedule(every=1, update_every=10)
        self.monitor: GradientMonitor | None = None
        self.steps, self.takes_closure = 0, False
        self._early: Any = None
        ids = set(map(id, optimizer_parameters(optimizer)))
        own = [p for _, p in parameter_names(model) if id(p) in ids]
        if not own:
            raise InputError(
                f"the optimizer must step parameters of the model, but none of its {len(ids)} is one of "
                f"{type(model).__name__}'s. Pass the model whose parameters() it was made with; where layers were "
                "replaced since, make the optimizer anew."
            )
        self.device: torch.device = own[0].device
        everything = len(own) == sum(p.requires_grad for _, p in parameter_names(model))
        self._watched: Any = model if everything else _OwnParameters(model, ids)

    def look(self, *, step_seconds: float) -> None:
        """Measure the gradients, if it is their turn, or keep the parameters for the next step, if it is that one's."""
        began = perf_counter()
        if self.monitor is None:
            self.monitor = GradientMonitor(self._watched, every=self.schedule)
        self.monitor.step(self.steps)
        self.schedule.pay(self.steps, perf_counter() - began, step_seconds=step_seconds)

    def has_nonfinite_gradient(self, *, wait: bool) -> bool:
        """Return whether a gradient near the input is not finite; on an accelerator ask only if it may wait."""
        if self._early is None:
            self._early = self._choose_early()
        gradient = self._early.grad
        if gradient is None or hasattr(gradient, "device_mesh") or self._early.numel() > SMALL:
            return False
        if not gradient.is_cpu and (not wait or _is_capturing(gradient)):
            return False
        return not cmath.isfinite(gradient.sum().item()) and not gradient.isfinite().all().item()

    def _choose_early(self) -> Any:
        """Return the smallest of the parameters near the input."""
        trained = [p for _, p in self._watched.named_parameters() if p.requires_grad]
        return min(trained[: max(2, len(trained) // EARLY)], key=lambda p: p.numel())

    def state_bytes(self) -> int:
        """Return how much memory its state takes."""
        held = [t for state in self.optimizer.state.values() for t in _values(state)]
        return sum(t.nbytes for t in held if hasattr(t, "nbytes"))

    @property
    def label(self) -> str:
        """The name of its class."""
        return type(self.optimizer).__name__

    def close(self) -> None:
        """Remove the monitor's hooks."""
        if self.monitor is not None:
            self.monitor.close()


def _values(state: Any) -> Iterator[Any]:
    """Yield what is in an optimizer's state, in lists, too, as L-BFGS keeps it."""
    for value in state.values() if isinstance(state, dict) else state:
        if isinstance(value, (list, tuple, dict)):
            yield from _values(value)
        else:
            yield value


def _is_capturing(tensor: "torch.Tensor") -> bool:
    """Return whether kernels are being captured into a CUDA graph, where nothing may wait."""
    import torch

    return tensor.device.type == "cuda" and torch.cuda.is_current_stream_capturing()


def called_parts(model: "torch.nn.Module") -> "Sequence[torch.nn.Module]":
    """Return what a loop calls of a model: itself, or the parts of a container that cannot be called."""
    if type(model).__name__ not in ("ModuleList", "ModuleDict"):
        return [model]
    return [called for part in model.children() for called in called_parts(part)]
