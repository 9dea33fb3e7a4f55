"""Fast twins of losses: the usual case of each is fused into one operation."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from course_lib.autograd.graph.node import Node
from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.ops.broadcasting import take_arrays
from course_lib.autograd.ops.normalizers import softmax_of
from course_lib.autograd.ops.primitive import Op, Primitive, record, wrap_result
from course_lib.autograd.variable import Tensor, Value, Variable
from course_lib.types import Array

__all__ = ["fast_cross_entropy", "fast_mse_loss"]


class _Fused(Primitive):
    """A fused operation, which saves an intermediate result: ``inner`` is the operation that computes it alone."""

    def __init__(self, name: str, inner: Primitive, *vjps: Callable[..., Any], takes: str) -> None:
        super().__init__(name, None, *vjps, takes=takes)
        self.inner = inner

    def reconnect(self, node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """Record the intermediate result, which had no node in the forward pass."""
        return (record(self.inner, saved[0], node.parents, saved[: len(self.inner.saves)]), *saved[1:])


def _scale(g: Value, factor: float) -> Value:
    """Multiply a single number; an array is multiplied as a scalar, then wrapped again, in half the time."""
    return np.asarray(g[()] * factor) if type(g) is np.ndarray else g * factor


_difference = Primitive("sub", np.subtract, lambda g: g, lambda g: -g, takes="x y")
_mse = _Fused(
    "mse_loss",
    _difference,
    lambda g, d, n: d * _scale(g, 2 / n),
    lambda g, d, n: d * _scale(g, -2 / n),
    takes="d n",
)


def _subtract_and_average(x: Array, t: Array) -> tuple[Array, Array]:
    """Compute the difference and the mean of its square."""
    d = x - t
    flat = d.ravel()
    return d, flat.dot(flat) / d.size


def fast_mse_loss(plain: Op) -> Op:
    """Fuse the mean squared error of two tensors of one shape and dtype into one operation."""

    @wraps(plain)
    def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
        x, t, _ = take_arrays("mse_loss", input, target, weight)
        usual = weight is None and reduction == "mean" and input.dims == target.dims and x.dtype is t.dtype
        if not usual or not x.size:
            return plain(input, target, reduction, weight)
        d, loss = quiet_context.copy().run(_subtract_and_average, x, t)
        return wrap_result(_mse, loss, (input.node, target.node), (d, d.size))

    return mse_loss


def _subtract_one_hot(g: Value, p: Any, dim: int, right: Array) -> Any:
    """Subtract 1 from the probability of the class that was right: the vjp of cross-entropy."""
    scale = _scale(g, 1 / len(p))
    if isinstance(g, Variable):
        one = np.zeros(p.shape, p.dtype)
        one.put(right, 1)
        return (p - one) * scale
    x = p * scale
    x.put(right, x.take(right) - scale)  # half the time of x[rows, y] -= scale
    return x


# torch makes two nodes of it, and prints the name of the second
_nll_of_softmax = _Fused("nll_loss", softmax_of, _subtract_one_hot, takes="p dim right")


def _softmax_and_loss(z: Array, right: Array) -> tuple[Array, Array]:
    """Compute the probabilities and the mean loss, with one exponential for both."""
    p = z - np.maximum.reduce(z, 1, keepdims=True)
    x = p.take(right)
    np.exp(p, p)
    s = np.add.reduce(p, 1)
    p /= s[:, None]
    return p, np.add.reduce(np.log(s) - x) / len(z)


def fast_cross_entropy(plain: Op) -> Op:
    """Fuse softmax, logarithm and mean for a batch of logits and classes, without weights, into one operation."""

    @wraps(plain)
    def cross_entropy(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> Tensor:
        z, y, _ = take_arrays("cross_entropy", input, target, weight)
        unusual = weight is not None or ignore_index >= 0 or reduction != "mean" or label_smoothing
        unusual = unusual or z.ndim != 2 or (z.dtype.kind, y.dtype.kind) != ("f", "i") or not z.size
        if unusual or y.shape != z.shape[:1] or np.minimum.reduce(y) < 0 or np.maximum.reduce(y) >= z.shape[1]:
            return plain(input, target, weight, ignore_index, reduction, label_smoothing)
        right = np.arange(0, z.size, z.shape[1]) + y  # where the right classes are in the flattened logits
        p, loss = quiet_context.copy().run(_softmax_and_loss, z, right)
        return wrap_result(_nll_of_softmax, loss, (input.node,), (p, 1, right))

    return cross_entropy
