"""Cost of a multilayer perceptron and of a Transformer layer: chains of operations."""

from collections.abc import Sequence
from itertools import pairwise

from course_lib.costs.cost import Cost
from course_lib.costs.elementwise import dropout, elementwise, layer_norm
from course_lib.costs.products import attention, linear

__all__ = ["mlp", "transformer_activation_bytes", "transformer_layer"]


def mlp(b: int, widths: Sequence[int], *, activation: str = "relu", itemsize: int = 4) -> tuple[Cost, ...]:
    """Cost of a multilayer perceptron: linear layers with an activation between each pair.

    Parameters
    ----------
    b : int
        Rows of the input (b, d).
    widths : sequence of int
        d, f, ..., c.
    activation : str
        See :func:`elementwise`.
    itemsize : int
        Bytes of one number.

    Examples
    --------
    >>> from course_lib.costs import training_cost
    >>> [round(training_cost(mlp(1, [256] * (n + 1) + [10])).ratio, 3) for n in (0, 1, 2, 4, 8, 16)]
    [1.0, 1.038, 1.51, 1.752, 1.876, 1.938]
    """
    chain: list[Cost] = []
    for d, f in pairwise(widths):
        chain += [linear(b, d, f, itemsize=itemsize), elementwise(activation, b * f, itemsize=itemsize)]
    return tuple(chain[:-1])


def transformer_layer(
    b: int,
    s: int,
    h: int,
    a: int,
    *,
    fused: bool = False,
    drop: bool = False,
    activation: str = "gelu",
    itemsize: int = 4,
    mask_itemsize: int = 1,
    stats_itemsize: int = 4,
) -> tuple[Cost, ...]:
    """Cost of a pre-norm Transformer layer: attention with four h x h projections, and an MLP of width 4 h.

    Forward, 24 b s h^2 FLOPs in the projections and 4 b s^2 h in the attention.

    Parameters
    ----------
    b, s, h, a : int
        Batch, sequence, width, heads.
    fused : bool
        See :func:`attention`.
    drop : bool
        Whether there is dropout on the attention weights (unless fused) and on the result of both halves.
    activation : str
        See :func:`elementwise`.
    itemsize, mask_itemsize, stats_itemsize : int
        Bytes of a number, of an entry of a dropout mask, and of a statistic of the layer norms.

    Returns
    -------
    tuple of Cost
        norm, QKV, attention, projection, norm, up, activation, down; and the two dropouts.

    Examples
    --------
    >>> from course_lib.costs import training_cost
    >>> layer = transformer_layer(2, 128, 256, 4, fused=True)
    >>> sum(cost.forward for cost in layer) == 24 * 2 * 128 * 256**2 + 4 * 2 * 128**2 * 256
    True
    >>> training_cost(layer, input_grad=True).ratio
    2.0384...
    """
    rows = b * s
    norm = layer_norm(rows, h, itemsize=itemsize, stats_itemsize=stats_itemsize)
    mask = [dropout(rows * h, mask_itemsize=mask_itemsize)] if drop else []
    core = attention(
        b, a, s, h // a, fused=fused, drop=drop and not fused, itemsize=itemsize, mask_itemsize=mask_itemsize
    )
    return (
        norm,
        linear(rows, h, 3 * h, itemsize=itemsize, name="qkv"),
        core,
        linear(rows, h, h, itemsize=itemsize, name="projection"),
        *mask,
        norm,
        linear(rows, h, 4 * h, itemsize=itemsize, name="up"),
        elementwise(activation, 4 * rows * h, itemsize=itemsize),
        linear(rows, 4 * h, h, itemsize=itemsize, name="down"),
        *mask,
    )


def transformer_activation_bytes(b: int, s: int, h: int, a: int) -> int:
    r"""Activation memory of one Transformer layer in half precision, by the published formula.

    .. math:: s b h \left( 34 + 5 \frac{a s}{h} \right)

    Korthikanti et al. (2022), arXiv:2205.05198, equation 1: numbers of 2 bytes, dropout masks of 1 byte, attention
    that keeps its weights, an MLP of width 4 h with GELU. The attention half keeps 11 s b h + 5 a s^2 b, the MLP 19 s
    b h and the two layer norms 4 s b h; their statistics, which ``transformer_layer(..., drop=True, itemsize=2)``
    counts, are left out.

    Parameters
    ----------
    b, s, h, a : int
        Batch, sequence, width, heads.

    Examples
    --------
    >>> transformer_activation_bytes(1, 2048, 12288, 96) / 2**30  # GPT-3, in GiB
    2.671875
    """
    return 34 * s * b * h + 5 * a * s * s * b
