"""Activation functions and their slopes: what each slope can be read from decides what must be kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from course_lib.mlp.array_functions import erf, exp, tanh
from course_lib.types import NumericArray

__all__ = ["ACTIVATIONS", "Activation"]


@dataclass(frozen=True)
class Activation:
    """An elementwise function, h = act(z), and its derivative.

    Attributes
    ----------
    value : callable
        Takes z, returns h.
    slope_from_z : callable
        Takes z, returns dh/dz.
    slope_from_h : callable or None
        Takes h, returns dh/dz, if h determines it. It does for ReLU and tanh; GELU falls and rises again, so two inputs
        with different slopes share one output.
    """

    value: Callable[[NumericArray], NumericArray]
    slope_from_z: Callable[[NumericArray], NumericArray]
    slope_from_h: Callable[[NumericArray], NumericArray] | None = None


def _relu(z: NumericArray) -> NumericArray:
    """Compute max(z, 0)."""
    h: NumericArray = z.clip(0)
    return h


def _relu_slope(z_or_h: NumericArray) -> NumericArray:
    """Return 1 where a ReLU lets its input through, else 0; at 0 it does not, as in torch and jax.nn."""
    slope: NumericArray = z_or_h > 0
    return slope


def _tanh_slope(h: NumericArray) -> NumericArray:
    """Compute 1 - tanh(z)^2 from h = tanh(z)."""
    slope: NumericArray = 1 - h * h
    return slope


def _normal_cdf(z: NumericArray) -> NumericArray:
    """Compute the cumulative distribution of the standard normal."""
    p: NumericArray = 0.5 * (1 + erf(z * math.sqrt(0.5)))
    return p


def _gelu(z: NumericArray) -> NumericArray:
    """Compute z times the normal's cumulative distribution at z: the exact form, torch's default (arXiv:1606.08415)."""
    h: NumericArray = z * _normal_cdf(z)
    return h


def _gelu_slope(z: NumericArray) -> NumericArray:
    """Compute Phi(z) + z phi(z), by the product rule."""
    slope: NumericArray = _normal_cdf(z) + z * exp(-0.5 * z * z) * (1 / math.sqrt(2 * math.pi))
    return slope


ACTIVATIONS = {
    "relu": Activation(_relu, _relu_slope, _relu_slope),
    "tanh": Activation(tanh, lambda z: _tanh_slope(tanh(z)), _tanh_slope),
    "gelu": Activation(_gelu, _gelu_slope),
}
