"""Skip an optimizer step if ``before_step`` says so, or the gradients are not finite."""

import math
import warnings

from course_lib.training.framework import Framework
from course_lib.types import AnyModule

__all__ = ["is_step_skipped", "warn_all_steps_skipped"]


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


def warn_all_steps_skipped(title: str, count: int) -> None:
    """Warn of an epoch whose steps were all skipped, so that nothing was trained."""
    warnings.warn(
        f"{title}: before_step left out every step, {count} of {count}, so nothing was trained. Look at the gradients "
        "with nonfinite='error', or let before_step return None.",
        stacklevel=3,
    )
