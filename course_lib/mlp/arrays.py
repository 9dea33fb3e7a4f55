"""What NumPy, torch and JAX call by different names. All else is spelled in operators and methods they share."""

import math
from types import ModuleType
from typing import Any

import numpy as np

from course_lib.extras import load

__all__ = ["cast", "erf", "is_torch", "log_softmax", "namespace", "pick", "values_of"]


def is_torch(x: Any) -> bool:
    """Tell a tensor of torch, without loading torch: no other array says whether it is on the meta device."""
    return hasattr(x, "is_meta")


def namespace(x: Any) -> ModuleType | Any:
    """Return the module of functions for an array; only torch tensors do not name theirs."""
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else load("torch", extra="torch")


def erf(x: Any) -> Any:
    """Integrate the normal density. NumPy lacks it; the standard library has it for one number at a time."""
    xp = namespace(x)
    if xp is np:
        return np.frompyfunc(math.erf, 1, 1)(x).astype(x.dtype)
    return xp.erf(x) if hasattr(xp, "erf") else load("jax.scipy.special", extra="jax").erf(x)


def log_softmax(x: Any) -> Any:
    """Take the logarithm of softmax over the columns of (b, c), shifted by the largest so that nothing overflows."""
    xp = namespace(x)
    shifted = x - xp.amax(x, -1).reshape(-1, 1)
    return shifted - xp.log(xp.exp(shifted).sum(-1)).reshape(-1, 1)


def pick(labels: Any, c: int) -> Any:
    """Turn labels (b,) into rows (b, c) that are true at the label."""
    xp = namespace(labels)
    columns = xp.arange(c) if hasattr(labels, "__array_namespace__") else xp.arange(c, device=labels.device)
    return labels.reshape(-1, 1) == columns


def cast(x: Any, like: Any) -> Any:
    """Give an array the dtype of another, so that a float64 target does not turn float32 gradients into float64."""
    return x.astype(like.dtype) if hasattr(x, "astype") else x.to(like.dtype)


def values_of(x: Any) -> Any:
    """Copy to NumPy; None where there are no values: while JAX or torch traces, or on torch's meta device."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__array_namespace__"):
        traced = isinstance(x, load("jax", extra="jax").core.Tracer)
        return None if traced else np.asarray(x)
    torch = load("torch", extra="torch")
    if torch.compiler.is_compiling() or x.is_meta:
        return None
    try:
        return x.detach().cpu().numpy()
    except RuntimeError:  # under torch.func's transforms
        return None
