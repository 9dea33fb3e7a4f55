"""Layer normalization and batch normalization."""

from collections.abc import Sequence

from course_lib.autograd.graph import write_clock
from course_lib.autograd.ops.elementwise import add, mul, rsqrt, sub
from course_lib.autograd.ops.primitive import Primitive
from course_lib.autograd.ops.reductions import count_reduced, mean_over, var_over
from course_lib.autograd.ops.shape import reshape
from course_lib.autograd.variable import Tensor, Value, new_tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["batch_norm", "layer_norm"]


def _invert_deviation(x: Value, dim: tuple[int, ...], eps: float) -> Value:
    """Compute one over the standard deviation, with epsilon."""
    return rsqrt(var_over(x, dim, True, count_reduced(x.shape, dim)) + eps)


_standardize = Primitive(
    "native_layer_norm",
    lambda x, dim, eps: (x - mean_over(x, dim, True)) * _invert_deviation(x, dim, eps),
    lambda g, x, out, dim, eps: (
        (g - mean_over(g, dim, True) - out * mean_over(g * out, dim, True)) * _invert_deviation(x, dim, eps)
    ),
)


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    r"""Layer norm :math:`y = w\, \hat x + b` over the last dimensions.

    :math:`\hat x = (x - \bar x) / \sqrt{\sigma^2 + \epsilon}`,
    :math:`g_x = (h - \bar h - \hat x\, \overline{h \hat x}) / \sqrt{\sigma^2 + \epsilon}`, :math:`h = w g` (Ba et
    al., 2016).

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> nn.functional.layer_norm(tensor([[1.0, 3.0], [10.0, 30.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    shape, n = tuple(normalized_shape), len(normalized_shape)
    if input.shape[input.ndim - n :] != shape:
        raise AutogradError(
            f"the last dimensions of the input must be normalized_shape, {shape}, but the shape is {input.shape}. "
            f"Normalize over input.shape[-{n}:], or permute the input."
        )
    for x in (weight, bias):
        if x is not None and x.shape != shape:
            raise AutogradError(
                f"weight and bias must have the shape normalized_shape, {shape}, but one has {x.shape}. Reshape it."
            )
    y = _standardize(input, tuple(range(input.ndim - n, input.ndim)), eps)
    y = y if weight is None else mul(y, weight)
    return y if bias is None else add(y, bias)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch norm: normalize each channel over all other dimensions, in training by the batch's own statistics.

    In training the running statistics move towards those of the batch: ``running += momentum * (batch - running)``
    (Ioffe and Szegedy, 2015).

    Examples
    --------
    >>> from course_lib.autograd import nn, ones, tensor, zeros
    >>> x = tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> nn.functional.batch_norm(x, zeros(2), ones(2), training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    ours = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
    shapes = {name: x.shape for name, x in ours.items() if x is not None}
    if input.ndim < 2 or any(shape != input.shape[1:2] for shape in shapes.values()):
        raise AutogradError(
            "batch_norm() needs one number per channel, and channels are dimension 1 of the input, but its shape is "
            f"{input.shape}, and the shapes of the numbers are {shapes}. Permute or reshape the input."
        )
    dim = (0, *range(2, input.ndim))
    per_channel = (-1,) + (1,) * (input.ndim - 2)
    if training:
        n = count_reduced(input.shape, dim)
        if n < 2:
            raise AutogradError(
                f"batch_norm() in training needs more than one value for each channel, but the shape is {input.shape}. "
                "Use a larger batch, or call .eval() on the module."
            )
        if running_mean is not None and running_var is not None:
            x = new_tensor(input.value)
            _update_running(running_mean, mean_over(x, dim, False).value, momentum)
            _update_running(running_var, var_over(x, dim, False, n - 1).value, momentum)
        y = _standardize(input, dim, eps)
    elif running_mean is None or running_var is None:
        raise AutogradError(
            "batch_norm() needs running_mean and running_var outside of training, but one is None. Pass both, or "
            "training=True."
        )
    else:
        y = mul(sub(input, reshape(running_mean, per_channel)), rsqrt(reshape(running_var, per_channel) + eps))
    y = y if weight is None else mul(y, reshape(weight, per_channel))
    return y if bias is None else add(y, reshape(bias, per_channel))


def _update_running(running: Tensor, batch: Array, momentum: float) -> None:
    """Update a running statistic in place."""
    running.value += (momentum * (batch - running.value)).astype(running.dtype)
    write_clock.record_write("batch_norm()", running)
