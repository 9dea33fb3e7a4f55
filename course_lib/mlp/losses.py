"""Losses of a network, each with a residual (b, c) from which the first cotangent is one multiplication away."""

from collections.abc import Callable
from math import nan, prod

import numpy as np

from course_lib.errors import InputError
from course_lib.frameworks import is_torch_tensor
from course_lib.mlp.array_functions import cast, exp, log_softmax, one_hot, to_numpy
from course_lib.types import NumericArray

__all__ = ["LOSSES"]


def _half_sum(out: NumericArray, target: NumericArray | None) -> tuple[NumericArray, NumericArray, float]:
    """Compute 0.5 * sum((out - target)^2), or of out alone; its cotangent is the residual itself."""
    if target is not None:
        target = _check_target(out, target, "half_sum", [tuple(out.shape)])
    r = out if target is None else out - cast(target, out)
    return 0.5 * (r * r).sum(), r, 1.0


def _mse(out: NumericArray, target: NumericArray | None) -> tuple[NumericArray, NumericArray, float]:
    """Compute the mean of (out - target)^2 over all b * c entries; cotangent 2 r / (b c)."""
    target = _check_target(out, target, "mse", [tuple(out.shape)])
    r = out - cast(target, out)
    b, c = out.shape
    return _mean(r * r), r, 2 / max(b * c, 1)


def _cross_entropy(out: NumericArray, target: NumericArray | None) -> tuple[NumericArray, NumericArray, float]:
    """Compute the mean of -sum(p * log softmax(out)), with p the target; its cotangent is (softmax(out) - p) / b."""
    b, c = out.shape
    target = _check_target(out, target, "cross_entropy", [(b,), (b, c)])
    labels = to_numpy(target) if len(target.shape) == 1 else None
    if labels is not None and not np.isin(labels, range(c)).all():
        raise InputError(
            f"labels must be whole numbers between 0 and {c - 1}, one less than the score columns, but they go from "
            f"{labels.min()} to {labels.max()}. Number the classes from 0."
        )
    log_p = log_softmax(out)
    p = cast(one_hot(target, c) if len(target.shape) == 1 else target, out)
    r = exp(log_p) * p.sum(-1).reshape(-1, 1) - p  # the sum is 1 for labels and for probabilities
    return -_mean((p * log_p).sum(-1)), r, 1 / max(b, 1)


def _mean(x: NumericArray) -> NumericArray:
    """Take the mean; NaN without a warning if x is empty, as in torch."""
    mean: NumericArray = x.mean() if prod(x.shape) else x.sum() * nan
    return mean


def _check_target(
    out: NumericArray, target: NumericArray | None, loss: str, allowed: list[tuple[int, ...]]
) -> NumericArray:
    """Return the target, or refuse one that is missing, or would broadcast and silently give another loss."""
    if target is not None and not (
        is_torch_tensor(target) if is_torch_tensor(out) else hasattr(target, "__array_namespace__")
    ):
        kind = "a torch tensor" if is_torch_tensor(out) else "a NumPy or JAX array"
        raise InputError(
            f"the target must be of the library of x, {kind}, but it is a {type(target).__module__}."
            f"{type(target).__name__}. Convert it, as in "
            f"{'torch.as_tensor' if is_torch_tensor(out) else 'np.asarray'}(target)."
        )
    found = "no target" if target is None else f"a target of shape {tuple(target.shape)}"
    if target is None or tuple(target.shape) not in allowed:
        raise InputError(
            f"{loss} of an output of shape {tuple(out.shape)} needs a target of shape "
            f"{' or '.join(map(str, allowed))}, but it got {found}. "
            "Pass target= in that shape; another would broadcast into a different loss."
        )
    return target


Loss = Callable[[NumericArray, NumericArray | None], tuple[NumericArray, NumericArray, float]]
LOSSES: dict[str, Loss] = {"half_sum": _half_sum, "mse": _mse, "cross_entropy": _cross_entropy}
