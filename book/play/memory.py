"""The memory of a training step, measured by the library on tensors without data."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from course_lib.figures import Drawing, stacked_areas
from course_lib.profiling import MemoryTimeline, memory_timeline

TITLE = "The memory of a training step"
START = {"tokens": 8192, "width": 512, "words": 4096, "form": "plain", "pieces": False, "share": 0.25}
BLOCKS = 4
# The operations that compute; the others make views, or numbers of a few bytes.
COUNTED = ("mm", "gelu", "add", "_log_softmax", "nll_loss_forward", "nll_loss_backward")
COUNTED += ("_log_softmax_backward_data", "gelu_backward", "_fused_adamw_")


class Block(nn.Module):
    """The MLP of a Transformer's block, beside a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, h: Tensor) -> Tensor:
        """Map ``(tokens, width)`` to the same shape."""
        down: Tensor = self.down(functional.gelu(self.up(h)))
        return h + down


def step_of(state: dict[str, Any]) -> tuple[Callable[[], None], torch.optim.Optimizer]:
    """Make four blocks and a softmax over words, and their step with AdamW."""
    blocks = nn.ModuleList(Block(state["width"]) for _ in range(BLOCKS))
    head = nn.Linear(state["width"], state["words"], bias=False)
    optimizer = torch.optim.AdamW([*blocks.parameters(), *head.parameters()], fused=True)
    x, y = torch.randn(state["tokens"], state["width"]), torch.randint(state["words"], (state["tokens"],))
    run = partial(checkpoint, use_reentrant=False) if state["form"] == "checkpointed" else lambda block, h: block(h)
    pieces = 4 if state["pieces"] else 1

    def loss(h: Tensor, y: Tensor) -> Tensor:
        for block in blocks:
            h = run(block, h)
        return functional.cross_entropy(head(h), y) / pieces

    def train() -> None:
        optimizer.zero_grad()
        for piece in zip(x.chunk(pieces), y.chunk(pieces), strict=True):
            loss(*piece).backward()  # type: ignore[no-untyped-call] # PyTorch has no types for it
        optimizer.step()

    @torch.no_grad()
    def validate() -> None:
        for piece in zip(x.chunk(pieces), y.chunk(pieces), strict=True):
            loss(*piece)

    step = validate if state["form"] == "no_grad" else train

    step()  # the moments exist from here on
    return step, optimizer


def measure(state: dict[str, Any]) -> MemoryTimeline:
    """Measure a step that computes no number: bytes follow from shapes."""
    with FakeTensorMode():
        step, optimizer = step_of(state)
        return memory_timeline(step, optimizer=optimizer)


def count_kibibytes(timeline: MemoryTimeline) -> dict[str, Any]:
    """Return each kind before the first operation and after each that computes; single numbers are rounded away."""
    shown = [0] + [at for at, name in enumerate(timeline.operations, 1) if name in COUNTED]
    kinds = {kind: [round(sizes[at] / 1024) for at in shown] for kind, sizes in timeline.by_kind.items()}
    live = [sum(sizes) for sizes in zip(*kinds.values(), strict=True)]
    return kinds | {"live": live, "peak": max(live), "peakAt": live.index(max(live))}


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Count the KiB of each kind, after each operation."""
    return count_kibibytes(measure(state))


def still() -> Drawing:
    """Draw the plain step."""
    found = model(START)
    kinds = ("parameters", "optimizer state", "gradients", "activations", "temporary")
    return stacked_areas(
        {kind: [kibibytes * 1024 / 1e6 for kibibytes in found[kind]] for kind in kinds},
        x_label="operations done",
        y_label="MB alive",
        title="Activations pile up to the turn, where the loss adds its arrays; backward leaves only gradients",
    )


def table() -> list[list[str]]:
    """Compare the peaks of four forms, with few words and many."""
    rows = [["step", "peak with 4,096 words", "with 65,536 words"]]
    for name, changes in {
        "plain": {},
        "checkpointed": {"form": "checkpointed"},
        "in 4 micro-batches": {"pieces": True},
        "no_grad, forward pass only": {"form": "no_grad"},
    }.items():
        peaks = [model(START | changes | {"words": words})["peak"] * 1024 / 1e6 for words in (4096, 65536)]
        rows.append([name, *(f"{peak:,.0f} MB" for peak in peaks)])
    return rows
