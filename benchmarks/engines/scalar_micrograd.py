"""micrograd, from PyPI: one Python object for every number."""

from collections.abc import Callable
from typing import Any

from micrograd.engine import Value

from benchmarks.engines import data

__all__ = ["WORK"]


def small_mlp() -> Callable[[], Any]:
    """Prepare the small MLP and its training step."""
    d = data.regression()
    ws = [[[Value(float(v)) for v in row] for row in w] for w in d["w"]]
    bs = [[Value(float(v)) for v in b] for b in d["b"]]
    params = [p for w in ws for row in w for p in row] + [p for b in bs for p in b]

    def forward(x: list[Any]) -> Any:
        for i, (w, b) in enumerate(zip(ws, bs, strict=True)):
            x = [sum((wi * xi for wi, xi in zip(row, x, strict=True)), bias) for row, bias in zip(w, b, strict=True)]
            x = x if i == 2 else [v.relu() for v in x]
        return x[0]

    def step() -> Any:
        loss = sum((forward(x) - t) ** 2 for x, (t,) in zip(d["x"].tolist(), d["y"].tolist(), strict=True)) * (1 / 8)
        for p in params:
            p.grad = 0
        loss.backward()
        for p in params:
            p.data -= data.LR * p.grad
        return loss

    return step


def repeat_operation(op: Callable[[Any, Any], Any], n: int) -> Callable[[], Any]:
    """Prepare ``n`` operations on each of 16 numbers."""
    x = data.dag().tolist()

    def step() -> Any:
        xs = [Value(v) for v in x]
        for v in xs:
            y = v
            for i in range(n):
                y = op(y, (v, i))
            y.backward()
        return [v.grad for v in xs]

    return step


def link(y: Any, place: tuple[Any, int]) -> Any:
    """Add one link to the chain: a multiplication or an addition."""
    return y + 1e-3 if place[1] % 2 else y * 0.9999


WORK = {
    "small_mlp": small_mlp,
    "chain_1000": lambda: repeat_operation(link, 1000),
    "diamonds": lambda: repeat_operation(lambda y, _: y + y, 1000),
    "reuse": lambda: repeat_operation(lambda y, place: y + place[0], 1000),
}
