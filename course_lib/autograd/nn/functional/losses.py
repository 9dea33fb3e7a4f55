"""Loss functions, with torch's options: mean squared error, cross-entropy, negative log-likelihood."""

import warnings

import numpy as np

from course_lib.autograd.fast.losses import fast_cross_entropy, fast_mse_loss
from course_lib.autograd.ops.activations import sigmoid
from course_lib.autograd.ops.broadcasting import take_arrays, take_constant
from course_lib.autograd.ops.elementwise import add, mul, select, square, sub
from course_lib.autograd.ops.elementwise_primitive import unary
from course_lib.autograd.ops.normalizers import log_softmax
from course_lib.autograd.ops.primitive import Op
from course_lib.autograd.ops.reductions import mean, sum
from course_lib.autograd.ops.shape import permute, reshape
from course_lib.autograd.variable import Tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["binary_cross_entropy_with_logits", "cross_entropy", "mse_loss", "nll_loss"]


def _reduce_loss(loss: Tensor, reduction: str, n: float | None = None) -> Tensor:
    """Reduce losses to their mean or sum, or not at all; ``n`` is what to divide by, if not the number of elements."""
    if reduction in ("sum", "none"):
        return sum(loss) if reduction == "sum" else loss
    if reduction == "mean":
        if n is None:
            return mean(loss)
        return sum(loss) / n if n else sum(loss) + np.nan  # where nothing counts: NaN, with gradients of 0
    raise AutogradError(f'reduction must be "mean", "sum" or "none", but it is {reduction!r}. Pass one of the three.')


@fast_mse_loss
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", weight: Tensor | None = None) -> Tensor:
    r"""Mean squared error :math:`\frac1n \sum_i (x_i - t_i)^2`, :math:`g_{x_i} = \frac{2 g}{n} (x_i - t_i)`.

    With ``weight``, of the shape of ``input``, the mean is weighted: divided by the sum of the weights.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> x = tensor([1.0, 4.0], requires_grad=True)
    >>> loss = nn.functional.mse_loss(x, tensor([0.0, 2.0]))
    >>> loss.backward()
    >>> loss.item(), x.grad
    (2.5, tensor([1., 2.]))
    """
    if input.shape != target.shape:
        warnings.warn(
            f"input and target should have equal shapes, but got {input.shape} and {target.shape}, and are broadcast: "
            "a number may be compared with the wrong ones. Use squeeze(), unsqueeze() or reshape().",
            stacklevel=3,
        )
    loss = square(sub(input, target))
    if weight is None:
        return _reduce_loss(loss, reduction)
    if weight.shape != input.shape:
        raise AutogradError(
            f"weight must have the shape of input, {input.shape}, but it has {weight.shape}. Use expand() or reshape()."
        )
    loss = mul(loss, weight)
    return sum(loss) / sum(weight) if reduction == "mean" else _reduce_loss(loss, reduction)


