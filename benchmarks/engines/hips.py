"""HIPS autograd."""

from collections.abc import Callable
from typing import Any

import autograd.numpy as np
from autograd import value_and_grad
from autograd.core import make_vjp
from autograd.scipy.special import logsumexp

from benchmarks.engines import data

__all__ = ["WORK"]


def logits(params: Any, x: Any) -> Any:
    """Run the forward pass."""
    ws, bs = params
    for w, b in zip(ws[:-1], bs[:-1], strict=True):
        x = np.maximum(np.dot(x, w.T) + b, 0)
    return np.dot(x, ws[-1].T) + bs[-1]


def cross_entropy(params: Any, x: Any, y: Any) -> Any:
    """Compute the loss of a classifier."""
    z = logits(params, x)
    return np.mean(logsumexp(z, axis=1) - z[np.arange(len(y)), y])


def squared_error(params: Any, x: Any, y: Any) -> Any:
    """Compute the loss of a regression."""
    return np.mean((logits(params, x) - y) ** 2)


def mlp(d: dict[str, Any], loss: Callable[..., Any]) -> Callable[[], Any]:
    """Prepare an MLP and its training step."""
    params = (d["w"], d["b"])
    f = value_and_grad(loss)

    def step() -> Any:
        value, grads = f(params, d["x"], d["y"])
        for xs, gs in zip(params, grads, strict=True):
            for x, g in zip(xs, gs, strict=True):
                x -= data.LR * g
        return value

    return step


def chain(n: int) -> Callable[[], Any]:
    """Prepare a chain of ``n`` operations."""
    x, a, b = data.chain()

    def f(xb: Any) -> Any:
        y, b = xb
        for _ in range(n // 2):
            y = y * a
            y = y + b
        return y

    return lambda: make_vjp(f, (x, b))[0](np.ones_like(x))


def repeat_additions(other: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Prepare 1,000 additions of the running sum, or of the input, to the running sum."""
    x = data.dag()

    def f(x: Any) -> Any:
        y = x
        for _ in range(1000):
            y = y + other(x, y)
        return y

    return lambda: make_vjp(f, x)[0](np.ones_like(x))


def tower(width: int = 1024) -> Callable[[], Any]:
    """Prepare 20 layers."""
    x, ws, bs = data.tower(width)

    def loss(params: Any, x: Any) -> Any:
        for w, b in zip(*params, strict=True):
            x = np.maximum(np.dot(x, w.T) + b, 0)
        return np.mean(x)

    f = value_and_grad(loss)
    return lambda: f((ws, bs), x)


WORK = {
    "mlp_batch_64": lambda: mlp(data.images(64), cross_entropy),
    "mlp_batch_1": lambda: mlp(data.images(1), cross_entropy),
    "small_mlp": lambda: mlp(data.regression(), squared_error),
    "chain_1000": lambda: chain(1000),
    "chain_10000": lambda: chain(10_000),
    "diamonds": lambda: repeat_additions(lambda x, y: y),
    "reuse": lambda: repeat_additions(lambda x, y: x),
    "tower": tower,
}
