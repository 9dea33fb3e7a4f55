"""Run one training step: whole, split into forward, backward and optimizer, or timed by module."""

from collections import UserDict
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.graph_walk import find_loss, graph_leaves
from course_lib.instrument.module_calls import visit_called_modules
from course_lib.instrument.restore_model import (
    optimizer_parameters,
    restore_buffers_at_exit,
    snapshot_random_states,
    stash_gradients,
)
from course_lib.profiling.device_clocks import Clock, clock_for
from course_lib.profiling.module_times import ModuleTimer
from course_lib.training.epochs.epoch_pass import call_model
from course_lib.training.epochs.error_notes import add_note_to_errors, describe_shapes
from course_lib.types import Tree

if TYPE_CHECKING:
    import torch

__all__ = ["TrainingStep", "check_model", "check_optimizer"]


class TrainingStep:
    """A training step of a model, a loss and an optimizer on one batch, which can be run again and again."""

    def __init__(
        self,
        model: Callable[..., object],
        loss_fn: Callable[..., object] | None,
        optimizer: "torch.optim.Optimizer | None",
        batch: Tree,
    ) -> None:
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.clock: Clock[Any] = clock_for(model, batch)
        self.inputs, self.target = _split_batch(batch, has_target=loss_fn is not None)
        self.random = list(snapshot_random_states())

    def _begin(self) -> Any:
        """Mark the start of a step; each draws the same random numbers, so that all of them do the same work."""
        for reset in self.random:
            reset()
        return self.clock.mark()

    def _forward(self) -> Any:
        """Return the loss; weights have changed, so autocast is to convert them again, as it would in training."""
        torch = load("torch", extra="torch")
        torch.clear_autocast_cache()
        with torch.no_grad() if self.optimizer is None else nullcontext():
            result: object = call_model(self.model, self.inputs)  # type: ignore[arg-type, unused-ignore]
            if self.loss_fn is not None:
                result = self.loss_fn(result, *self.target)
        if self.optimizer is None or isinstance(result, torch.Tensor):
            return result
        loss = find_loss(result)
        return result if loss is None else loss

    def _describe_calls(self) -> str:
        """Describe what model and loss were called with, for errors that come from them."""
        if self.loss_fn is None:
            return (
                f"profile_step: the model was called with {describe_shapes(self.inputs)}, all of the batch, as "
                "there is no loss_fn. A batch is (x, target) for a model that returns the loss."
            )
        inputs = self.inputs[0] if isinstance(self.inputs, tuple) and len(self.inputs) == 1 else self.inputs
        beside = f" and {describe_shapes(self.target[0])}, the last of the batch" if self.target else " alone"
        return (
            f"profile_step: the model was called with {describe_shapes(inputs)}, and loss_fn is called with what it "
            f"returns{beside}. A batch is (x, target), of tensors on the model's device; one tensor or dict has no "
            "target."
        )

    def _update(self) -> None:
        """Step the optimizer, and zero the gradients."""
        assert self.optimizer is not None
        self.optimizer.step()
        self.optimizer.zero_grad()

    def check(self, stack: ExitStack) -> None:
        """Run one step, and check that it can be profiled."""
        # It may call modules that nobody has passed in. What is compiled while they are looked for is compiled again.
        eager = load("torch", extra="torch").compiler.set_stance("force_eager")
        with (
            visit_called_modules(partial(restore_buffers_at_exit, stack)),
            eager,
            add_note_to_errors(self._describe_calls),
        ):
            loss = self._forward()
        if self.optimizer is None:
            return
        _check_loss(loss, "loss_fn" if self.loss_fn is not None else "without a loss_fn, the model")
        if any(p.grad is not None for p in optimizer_parameters(self.optimizer)):  # there were none before
            raise InputError(
                "model and loss_fn must leave backward() to profile_step, which times it, but gradients are there "
                "already. Leave it out, or pass a whole step that calls it to advise(step) or time_call(step)."
            )
        for undo in stash_gradients(graph_leaves(loss)):  # a batch may want gradients too
            stack.callback(undo)
        loss.backward()
        if all(p.grad is None for p in optimizer_parameters(self.optimizer)):
            raise InputError(
                "a step needs a gradient for some parameter of the optimizer, but backward() brought none to its "
                f"{len(optimizer_parameters(self.optimizer))}: build the optimizer from the parameters of this model."
            )
        self._update()

    def time_parts(self, *, split: bool) -> list[float]:
        """Time forward, backward and optimizer in seconds, or all three together; of inference only the first."""
        mark = self.clock.mark
        marks = [self._begin()]
        loss = self._forward()
        if self.optimizer is None:
            marks.append(mark())
            self.clock.synchronize()
            return [self.clock.seconds(*marks), *([0.0, 0.0] if split else [])]
        if split:
            marks.append(mark())
        loss.backward()
        if split:
            marks.append(mark())
        self._update()
        marks.append(mark())
        self.clock.synchronize()
        return [self.clock.seconds(a, b) for a, b in pairwise(marks)]

    def time_modules(self) -> tuple[dict[str, str], dict[str, list[float]]]:
        """Time each module; return its kind, and its rows of seconds."""
        timer, start = ModuleTimer(self.clock), self._begin()
        with timer.time_forward():
            loss = self._forward()
        end = self.clock.mark()
        if self.optimizer is not None:
            with timer.time_backward(loss):
                loss.backward()
            self.optimizer.zero_grad()
        self.clock.synchronize()
        return timer.calls.kinds, timer.seconds(self.clock.seconds(start, end))


