"""Matrix and vector products. Every vjp is a product again."""

from math import prod

import numpy as np

from course_lib.autograd.ops.broadcasting import as_tensor_like, expand_to, promote
from course_lib.autograd.ops.elementwise import add, mul
from course_lib.autograd.ops.primitive import Primitive
from course_lib.autograd.ops.shape import swap_dims, view_as
from course_lib.autograd.variable import Shape, Tensor, Value
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["addmm", "bmm", "dot", "matmul", "mm", "mv", "outer"]


def _multiply_matrices(x: Array, y: Array) -> Array:
    """Multiply matrices, copying those with strides of 0, which BLAS does not take: NumPy would use a slow loop."""
    if 0 in x.strides[-2:] or 0 in y.strides[-2:]:
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    out: Array = np.matmul(x, y)
    return out


def _transpose_matrices(x: Value) -> Tensor:
    """Transpose the matrices in a stack."""
    return swap_dims(x, -1, -2)


_mm_of: Primitive = Primitive(
    "mm",
    _multiply_matrices,
    lambda g, _x, y: _mm_of(g, _transpose_matrices(y)),
    lambda g, x, _y: _mm_of(_transpose_matrices(x), g),
)
_bmm_of: Primitive = Primitive(
    "bmm",
    _multiply_matrices,
    lambda g, _x, y: _bmm_of(g, _transpose_matrices(y)),
    lambda g, x, _y: _bmm_of(_transpose_matrices(x), g),
)
_mv_of: Primitive = Primitive(
    "mv", _multiply_matrices, lambda g, _x, y: _outer_of(g, y), lambda g, x, _y: _mv_of(_transpose_matrices(x), g)
)
_dot_of: Primitive = Primitive("dot", np.dot, lambda g, _x, y: g * y, lambda g, x, _y: g * x, takes="x y")
_outer_of: Primitive = Primitive(
    "outer", np.outer, lambda g, _x, y: _mv_of(g, y), lambda g, x, _y: _mv_of(_transpose_matrices(g), x), takes="x y"
)


def _check_shapes(name: str, x: Tensor, y: Tensor, *, dims: tuple[int, int] | None = None) -> None:
    """Refuse shapes that have no product, and say which sizes must agree."""
    if dims is not None and (x.ndim, y.ndim) != dims:
        raise AutogradError(
            f"{name}() needs {dims[0]} and {dims[1]} dimensions, but the shapes are {x.shape} and {y.shape}. matmul() "
            "takes every combination."
        )
    if not x.ndim or not y.ndim:
        raise AutogradError(
            f"{name}() needs vectors or matrices, but the shapes are {x.shape} and {y.shape}. Multiply with *."
        )
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise AutogradError(
            f"{name}() sums over the last dim of the first and the {'second to last' if y.ndim > 1 else 'only one'} "
            f"of the second, so their sizes must be equal, but the shapes are {x.shape} and {y.shape}: {x.shape[-1]} "
            f"and {inner}. Transpose one of them, or find out where the wrong shape comes from."
        )
    check_dtypes(name, x, y)


def check_dtypes(name: str, x: Tensor, y: Tensor) -> None:
    """Refuse to mix dtypes, as torch does here, where a conversion would silently copy a matrix."""
    if x.dtype != y.dtype:
        raise AutogradError(
            f"{name}() takes tensors of the same dtype, but these are {x.dtype} and {y.dtype}. Convert one of them, "
            "for instance with .float() or .double()."
        )


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiply matrices, stacks of matrices (their leading dimensions broadcast) and vectors, as ``@`` does.

    :math:`Y = X W`, :math:`G_X = G W^T`, :math:`G_W = X^T G`.

    Examples
    --------
    >>> from course_lib.autograd import matmul, ones
    >>> matmul(ones(5, 2, 3), ones(3, 4)).shape, matmul(ones(3), ones(3))
    ((5, 2, 4), tensor(3.))
    """
    x = as_tensor_like(input, other)
    y = as_tensor_like(other, x)
    _check_shapes("matmul", x, y)
    if x.ndim == 1:
        return _dot_of(x, y) if y.ndim == 1 else matmul(_transpose_matrices(y), x)
    if x.ndim == 2 and y.ndim <= 2:
        return _mm_of(x, y) if y.ndim == 2 else _mv_of(x, y)
    if y.ndim <= 2:  # one matrix or vector for the whole stack: stack the rows instead
        return view_as(matmul(view_as(x, (prod(x.shape[:-1]), x.shape[-1])), y), (*x.shape[:-1], *y.shape[1:]))
    try:
        lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError:
        raise AutogradError(
            "matmul() broadcasts all dimensions but the last two, so these must be equal or 1, but the shapes are "
            f"{x.shape} and {y.shape}. Insert a dimension of size 1 with unsqueeze()."
        ) from None
    return _bmm_of(_broadcast_stack(x, lead), _broadcast_stack(y, lead))


def _broadcast_stack(x: Tensor, lead: Shape) -> Tensor:
    """Broadcast the leading dimensions of a stack of matrices."""
    return x if x.shape[:-2] == lead else expand_to(x, (*lead, *x.shape[-2:]))


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices.

    Examples
    --------
    >>> from course_lib.autograd import mm, tensor
    >>> mm(tensor([[1, 2]]), tensor([[3], [4]]))
    tensor([[11]])
    """
    _check_shapes("mm", input, mat2, dims=(2, 2))
    return _mm_of(input, mat2)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two stacks of matrices of the same length.

    Examples
    --------
    >>> from course_lib.autograd import bmm, ones
    >>> bmm(ones(5, 2, 3), ones(5, 3, 4)).shape
    (5, 2, 4)
    """
    _check_shapes("bmm", input, mat2, dims=(3, 3))
    if len(input.value) != len(mat2.value):
        raise AutogradError(
            f"bmm() needs as many matrices in one stack as in the other, but the shapes are {input.shape} and "
            f"{mat2.shape}. matmul() broadcasts."
        )
    return _bmm_of(input, mat2)


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Multiply a matrix and a vector.

    Examples
    --------
    >>> from course_lib.autograd import mv, tensor
    >>> mv(tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    tensor([21, 43])
    """
    _check_shapes("mv", input, vec, dims=(2, 1))
    return _mv_of(input, vec)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Dot product of two vectors.

    Examples
    --------
    >>> from course_lib.autograd import dot, tensor
    >>> dot(tensor([1, 2]), tensor([3, 4]))
    tensor(11)
    """
    _check_shapes("dot", input, tensor, dims=(1, 1))
    return _dot_of(input, tensor)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Outer product of two vectors.

    Examples
    --------
    >>> from course_lib.autograd import outer, tensor
    >>> outer(tensor([1, 2]), tensor([3, 4, 5]))
    tensor([[ 3,  4,  5],
            [ 6,  8, 10]])
    """
    if input.ndim != 1 or vec2.ndim != 1:
        raise AutogradError(
            f"outer() needs two vectors, but the shapes are {input.shape} and {vec2.shape}. Flatten them first."
        )
    return _outer_of(*promote(input, vec2))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    r"""Matrix product plus a matrix, :math:`\beta\, input + \alpha\, mat_1 mat_2`.

    Examples
    --------
    >>> from course_lib.autograd import addmm, ones, tensor
    >>> addmm(tensor([10.0, 20.0]), ones(1, 3), ones(3, 2), alpha=2)
    tensor([[16., 26.]])
    """
    product = mm(mat1, mat2)
    input = input if input.shape == product.shape else expand_to(input, product.shape)
    return add(input if beta == 1 else mul(input, beta), product if alpha == 1 else mul(product, alpha))
