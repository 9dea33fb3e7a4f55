"""FLOPs of the operations that torch's own counter lacks or gets wrong."""

import math
from collections.abc import Callable
from typing import Any

from course_lib.costs.kept import dense_parts
from course_lib.extras import load

__all__ = ["formulas"]

Shape = tuple[int, ...]


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
        aten.mm: raw(lambda a, b, **_: product(a, b)),
        aten.addmm: raw(lambda y, a, b, **_: product(a, b)),
        aten._sparse_addmm: raw(lambda y, a, b, **_: product(a, b)),
        aten._sparse_sparse_matmul: raw(lambda a, b, **_: product(a, b)),
        aten.sparse_sampled_addmm: raw(lambda y, a, b, **_: 2 * stored(y) * a.shape[-1]),
        aten.mv: raw(lambda a, x, **_: product(a, x)),
        aten.addmv: lambda y, a, x, **_: 2 * a[0] * a[1],
        aten.addmv_: lambda y, a, x, **_: 2 * a[0] * a[1],
        aten.dot: lambda x, y, **_: 2 * x[0],
        aten.vdot: lambda x, y, **_: 2 * x[0],
        aten.addmm_: lambda y, a, b, **_: 2 * math.prod(a) * b[1],
        aten.addbmm: lambda y, a, b, **_: 2 * math.prod(a) * b[2],
        aten.addbmm_: lambda y, a, b, **_: 2 * math.prod(a) * b[2],
        aten.baddbmm_: lambda y, a, b, **_: 2 * math.prod(a) * b[2],
        aten.conv_tbc: lambda x, w, *_, out_shape, **__: 2 * math.prod(out_shape[:2]) * math.prod(w),
    }


def raw(formula: Callable[..., int]) -> Callable[..., int]:
    """Have torch's counter give a formula the tensors, and not only their shapes."""
    formula._get_raw = True  # type: ignore[attr-defined] # what the counter looks for
    return formula


def product(a: Any, b: Any) -> int:
    """Count a product of matrices; zeros that a sparse one does not store are not multiplied."""
    sparse = [str(t.layout) != "torch.strided" for t in (a, b)]
    if all(sparse):
        return 2 * meetings(a, b)
    if sparse[0]:
        return 2 * stored(a) * int(math.prod(b.shape[1:]))
    return 2 * int(a.shape[0]) * (stored(b) if sparse[1] else int(math.prod(b.shape)))


def meetings(a: Any, b: Any) -> int:
    """Count the pairs that two sparse matrices multiply: each number of column k of a meets each of row k of b."""
    with load("torch.utils._python_dispatch", extra="torch")._disable_current_modes():  # this is not to be counted
        columns, rows = a.to_sparse_coo()._indices()[1], b.to_sparse_coo()._indices()[0]
        return int(columns.bincount(minlength=a.shape[1]) @ rows.bincount(minlength=a.shape[1]))


def stored(sparse: Any) -> int:
    """How many numbers a sparse tensor holds."""
    return int(dense_parts(sparse)[-1].numel())


def products(n: int, q: Shape, k: Shape) -> int:
    """Count n products of (s, e) and (e, t), or of (s, t) and (t, e), in each head; Q and V both have e features."""
    b, a, s, e = q
    return n * 2 * b * a * s * k[2] * e


def rows_times(x: Shape, weights: Any) -> int:
    """Each row of a sequence, (t, b, d) or packed (n, d), meets each matrix once."""
    return sum(2 * math.prod(x[:-1]) * w[0] * w[1] for w in weights if len(w) == 2)


def convolution_backward(g: Shape, x: Shape, w: Shape, *settings: Any, **_: Any) -> int:
    """Two convolutions as large as the forward one, or one if the input, or the weight, wants no gradient."""
    _, _, _, _, transposed, _, _, wanted = settings[:8]
    pixels = (x if transposed else g)[2:]
    flops = 2 * x[0]
    for n in (*pixels, *w):
        flops *= n
    return flops * (bool(wanted[0]) + bool(wanted[1]))