@fast_cross_entropy
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    r"""Cross-entropy of logits: :math:`-\frac1n \sum_i \ln p_{i, y_i}` with :math:`p = \mathrm{softmax}(x)`.

    Its vjp is :math:`g_x = \frac gn (p - \mathrm{onehot}(y))`.

    Parameters
    ----------
    input : Tensor
        Logits, of shape ``(C,)``, ``(N, C)`` or ``(N, C, d1, ...)``.
    target : Tensor
        Classes, int64, of the shape of ``input`` without C; or probabilities, of the shape of ``input``.
    weight : Tensor, optional
        One factor for each class, of shape ``(C,)``; beside classes it has no gradient, and must not require one.
    ignore_index : int
        Targets with this class do not count.
    reduction : {"mean", "sum", "none"}
        What to do with the losses of the rows.
    label_smoothing : float
        How much of the target is spread evenly over all classes.

    Raises
    ------
    AutogradError
        If the shapes do not match, a class is not below C, or ``weight`` requires grad beside classes.

    Examples
    --------
    >>> from course_lib.autograd import cross_entropy, tensor
    >>> cross_entropy(tensor([[2.0, 0.0], [0.0, 0.0]], requires_grad=True), tensor([0, 1]))
    tensor(0.4100, grad_fn=<NllLossBackward0>)
    """
    if not 0 <= label_smoothing <= 1:
        raise AutogradError(f"label_smoothing must be from 0 to 1, but it is {label_smoothing}. Pass 0.1, say.")
    dim = 0 if input.ndim == 1 else 1
    logp = log_softmax(input, dim)
    classes = logp.shape[dim]
    if target.dtype.kind == "f":
        if target.shape != input.shape:
            came = f"target, which is {target.dtype}, has {target.shape}. If these are classes, pass target.long()."
            raise AutogradError(f"probabilities must have the shape of input, {input.shape}, but {came}")
        t = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
        factors = 1 if weight is None else reshape(weight, (classes,) + (1,) * (logp.ndim - 1 - dim))
        loss = -sum(mul(mul(logp, t), factors), dim)
        return _reduce_loss(loss, reduction, loss.numel())
    hard = nll_loss(logp, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return hard
    rows, _, w, kept = _align_targets(logp, target, weight, ignore_index)
    soft = select(-sum(rows if weight is None else mul(rows, weight), 1), 0, kept)
    soft = _reduce_loss(soft if reduction != "none" else reshape(soft, target.shape), reduction, w.sum())
    return add(hard * (1 - label_smoothing), soft * (label_smoothing / classes))


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    r"""Negative log-likelihood :math:`-\sum_i w_{y_i} x_{i, y_i} / \sum_i w_{y_i}`; options as cross_entropy.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> nn.functional.nll_loss(tensor([[-0.5, -1.0], [-2.0, -0.25]]), tensor([0, 1]))
    tensor(0.3750)
    """
    rows, y, w, kept = _align_targets(input, target, weight, ignore_index)
    loss = select(rows[np.arange(len(y)), y] * -w, 0, kept)
    return _reduce_loss(loss if reduction != "none" else reshape(loss, target.shape), reduction, w.sum())


def _align_targets(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int
) -> tuple[Tensor, Array, Array, Array]:
    """Align logits with targets: return rows, classes, weights, and whether each row counts."""
    x, y = input, take_arrays("nll_loss", input, target, weight)[1]
    dim = 0 if x.ndim == 1 else 1
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    if y.shape != shape or not x.ndim:
        raise AutogradError(
            f"target must have the shape of input without the classes, {shape}, but the shapes are {x.shape} and "
            f"{y.shape}. The classes are dimension {dim} of input; permute() or flatten() one of the two."
        )
    classes = x.shape[dim]
    rows = reshape(permute(x, (*range(dim), *range(dim + 1, x.ndim), dim)), (y.size, classes))
    y = y.ravel()
    kept = y != ignore_index
    y = np.where(kept, y, 0)
    y = y.astype(np.int64) if y.dtype == np.uint8 else y  # which as an index would be a mask
    if y.size and not (target.dtype.kind in "iu" and y.min() >= 0 and y.max() < classes):
        raise AutogradError(
            f"targets must be classes from 0 to {classes - 1}, but they go from {y.min()} to {y.max()}, as "
            f"{target.dtype}. Check the labels, use .long(), or mark those that do not count with {ignore_index}."
        )
    if weight is not None and weight.shape != (classes,):
        raise AutogradError(
            f"weight must have one factor for each of the {classes} classes, but its shape is {weight.shape}. "
            'To weight rows, multiply what reduction="none" returns.'
        )
    factors = take_constant("nll_loss", "weight", weight)
    w = kept.astype(x.dtype) if factors is None else np.where(kept, factors[y], 0).astype(x.dtype)
    return rows, y, w, kept


_minus_log_sigmoid: Op = unary(
    "log_sigmoid", lambda x: np.logaddexp(0, -x), lambda g, x: -g * sigmoid(-x), "minus log sigmoid"
)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    r"""Binary cross-entropy of logits: :math:`-t \ln \sigma(x) - (1 - t) \ln(1 - \sigma(x))`, without overflow.

    ``weight`` multiplies each loss, ``pos_weight`` the first of the two terms.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> nn.functional.binary_cross_entropy_with_logits(tensor([0.0, 100.0]), tensor([1.0, 1.0]))
    tensor(0.3466)
    """
    x, t, _ = take_arrays("binary_cross_entropy_with_logits", input, target)
    if x.shape != t.shape:
        raise AutogradError(
            f"target must have the shape of input, {input.shape}, but it has {target.shape}. Use unsqueeze(), "
            "squeeze() or expand()."
        )
    no = 1 - target
    yes = no + target if pos_weight is None else no + target * pos_weight
    loss = no * input + yes * _minus_log_sigmoid(input)
    loss = loss if weight is None else loss * weight
    if loss.shape != input.shape:
        raise AutogradError(
            f"weight and pos_weight must broadcast to the shape of input, {input.shape}, but yield {loss.shape}. Use "
            "squeeze() or sum()."
        )
    return _reduce_loss(loss, reduction)
