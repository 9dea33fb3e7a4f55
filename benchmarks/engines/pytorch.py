"""PyTorch, eager, on one CPU thread."""

from collections.abc import Callable
from typing import Any

import torch as ag

from benchmarks.engines import data

__all__ = ["WORK"]

ag.set_num_threads(1)
F = ag.nn.functional


def parameters(d: dict[str, Any]) -> tuple[list[Any], list[Any], Any]:
    """Make parameters and their optimizer."""
    ws = [ag.tensor(w, requires_grad=True) for w in d["w"]]
    bs = [ag.tensor(b, requires_grad=True) for b in d["b"]]
    return ws, bs, ag.optim.SGD([*ws, *bs], lr=data.LR, foreach=False)


def mlp(d: dict[str, Any], loss_of: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    """Prepare an MLP and its training step."""
    (w1, w2, w3), (b1, b2, b3), optimizer = parameters(d)
    x, y = ag.tensor(d["x"]), ag.tensor(d["y"])

    def step() -> Any:
        h = ag.relu(F.linear(x, w1, b1))
        h = ag.relu(F.linear(h, w2, b2))
        loss = loss_of(F.linear(h, w3, b3), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def chain(n: int) -> Callable[[], Any]:
    """Prepare a chain of ``n`` operations."""
    x, a, b = data.chain()
    one = ag.tensor(x * 0 + 1)

    def step() -> Any:
        y, factor, addend = ag.tensor(x, requires_grad=True), ag.tensor(a), ag.tensor(b, requires_grad=True)
        for _ in range(n // 2):
            y = y * factor
            y = y + addend
        y.backward(one)
        return addend.grad

    return step


def diamonds() -> Callable[[], Any]:
    """Prepare 1,000 diamonds, one on top of the other."""
    one = ag.tensor(data.dag() * 0 + 1)

    def step() -> Any:
        x = y = ag.tensor(data.dag(), requires_grad=True)
        for _ in range(1000):
            y = y + y
        y.backward(one)
        return x.grad

    return step


def reuse() -> Callable[[], Any]:
    """Prepare a sum of 1,000 times the same input."""
    one = ag.tensor(data.dag() * 0 + 1)

    def step() -> Any:
        x = y = ag.tensor(data.dag(), requires_grad=True)
        for _ in range(1000):
            y = y + x
        y.backward(one)
        return x.grad

    return step


def tower(width: int = 1024) -> Callable[[], Any]:
    """Prepare 20 layers."""
    x0, weights, biases = data.tower(width)
    x0, ws, bs = ag.from_numpy(x0), [ag.from_numpy(w) for w in weights], [ag.from_numpy(b) for b in biases]

    def step() -> Any:
        x = x0
        for w, b in zip(ws, bs, strict=True):
            x = ag.relu(F.linear(x, w.requires_grad_(), b.requires_grad_()))
        loss = x.mean()
        del x
        loss.backward()
        return loss

    return step


WORK = {
    "mlp_batch_64": lambda: mlp(data.images(64), F.cross_entropy),
    "mlp_batch_1": lambda: mlp(data.images(1), F.cross_entropy),
    "small_mlp": lambda: mlp(data.regression(), F.mse_loss),
    "chain_1000": lambda: chain(1000),
    "chain_10000": lambda: chain(10_000),
    "diamonds": diamonds,
    "reuse": reuse,
    "tower": tower,
}
