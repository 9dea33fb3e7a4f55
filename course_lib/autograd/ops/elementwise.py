r"""Arithmetic and elementary functions: each with its derivative beside it.

For :math:`y = f(x)` element by element, the vjp multiplies the cotangent by the derivative: :math:`g_x = g\, f'(x)`.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd.ops.broadcasting import as_tensor_like, cast_to_floating, promote, sum_to
from course_lib.autograd.ops.elementwise_primitive import binary, unary
from course_lib.autograd.ops.primitive import Op, Primitive
from course_lib.autograd.variable import Operand, Tensor, Value, Variable, new_tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = [
    "abs", "add", "atan", "clamp", "cos", "cosh", "div", "erf", "exp", "expm1", "log", "log1p", "maximum", "minimum",
    "mul", "neg", "pow", "reciprocal", "rsqrt", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "where",
]  # fmt: skip


def _compute_signs(x: Array) -> Array:
    """Compute the sign by comparing with 0: 0 for NaN, as in torch."""
    return np.subtract(x > 0, x < 0, dtype=x.dtype)


plus: Op = binary("add", np.add, lambda g: g, lambda g: g, doc="Add: :math:`x + y`")
minus: Op = binary("sub", np.subtract, lambda g: g, lambda g: -g, doc="Subtract: :math:`x - y`")
mul: Op = binary("mul", np.multiply, lambda g, _x, y: g * y, lambda g, x, _y: g * x, doc="Multiply: :math:`x y`")
divide: Op = binary(
    "div",
    np.divide,
    lambda g, _x, y: g / y,
    lambda g, x, y: -g * (x / y) / y,
    doc="Divide: :math:`x / y`",
    floating=True,
)
_rounding_divisions: dict[str, Op] = {
    mode: binary(
        "div", lambda x, y, mode=mode: _divide_and_round(x, y, mode), *[lambda g: _zero_gradient(g)] * 2, doc=mode
    )
    for mode in ("floor", "trunc")
}

neg: Op = unary("neg", np.negative, lambda g: -g, "Negate: :math:`-x`", floating=False)
abs: Op = unary(
    "abs", np.abs, lambda g, x: g * sign(x), "Absolute value :math:`|x|`; at 0 its gradient is 0", floating=False
)
sign: Op = unary("sign", _compute_signs, lambda g: _zero_gradient(g), "Sign: -1, 0 or 1; 0 for NaN", floating=False)
square: Op = unary("square", np.square, lambda g, x: g * (2 * x), "Square :math:`x^2`", floating=False)
reciprocal: Op = unary("reciprocal", np.reciprocal, lambda g, out: -g * (out * out), "Reciprocal :math:`1 / x`")
sqrt: Op = unary("sqrt", np.sqrt, lambda g, out: g / (2 * out), r"Square root :math:`\sqrt x`")
rsqrt: Op = unary(
    "rsqrt", lambda x: 1 / np.sqrt(x), lambda g, out: g * (-0.5 * out**3), r"Reciprocal square root :math:`1 / \sqrt x`"
)
exp: Op = unary("exp", np.exp, lambda g, out: g * out, "Exponential :math:`e^x`")
expm1: Op = unary("expm1", np.expm1, lambda g, out: g * (out + 1), "Exponential minus 1, :math:`e^x - 1`, exact near 0")
log: Op = unary("log", np.log, lambda g, x: g / x, r"Natural logarithm :math:`\ln x`")
log1p: Op = unary("log1p", np.log1p, lambda g, x: g / (x + 1), r"Logarithm :math:`\ln(1 + x)`, exact near 0")
sin: Op = unary("sin", np.sin, lambda g, x: g * cos(x), r"Sine :math:`\sin x`")
cos: Op = unary("cos", np.cos, lambda g, x: -g * sin(x), r"Cosine :math:`\cos x`")
tan: Op = unary("tan", np.tan, lambda g, out: g * (1 + out * out), r"Tangent :math:`\tan x`")
sinh: Op = unary("sinh", np.sinh, lambda g, x: g * cosh(x), r"Hyperbolic sine :math:`\sinh x`")
cosh: Op = unary("cosh", np.cosh, lambda g, x: g * sinh(x), r"Hyperbolic cosine :math:`\cosh x`")
tanh: Op = unary("tanh", np.tanh, lambda g, out: g * (1 - out * out), r"Hyperbolic tangent :math:`\tanh x`")
atan: Op = unary("atan", np.arctan, lambda g, x: g / (x * x + 1), r"Arctangent :math:`\arctan x`")
erf: Op = unary(
    "erf",
    lambda x: np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype),
    lambda g, x: g * exp(-x * x) * (2 / math.sqrt(math.pi)),
    r"Error function :math:`\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`",
)

# select(x, y, c) takes x where c holds and y elsewhere: x and y, which have gradients, come first
select: Primitive = Primitive(
    "where",
    lambda x, y, c: np.where(c, x, y),
    lambda g, x_shape, y_shape, c: sum_to(select(g, 0, c), x_shape),
    lambda g, x_shape, y_shape, c: sum_to(select(0, g, c), y_shape),
    frees=True,
)


def _extreme(name: str, forward: np.ufunc, loses: Callable[..., Any], doc: str) -> Op:
    """Define the larger or the smaller of two tensors: the element that loses has no gradient."""
    return binary(
        name,
        forward,
        lambda g, x, y: select(0, select(g * 0.5, g, x == y), loses(x, y)),
        lambda g, x, y: select(0, select(g * 0.5, g, x == y), loses(y, x)),
        doc=f"The {doc} of each pair; at a tie each gets half the gradient",
    )


maximum: Op = _extreme("maximum", np.maximum, operator.lt, "larger")
minimum: Op = _extreme("minimum", np.minimum, operator.gt, "smaller")
_clip: Primitive = Primitive(
    "clamp", np.clip, lambda g, x, min, max: select(g, 0, _clip(x, min, max) == x), takes="x min max"
)
power: Primitive = Primitive(
    "pow",
    lambda x, n: 1 / x**0.5 if n == -0.5 else x**n,
    lambda g, x, n: g * (n * power(x, n - 1)) if n else _zero_gradient(g),
)
_tensor_power: Op = binary(
    "pow",
    np.power,
    lambda g, x, y: select(0, g * (y * _tensor_power(x, select(0, y - 1, y == 0))), y == 0),
    lambda g, x, y: _exponent_vjp(g, x, y, (x == 0) & (y >= 0)),
    doc="Power :math:`x^y`",
)


def add(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    r"""Add: :math:`x + \alpha y`, :math:`g_x = g`, :math:`g_y = \alpha g`.

    Examples
    --------
    >>> from course_lib.autograd import add, tensor
    >>> add(tensor([1.0, 2.0]), tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    return plus(input, other if alpha == 1 else mul(other, alpha))


def sub(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    r"""Subtract: :math:`x - \alpha y`, :math:`g_x = g`, :math:`g_y = -\alpha g`.

    Examples
    --------
    >>> from course_lib.autograd import sub, tensor
    >>> sub(tensor([10, 20]), 1)
    tensor([ 9, 19])
    """
    return minus(input, other if alpha == 1 else mul(other, alpha))


def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    r"""Divide: :math:`x / y`; with ``rounding_mode`` "floor" or "trunc" rounded, which has a gradient of 0.

    Examples
    --------
    >>> from course_lib.autograd import div, tensor
    >>> div(tensor([7, -7]), 2), div(tensor([7, -7]), 2, rounding_mode="floor")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -4]))
    """
    if rounding_mode not in (None, *_rounding_divisions):
        raise AutogradError(f'rounding_mode must be None, "floor" or "trunc", but it is {rounding_mode!r}. Pass one.')
    return divide(input, other) if rounding_mode is None else _rounding_divisions[rounding_mode](input, other)


def _divide_and_round(x: Array, y: Array, mode: str) -> Array:
    """Divide and round, down or towards 0; integers by integer division, since fractions would lose digits."""
    if x.dtype.kind != "f" and not y.all():
        raise ValueError("an integer was divided by 0")
    if mode == "floor":
        return np.floor_divide(x, y)
    return np.trunc(x / y) if x.dtype.kind == "f" else (x - np.fmod(x, y)) // y


def _exponent_vjp(g: Value, x: Value, y: Value, flat: Value) -> Value:
    """Compute the vjp of the exponent: 0 where ``flat``; the logarithm gets a 1 there, or second gradients were NaN."""
    return select(0, g * _tensor_power(x, y) * log(select(1, x, flat)), flat)


def _zero_gradient(g: Value) -> Value:
    """Return a gradient of 0, also for an infinite ``g``, where 0 times ``g`` would be NaN."""
    return select(0, g, np.True_)


def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Clamp each element to ``[min, max]``; the gradient is 1 inside and at the bounds, 0 outside.

    If the bounds are tensors, they get it there.

    Examples
    --------
    >>> from course_lib.autograd import clamp, tensor
    >>> x = tensor([-1.0, 0.5, 1.0, 3.0], requires_grad=True)
    >>> clamp(x, 0, 1).sum().backward()
    >>> x.grad
    tensor([0., 1., 1., 0.])
    """
    if min is None and max is None:
        raise AutogradError("clamp() needs a bound, but min and max are both None. Pass at least one of them.")
    if isinstance(min, Variable) or isinstance(max, Variable):
        input = input if min is None else where(input < min, min, input)
        return input if max is None else where(input > max, max, input)
    return _clip(cast_to_floating(input) if any(isinstance(m, float) for m in (min, max)) else input, min, max)


def pow(input: Operand, exponent: Operand) -> Tensor:
    """Raise each element to a power, a number or a tensor; at ``exponent == 0`` the gradient is 0.

    Examples
    --------
    >>> from course_lib.autograd import pow, tensor
    >>> x = tensor(3.0, requires_grad=True)
    >>> pow(x, 2).backward()
    >>> x.grad
    tensor(6.)
    """
    if not isinstance(exponent, (int, float)) or not isinstance(input, Variable) or input.dtype.kind != "f":
        return _tensor_power(input, exponent)
    return power(input, exponent)


def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """Choose ``input`` where ``condition`` holds and ``other`` elsewhere; the one chosen gets the gradient.

    Examples
    --------
    >>> from course_lib.autograd import tensor, where
    >>> x = tensor([-1.0, 2.0], requires_grad=True)
    >>> y = where(x > 0, x, 0.1 * x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.1000, 1.0000])
    """
    like = input if isinstance(input, Variable) else other if isinstance(other, Variable) else new_tensor(np.False_)
    return select(*promote(as_tensor_like(input, like), as_tensor_like(other, like)), condition)
