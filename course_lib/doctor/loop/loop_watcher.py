"""Follow a training loop by its hooks: read each loss, and look at gradients, modules and operations at times."""

import math
from time import perf_counter
from typing import TYPE_CHECKING, Any

from course_lib.doctor.looks.losses import Losses
from course_lib.doctor.looks.module_look import LOOK_STEPS, ModuleLook
from course_lib.doctor.looks.nonfinite_search import FirstNonfinite, Where
from course_lib.doctor.looks.operations_look import OperationsLook
from course_lib.doctor.looks.step_calls import StepCalls
from course_lib.doctor.loop.loop_clock import AFTER, BACKWARD, OPTIMIZER, LoopClock
from course_lib.doctor.loop.loop_hooks import CompileWatch, LoopHooks
from course_lib.doctor.loop.notes import Notes
from course_lib.doctor.loop.pace import LOOKS_SHARE
from course_lib.doctor.loop.watched_optimizer import WatchedOptimizer, called_parts
from course_lib.extras import load

if TYPE_CHECKING:
    import torch

__all__ = ["LoopWatcher"]

WORTH_WAITING = 5e-3  # seconds of a step, from which on it may wait for an accelerator once


class LoopWatcher:
    """Watcher of a training loop: what its hooks tell, and what is looked at when.

    Attributes
    ----------
    watched : list of WatchedOptimizer
        The optimizers; the steps of the one that steps first are the loop's steps.
    notes : Notes
        What could not be seen, and why.
    """

    def __init__(self, loss_fn: Any = None) -> None:
        self.watched, self.notes = list[WatchedOptimizer](), Notes()
        self.clock, self.hooks, self.compiling = LoopClock(), LoopHooks(self), CompileWatch()
        self.torch, self._loss_fn = load("torch", extra="torch"), loss_fn
        self.losses = Losses()
        self.nonfinite: FirstNonfinite | None = None
        self.first: WatchedOptimizer | None = None
        self.modules: ModuleLook | None = None
        self.operations: OperationsLook | None = None
        self.search_seconds = 0.0
        self._by_id, self._calls, self._new_step = dict[int, WatchedOptimizer](), StepCalls(), True
        self._hooked = dict[int, Any]()  # alive, so that no other module gets the same id
        self._asleep = self._began = self._may_wait = False

    def add(self, optimizer: "torch.optim.Optimizer", model: "torch.nn.Module") -> None:
        """Watch an optimizer, and the calls of its model."""
        self.watched.append(watched := WatchedOptimizer(optimizer, model))
        self._by_id[id(optimizer)] = watched
        self._calls.device = self.watched[0].device.type
        if self._began:
            self._attach(watched)

    def _attach(self, watched: WatchedOptimizer) -> None:
        self.hooks.watch_optimizer(watched.optimizer)
        for part in called_parts(watched.model):
            if id(part) not in self._hooked:
                self._hooked[id(part)] = part
                self.hooks.watch_model(part)

    def begin(self) -> None:
        """Attach everything."""
        self._began = True
        for watched in self.watched:
            self._attach(watched)
        self.hooks.watch_backward()
        if isinstance(self._loss_fn, self.torch.nn.Module):
            self.hooks.watch_loss(self._loss_fn)
        self.clock = LoopClock()

    def end(self) -> None:
        """Read what waits, and remove all that was attached."""
        self._asleep = True
        self.notes.attempt(self._read_deferred_losses)
        for look in (self.modules, self.operations):
            if look is not None:
                self.notes.attempt(look.end)
        self.hooks.close()
        for watched in self.watched:
            watched.close()
        self._calls.forget()

    def on_model(self, model: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note the first call of a forward pass, and what it was given."""
        if self._asleep:
            return
        if timing := self.clock.is_timing:
            self.clock.enter_model()
        if self.nonfinite is None:
            self._calls.record_model(model, args, kwargs, random=timing)
        if timing:
            self.clock.leave()

    def on_loss(self, loss_fn: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Note what the loss was given."""
        if not self._asleep and self.nonfinite is None:
            self._calls.record_loss(loss_fn, args, kwargs)

    def on_backward(self, loss: "torch.Tensor") -> None:
        """Read the loss, and end a look at the forward pass."""
        if self._asleep:
            return
        if timing := self.clock.is_timing:
            self.clock.enter_backward()
        try:  # as notes.attempt does, but for a microsecond that each step would pay
            self._read_loss(loss)
        except Exception as error:  # whatever it is, it is not the loop's
            self.notes.add("read_loss", error)
        if not timing:
            return
        if self._new_step and self.operations is not None and not self.operations.is_over:
            self.notes.attempt(self.operations.begin_step)
        if self.modules is not None and self.modules.is_looking:
            self.notes.attempt(self.modules.turn, loss)
        self._new_step = False
        self.clock.leave()

    def on_backward_end(self) -> None:
        """End a look at the backward pass."""
        self._calls.walked = True
        if self.clock.is_timing and not self._asleep:
            self.clock.enter(BACKWARD)
            if self.modules is not None:
                self.notes.attempt(self.modules.end)
            self.clock.leave()

    def on_step(self, optimizer: "torch.optim.Optimizer", *, closure: bool) -> None:
        """Look at the gradients that an optimizer is about to step by."""
        if self._asleep or (watched := self._by_id.get(id(optimizer))) is None:
            return
        watched.steps += 1
        watched.takes_closure = closure
        if timing := self.clock.is_timing:
            self.clock.enter(AFTER)
        if not closure:
            try:
                if self.nonfinite is None and watched.has_nonfinite_gradient(wait=self._may_wait):
                    self._search_gradients()
            except Exception as error:  # whatever it is, it is not the loop's
                self.notes.add("check_gradient", error)
            if watched.schedule.concerns(watched.steps):
                self.notes.attempt(self._look_at_gradients, watched)
        if timing:
            self.clock.leave()

    def on_step_end(self, optimizer: "torch.optim.Optimizer") -> None:
        """Close the books on a step, and decide what is looked at in the next one."""
        if self._asleep or (watched := self._by_id.get(id(optimizer))) is None:
            return
        self.first = self.first or watched
        timing, first = self.clock.is_timing, watched is self.first
        if timing:
            self.clock.enter(OPTIMIZER)
        if watched.takes_closure and watched.schedule.concerns(watched.steps):  # it computed the gradients in the step
            self.notes.attempt(self._look_at_gradients, watched)
        if first and timing:
            self._end_timed_step()
        self._calls.forget()
        if timing:
            self.clock.leave()
        if first:
            self.clock.count()

    def _read_loss(self, loss: "torch.Tensor") -> None:
        if loss.numel() != 1 or not self.watched:
            return
        if not loss.is_cpu:
            self.losses.defer(loss)
            return
        value = loss.item()
        self.losses.keep(value)
        if not math.isfinite(value) and self.nonfinite is None:
            self._search("loss", value, loss)

    def _read_deferred_losses(self) -> None:
        """Read the losses that wait on an accelerator."""
        if (wrong := self.losses.read_deferred()) is not None and self.nonfinite is None:
            self._search("loss", wrong[0], None, late=wrong[1])

    def _search_gradients(self) -> None:
        self._read_deferred_losses()  # if one is at fault, it came first
        if self.nonfinite is None:
            self._search("gradients", math.nan, None)

    def _look_at_gradients(self, watched: WatchedOptimizer) -> None:
        began = perf_counter()
        watched.look(step_seconds=self.clock.step_seconds)
        self._read_deferred_losses()
        self.clock.charge(perf_counter() - began)

    def _search(self, where: Where, value: float, loss: "torch.Tensor | None", *, late: int = 0) -> None:
        """Say where the first value that is not finite came from, if late; takes as long as it takes, once."""
        began, self._asleep = perf_counter(), True
        seen = FirstNonfinite(self.clock.steps + 1 - late, where, value, None, "Its step could not be repeated.")
        self.nonfinite = seen
        try:
            self.nonfinite = self._calls.find_origin(seen, loss, self.watched, late=late > 0)
        finally:
            self._asleep = False
            self.search_seconds += perf_counter() - began
            self.clock.charge(perf_counter() - began)

    def _end_timed_step(self) -> None:
        """Note the step, and begin a look at the next one where it can be paid."""
        modules, recording = self.modules, self._is_recording
        self.clock.end_timed_step(perturbed=recording or (modules is not None and modules.was_looking))
        self._new_step, self._may_wait = True, self.clock.step_seconds > WORTH_WAITING
        if modules is not None:
            modules.was_looking = False
        if not recording:
            self.notes.attempt(self._plan_looks)
        if (self.modules is not None and self.modules.is_looking) or self._is_recording:
            self.clock.time_next()

    @property
    def _is_recording(self) -> bool:
        return self.operations is not None and not self.operations.is_over

    def _plan_looks(self) -> None:
        """Begin the next look, once the loop has run long enough that it is cheap."""
        first, step_seconds = self.first or self.watched[0], self.clock.step_seconds
        paid, modules = LOOKS_SHARE * self.clock.steps * step_seconds, self.modules
        if first.takes_closure:
            return
        if not (self.compiling.concerns(self.watched) or (modules is not None and modules.is_over)):
            if paid > LOOK_STEPS * (1 + len(modules.timers) if modules else 1) * step_seconds:
                self.modules = modules or ModuleLook(first.model)
                self.modules.begin()
        elif self.operations is None:
            operations = OperationsLook(first.device)
            if paid > operations.price_seconds(step_seconds):
                self.operations = operations  # which begins with a backward pass: the step is inside a label of torch's
