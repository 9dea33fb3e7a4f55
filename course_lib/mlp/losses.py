"""Losses, each as ``loss`` and a residual (b, c) from which the first cotangent is one multiplication away."""

from math import nan, prod
from typing import Any

import numpy as np

from course_lib.errors import InputError
from course_lib.mlp.arrays import cast, is_torch, log_softmax, namespace, pick, values_of

__all__ = ["LOSSES"]


def half_sum(out: Any, target: Any) -> tuple[Any, Any, float]:
    """0.5 * sum((out - target)^2), or of out alone; its cotangent is the residual itself."""
    if target is not None:
        check_target(out, target, "half_sum", [tuple(out.shape)])
    r = out if target is None else out - cast(target, out)
    return 0.5 * (r * r).sum(), r, 1.0


def mse(out: Any, target: Any) -> tuple[Any, Any, float]:
    """Mean of (out - target)^2 over all b * c entries; cotangent 2 r / (b c)."""
    check_target(out, target, "mse", [tuple(out.shape)])
    r = out - cast(target, out)
    b, c = out.shape
    return mean(r * r), r, 2 / max(b * c, 1)


def cross_entropy(out: Any, target: Any) -> tuple[Any, Any, float]:
    """Mean over the batch of -sum(p * log softmax(out)); cotangent (softmax(out) - p) / b, where p is the target."""
    b, c = out.shape
    check_target(out, target, "cross_entropy", [(b,), (b, c)])
    labels = values_of(target) if len(target.shape) == 1 else None
    if labels is not None and not np.isin(labels, range(c)).all():
        raise InputError(
            f"labels must be whole numbers between 0 and {c - 1}, one less than the score columns, but they go from "
            f"{labels.min()} to {labels.max()}. Number the classes from 0."
        )
    log_p = log_softmax(out)
    p = cast(pick(target, c) if len(target.shape) == 1 else target, out)
    r = namespace(out).exp(log_p) * p.sum(-1).reshape(-1, 1) - p  # the sum is 1 for labels and for probabilities
    return -mean((p * log_p).sum(-1)), r, 1 / max(b, 1)


def mean(x: Any) -> Any:
    """Take the mean; NaN without a warning if x is empty, as in torch."""
    return x.mean() if prod(x.shape) else x.sum() * nan


def check_target(out: Any, target: Any, loss: str, allowed: list[tuple[int, ...]]) -> None:
    """Refuse a missing target, or one that would broadcast against the output and silently give another loss."""
    if target is not None and not (is_torch(target) if is_torch(out) else hasattr(target, "__array_namespace__")):
        kind = "a torch tensor" if is_torch(out) else "a NumPy or JAX array"
        raise InputError(
            f"the target must be of the library of x, {kind}, but it is a {type(target).__module__}."
            f"{type(target).__name__}. Convert it, as in "
            f"{'torch.as_tensor' if is_torch(out) else 'np.asarray'}(target)."
        )
    found = "no target" if target is None else f"a target of shape {tuple(target.shape)}"
    if target is None or tuple(target.shape) not in allowed:
        raise InputError(
            f"{loss} of an output of shape {tuple(out.shape)} needs a target of shape "
            f"{' or '.join(map(str, allowed))}, but it got {found}. "
            "Pass target= in that shape; another would broadcast into a different loss."
        )


LOSSES = {"half_sum": half_sum, "mse": mse, "cross_entropy": cross_entropy}
