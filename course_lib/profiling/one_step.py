"""One training step, run whole, split at two points, or watched by module."""

from collections import UserDict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import Any

from course_lib.costs.graph import leaves_below
from course_lib.costs.untouched import first_calls, keep_buffers, set_aside
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.profiling.clocks import Clock, clock_for
from course_lib.profiling.keep import random_states, updated
from course_lib.profiling.modules import ModuleWatch
from course_lib.training.notes import described, noted
from course_lib.training.passes import called

__all__ = ["Step", "check_model", "check_optimizer"]


class Step:
    """One training step, run in different ways."""

    def __init__(self, model: Any, loss_fn: Callable[..., Any], optimizer: Any, batch: Any) -> None:
        self.model, self.loss_fn, self.optimizer = model, loss_fn, optimizer
        self.clock: Clock = clock_for(model, batch)
        self.inputs, self.target = split_batch(batch)
        self.random = list(random_states(load("torch", extra="torch")))

    def begin(self) -> Any:
        """Mark the start of a step; each draws the same random numbers, so that all of them do the same work."""
        for reset in self.random:
            reset()
        return self.clock.mark()

    def forward(self) -> Any:
        """Return the loss; weights have changed, so autocast is to convert them again, as it would in training."""
        load("torch", extra="torch").clear_autocast_cache()
        return self.loss_fn(called(self.model, self.inputs), *self.target)

    def described(self) -> str:
        """Say what model and loss were called with, for errors that come from them."""
        inputs = self.inputs[0] if len(self.inputs) == 1 and isinstance(self.inputs, tuple) else self.inputs
        beside = f" and {described(self.target[0])}, the last of the batch" if self.target else " alone"
        return (
            f"profile_step: the model was called with {described(inputs)}, and loss_fn is called with what it returns"
            f"{beside}. A batch is (x, target), of tensors on the model's device; one tensor or dict has no target."
        )

    def update(self) -> None:
        """Do what comes after the backward pass."""
        self.optimizer.step()
        self.optimizer.zero_grad()

    def check(self, stack: ExitStack) -> None:
        """Run one step, and say what is wrong with it."""
        # It may call modules that nobody has passed in. What is compiled while they are looked for is compiled again.
        eager = load("torch", extra="torch").compiler.set_stance("force_eager")
        with first_calls(partial(keep_buffers, stack)), eager, noted(self.described):
            loss = self.forward()
        check_loss(loss)
        for undo in set_aside(leaves_below(loss)):  # a batch may want gradients too
            stack.callback(undo)
        loss.backward()
        if all(p.grad is None for p in updated(self.optimizer)):
            raise InputError(
                "a step needs a gradient for some parameter of the optimizer, but backward() brought none to its "
                f"{len(updated(self.optimizer))}: build the optimizer from the parameters of this model."
            )
        self.update()

    def parts(self, *, split: bool) -> list[float]:
        """Return the seconds of forward, backward and optimizer, or of all three together."""
        mark = self.clock.mark
        marks = [self.begin()]
        loss = self.forward()
        if split:
            marks.append(mark())
        loss.backward()
        if split:
            marks.append(mark())
        self.update()
        marks.append(mark())
        self.clock.settle()
        return [self.clock.seconds(a, b) for a, b in pairwise(marks)]

    def modules(self) -> tuple[dict[str, str], dict[str, list[float]]]:
        """Return the kind of each module, and its seconds."""
        watch, start = ModuleWatch(self.clock), self.begin()
        with watch.watching():
            loss = self.forward()
        end = self.clock.mark()
        with watch.hooked(loss):
            loss.backward()
        self.optimizer.zero_grad()
        self.clock.settle()
        return watch.calls.kinds, watch.seconds(self.clock.seconds(start, end))


def split_batch(batch: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what the model is called on, a tuple or named inputs, and what the loss gets in addition."""
    torch = load("torch", extra="torch")
    if isinstance(batch, torch.Tensor):
        return (batch,), ()
    if isinstance(batch, (dict, UserDict)):
        return batch, ()
    if isinstance(batch, (list, tuple)) and len(batch) >= 2:
        named = len(batch) == 2 and isinstance(batch[0], (dict, UserDict))
        return batch[0] if named else tuple(batch[:-1]), (batch[-1],)
    found = f"a {type(batch).__name__} of {len(batch)}" if isinstance(batch, (list, tuple)) else type(batch).__name__
    raise InputError(
        f"a batch must be a tensor, a dict, or a sequence that ends in the target, but it is {found}. Pass (x, y)."
    )


def check_model(model: Any, loss_fn: Any) -> None:
    """Refuse what cannot be called, a class, and a model whose parameters have no shapes yet."""
    for name, what in (("model", model), ("loss_fn", loss_fn)):
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


def check_optimizer(optimizer: Any) -> None:
    """Refuse what does not step on gradients already computed."""
    if not hasattr(optimizer, "param_groups"):
        raise InputError(
            f"the optimizer must be a torch.optim.Optimizer, but got a {type(optimizer).__name__}. Make one from the "
            "model's parameters, such as torch.optim.AdamW(model.parameters()); time a forward pass with time_call."
        )
    if "LBFGS" in type(optimizer).__name__:
        raise InputError(
            "a step must be one forward and one backward pass, but LBFGS runs several in each step(). Time it whole, "
            "with time_call(optimizer.step, closure)."
        )


def check_loss(loss: Any) -> None:
    """Refuse a loss that has no backward pass."""
    torch = load("torch", extra="torch")
    if not isinstance(loss, torch.Tensor):
        raise InputError(f"loss_fn must return a tensor of one element, but it returned {type(loss).__name__}.")
    if loss.numel() != 1:
        raise InputError(
            f"the loss must be one number, but its shape is {tuple(loss.shape)}. Average it: reduction='mean'."
        )
    if loss.is_complex():
        raise InputError(f"the loss must be a real number, but its dtype is {loss.dtype}. Take its .real or .abs().")
    if not loss.requires_grad:
        raise InputError(
            "the loss must depend on a parameter that requires grad, but nothing in it does, so there is no backward "
            "pass to time. Train some parameter, or leave no_grad() and detach() out; time inference with time_call."
        )
