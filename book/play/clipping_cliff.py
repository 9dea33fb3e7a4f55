"""A recurrent unit whose loss has a cliff, and what clipping makes of the gradient there."""

import math
from functools import cache
from typing import Any

import contourpy
import numpy as np
import numpy.typing as npt

from course_lib.autograd import Tensor, float64, sigmoid, tensor
from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.figures import Drawing, surface

TITLE = "A run that comes to a cliff"
START = {"clip": "none", "threshold": 0.2, "w": 6.0, "b": -2.2}
STEPS = 80
BETWEEN = {"w": (3.5, 6.5), "b": (-3.2, -1.2)}
NAMES = {"none": "not clipped", "norm": "by norm", "value": "by value"}


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Take the gradient at one point, and clip it."""
    w, b = (tensor(state[name], dtype=float64, requires_grad=True) for name in ("w", "b"))
    loss = _loss_at(w, b)
    loss.backward()
    gradient = np.array([w.grad.item(), b.grad.item()])  # type: ignore[union-attr] # after backward
    clip = {"none": lambda g, _: (g, None), "norm": clip_by_global_norm, "value": clip_by_value}[state["clip"]]
    step, _ = clip(gradient, state["threshold"])
    turned = math.atan2(gradient[0] * step[1] - gradient[1] * step[0], gradient @ step)
    return {
        "loss": loss.item(),
        "gradient": gradient.tolist(),
        "norm": float(np.linalg.norm(gradient)),
        "step": step.tolist(),
        "length": float(np.linalg.norm(step)),
        "turned": abs(math.degrees(turned)),
    }


def _loss_at(w: Tensor, b: Tensor) -> Tensor:
    x = tensor(0.5, dtype=float64)
    for _ in range(50):
        x = w * sigmoid(x) + b
    return (sigmoid(x) - 0.7) ** 2


def run(state: dict[str, Any], steps: int = STEPS) -> list[dict[str, Any]]:
    """Return what :func:`model` finds at each step of gradient descent at a learning rate of 1, with its place."""
    log = []
    w, b = state["w"], state["b"]
    for _ in range(steps):
        log.append(model(state | {"w": w, "b": b}) | {"place": (w, b)})
        w, b = w - log[-1]["step"][0], b - log[-1]["step"][1]
    return log


@cache
def _three_runs() -> dict[str, list[dict[str, Any]]]:
    return {clip: run(START | {"clip": clip}) for clip in NAMES}


def _surface() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    w, b = np.linspace(*BETWEEN["w"], 97), np.linspace(*BETWEEN["b"], 65)
    x = np.full((len(b), len(w)), 0.5)
    for _ in range(50):
        x = w / (1 + np.exp(-x)) + b[:, None]
    return w, b, (1 / (1 + np.exp(-x)) - 0.7) ** 2


def data() -> list[str]:
    """Return where the loss is above each of eight levels, as SVG paths over ``w`` and ``b``."""
    w, b, loss = _surface()
    contours = contourpy.contour_generator(w, b, loss, fill_type="OuterOffset")
    paths = []
    for level in np.linspace(0, loss.max(), 10)[1:-1]:
        polygons = zip(*contours.filled(level, math.inf), strict=True)
        outlines = [line for points, starts in polygons for line in np.split(points, starts[1:-1])]
        paths.append("".join("M" + "L".join(f"{x:.3f} {y:.3f}" for x, y in line) + "Z" for line in outlines))
    return paths


def still() -> Drawing:
    """Draw three runs from one start."""
    w, b, loss = _surface()
    return surface(
        loss,
        x=w.tolist(),
        y=b.tolist(),
        x_label="w",
        y_label="b",
        paths={NAMES[clip]: [each["place"] for each in log] for clip, log in _three_runs().items()},
        title="Clipped by norm or by value, the run gets past the cliff; not clipped, it is thrown off the map",
    )


def table() -> list[list[str]]:
    """Compare the steepest step of each run."""
    rows = [["clipped", "steepest gradient", "step taken there", "turned by", "loss after 80 steps"]]
    for clip, log in _three_runs().items():
        steep = max(log, key=lambda each: each["norm"])
        measured = (
            f"{steep['norm']:.2g}",
            f"{steep['length']:.2g}",
            f"{steep['turned']:.0f}°",
            f"{log[-1]['loss']:.2g}",
        )
        rows.append([NAMES[clip], *measured])
    return rows
