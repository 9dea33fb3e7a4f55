"""Functions that NumPy, torch and JAX call by different names; all else is operators and methods that they share."""

import math
from typing import Any

import numpy as np

from course_lib.extras import load
from course_lib.frameworks import array_namespace, is_jax_tracer, is_numpy_array, is_torch_tensor
from course_lib.types import Array, NumericArray

__all__ = ["cast", "erf", "exp", "is_supported", "log_softmax", "one_hot", "tanh", "to_numpy"]


def is_supported(x: object) -> bool:
    """Return whether it is an array of NumPy or JAX, or a tensor of torch."""
    return hasattr(x, "__array_namespace__") or is_torch_tensor(x)


def exp(x: NumericArray) -> NumericArray:
    """Raise e to each element."""
    result: NumericArray = array_namespace(x).exp(x)
    return result


def tanh(x: NumericArray) -> NumericArray:
    """Take the hyperbolic tangent of each element."""
    result: NumericArray = array_namespace(x).tanh(x)
    return result


def erf(x: NumericArray) -> NumericArray:
    """Take the error function. NumPy lacks it; the standard library has it for one number at a time."""
    xp = array_namespace(x)
    if is_numpy_array(x):
        result: NumericArray = np.frompyfunc(math.erf, 1, 1)(x).astype(x.dtype)
    else:
        result = xp.erf(x) if hasattr(xp, "erf") else load("jax.scipy.special", extra="jax").erf(x)
    return result


def log_softmax(x: NumericArray) -> NumericArray:
    """Take the logarithm of softmax over the columns of (b, c), shifted by the largest so that nothing overflows."""
    xp = array_namespace(x)
    shifted: NumericArray = x - xp.amax(x, -1).reshape(-1, 1)
    log_p: NumericArray = shifted - xp.log(xp.exp(shifted).sum(-1)).reshape(-1, 1)
    return log_p


def one_hot(labels: NumericArray, c: int) -> NumericArray:
    """Turn labels (b,) into rows (b, c) that are true at the label."""
    xp = array_namespace(labels)
    columns = xp.arange(c, device=labels.device) if is_torch_tensor(labels) else xp.arange(c)
    rows: NumericArray = labels.reshape(-1, 1) == columns
    return rows


def cast(x: Any, like: NumericArray) -> NumericArray:
    """Give an array the dtype of another, so that a float64 target does not turn float32 gradients into float64."""
    result: NumericArray = x.to(like.dtype) if is_torch_tensor(x) else x.astype(like.dtype)
    return result


def to_numpy(x: NumericArray) -> Array | None:
    """Copy to NumPy; None where there are no values: while JAX or torch traces, or on torch's meta device."""
    if is_numpy_array(x):
        return x
    if not is_torch_tensor(x):
        return None if is_jax_tracer(x) else np.asarray(x)
    torch = load("torch", extra="torch")
    if torch.compiler.is_compiling() or x.is_meta:
        return None
    try:
        values: Array = x.detach().cpu().numpy()
    except RuntimeError:  # under torch.func's transforms
        return None
    return values
