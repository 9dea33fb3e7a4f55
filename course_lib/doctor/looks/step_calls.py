"""Keep what a step has called until it is over, to repeat it if something in it is not finite."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from course_lib.doctor.looks.nonfinite_search import (
    Call,
    FirstNonfinite,
    count_nodes,
    loss_operations,
    search_calls,
)
from course_lib.extras import load
from course_lib.frameworks import parameter_names
from course_lib.monitoring.reading.trainable_parameters import find_nonfinite

if TYPE_CHECKING:
    import torch

    from course_lib.doctor.loop.watched_optimizer import WatchedOptimizer

__all__ = ["StepCalls"]

KEPT = 8  # calls of models, and as many of losses


class StepCalls:
    """Calls of models and losses since the last backward pass was over.

    Attributes
    ----------
    device : str
        The kind of device of the model's parameters.
    walked : bool
        Whether a backward pass has gone through what was called; the next call begins anew.
    """

    def __init__(self) -> None:
        self.models, self.losses = list[Call](), list[Call]()
        self.device, self.walked = "cpu", False
        self.torch = load("torch", extra="torch")

    def record_model(
        self, model: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any], *, random: bool
    ) -> None:
        """Note a call of a model; with the state of the random numbers, which takes a microsecond more."""
        if self.walked:
            self.forget()
        self._record(self.models, model, args, kwargs, random=random)

    def record_loss(self, loss_fn: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note a call of a loss."""
        self._record(self.losses, loss_fn, args, kwargs, random=False)

    def _record(
        self, calls: list[Call], module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, random: bool
    ) -> None:
        if len(calls) < KEPT:
            torch, device = self.torch, self.device
            autocast = (device, torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else None
            state = torch.get_rng_state() if random else None
            calls.append(Call(module, args, kwargs, state, autocast, torch._C._autograd._get_sequence_nr()))

    def forget(self) -> None:
        """Let go of batches and outputs."""
        self.walked = False
        self.models.clear()
        self.losses.clear()

    def find_origin(
        self,
        seen: FirstNonfinite,
        loss: "torch.Tensor | None",
        watched: "Sequence[WatchedOptimizer]",
        *,
        late: bool,
    ) -> FirstNonfinite:
        """Say which operation made a loss or a gradient not finite, while the calls of its step are the last.

        Parameters
        ----------
        seen : FirstNonfinite
            What was seen, without an origin.
        loss : torch.Tensor, optional
            The loss, if its graph is still there.
        watched : sequence of WatchedOptimizer
        late : bool
            Whether steps have been made since, so that other calls are the last.
        """
        models = {id(w.model): w.model for w in watched}.values()
        if spoiled := find_nonfinite([pair for model in models for pair in parameter_names(model)]):
            if not late:
                return replace(seen, where="parameters", note=_count_names(spoiled))
            note = f"It was read some steps later, when parameters were not finite either ({_count_names(spoiled)})."
        elif late:
            note = "It was read some steps later, and the parameters are finite still."
        elif not (self.models or self.losses):
            note = "No call of the model was seen, as where the loop calls a compiled copy of it; pass what it calls."
        elif self._trains_with_others():
            note = "Several processes train together, so the step was not run again here: the others would not join in."
        elif self._holds_nan():
            note = "What the model was given holds nan itself: look at the data of this batch."
        elif origin := search_calls(self.models, self.losses, watched[0].optimizer):
            return replace(seen, origin=origin, note="")
        elif loss is not None and self.models:
            last = self.models[-1]
            operations = loss_operations(loss, last.began_at + count_nodes(last, watched[0].optimizer))
            note = f"The model's output is finite when it is run again, so the loss makes it: {operations} compute it."
        else:
            note = "Run again, the model makes nothing like it, so the loop's own code does, between model and step()."
        return replace(seen, note=note)

    def _trains_with_others(self) -> bool:
        """Return whether other processes would have to take part in a call."""
        together = self.torch.distributed
        return bool(together.is_available() and together.is_initialized() and together.get_world_size() > 1)

    def _holds_nan(self) -> bool:
        """Return whether a model was given nan."""
        given = [(call.args, call.kwargs) for call in self.models]
        leaves = load("torch.utils._pytree", extra="torch").tree_leaves(given)
        return bool(find_nonfinite([("", t) for t in leaves if isinstance(t, self.torch.Tensor)], nan_alone=True))


def _count_names(names: Sequence[str]) -> str:
    """Name the first, and count the rest.

    Examples
    --------
    >>> _count_names(["a"]), _count_names(["a", "b", "c"])
    ('a', 'a and 2 more')
    """
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
