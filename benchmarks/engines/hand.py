"""NumPy with the backward pass written by hand: what every ratio is relative to."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.engines import data

__all__ = ["WORK"]

ZERO = np.float32(0)


def mlp_step(x: Any, weights: list[Any], biases: list[Any], loss_and_gradient: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Run one step: forward, backward, update."""
    inputs = []
    last = len(weights) - 1
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        inputs.append(x)
        x = x @ w.T
        x += b
        if i < last:
            x = np.maximum(x, ZERO)
    loss, g = loss_and_gradient(x)
    for i in range(last, -1, -1):
        x = inputs[i]
        dw = g.T * x if len(x) == 1 else g.T @ x  # BLAS takes six times as long for one row
        db = np.add.reduce(g, 0)
        if i:
            g = g @ weights[i]
            g *= x > ZERO
        weights[i] -= data.LR * dw
        biases[i] -= data.LR * db
    return loss


def cross_entropy(y: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Compute the loss of logits, and its gradient."""
    rows, n = np.arange(len(y)), len(y)

    def loss_and_gradient(z: Any) -> tuple[Any, Any]:
        z = z - np.maximum.reduce(z, 1, keepdims=True)
        right = z[rows, y]
        np.exp(z, z)
        s = np.add.reduce(z, 1)
        z /= s[:, None]
        z[rows, y] -= 1
        z /= n
        return (np.add.reduce(np.log(s)) - np.add.reduce(right)) / n, z

    return loss_and_gradient


def squared_error(y: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Compute the mean squared error, and its gradient."""

    def loss_and_gradient(z: Any) -> tuple[Any, Any]:
        d = z - y
        flat = d.ravel()
        return flat.dot(flat) / d.size, d * np.float32(2 / d.size)

    return loss_and_gradient


def images(batch: int) -> Callable[[], Any]:
    """Prepare the MLP on images."""
    d = data.images(batch)
    loss = cross_entropy(d["y"])
    return lambda: mlp_step(d["x"], d["w"], d["b"], loss)


def regression() -> Callable[[], Any]:
    """Prepare the small MLP."""
    d = data.regression()
    loss = squared_error(d["y"])
    return lambda: mlp_step(d["x"], d["w"], d["b"], loss)


def chain(n: int) -> Callable[[], Any]:
    """Prepare a chain of ``n`` operations, multiplications and additions in turn."""
    x, a, b = data.chain()

    def step() -> Any:
        y = x
        for _ in range(n // 2):
            y = y * a
            y = y + b
        g, db = np.ones_like(y), np.zeros_like(b)
        for _ in range(n // 2):
            db += g
            g = g * a
        return db

    return step


def diamonds() -> Callable[[], Any]:
    """Prepare 1,000 diamonds, one on top of the other."""
    x = data.dag()

    def step() -> Any:
        y = x
        for _ in range(1000):
            y = y + y
        g = np.ones_like(y)
        for _ in range(1000):
            g = g + g
        return g

    return step


def reuse() -> Callable[[], Any]:
    """Prepare a sum of 1,000 times the same input."""
    x = data.dag()

    def step() -> Any:
        y = x
        for _ in range(1000):
            y = y + x
        g, dx = np.ones_like(y), np.zeros_like(y)
        for _ in range(1000):
            dx += g
        dx += g
        return dx

    return step


def tower(width: int = 1024) -> Callable[[], Any]:
    """Prepare 20 layers; the gradients of all weights are kept to the end."""
    x0, weights, biases = data.tower(width)

    def step() -> Any:
        x, inputs, grads = x0, [], []
        for w, b in zip(weights, biases, strict=True):
            inputs.append(x)
            x = x @ w.T
            x += b
            x = np.maximum(x, ZERO)
        loss, g = x.mean(), np.full_like(x, 1 / x.size)
        for w in reversed(weights):
            g *= x > ZERO
            x = inputs.pop()
            grads += [g.T @ x, np.add.reduce(g, 0)]
            if inputs:
                g = g @ w
        return loss, grads

    return step


WORK = {
    "mlp_batch_64": lambda: images(64),
    "mlp_batch_1": lambda: images(1),
    "small_mlp": regression,
    "chain_1000": lambda: chain(1000),
    "chain_10000": lambda: chain(10_000),
    "diamonds": diamonds,
    "reuse": reuse,
    "tower": tower,
}
