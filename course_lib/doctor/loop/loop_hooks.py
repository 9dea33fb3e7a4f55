"""Hook a training loop from outside: calls of its models, of ``backward()``, and steps of its optimizers."""

import functools
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from course_lib.extras import load

if TYPE_CHECKING:
    import torch

    from course_lib.doctor.loop.watched_optimizer import WatchedOptimizer

__all__ = ["CompileWatch", "LoopHooks", "LoopListener", "drop_own_frames"]


class LoopListener(Protocol):
    """Listener to a training loop's hooks."""

    def on_model(self, model: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Follow a model that is about to be called while gradients are recorded."""

    def on_loss(self, loss_fn: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Follow a loss that is about to be computed."""

    def on_backward(self, loss: "torch.Tensor") -> None:
        """Follow a backward pass that begins."""

    def on_backward_end(self) -> None:
        """Follow a backward pass that is over, or has raised."""

    def on_step(self, optimizer: "torch.optim.Optimizer", *, closure: bool) -> None:
        """Follow an optimizer that is about to step."""

    def on_step_end(self, optimizer: "torch.optim.Optimizer") -> None:
        """Follow an optimizer that has stepped."""


class LoopHooks:
    """Hooks for a listener, removed by :meth:`close`. What torch.compile traces, it traces without them."""

    def __init__(self, listener: LoopListener) -> None:
        self.torch, self.listener, self.handles = load("torch", extra="torch"), listener, ExitStack()
        self.compiling: Callable[[], bool] = self.torch.compiler.is_compiling
        self.records: Callable[[], bool] = self.torch.is_grad_enabled

    def watch_model(self, model: "torch.nn.Module") -> None:
        """Tell the listener of a model's calls."""
        compiling, records, tell = self.compiling, self.records, self.listener.on_model

        def before(module: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not compiling() and records():
                tell(module, args, kwargs)

        self.handles.callback(model.register_forward_pre_hook(before, with_kwargs=True).remove)

    def watch_loss(self, loss_fn: "torch.nn.Module") -> None:
        """Tell the listener of a loss's calls."""

        def before(module: "torch.nn.Module", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self.compiling() and self.records():
                self.listener.on_loss(module, args, kwargs)

        self.handles.callback(loss_fn.register_forward_pre_hook(before, with_kwargs=True).remove)

    def watch_optimizer(self, optimizer: "torch.optim.Optimizer") -> None:
        """Tell the listener of an optimizer's steps."""

        def before(it: "torch.optim.Optimizer", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self.compiling():
                # The wrapper around step() passes the optimizer itself on, too.
                closure = kwargs.get("closure") or next((a for a in args if a is not it), None)
                self.listener.on_step(it, closure=closure is not None)

        def after(it: "torch.optim.Optimizer", args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not self.compiling():
                self.listener.on_step_end(it)

        self.handles.callback(optimizer.register_step_pre_hook(before).remove)
        self.handles.callback(optimizer.register_step_post_hook(after).remove)

    def watch_backward(self) -> None:
        """Tell the listener of each ``loss.backward()``, for which torch has no hook: its method is wrapped."""
        kind, begins, ends = self.torch.Tensor, self.listener.on_backward, self.listener.on_backward_end
        original, inside = kind.backward, False

        @functools.wraps(original)
        def backward(tensor: "torch.Tensor", *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside:  # a subclass of Tensor hands the call on to this very method
                return original(tensor, *args, **kwargs)
            inside = True
            begins(tensor)
            try:
                return original(tensor, *args, **kwargs)
            finally:
                inside = False
                ends()

        def restore() -> None:
            if kind.backward is backward:  # else someone has wrapped it again since, and calls this one
                kind.backward = original

        kind.backward = backward
        self.handles.callback(restore)

    def close(self) -> None:
        """Remove all hooks."""
        self.handles.close()


def drop_own_frames(error: BaseException, trace: TracebackType | None, *, own: str) -> None:
    """Take the frames of this package's files out of an error's traceback, so that it is the loop's own."""
    frames = list[TracebackType]()
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(own):
            frames.append(trace)
        trace = trace.tb_next
    for frame, following in zip(frames, [*frames[1:], None], strict=True):
        frame.tb_next = following
    error.__traceback__ = frames[0] if frames else None


class CompileWatch:
    """Watch for torch.compile: on a model, or anywhere since this was made."""

    def __init__(self) -> None:
        self._before = _count_frames()

    def concerns(self, watched: "Iterable[WatchedOptimizer]") -> bool:
        """Return whether the model of one of these is compiled, or anything was compiled meanwhile."""
        models = (each.model for each in watched)
        compiled = any(hasattr(model, "_orig_mod") or model._compiled_call_impl for model in models)
        return compiled or _count_frames() > self._before

    @property
    def was_used(self) -> bool:
        """Whether anything at all was compiled in this process."""
        return _count_frames() > 0


def _count_frames() -> int:
    """Return how many frames torch.compile has compiled in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else int(dynamo.counters["frames"].get("total", 0))