def _split_batch(batch: Tree, *, has_target: bool) -> tuple[Tree, tuple[object, ...]]:
    """Split a batch into the model's inputs, a tuple or named, and what the loss gets in addition."""
    torch = load("torch", extra="torch")
    if isinstance(batch, torch.Tensor):
        return (batch,), ()
    if isinstance(batch, (dict, UserDict)):
        return batch, ()
    if isinstance(batch, (list, tuple)) and batch and not has_target:
        return tuple(batch), ()
    if isinstance(batch, (list, tuple)) and len(batch) >= 2:
        nested = isinstance(batch[0], (dict, UserDict, list)) or type(batch[0]) is tuple
        return batch[0] if nested and len(batch) == 2 else tuple(batch[:-1]), (batch[-1],)
    found = f"a {type(batch).__name__} of {len(batch)}" if isinstance(batch, (list, tuple)) else type(batch).__name__
    raise InputError(
        f"a batch must be a tensor, a dict, or a sequence that ends in the target, but it is {found}. Pass (x, y)."
    )


def check_model(model: object, loss_fn: object) -> None:
    """Refuse a model or loss that cannot be called, is a class, or has lazy parameters."""
    for name, what in (("model", model), *([] if loss_fn is None else [("loss_fn", loss_fn)])):
        if isinstance(what, type):
            raise InputError(f"{name} must be a module or a function, but got the class {what.__name__}. Add ().")
        if not callable(what):
            raise InputError(
                f"{name} must be a module or a function, but got a {type(what).__name__}. Pass it uncalled."
            )
        lazy = load("torch.nn.parameter", extra="torch").is_lazy
        if any(map(lazy, getattr(what, "parameters", list)())):
            raise InputError(
                f"{name} must know the shapes of its parameters, but got a {type(what).__name__} with lazy ones. Call "
                "it once on a batch, and then make the optimizer."
            )


def check_optimizer(optimizer: object) -> None:
    """Refuse an optimizer that does not step on gradients already computed; None is for inference."""
    if optimizer is None:
        return
    if not hasattr(optimizer, "param_groups"):
        raise InputError(
            f"the optimizer must be a torch.optim.Optimizer, but got a {type(optimizer).__name__}. Make one from the "
            "model's parameters, such as torch.optim.AdamW(model.parameters()), or pass None to profile inference."
        )
    if "LBFGS" in type(optimizer).__name__:
        raise InputError(
            "a step must be one forward and one backward pass, but LBFGS runs several in each step(). Time it whole, "
            "with time_call(optimizer.step, closure)."
        )


def _check_loss(loss: object, source: str) -> None:
    """Refuse a loss that has no backward pass."""
    torch = load("torch", extra="torch")
    if not isinstance(loss, torch.Tensor):
        raise InputError(f"{source} must return a tensor of one element, but it returned {type(loss).__name__}.")
    if loss.numel() != 1:
        raise InputError(
            f"the loss must be one number, but its shape is {tuple(loss.shape)}. Average it: reduction='mean'."
        )
    if loss.is_complex():
        raise InputError(f"the loss must be a real number, but its dtype is {loss.dtype}. Take its .real or .abs().")
    if not loss.requires_grad:
        raise InputError(
            "the loss must depend on a parameter that requires grad, but nothing in it does, so there is no backward "
            "pass to time. Train some parameter, or leave no_grad() and detach() out; time inference with time_call, "
            "or here with optimizer=None."
        )
