"""Record a few steps of a loop with torch's profiler, between two hooks, and read the record after the loop."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from course_lib.extras import load
from course_lib.profiling.advice import WORDS, Advice, Bottleneck
from course_lib.profiling.event_analysis import break_down_step
from course_lib.profiling.timing import no_garbage_collection

if TYPE_CHECKING:
    import torch

__all__ = ["OperationsLook"]

WARM_UP, STEPS = 1, 3


class OperationsLook:
    """Record of some steps. It ends early where the loop starts a profiler of its own, since torch allows only one."""

    def __init__(self, device: "torch.device") -> None:
        self.device, self.steps, self.open = device, 0, ExitStack()
        self.profiler: Any = None
        self.label: Any = None
        self.is_over = False

    def price_seconds(self, step_seconds: float) -> float:
        """Return about how long the steps take longer: the profiler of a GPU takes a second to start."""
        return (WARM_UP + STEPS) * step_seconds + (2.0 if self.device.type == "cuda" else 0.01)

    def begin_step(self) -> None:
        """End a step, and begin the next."""
        profilers = load("torch.autograd.profiler", extra="torch")
        if self.profiler is None:
            if profilers._is_profiler_enabled:
                self.is_over = True  # the loop has one of its own
                return
            if self.device.type != "cuda":
                os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # or torch writes markers of its own to stderr
            uses = "cuda" if self.device.type == "cuda" else None
            self.profiler = self.open.enter_context(profilers.profile(use_device=uses, use_kineto=True))
            self._make_way(profilers.profile)
        self._end_label()
        if self.steps == WARM_UP + STEPS:
            self.end()
            return
        self.steps += 1
        self.label = profilers.record_function(f"{'ProfilerStep' if self.steps > WARM_UP else 'warm-up'}#{self.steps}")
        self.label.__enter__()

    def _make_way(self, kind: Any) -> None:
        """End the record before another profiler begins."""
        original: Callable[..., Any] = kind._prepare_trace

        def prepare(profiler: Any) -> Any:
            self.end()
            return original(profiler)

        kind._prepare_trace = prepare
        self.open.callback(setattr, kind, "_prepare_trace", original)

    def _end_label(self) -> None:
        label, self.label = self.label, None
        if label is not None:
            label.__exit__(None, None, None)

    def end(self) -> None:
        """End what was begun."""
        self.is_over = True
        self._end_label()
        self.open.close()

    def advice(self) -> Advice | None:
        """Break down what was recorded, None if nothing was."""
        if self.profiler is None or self.steps <= WARM_UP:
            return None
        with no_garbage_collection():
            breakdown = break_down_step(self.profiler.function_events)
        whole = sum(breakdown.seconds.values())
        ordered = sorted(breakdown.seconds.items(), key=lambda item: -item[1])
        found = [Bottleneck(kind, t / whole, breakdown.evidence[kind], WORDS[kind][1]) for kind, t in ordered if t]
        return Advice(tuple(found), whole, self.steps - WARM_UP, breakdown.device)
