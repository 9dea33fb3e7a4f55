"""Take an optimizer's step, or skip it if ``before_step`` says so, or the gradients are not finite."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_lib.training.epochs.mixed_precision import unscale
from course_lib.training.framework import Framework
from course_lib.types import AnyModule, AnyOptimizer

__all__ = ["Steps", "is_step_skipped"]


@dataclass
class Steps:
    """The steps of an epoch: those taken, and those left out by ``before_step`` or by a scaler."""

    model: AnyModule
    optimizer: AnyOptimizer
    framework: Framework
    before_step: Callable[[Any], object] | None
    scaler: Any
    taken: int = 0
    skipped: int = 0
    overflowed: int = 0

    def take(self) -> None:
        """Unscale the gradients, ask ``before_step``, and step, unless one of the two is against it."""
        finite = self.scaler is None or unscale(self.scaler, self.optimizer)
        self.overflowed += not finite
        if not finite or (
            self.before_step and is_step_skipped(self.before_step(self.model), self.model, self.framework)
        ):
            self.skipped += 1
        else:
            self.taken += 1
            _ = self.optimizer.step() if self.scaler is None else self.scaler.step(self.optimizer)
        if self.scaler is not None:
            self.scaler.update()

    def warn_if_none(self, title: str) -> None:
        """Warn of an epoch whose steps were all skipped, so that nothing was trained."""
        if self.taken or not self.skipped:
            return
        if self.overflowed == self.skipped:
            words = (
                f"the scaler left out every step, {self.skipped} of {self.skipped}, since gradients overflowed: as it "
                f"does at first, until the scale is small enough. It is {self.scaler.get_scale():g} now; keep the same "
                "scaler for the next epoch, or begin with a smaller init_scale."
            )
        else:
            words = (
                f"before_step left out every step, {self.skipped} of {self.skipped}, so nothing was trained. Look at "
                "the gradients with nonfinite='error', or let before_step return None."
            )
        warnings.warn(f"{title}: {words}", stacklevel=3)


def is_step_skipped(answer: object, model: AnyModule, framework: Framework) -> bool:
    """Return whether the answer of ``before_step`` skips the step.

    A norm that is not finite is not enough: the gradients may have been set to zero since it was taken, or
    be finite with a norm beyond the largest float. So the gradients decide. Reading a number waits for its device.

    Examples
    --------
    >>> from course_lib import autograd
    >>> from course_lib.training.framework import AutogradFramework
    >>> model, framework = autograd.nn.Linear(1, 1), AutogradFramework()
    >>> model.weight.grad = autograd.tensor([[math.inf]])
    >>> [is_step_skipped(answer, model, framework) for answer in (None, True, 0.0, False, math.inf)]
    [False, False, False, True, True]
    """
    dtype = str(getattr(answer, "dtype", type(answer).__name__))
    if tuple(getattr(answer, "shape", ())):
        return False
    if dtype.removeprefix("torch.") == "bool":
        return not answer
    if not hasattr(answer, "__float__") or "float" not in dtype:
        return False
    gradients = (p.grad for p in model.parameters() if p.grad is not None)
    return not math.isfinite(answer) and not all(map(framework.finite, gradients))
