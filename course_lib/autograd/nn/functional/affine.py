"""Linear layer: the affine map of rows."""

from course_lib.autograd.fast.linear import fast_linear
from course_lib.autograd.ops.elementwise import add
from course_lib.autograd.ops.linalg import check_dtypes, matmul
from course_lib.autograd.variable import Tensor

__all__ = ["linear"]


@fast_linear
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Linear layer, ``x @ weight.T + bias``; ``weight`` has shape ``(out_features, in_features)``.

    :math:`Y = X W^T + b`, :math:`G_X = G W`, :math:`G_W = G^T X`, and :math:`g_b` sums the rows of :math:`G`.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> nn.functional.linear(tensor([1.0, 2.0]), tensor([[3.0, 4.0]]), tensor([0.5]))
    tensor([11.5000])
    """
    out = matmul(input, weight.T if weight.ndim == 2 else weight)
    if bias is None:
        return out
    check_dtypes("linear", out, bias)
    return add(out, bias)
