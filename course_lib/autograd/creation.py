"""Create tensors: from numbers, lists and arrays, or filled with constants or random numbers."""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.ops.examples import add_example
from course_lib.autograd.ops.shape import unpack_sizes
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import Operand, Variable
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = [
    "arange", "bool", "eye", "float32", "float64", "from_numpy", "full", "int64", "linspace", "manual_seed", "ones",
    "ones_like", "rand", "randn", "tensor", "zeros", "zeros_like",
]  # fmt: skip

float32, float64, int64, bool = map(np.dtype, ("float32", "float64", "int64", "bool"))
"""A dtype of NumPy, under torch's name."""
generator = np.random.default_rng()


def tensor(data: Any, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create a tensor, a new leaf, from numbers.

    Parameters
    ----------
    data : number, (nested) sequence of numbers, array or Tensor
        Python floats become float32, Python integers int64; arrays keep their dtype.
    dtype : dtype, optional
        The dtype, if another is wanted.
    requires_grad : bool
        Collect gradients in ``.grad``.

    Returns
    -------
    Tensor
        Of the shape of ``data``.

    Raises
    ------
    AutogradError
        If the data are not real numbers, or gradients are requested of numbers that are not floating point.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    tensor([[1., 2.],
            [3., 4.]], requires_grad=True)
    """
    first = data = data.value if isinstance(data, Variable) else data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, Variable):
        data = _convert_to_lists(data)
        dtype = dtype or first.dtype
    try:
        x = np.array(data, dtype)
    except (TypeError, ValueError) as error:
        raise AutogradError(f"tensor() takes numbers, in equally long rows, but {error}. Look at the data.") from None
    if x.dtype.kind not in "biuf":
        raise AutogradError(
            f"tensor() takes real numbers, but these are {x.dtype}: {x.ravel()[:3]}. Convert them first."
        )
    if dtype is None and x.dtype == np.float64 and not isinstance(first, (np.ndarray, np.generic)):
        x = quiet_context.copy().run(x.astype, np.float32)
    return Tensor(x, requires_grad)


def _convert_to_lists(data: Any) -> Any:
    """Convert tensors in lists to numbers."""
    return (
        [_convert_to_lists(x) for x in data]
        if isinstance(data, (list, tuple))
        else getattr(data, "tolist", lambda: data)()
    )


def from_numpy(ndarray: Array) -> Tensor:
    """Wrap an array; it and the tensor share memory.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib.autograd import from_numpy
    >>> array = np.zeros(2)
    >>> x = from_numpy(array)
    >>> array[0] = 1.0
    >>> x
    tensor([1., 0.], dtype=torch.float64)
    """
    if not isinstance(ndarray, np.ndarray):
        raise AutogradError(
            f"from_numpy() takes a NumPy array, but got a {type(ndarray).__name__}. Use tensor(...), which copies."
        )
    return Tensor(ndarray)


def zeros(*size: int | Sequence[int], dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create a tensor of zeros.

    Examples
    --------
    >>> from course_lib.autograd import zeros
    >>> zeros(2, 3)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    return Tensor(np.zeros(unpack_sizes(size), dtype or float32), requires_grad)


def ones(*size: int | Sequence[int], dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create a tensor of ones.

    Examples
    --------
    >>> from course_lib.autograd import ones
    >>> ones(3, requires_grad=True)
    tensor([1., 1., 1.], requires_grad=True)
    """
    return Tensor(np.ones(unpack_sizes(size), dtype or float32), requires_grad)


def full(
    size: int | Sequence[int], fill_value: Operand, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False
) -> Tensor:
    """Create a tensor filled with a value.

    Examples
    --------
    >>> from course_lib.autograd import full
    >>> full((2, 2), 7.0)
    tensor([[7., 7.],
            [7., 7.]])
    """
    fill_value = fill_value.item() if isinstance(fill_value, np.generic) else fill_value
    return Tensor(np.full(size, tensor(fill_value).value, dtype), requires_grad)


@add_example
def zeros_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create zeros of the shape and dtype of another tensor."""
    return Tensor(np.zeros_like(input.value, dtype), requires_grad)


@add_example
def ones_like(input: Tensor, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create ones of the shape and dtype of another tensor."""
    return Tensor(np.ones_like(input.value, dtype), requires_grad)


def eye(n: int, m: int | None = None, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create an identity matrix of ``n`` rows and ``m`` columns, or ``n`` columns if ``m`` is None.

    Examples
    --------
    >>> from course_lib.autograd import eye
    >>> eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    return Tensor(np.eye(n, m, dtype=dtype or float32), requires_grad)


def arange(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Create a range, as ``range`` does: ``arange(end)``, or from ``start``, in steps.

    Examples
    --------
    >>> from course_lib.autograd import arange
    >>> arange(4), arange(1.0, 2.0, 0.25)
    (tensor([0, 1, 2, 3]), tensor([1.0000, 1.2500, 1.5000, 1.7500]))
    """
    start, end = (0, start) if end is None else (start, end)
    dtype = dtype or (float32 if any(isinstance(a, float) for a in (start, end, step)) else int64)
    return Tensor(np.arange(start, end, step, dtype=dtype), requires_grad)


def linspace(
    start: float, end: float, steps: int, dtype: DTypeLike | None = None, requires_grad: builtins.bool = False
) -> Tensor:
    """Create evenly spaced numbers, both ends included; for integers, ends and results are cut off towards 0.

    Examples
    --------
    >>> from course_lib.autograd import linspace
    >>> linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    dtype = np.dtype(dtype or float32)
    start, end = (start, end) if dtype.kind == "f" else (int(start), int(end))
    return Tensor(np.linspace(start, end, steps).astype(dtype), requires_grad)  # with dtype= it would round down


def randn(*size: int | Sequence[int], dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create a tensor of standard normal random numbers.

    Examples
    --------
    >>> from course_lib.autograd import manual_seed, randn
    >>> manual_seed(0)
    >>> x = randn(1000)
    >>> x.shape, x.dtype, abs(x.mean().item()) < 0.1
    ((1000,), dtype('float32'), True)
    """
    return Tensor(np.asarray(generator.standard_normal(unpack_sizes(size)), dtype or float32), requires_grad)


def rand(*size: int | Sequence[int], dtype: DTypeLike | None = None, requires_grad: builtins.bool = False) -> Tensor:
    """Create a tensor of uniform random numbers from [0, 1).

    Examples
    --------
    >>> from course_lib.autograd import rand
    >>> x = rand(100, 2)
    >>> x.shape, 0 <= x.amin().item(), x.amax().item() < 1
    ((100, 2), True, True)
    """
    return Tensor(np.asarray(generator.random(unpack_sizes(size)), dtype or float32), requires_grad)


def manual_seed(seed: int) -> None:
    """Seed the random numbers. They are NumPy's, not torch's: the same seed yields different numbers there.

    Examples
    --------
    >>> from course_lib.autograd import equal, manual_seed, rand
    >>> manual_seed(0)
    >>> x = rand(3)
    >>> manual_seed(0)
    >>> equal(x, rand(3))
    True
    """
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
