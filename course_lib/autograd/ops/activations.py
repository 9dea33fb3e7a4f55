"""Activation functions: ReLU first, each with its derivative beside it."""

import math

import numpy as np

from course_lib.autograd.fast.elementwise import fast_relu, fast_relu_vjp
from course_lib.autograd.ops.elementwise import erf, exp, select, tanh
from course_lib.autograd.ops.elementwise_primitive import unary
from course_lib.autograd.ops.primitive import Op, Primitive
from course_lib.autograd.variable import Tensor, Value
from course_lib.errors import AutogradError

__all__ = ["elu", "gelu", "leaky_relu", "relu", "sigmoid", "silu", "softplus"]

relu: Op = unary(
    "relu",
    fast_relu(lambda x: np.maximum(x, 0)),
    fast_relu_vjp(lambda g, out: select(g, 0, out != 0)),
    r"Rectified linear unit :math:`\max(x, 0)`; at 0 its gradient is 0",
    floating=False,
)
sigmoid: Op = unary(
    "sigmoid", lambda x: 1 / (1 + np.exp(-x)), lambda g, out: g * (out * (1 - out)), r"Sigmoid :math:`1 / (1 + e^{-x})`"
)
silu: Op = unary(
    "silu", lambda x: x * sigmoid(x), lambda g, x: g * _silu_slope(x, sigmoid(x)), r"SiLU (swish) :math:`x\, \sigma(x)`"
)
_erf_gelu: Op = unary(
    "gelu", lambda x: x * _normal_cdf(x), lambda g, x: g * (_normal_cdf(x) + x * _normal_pdf(x)), "gelu"
)
_tanh_gelu: Op = unary(
    "gelu", lambda x: 0.5 * x * (1 + _gelu_tanh(x)), lambda g, x: g * _tanh_gelu_slope(x, _gelu_tanh(x)), "gelu"
)
_softplus_of = Primitive(
    "softplus",
    lambda x, beta, threshold: np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta),
    lambda g, x, beta, threshold: select(
        g, g * _softplus_slope(select(threshold, x * beta, x * beta >= threshold)), x * beta > threshold
    ),
)
_elu_of = Primitive(
    "elu",
    lambda x, alpha: np.where(x <= 0, alpha * np.expm1(x), x),
    lambda g, x, alpha: select(g * (alpha * exp(select(x, 0, x < 0))), g, x <= 0),
)
_leaky_relu_of = Primitive(
    "leaky_relu", lambda x, slope: np.where(x > 0, x, x * slope), lambda g, x, slope: select(g, g * slope, x > 0)
)


def _softplus_slope(x: Value) -> Value:
    """Compute the sigmoid from one exponential, which keeps small values apart from 0."""
    z = exp(x)
    return z / (z + 1)


def _silu_slope(x: Value, s: Value) -> Value:
    """Differentiate silu, given the sigmoid of x."""
    return s * (1 + x * (1 - s))


def _normal_cdf(x: Value) -> Value:
    """Cumulative distribution of the standard normal."""
    return 0.5 * (1 + erf(x * math.sqrt(0.5)))


def _normal_pdf(x: Value) -> Value:
    """Density of the standard normal."""
    return exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


def _gelu_tanh(x: Value) -> Value:
    """Approximate ``erf(x / sqrt(2))``."""
    return tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))


def _tanh_gelu_slope(x: Value, t: Value) -> Value:
    """Differentiate the tanh approximation of gelu, given its tanh."""
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * (x * x)))


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    r"""Gaussian error linear unit :math:`x\, \Phi(x)`, or its approximation by tanh (Hendrycks and Gimpel, 2016).

    Examples
    --------
    >>> from course_lib.autograd import gelu, tensor
    >>> gelu(tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise AutogradError(f'approximate must be "none" or "tanh", but it is {approximate!r}. Pass one of the two.')
    return _erf_gelu(input) if approximate == "none" else _tanh_gelu(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    r"""Softplus :math:`\ln(1 + e^{\beta x}) / \beta`, and x itself where :math:`\beta x` is above the threshold.

    Examples
    --------
    >>> from course_lib.autograd import softplus, tensor
    >>> softplus(tensor([-1.0, 0.0, 100.0]))
    tensor([  0.3133,   0.6931, 100.0000])
    """
    return _softplus_of(input, beta, threshold)


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    r"""Exponential linear unit: x above 0, and :math:`\alpha (e^x - 1)` below.

    Examples
    --------
    >>> from course_lib.autograd import elu, tensor
    >>> elu(tensor([-100.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return _elu_of(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Leaky ReLU: x above 0, and x times the slope below.

    Examples
    --------
    >>> from course_lib.autograd import leaky_relu, tensor
    >>> leaky_relu(tensor([-10.0, 10.0]))
    tensor([-0.1000, 10.0000])
    """
    return _leaky_relu_of(input, negative_slope)
