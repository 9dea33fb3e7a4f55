"""Reshape, permute, join and split: each vjp moves the cotangent back to where the elements came from."""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from course_lib.autograd.ops.broadcasting import cast_to, expand_to
from course_lib.autograd.ops.elementwise_primitive import unary
from course_lib.autograd.ops.examples import add_example
from course_lib.autograd.ops.primitive import Op, Primitive
from course_lib.autograd.variable import Shape, Tensor
from course_lib.errors import AutogradError, AutogradIndexError

__all__ = [
    "cat", "clone", "expand", "flatten", "permute", "ravel", "reshape", "split", "squeeze", "stack", "t", "transpose",
    "unsqueeze", "view",
]  # fmt: skip

view_as: Primitive = Primitive("view", lambda x, shape: x.reshape(shape), lambda g, x_shape: view_as(g, x_shape))
_squeeze_to = Primitive("squeeze", lambda x, shape: x.reshape(shape), lambda g, x_shape: view_as(g, x_shape))
_unsqueeze_to = Primitive("unsqueeze", lambda x, shape: x.reshape(shape), lambda g, x_shape: view_as(g, x_shape))
_permute_dims: Primitive = Primitive(
    "permute", lambda x, dims: x.transpose(dims), lambda g, dims: _permute_dims(g, tuple(np.argsort(dims)))
)
swap_dims: Primitive = Primitive("transpose", lambda x, a, b: x.swapaxes(a, b), lambda g, a, b: swap_dims(g, a, b))
clone: Op = unary("clone", lambda x: x.copy(), lambda g: g, "Copy; the gradient passes through.", floating=False)


