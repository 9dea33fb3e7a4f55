"""The steps that are measured, their sizes, and how they take turns."""

import random
import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from course_lib.profiling import time_call
from course_lib.small_transformer import SmallTransformer, draw_lists, token_loss

__all__ = ["LARGE", "TINY", "Sizes", "TransformerStep", "list_rows", "median_seconds", "mlp_step"]

Step = Callable[[], Any]


@dataclass(frozen=True)
class Sizes:
    """How large the work is: ``LARGE`` for a GPU of 16 GB and more, ``TINY`` to try the command without one."""

    matrix: int
    vector: int
    width: int
    heads: int
    depth: int
    rows: int
    longest: int
    rounds: int


LARGE = Sizes(matrix=8192, vector=2**27, width=768, heads=12, depth=6, rows=64, longest=128, rounds=5)
TINY = Sizes(matrix=128, vector=2**12, width=16, heads=2, depth=1, rows=4, longest=12, rounds=2)


def mlp_step(device: str) -> Step:
    """Return a step of *Profiling a training step*: three linear layers, a loss, AdamW."""
    torch.manual_seed(0)
    layers = (nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(128, 256, device=device), torch.randint(10, (128,), device=device)

    def step() -> torch.Tensor:
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


class TransformerStep:
    """A training step of the small Transformer, widened; call it to take one."""

    def __init__(
        self,
        sizes: Sizes,
        device: str,
        *,
        dtype: torch.dtype | None = None,
        before_step: Callable[[nn.Module], object] = lambda model: None,
    ) -> None:
        torch.manual_seed(0)
        model = SmallTransformer(sizes.width, sizes.heads, sizes.depth, longest=sizes.longest)
        self.model: nn.Module = model.to(device)
        self.x, self.y = draw_lists(sizes.rows, torch.Generator().manual_seed(0), longest=sizes.longest, device=device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.scaler = torch.amp.GradScaler(device, enabled=dtype == torch.float16)
        self.device, self.dtype, self.before_step = device, dtype, before_step

    def autocast(self) -> AbstractContextManager[Any]:
        """Return the context of the forward pass."""
        return torch.autocast(self.device, dtype=self.dtype) if self.dtype else nullcontext()

    def loss(self) -> torch.Tensor:
        """Run the forward pass."""
        with self.autocast():
            return token_loss(self.model(self.x), self.y)

    def __call__(self) -> torch.Tensor:
        """Take a step, and return its loss."""
        loss = self.loss()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        self.before_step(self.model)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return loss.detach()


def median_seconds(works: dict[str, Step], rounds: int) -> dict[str, float]:
    """Time works in turn, in random order; return the median over the rounds of each one's seconds a call."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name in random.sample(list(works), len(works)):
            found[name].append(time_call(works[name], warmup=2, repeats=5).median_seconds)
    return {name: statistics.median(seconds) for name, seconds in found.items()}


def list_rows(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Lay rows out as text, the first column to the left and the others to the right."""
    cells = [header, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)
