"""Gradient descent in a valley, run step by step by the course's engine."""

from typing import Any

import numpy as np

from course_lib.autograd import float64, optim, tensor
from course_lib.figures import Drawing, surface

TITLE = "One learning rate for two curvatures"
START = {"rate": 0.18, "curvature": 10.0, "along": 2.8, "across": 0.8}
STEPS = 12


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Take twelve steps down ``(u² + λ v²) / 2``."""
    place = [tensor(state[name], dtype=float64, requires_grad=True) for name in ("along", "across")]
    optimizer = optim.SGD(place, lr=state["rate"])
    path, losses = [], []
    for _ in range(STEPS + 1):
        loss = 0.5 * (place[0] ** 2 + state["curvature"] * place[1] ** 2)
        path.append([entry.item() for entry in place])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    factors = [1 - state["rate"] * curvature for curvature in (1, state["curvature"])]
    return {"path": path, "losses": losses, "factors": factors, "border": 2 / state["curvature"]}


def still() -> Drawing:
    """Draw the steps on both sides of the border."""
    across, up = np.linspace(-3.2, 3.2, 81), np.linspace(-2, 2, 61)
    valley = 0.5 * (across**2 + START["curvature"] * up[:, None] ** 2)
    runs = {f"η = {rate}": model(START | {"rate": rate})["path"] for rate in (0.18, 0.21)}
    return surface(
        valley,
        x=across.tolist(),
        y=up.tolist(),
        x_label="along the valley, λ = 1",
        y_label="across, λ = 10",
        paths={name: [(u, v) for u, v in path] for name, path in runs.items()},
        title="Below 2/λ = 0.2 the steps zigzag down; past it they climb the walls, while along the valley they go on",
    )


def table() -> list[list[str]]:
    """Compare five learning rates."""
    rows = [["learning rate η", "along, a step multiplies by", "across, a step multiplies by", "loss after 12 steps"]]
    for rate in (0.03, 0.18, 0.2, 0.21, 0.3):
        found = model(START | {"rate": rate})
        rows.append([f"{rate}", *(f"{factor:.3g}" for factor in found["factors"]), f"{found['losses'][-1]:.2g}"])
    return rows
