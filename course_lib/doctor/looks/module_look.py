"""Look into a few steps of a loop module by module: the time of each, and what each keeps for the backward pass."""

from collections import defaultdict
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from course_lib.instrument.saved_tensors import alive, dense_parts, record_saved_tensors, storage_key
from course_lib.profiling.device_clocks import clock_for
from course_lib.profiling.module_times import ModuleTimer

if TYPE_CHECKING:
    import torch

__all__ = ["LOOK_STEPS", "ModuleLook", "ModuleUse"]

LOOKS = 3  # steps, of whose times the median is taken
LOOK_STEPS = 1.5  # about how many steps one that is looked into takes more


@dataclass(frozen=True)
class ModuleUse:
    """Time and memory of a module in a step, without the modules that it calls.

    Attributes
    ----------
    name : str
        As in ``named_modules()``, or ``(outside modules)``.
    forward_seconds, backward_seconds : float
        Medians of the steps that were looked into, which took longer than others.
    saved_bytes : int
        What the graph keeps of it for the backward pass: activations, each storage once, without parameters.
    """

    name: str
    forward_seconds: float
    backward_seconds: float
    saved_bytes: int

    @property
    def seconds(self) -> float:
        """Forward and backward together."""
        return self.forward_seconds + self.backward_seconds


class ModuleLook:
    """Look at the first forward and backward pass of a few steps, begun and ended by hooks of the loop."""

    def __init__(self, model: "torch.nn.Module") -> None:
        self.parameters = list(model.parameters())
        self.clock, self.timers = clock_for(model), list[tuple[ModuleTimer, float]]()
        self.saved: dict[str, int] = {}
        self.open, self.timer, self.owned = ExitStack(), ModuleTimer(self.clock), list[Any]()
        self.began: Any = None
        self.is_looking = self.was_looking = False  # at a forward pass now; at the step that ends

    @property
    def is_over(self) -> bool:
        """Whether enough steps were seen."""
        return len(self.timers) >= LOOKS

    def begin(self) -> None:
        """Begin before a step's first forward pass."""
        self.end()
        self.is_looking = self.was_looking = True
        self.timer = ModuleTimer(self.clock)
        self.open.enter_context(self.timer.time_forward())
        self.owned = self.open.enter_context(record_saved_tensors(lambda _: self.timer.calls.innermost))
        self.began = self.clock.mark()

    def turn(self, loss: "torch.Tensor") -> None:
        """End the forward pass, and begin the backward pass."""
        ended = self.clock.mark()
        self.end()
        self.saved = self.saved or self._saved_bytes()
        self.owned = []
        self.clock.synchronize()
        self.timers.append((self.timer, self.clock.seconds(self.began, ended)))
        self.open.enter_context(self.timer.time_backward(loss))

    def end(self) -> None:
        """End the backward pass, or whatever was begun."""
        self.is_looking = False
        self.open.close()

    def _saved_bytes(self) -> dict[str, int]:
        """Add up what the graph holds, by the module that was running."""
        own = {storage_key(part) for p in self.parameters for part in dense_parts(p)}
        found, seen = defaultdict[str, int](int), set[int]()
        for saved in alive(self.owned):
            for part in dense_parts(saved.tensor):
                if (key := storage_key(part)) not in own and key not in seen:
                    seen.add(key)
                    found[saved.note] += part.untyped_storage().nbytes()
        return dict(found)

    def uses(self) -> tuple[ModuleUse, ...]:
        """Return what each module takes, the longest first."""
        self.clock.synchronize()
        runs = [timer.seconds(forward) for timer, forward in self.timers]
        names = dict.fromkeys([*(name for run in runs for name in run), *self.saved])
        absent = [0.0] * 5

        def use(name: str) -> ModuleUse:
            rows = [run.get(name, absent) for run in runs]
            forward, backward = (max(0.0, median(row[at] for row in rows)) for at in (3, 4))
            return ModuleUse(name, forward, backward, self.saved.get(name, 0))

        return tuple(sorted(map(use, names), key=lambda found: -found.seconds))
