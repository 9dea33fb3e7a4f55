"""A small Transformer that learns to sort digits: the model that the pages train, watch and profile.

A sequence is a list of 4 to 12 digits, a separator, and the same digits sorted. The model reads it from left to right
and predicts, from the separator on, the next token. It needs torch.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = [
    "Block",
    "SmallTransformer",
    "causal_attention",
    "draw_lists",
    "sort_digits",
    "token_loss",
    "warm_up_then_cosine",
]

DIGITS, SEPARATOR, PADDING, IGNORED = 10, 10, 11, -100
SHORTEST, LONGEST = 4, 12


def draw_lists(
    rows: int, generator: torch.Generator | None = None, *, longest: int = LONGEST, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Draw lists of digits with their sorted forms, as tokens and targets.

    Parameters
    ----------
    rows : int
    generator : torch.Generator, optional
        A generator of the CPU, so that every device gets the same lists.
    longest : int
        Most digits of a list.
    device : torch.device or str
        Where the two tensors are put.

    Returns
    -------
    x, y : torch.Tensor
        int64, both ``(rows, 2 * longest)``. ``y`` is -100, which `cross_entropy` ignores, except where the next token
        is a digit of the answer.

    Examples
    --------
    >>> x, y = draw_lists(1, torch.Generator().manual_seed(0), longest=4)
    >>> x.tolist(), y.tolist()
    ([[9, 3, 0, 3, 10, 0, 3, 3]], [[-100, -100, -100, -100, 0, 3, 3, 9]])
    """
    count = torch.randint(SHORTEST, longest + 1, (rows, 1), generator=generator)
    digits = torch.randint(DIGITS, (rows, longest), generator=generator)
    place = torch.arange(2 * longest)
    answer = digits.masked_fill(place[:longest] >= count, DIGITS).sort(dim=1).values
    y = answer.gather(1, (place - count).clamp(0, longest - 1))  # answer[0] is the target at the separator
    y = y.masked_fill((place < count) | (place >= 2 * count), IGNORED)
    x = functional.pad(digits, (0, longest)).masked_fill(place == count, SEPARATOR)
    x = torch.where(place > count, functional.pad(y, (1, -1), value=IGNORED), x).masked_fill(
        place >= 2 * count, PADDING
    )
    return x.to(device), y.to(device)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend to the tokens before: softmax(q @ k.mT / sqrt(d)) @ v, fused by PyTorch.

    Parameters
    ----------
    q, k, v : torch.Tensor
        Queries, keys and values, ``(rows, heads, tokens, d)``.

    Returns
    -------
    torch.Tensor
        The same shape.
    """
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class Block(nn.Module):
    """Transformer block: attention, then an MLP, each behind a layer norm and beside a residual connection."""

    def __init__(self, width: int, heads: int, attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.heads, self.attend = heads, attend
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, h: Tensor) -> Tensor:
        """Map ``(rows, tokens, width)`` to the same shape."""
        q, k, v = self.qkv(self.norm1(h)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        h = h + self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))
        down: Tensor = self.down(functional.gelu(self.up(self.norm2(h))))
        return h + down


class SmallTransformer(nn.Module):
    """Transformer decoder over digits, 103,050 parameters by default.

    Parameters
    ----------
    width, heads, depth : int
        Size of a token's vector, attention heads in a block, and blocks.
    longest : int
        Most digits of a list, as in :func:`draw_lists`.
    attend : callable
        From queries, keys and values to the attended values.

    Examples
    --------
    >>> model = SmallTransformer()
    >>> x, y = draw_lists(8)
    >>> model(x).shape, f"{sum(p.numel() for p in model.parameters()):,}"
    (torch.Size([8, 24, 10]), '103,050')
    """

    def __init__(
        self,
        width: int = 64,
        heads: int = 4,
        depth: int = 2,
        *,
        longest: int = LONGEST,
        attend: Callable[[Tensor, Tensor, Tensor], Tensor] = causal_attention,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(DIGITS + 2, width)
        self.places = nn.Parameter(0.02 * torch.randn(2 * longest, width))
        self.blocks = nn.Sequential(*(Block(width, heads, attend) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, DIGITS)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens ``(rows, tokens)`` to the logits of the next digit, ``(rows, tokens, 10)``."""
        logits: Tensor = self.head(self.norm(self.blocks(self.tokens(x) + self.places[: x.shape[1]])))
        return logits


def token_loss(logits: Tensor, y: Tensor, count: Tensor | int | None = None) -> Tensor:
    """Cross-entropy summed over the tokens that have a target, divided by ``count``.

    Parameters
    ----------
    logits, y : torch.Tensor
        ``(rows, tokens, 10)`` and ``(rows, tokens)``.
    count : int or torch.Tensor, optional
        Targets in the whole batch, if these rows are a micro-batch of it; by default those in ``y``.
    """
    total = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=IGNORED, reduction="sum")
    return total / ((y != IGNORED).sum() if count is None else count)


def warm_up_then_cosine(step: int, *, warm_up: int = 50, total: int = 600) -> float:
    """Return the factor of the learning rate: linear warm-up to 1, then half a cosine down to 0.

    Examples
    --------
    >>> [round(warm_up_then_cosine(step), 2) for step in (0, 49, 50, 325, 599)]
    [0.02, 1.0, 1.0, 0.5, 0.0]
    """
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (total - warm_up)))


@torch.no_grad()
def sort_digits(model: nn.Module, digits: Sequence[int]) -> list[int]:
    """Sort by the model: append the likeliest digit, as often as there are digits."""
    sequence, device = [*digits, SEPARATOR], next(model.parameters()).device
    for _ in digits:
        sequence.append(int(model(torch.tensor([sequence], device=device))[0, -1].argmax()))
    return sequence[len(digits) + 1 :]
