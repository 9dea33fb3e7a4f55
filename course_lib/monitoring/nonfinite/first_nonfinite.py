"""Run a step, and find the operation that makes the first NaN or infinity in it."""

from collections.abc import Callable
from typing import Any

from course_lib.extras import load
from course_lib.instrument.dispatch_mode import check_step, intercept_operations
from course_lib.instrument.module_calls import track_module_calls
from course_lib.monitoring.nonfinite.origin import NonfiniteOrigin
from course_lib.monitoring.nonfinite.tracker import NonfiniteTracker

__all__ = ["first_nonfinite"]


def first_nonfinite(step: Callable[[], Any]) -> NonfiniteOrigin | None:
    """Run a step of torch once, and find the first operation that makes nan or inf and leaves it in the results.

    Every operation is looked at, forward and backward. What is not finite is followed from the operation that made it
    from finite numbers; that operation is an origin if, when the step is over, some of its numbers are still there: in
    the loss that the step returns, in a gradient, in a parameter. So numbers that are masked again do not count, and
    neither do those that the code asks for, as ``masked_fill(mask, -inf)`` does, unless they turn into a nan, or into
    a single number, such as the loss.

    Parameters
    ----------
    step : callable
        Takes nothing, and runs a forward pass, or a whole step of training, which then trains. What it returns is
        looked at as well, so return the loss.

    Returns
    -------
    NonfiniteOrigin or None
        None if all that is left is finite.

    Raises
    ------
    InputError
        If ``step`` cannot be called. What it raises is passed on.

    Notes
    -----
    Slow: each operation is followed by a look at all of its results, which on a device waits for it. torch's
    ``detect_anomaly`` looks at the backward pass alone, and for nan alone. Complex and integer numbers are not looked
    at, nor float8, nor what a fused kernel makes inside, nor what other threads do. What ``torch.compile`` has
    made runs uncompiled meanwhile. What the graph of the loss keeps for a backward pass also counts, and so does the
    infinite gradient for which a ``GradScaler`` skips a step.

    Examples
    --------
    >>> import torch
    >>> p = torch.tensor([0.5, 0.0], requires_grad=True)
    >>> found = first_nonfinite(lambda: (p * p.log()).sum())
    >>> found.op, found.inf, found.given
    ('log', 1, ('(2,) from 0 to 0.5',))
    """
    torch = load("torch", extra="torch")
    check_step(step)
    with track_module_calls() as now:
        tracker = NonfiniteTracker(torch, lambda: now.innermost)
        with intercept_operations(tracker.run_operation):
            left = step()  # alive until it has been looked at
        found = tracker.first_origin()
        del left
    return found
