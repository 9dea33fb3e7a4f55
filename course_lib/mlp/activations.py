"""Activation functions and their slopes: what each slope can be read from decides what must be kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from course_lib.mlp.arrays import erf, namespace

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

    value: Callable[[Any], Any]
    slope_from_z: Callable[[Any], Any]
    slope_from_h: Callable[[Any], Any] | None = None


def relu(z: Any) -> Any:
    """max(z, 0)."""
    return z.clip(0)


def is_open(z_or_h: Any) -> Any:
    """1 where a ReLU lets its input through, else 0; at 0 it does not, as in torch and jax.nn."""
    return z_or_h > 0


def tanh(z: Any) -> Any:
    """Hyperbolic tangent."""
    return namespace(z).tanh(z)


def tanh_slope(h: Any) -> Any:
    """1 - tanh(z)^2, from h = tanh(z)."""
    return 1 - h * h


def normal_cdf(z: Any) -> Any:
    """Cumulative distribution of the standard normal."""
    return 0.5 * (1 + erf(z * math.sqrt(0.5)))


def gelu(z: Any) -> Any:
    """Z times the normal's cumulative distribution at z: the exact form, torch's default (arXiv:1606.08415)."""
    return z * normal_cdf(z)


def gelu_slope(z: Any) -> Any:
    """Phi(z) + z phi(z), by the product rule."""
    return normal_cdf(z) + z * namespace(z).exp(-0.5 * z * z) * (1 / math.sqrt(2 * math.pi))


ACTIVATIONS = {
    "relu": Activation(relu, is_open, is_open),
    "tanh": Activation(tanh, lambda z: tanh_slope(tanh(z)), tanh_slope),
    "gelu": Activation(gelu, gelu_slope),
}
