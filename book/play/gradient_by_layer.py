"""The gradient's size in each of twenty layers: by the law, and measured with the course's engine."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from course_lib.autograd import Tensor, float64, relu, tanh, tensor
from course_lib.figures import Drawing, lines

TITLE = "One factor per layer, twenty layers"
START = {"scale": 1 / 3, "activation": "ReLU", "width": "256"}
DEPTH, ROWS = 20, 32
WIDTHS = ("16", "64", "256")
SCALES = [1 / 3, *(2 ** (half / 2) for half in range(-4, 9))]  # those of the slider, behind the one it begins with
ACTIVATIONS = {"none": lambda z: z, "ReLU": relu, "tanh": tanh}


@cache
def measure(scale: float, activation: str, width: str) -> list[float]:
    """Measure the rms of the gradient, from the input of the first layer to the output of the last, where it is 1."""
    rng, n = np.random.default_rng(0), int(width)

    def noise(*shape: int) -> Tensor:
        return tensor(rng.normal(size=shape), dtype=float64)

    hidden = [noise(ROWS, n).requires_grad_()]
    for _ in range(DEPTH):
        hidden.append(ACTIVATIONS[activation](hidden[-1]) @ (noise(n, n) * (scale / n) ** 0.5))
        hidden[-1].retain_grad()
    upstream = noise(ROWS, n)
    hidden[-1].backward(upstream / float(np.sqrt(np.mean(upstream.numpy() ** 2))))
    return [float(np.sqrt(np.mean(h.grad.numpy() ** 2))) for h in hidden]  # type: ignore[union-attr] # after backward


def predict(scale: float, activation: str) -> list[float]:
    """Multiply the factors of the layers: the roots of n Var(w) times the mean square slope, over normal inputs."""
    z, step = np.linspace(-10, 10, 4001, retstep=True)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * step
    square, factors = 1.0, []  # the mean square of the layer's input
    for _ in range(DEPTH):
        value, slope = _apply(activation, np.sqrt(square) * z)
        factors.append(np.sqrt(scale * (slope**2 @ density)))
        square = scale * (value**2 @ density)
    return [float(np.prod(factors[layer:])) for layer in range(DEPTH + 1)]


def _apply(activation: str, z: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    if activation == "tanh":
        return np.tanh(z), 1 - np.tanh(z) ** 2
    slope = np.heaviside(z, 0.5**0.5) if activation == "ReLU" else np.ones_like(z)  # at 0 itself half of the square
    return slope * z, slope


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Predict and measure the gradient of each layer."""
    law = predict(state["scale"], state["activation"])
    measured = measure(state["scale"], state["activation"], state["width"])
    return {"law": law, "measured": measured, "factor": law[0] ** (1 / DEPTH)}


def data() -> dict[str, Any]:
    """Return what was measured; without tanh one scale tells of all, since a factor of the weights goes through."""
    return {
        "none": {width: _round(measure(1, "none", width)) for width in WIDTHS},
        "ReLU": {width: _round(measure(1, "ReLU", width)) for width in WIDTHS},
        "tanh": {width: [[scale, _round(measure(scale, "tanh", width))] for scale in SCALES] for width in WIDTHS},
    }


def _round(values: list[float]) -> list[float]:
    return [float(f"{value:.8g}") for value in values]


def still() -> Drawing:
    """Draw three initializations of layers with ReLU."""
    scales = {"nn.Linear's default, 1/3": 1 / 3, "Xavier, 1": 1.0, "He, 2": 2.0}
    return lines(
        {name: predict(scale, "ReLU") for name, scale in scales.items()},
        marks={name: measure(scale, "ReLU", "256") for name, scale in scales.items()},
        x_label="layer, from the input to the output",
        y_label="rms of the gradient",
        y_scale="log",
        title="Lines by the law, marks measured: behind a ReLU only He's n Var(w) = 2 keeps the gradient",
    )


def table() -> list[list[str]]:
    """Compare law and measurement."""
    rows = [["activation", "n Var(w)", "factor per layer", "after 20 layers, by the law", "measured, n = 256"]]
    for activation in ACTIVATIONS:
        for scale, said in ((1 / 3, "1/3"), (1.0, "1"), (2.0, "2"), (8.0, "8")):
            found = model({"scale": scale, "activation": activation, "width": "256"})
            numbers = (f"{found['factor']:.2g}", f"{found['law'][0]:.1e}", f"{found['measured'][0]:.1e}")
            rows.append([activation, said, *numbers])
    return rows
