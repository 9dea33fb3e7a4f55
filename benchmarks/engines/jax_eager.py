"""JAX without jit: every step is traced and every operation dispatched on its own."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as np

from benchmarks.engines import data

__all__ = ["WORK", "workloads"]


def logits(params: Any, x: Any) -> Any:
    """Run the forward pass."""
    ws, bs = params
    for w, b in zip(ws[:-1], bs[:-1], strict=True):
        x = jax.nn.relu(x @ w.T + b)
    return x @ ws[-1].T + bs[-1]


def cross_entropy(params: Any, x: Any, y: Any) -> Any:
    """Compute the loss of a classifier."""
    return -np.mean(jax.nn.log_softmax(logits(params, x))[np.arange(len(y)), y])


def squared_error(params: Any, x: Any, y: Any) -> Any:
    """Compute the loss of a regression."""
    return np.mean((logits(params, x) - y) ** 2)


def mlp(d: dict[str, Any], loss: Callable[..., Any], compiled: Callable[..., Any]) -> Callable[[], Any]:
    """Prepare an MLP and its training step."""
    x, y = np.asarray(d["x"]), np.asarray(d["y"])
    params = jax.tree_util.tree_map(np.asarray, (d["w"], d["b"]))

    def update(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return value, jax.tree_util.tree_map(lambda p, g: p - data.LR * g, params, grads)

    update = compiled(update)

    def step() -> Any:
        nonlocal params
        value, params = jax.block_until_ready(update(params, x, y))
        return value

    return step


def chain(n: int, compiled: Callable[..., Any]) -> Callable[[], Any]:
    """Prepare a chain of ``n`` operations."""
    x, a, b = map(np.asarray, data.chain())

    def f(x: Any, b: Any) -> Any:
        y = x
        for _ in range(n // 2):
            y = y * a
            y = y + b
        return np.sum(y)

    pull = compiled(jax.grad(f, argnums=(0, 1)))
    return lambda: jax.block_until_ready(pull(x, b))


def repeat_additions(other: Callable[[Any, Any], Any], compiled: Callable[..., Any]) -> Callable[[], Any]:
    """Prepare 1,000 additions of the running sum, or of the input, to the running sum."""
    x = np.asarray(data.dag())

    def f(x: Any) -> Any:
        y = x
        for _ in range(1000):
            y = y + other(x, y)
        return np.sum(y)

    pull = compiled(jax.grad(f))
    return lambda: jax.block_until_ready(pull(x))


def tower(compiled: Callable[..., Any], width: int) -> Callable[[], Any]:
    """Prepare 20 layers."""
    x, ws, bs = jax.tree_util.tree_map(np.asarray, data.tower(width))

    def loss(params: Any, x: Any) -> Any:
        for w, b in zip(*params, strict=True):
            x = jax.nn.relu(x @ w.T + b)
        return np.mean(x)

    f = compiled(jax.value_and_grad(loss))
    return lambda: jax.block_until_ready(f((ws, bs), x))


def workloads(compiled: Callable[..., Any]) -> dict[str, Any]:
    """List the workloads, with or without a compiler around them."""
    return {
        "mlp_batch_64": lambda: mlp(data.images(64), cross_entropy, compiled),
        "mlp_batch_1": lambda: mlp(data.images(1), cross_entropy, compiled),
        "small_mlp": lambda: mlp(data.regression(), squared_error, compiled),
        "chain_1000": lambda: chain(1000, compiled),
        "diamonds": lambda: repeat_additions(lambda x, y: y, compiled),
        "reuse": lambda: repeat_additions(lambda x, y: x, compiled),
        "tower": lambda width=1024: tower(compiled, width),
    }


WORK = workloads(lambda f: f)
