"""Cost of operations made of matrix products: linear layers, convolutions, attention."""

from math import prod

from course_lib.costs.cost import Cost

__all__ = ["attention", "conv2d", "linear"]


def linear(b: int, d: int, f: int, *, bias: bool = True, itemsize: int = 4, name: str = "linear") -> Cost:
    r"""Cost of a linear layer :math:`Y = X W + b`: 2 b d f FLOPs, and as many for :math:`G W^T` and :math:`X^T G`.

    Parameters
    ----------
    b, d, f : int
        X is (b, d) and W (d, f); b counts all rows, such as batch times sequence.
    bias : bool
        Whether it adds a bias; that changes neither FLOPs nor saved bytes.
    itemsize : int
        Bytes of one number.

    Returns
    -------
    Cost
        It saves X, b * d * itemsize bytes, and W, which is a parameter.

    Examples
    --------
    >>> cost = linear(8, 256, 10)
    >>> cost.forward, cost.input_backward, cost.saved_bytes
    (40960, 40960, 8192)
    """
    flops = 2 * b * d * f
    return Cost(
        name=name,
        forward=flops,
        input_backward=flops,
        weight_backward=flops,
        parameters=d * f + f * bias,
        input_bytes=b * d * itemsize,
        for_weights=True,
    )


def conv2d(
    b: int,
    c_in: int,
    c_out: int,
    size: tuple[int, int],
    kernel: int,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    bias: bool = True,
    itemsize: int = 4,
) -> Cost:
    """Cost of a convolution: each output pixel and channel sums kernel^2 * c_in / groups products, 2 FLOPs each.

    Parameters
    ----------
    b, c_in, c_out : int
        Batch, channels of the input and of the result.
    size : tuple of int
        Height and width of the input.
    kernel, stride, padding, dilation, groups : int
        As in ``torch.nn.Conv2d``. Taps that fall on the padding are counted too.
    bias : bool
        Whether it adds a bias; that changes neither FLOPs nor saved bytes.
    itemsize : int
        Bytes of one number.

    Returns
    -------
    Cost
        It saves its input.

    Examples
    --------
    >>> conv2d(1, 3, 16, (32, 32), 3, padding=1).forward == 2 * 16 * 32 * 32 * 27
    True
    """
    pixels = prod((n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in size)
    weights = c_out * (c_in // groups) * kernel * kernel
    flops = 2 * b * pixels * weights
    return Cost(
        name="conv2d",
        forward=flops,
        input_backward=flops,
        weight_backward=flops,
        parameters=weights + c_out * bias,
        input_bytes=b * c_in * prod(size) * itemsize,
    )


def attention(
    b: int, a: int, s: int, e: int, *, fused: bool, drop: bool = False, itemsize: int = 4, mask_itemsize: int = 1
) -> Cost:
    r"""Cost of attention, softmax(Q K^T / sqrt(e)) V in a heads, without the projections around it.

    Forward, two products of 2 b a s^2 e FLOPs. Backward, one for each of :math:`G_V = P^T G`, :math:`G_P = G V^T`,
    :math:`G_Q = G_S K`, :math:`G_K = G_S^T Q`, and in the fused form a fifth, because it does not keep P, (b, a, s,
    s), but computes Q K^T again (FlashAttention, Dao et al. 2022, arXiv:2205.14135): 2.5 times the forward pass, not 2.

    Parameters
    ----------
    b, a, s, e : int
        Batch, heads, sequence, features of one head: Q, K and V are (b, a, s, e).
    fused : bool
        One kernel, as in ``scaled_dot_product_attention``, or four operations.
    drop : bool
        Dropout on P (not fused): its mask and its result are saved in addition to P.
    itemsize, mask_itemsize : int
        Bytes of a number, and of an entry of a dropout mask.

    Returns
    -------
    Cost
        It saves Q, K, V and P, or when fused Q, K, V, the result and one float32 for each row of P. A causal mask
        halves the work a kernel has to do, but neither this formula nor torch's counter says so.

    Examples
    --------
    >>> manual, fused = (attention(4, 8, 128, 64, fused=f) for f in (False, True))
    >>> fused.input_backward / fused.forward, manual.saved_bytes / fused.saved_bytes
    (2.5, 1.245...)
    """
    product = 2 * b * a * s * s * e
    p, qkv = b * a * s * s, b * a * s * e
    return Cost(
        name="attention",
        forward=2 * product,
        input_backward=(5 if fused else 4) * product,
        input_bytes=3 * qkv * itemsize,
        output_bytes=qkv * itemsize * fused,
        other_bytes=b * a * s * 4 if fused else p * (itemsize + drop * (itemsize + mask_itemsize)),
    )
