"""FLOP formulas of the operations that torch's own counter lacks or gets wrong."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from course_lib.extras import load
from course_lib.instrument.saved_tensors import dense_parts

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverloadPacket

__all__ = ["flop_formulas"]

_Shape = tuple[int, ...]


def flop_formulas(aten: Any) -> "dict[OpOverloadPacket, Callable[..., int]]":
    """Return a formula on shapes for each operation that torch's counter lacks or gets wrong."""
    return {
        aten._scaled_dot_product_flash_attention_for_cpu: lambda q, k, *_, **__: _attention_flops(2, q, k),
        aten._scaled_dot_product_flash_attention_for_cpu_backward: lambda g, q, k, *_, **__: _attention_flops(5, q, k),
        aten.mkldnn_rnn_layer: lambda x, *weights, **_: _recurrent_flops(x, weights[:2]),
        aten.mkldnn_rnn_layer_backward: lambda x, *weights, **_: 2 * _recurrent_flops(x, weights[:2]),
        aten._cudnn_rnn: lambda x, weights, *_, **__: _recurrent_flops(x, weights),
        aten._cudnn_rnn_backward: lambda x, weights, *_, **__: 2 * _recurrent_flops(x, weights),
        aten.convolution_backward: _convolution_backward_flops,
        aten.mm: _on_tensors(lambda a, b, **_: _product_flops(a, b)),
        aten.addmm: _on_tensors(lambda y, a, b, **_: _product_flops(a, b)),
        aten._sparse_addmm: _on_tensors(lambda y, a, b, **_: _product_flops(a, b)),
        aten._sparse_sparse_matmul: _on_tensors(lambda a, b, **_: _product_flops(a, b)),
        aten.sparse_sampled_addmm: _on_tensors(lambda y, a, b, **_: 2 * _stored_numbers(y) * a.shape[-1]),
        aten.mv: _on_tensors(lambda a, x, **_: _product_flops(a, x)),
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


def _on_tensors(formula: Callable[..., int]) -> Callable[..., int]:
    """Mark a formula that needs the tensors, not only their shapes, for torch's counter."""
    formula._get_raw = True  # type: ignore[attr-defined] # what the counter looks for
    return formula


def _product_flops(a: "Tensor", b: "Tensor") -> int:
    """Count a product of matrices; zeros that a sparse one does not store are not multiplied."""
    sparse = [str(t.layout) != "torch.strided" for t in (a, b)]
    if all(sparse):
        return 2 * _sparse_products(a, b)
    if sparse[0]:
        return 2 * _stored_numbers(a) * int(math.prod(b.shape[1:]))
    return 2 * int(a.shape[0]) * (_stored_numbers(b) if sparse[1] else int(math.prod(b.shape)))


def _sparse_products(a: "Tensor", b: "Tensor") -> int:
    """Count the pairs that two sparse matrices multiply: each number of column k of a meets each of row k of b."""
    with load("torch.utils._python_dispatch", extra="torch")._disable_current_modes():  # this is not to be counted
        columns, rows = a.to_sparse()._indices()[1], b.to_sparse()._indices()[0]
        return int(columns.bincount(minlength=a.shape[1]) @ rows.bincount(minlength=a.shape[1]))


def _stored_numbers(sparse: "Tensor") -> int:
    """Return how many numbers a sparse tensor holds."""
    return int(dense_parts(sparse)[-1].numel())


def _attention_flops(n: int, q: _Shape, k: _Shape) -> int:
    """Count n products of (s, e) and (e, t), or of (s, t) and (t, e), in each head; Q and V both have e features."""
    b, a, s, e = q
    return n * 2 * b * a * s * k[2] * e


def _recurrent_flops(x: _Shape, weights: Sequence[_Shape]) -> int:
    """Count a recurrent layer: each row of a sequence, (t, b, d) or packed (n, d), meets each matrix once."""
    return sum(2 * math.prod(x[:-1]) * w[0] * w[1] for w in weights if len(w) == 2)


def _convolution_backward_flops(g: _Shape, x: _Shape, w: _Shape, *settings: Any, **_: object) -> int:
    """Count two convolutions as large as the forward one, or one if the input, or the weight, wants no gradient."""
    _, _, _, _, transposed, _, _, wanted = settings[:8]
    pixels = (x if transposed else g)[2:]
    flops = 2 * x[0]
    for n in (*pixels, *w):
        flops *= n
    return flops * (bool(wanted[0]) + bool(wanted[1]))