def unpack_sizes(args: tuple[int | Sequence[int], ...]) -> Shape:
    """Unpack sizes: accept ``(2, 3)`` and ``((2, 3),)`` alike."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], Sequence) else args  # type: ignore[return-value]


def normalize_dim(dim: int, ndim: int) -> int:
    """Normalize a dimension: count it from the front."""
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise AutogradIndexError(
            f"dim must be in [{-max(ndim, 1)}, {max(ndim, 1) - 1}] for a tensor with {ndim} dimensions, but it is "
            f"{dim}. Look at .shape, and count from 0, or from -1 for the last one."
        )
    return dim % max(ndim, 1)


def reshape(input: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """Reshape: the same elements in another shape; one size may be -1. A view where NumPy can make one.

    Examples
    --------
    >>> from course_lib.autograd import arange, reshape
    >>> reshape(arange(6), 2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    shape = unpack_sizes(shape)
    n, known = input.numel(), prod(size for size in shape if size != -1)
    if shape.count(-1) > 1 or (known != n if -1 not in shape else known == 0 or n % known):
        raise AutogradError(
            f"the new shape must hold as many elements as the tensor, {n} for shape {input.shape}, but {tuple(shape)} "
            f"{'does not' if shape.count(-1) < 2 else 'leaves more than one size open'}. Let one size be -1 to have it "
            "computed."
        )
    return view_as(input, shape)


view = reshape


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Flatten: join the dimensions from ``start_dim`` to ``end_dim`` into one.

    Examples
    --------
    >>> from course_lib.autograd import flatten, zeros
    >>> flatten(zeros(2, 3, 4), start_dim=1).shape
    (2, 12)
    """
    first, last = normalize_dim(start_dim, input.ndim), normalize_dim(end_dim, input.ndim)
    if first > last:
        raise AutogradError(f"flatten() joins dimensions from the first to the last, but {first} > {last}. Swap them.")
    return view_as(input, (*input.shape[:first], prod(input.shape[first : last + 1]), *input.shape[last + 1 :]))


ravel = flatten


def permute(input: Tensor, *dims: int | Sequence[int]) -> Tensor:
    """Permute the dimensions.

    Examples
    --------
    >>> from course_lib.autograd import permute, zeros
    >>> permute(zeros(2, 3, 4), 2, 0, 1).shape
    (4, 2, 3)
    """
    return _permute_dims(input, tuple(normalize_dim(dim, input.ndim) for dim in unpack_sizes(dims)))


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions.

    Examples
    --------
    >>> from course_lib.autograd import transpose, zeros
    >>> transpose(zeros(2, 3, 4), 0, -1).shape
    (4, 3, 2)
    """
    return (
        swap_dims(input, normalize_dim(dim0, input.ndim), normalize_dim(dim1, input.ndim))
        if input.ndim
        else view_as(input, ())
    )


@add_example
def t(input: Tensor) -> Tensor:
    """Transpose a matrix; a vector stays as it is."""
    if input.ndim > 2:
        raise AutogradError(
            f"t() needs at most 2 dimensions, but the shape is {input.shape}. Use transpose() or permute()."
        )
    return swap_dims(input, 0, 1) if input.ndim == 2 else view_as(input, input.shape)


def squeeze(input: Tensor, dim: int | Shape | None = None) -> Tensor:
    """Drop all dimensions of size 1, or those of ``dim`` that have size 1.

    Examples
    --------
    >>> from course_lib.autograd import squeeze, zeros
    >>> x = zeros(1, 3, 1)
    >>> squeeze(x).shape, squeeze(x, 0).shape
    ((3,), (3, 1))
    """
    dim = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
    dims = [normalize_dim(d, input.ndim) for d in dim]
    return _squeeze_to(input, tuple(n for i, n in enumerate(input.shape) if n != 1 or i not in dims))


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of size 1.

    Examples
    --------
    >>> from course_lib.autograd import unsqueeze, zeros
    >>> unsqueeze(zeros(3), 0).shape, unsqueeze(zeros(3), -1).shape
    ((1, 3), (3, 1))
    """
    i = normalize_dim(dim, input.ndim + 1)
    return _unsqueeze_to(input, (*input.shape[:i], 1, *input.shape[i:]))


def expand(input: Tensor, *shape: int | Sequence[int]) -> Tensor:
    """Repeat dimensions of size 1, without copying, up to a shape; -1 keeps a size.

    Examples
    --------
    >>> from course_lib.autograd import expand, tensor
    >>> x = tensor([[1.0], [2.0]], requires_grad=True)
    >>> expand(x, -1, 3).sum().backward()
    >>> x.grad
    tensor([[3.],
            [3.]])
    """
    shape = unpack_sizes(shape)
    old = (-1,) * (len(shape) - input.ndim) + input.shape
    return expand_to(input, tuple(o if n == -1 else n for n, o in zip(shape, old, strict=False)))


@cache
def cat_of(n: int) -> Primitive:
    """Define the concatenation of n tensors."""
    pieces = [lambda g, dim, ends, i=i: g[(slice(None),) * dim + (slice(ends[i], ends[i + 1]),)] for i in range(n)]
    takes = " ".join(f"x{i}" for i in range(n)) + " dim ends"
    return Primitive("cat", lambda *xs: np.concatenate(xs[:-2], xs[-2]), *pieces, takes=takes, saves=("dim", "ends"))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dimension.

    Examples
    --------
    >>> from course_lib.autograd import cat, ones, zeros
    >>> cat([zeros(2, 1), ones(2, 2)], dim=1)
    tensor([[0., 1., 1.],
            [0., 1., 1.]])
    """
    if not tensors:
        raise AutogradError(
            "cat() and stack() need at least one tensor, but the list is empty. Skip the call where nothing is joined."
        )
    like = next((x for x in tensors if x.shape != (0,)), tensors[0])
    i = normalize_dim(dim, like.ndim)
    before, after = like.shape[:i], like.shape[i + 1 :]
    if not all(x.ndim == like.ndim > 0 and (x.shape[:i], x.shape[i + 1 :]) == (before, after)
               for x in tensors if x.shape != (0,)):  # fmt: skip
        raise AutogradError(
            f"cat() joins tensors that agree in every dimension but dim={dim}, and the shapes are "
            f"{', '.join(str(x.shape) for x in tensors)}. Use stack() to join along a new dimension."
        )
    # torch joins an empty vector with anything
    tensors = [view_as(x, (*before, 0, *after)) if x.shape == (0,) else x for x in tensors]
    dtypes = [x.dtype for x in tensors]
    dtype = np.result_type(*([d for d in dtypes if d.kind == "f"] or dtypes))  # floats beat integers
    ends = tuple(accumulate((x.shape[i] for x in tensors), initial=0))
    return cat_of(len(tensors))(*(cast_to(x, dtype) for x in tensors), i, ends)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a new dimension.

    Examples
    --------
    >>> from course_lib.autograd import ones, stack, zeros
    >>> stack([zeros(2), ones(2)])
    tensor([[0., 0.],
            [1., 1.]])
    """
    if len({x.shape for x in tensors}) > 1:
        raise AutogradError(
            f"stack() joins tensors of the same shape, but the shapes are {', '.join(str(x.shape) for x in tensors)}. "
            "Use cat() to join along an existing dimension."
        )
    return cat([unsqueeze(x, dim) for x in tensors], dim)


def split(tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split into pieces of one size (the last may be smaller), or of the sizes listed.

    Examples
    --------
    >>> from course_lib.autograd import arange, split
    >>> split(arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    >>> split(arange(5), [1, 4])
    (tensor([0]), tensor([1, 2, 3, 4]))
    """
    i, size = normalize_dim(dim, tensor.ndim), split_size_or_sections
    n, sizes = (*tensor.shape, 0)[i], [size] if isinstance(size, int) else list(size)
    if isinstance(size, int) and size > 0:
        sizes = [size] * (n // size) + [n % size] * (n % size > 0 or n == 0)
    cuts = list(accumulate(sizes, initial=0))
    if not tensor.ndim or cuts[-1] != n or min(sizes, default=0) < 0:
        raise AutogradError(
            f"the sections must not be negative and add up to {n}, the size of dim {dim} of the shape {tensor.shape}, "
            f"but {sizes} adds up to {cuts[-1]}. Pass one positive size, or sections; a 0-d tensor cannot be split."
        )
    return tuple(tensor[(slice(None),) * i + (slice(a, b),)] for a, b in pairwise(cuts))
