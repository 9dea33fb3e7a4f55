"""tinygrad, without its jit: each step is scheduled anew. Its CPU device compiles with clang."""

import os
import shutil
from collections.abc import Callable
from typing import Any

from tinygrad import Context, Device, Tensor
from tinygrad.nn.optim import SGD

from benchmarks.engines import data

__all__ = ["WORK", "workloads"]

os.environ.setdefault("DEV", "CPU")
if not shutil.which("clang"):
    raise RuntimeError("tinygrad compiles for the CPU with clang, and there is none")


def mlp(d: dict[str, Any], loss_of: Callable[[Any, Any], Any], compiled: Callable[..., Any]) -> Callable[[], Any]:
    """Prepare an MLP and its training step."""
    ws, bs = [Tensor(w) for w in d["w"]], [Tensor(b) for b in d["b"]]
    optimizer = SGD([*ws, *bs], lr=data.LR)
    x, y = (Tensor(d[name]).is_param_(False) for name in "xy")

    @compiled
    def update() -> Any:
        with Context(TRAINING=1):
            h = x.linear(ws[0].T, bs[0]).relu().linear(ws[1].T, bs[1]).relu()
            loss = loss_of(h.linear(ws[2].T, bs[2]), y)
            optimizer.zero_grad()
            loss.backward()
            return loss.realize(*optimizer.schedule_step())

    def step() -> Any:
        loss = update()
        Device[Device.DEFAULT].synchronize()
        return loss

    return step


def workloads(compiled: Callable[..., Any]) -> dict[str, Any]:
    """List the workloads, with or without a compiler around them."""

    def images(batch: int) -> Callable[[], Any]:
        return mlp(data.images(batch), lambda z, y: z.sparse_categorical_crossentropy(y), compiled)

    return {
        "mlp_batch_64": lambda: images(64),
        "mlp_batch_1": lambda: images(1),
        "small_mlp": lambda: mlp(data.regression(), lambda z, y: (z - y).square().mean(), compiled),
    }


WORK = workloads(lambda f: f)
