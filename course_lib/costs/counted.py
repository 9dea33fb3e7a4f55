"""Count the FLOPs of a step in torch, forward and backward apart, with the gaps of torch's own counter filled."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["FlopCount", "count_flops"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class FlopCount:
    """FLOPs of a step.

    Attributes
    ----------
    forward, backward : int
        What checkpointing recomputes is part of the backward pass.
    forward_by_op, backward_by_op : dict of str to int
        The same by operation, such as ``aten.mm``.
    """

    forward: int
    backward: int
    forward_by_op: dict[str, int]
    backward_by_op: dict[str, int]

    @property
    def ratio(self) -> float:
        """FLOPs of the backward pass over FLOPs of the forward pass."""
        if not self.forward:
            raise InputError(
                "backward / forward needs a forward pass with FLOPs, but none were counted: only products, "
                "convolutions, attention and recurrent layers count. Call the model inside the function that you pass."
            )
        return self.backward / self.forward


def count_flops(forward: Callable[[], Any]) -> FlopCount:
    """Run a forward pass and its backward pass once, and count the FLOPs of both.

    ``torch.utils.flop_counter.FlopCounterMode`` (torch 2.13) counts nothing for attention on CPU, for LSTMs that run
    as one kernel (float32 on CPU, cuDNN), and for the fast path of ``TransformerEncoderLayer``, and too much for the
    backward pass of a grouped convolution. This counts all of them. Element-wise work and normalisation stay uncounted.

    Parameters
    ----------
    forward : callable
        Takes nothing and returns the loss, a tensor of one element; its ``backward()`` is called here, so gradients
        accumulate. If it returns a tensor without a graph, the backward pass is 0.

    Returns
    -------
    FlopCount

    Raises
    ------
    InputError
        If what is returned is not one number.
    MissingExtraError
        Without torch.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> counted = count_flops(lambda: model(torch.ones(8, 256)).sum())
    >>> counted.forward, round(counted.ratio, 3)
    (1089536, 1.038)
    """
    torch = load("torch", extra="torch")
    mha = torch.backends.mha
    fast = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)  # the fused layer is one operation, which cannot be looked into
    try:
        loss, forward_by_op = counted(torch, forward)
    finally:
        mha.set_fastpath_enabled(fast)
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        found = f"shape {tuple(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise InputError(f"forward must return the loss, a tensor of one element, but it returned {found}. Add .sum().")
    backward_by_op = counted(torch, loss.backward)[1] if loss.requires_grad else {}
    return FlopCount(sum(forward_by_op.values()), sum(backward_by_op.values()), forward_by_op, backward_by_op)


def counted(torch: ModuleType, step: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """Run a function, and return its result and the FLOPs of each operation."""
    counter = load("torch.utils.flop_counter", extra="torch").FlopCounterMode
    with counter(display=False, custom_mapping=formulas(torch.ops.aten)) as mode:
        result = step()
    return result, {str(op): int(flops) for op, flops in mode.get_flop_counts().get("Global", {}).items()}


def formulas(aten: Any) -> dict[Any, Callable[..., int]]:
    """Return a formula on shapes for each operation that torch's counter lacks or gets wrong."""
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, *_, **__: products(2, q, k),
        aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda g, q, k, *_, **__: products(5, q, k),
        aten.mkldnn_rnn_layer: lambda x, *weights, **_: rows_times(x, weights[:2]),
        aten.mkldnn_rnn_layer_backward: lambda x, *weights, **_: 2 * rows_times(x, weights[:2]),
        aten._cudnn_rnn: lambda x, weights, *_, **__: rows_times(x, weights),
        aten._cudnn_rnn_backward: lambda x, weights, *_, **__: 2 * rows_times(x, weights),
        aten.convolution_backward: convolution_backward,
    }


def products(n: int, q: Shape, k: Shape) -> int:
    """Count n products of (s, e) and (e, t), or of (s, t) and (t, e), in each head; Q and V have e features alike."""
    b, a, s, e = q
    return n * 2 * b * a * s * k[2] * e


def rows_times(x: Shape, weights: Any) -> int:
    """Each row of a sequence (t, b, d) meets each matrix once."""
    return sum(2 * x[0] * x[1] * w[0] * w[1] for w in weights if len(w) == 2)


def convolution_backward(g: Shape, x: Shape, w: Shape, *settings: Any, **_: Any) -> int:
    """Two convolutions as large as the forward one, or one if the input, or the weight, wants no gradient."""
    _, _, _, _, transposed, _, _, wanted = settings[:8]
    pixels = (x if transposed else g)[2:]
    flops = 2 * x[0]
    for n in (*pixels, *w):
        flops *= n
    return flops * (bool(wanted[0]) + bool(wanted[1]))
