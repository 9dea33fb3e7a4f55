"""Right answers to learning_rates that look nothing like the reference get every point, whoever hands them in."""

import pytest

LOOPS = {
    "hessian": """
def hessian(x):
    n, d = x.shape
    return [[sum(2 * x[i, j] * x[i, k] for i in range(n)) / n for k in range(d)] for j in range(d)]
""",
    "largest_stable_rate": """
def largest_stable_rate(h):
    return float(2 / max(np.linalg.eigvals(np.asarray(h)).real))
""",
    "descend": """
def descend(x, y, w, rate, steps):
    w, losses = list(w), []
    for step in range(steps + 1):
        errors = [float(row @ w - wanted) for row, wanted in zip(x, y)]
        losses.append(sum(e * e for e in errors) / len(y))
        if step < steps:
            slopes = [2 / len(y) * sum(e * row[j] for e, row in zip(errors, x)) for j in range(len(w))]
            w = [float(value - rate * slope) for value, slope in zip(w, slopes)]
    return w, losses
""",
    "diverged": """
import math

def diverged(runs):
    bad = []
    for name in runs:
        losses = runs[name]
        if not all(math.isfinite(loss) for loss in losses) or not losses[-1] <= losses[0]:
            bad.append(name)
    return tuple(bad)
""",
}
TORCH = {
    "hessian": """
import torch

def hessian(x):
    t = torch.as_tensor(x)
    return torch.func.hessian(lambda w: (t @ w).square().mean())(torch.zeros(t.shape[1], dtype=t.dtype))
""",
    "largest_stable_rate": """
def largest_stable_rate(h):
    return 2 / torch.linalg.matrix_norm(torch.as_tensor(h), 2)
""",
    "descend": """
def descend(x, y, w, rate, steps):
    x, y = torch.as_tensor(x), torch.as_tensor(y)
    w = torch.tensor(w, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=rate)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(x @ w, y)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    losses.append(torch.nn.functional.mse_loss(x @ w, y))
    return w.detach(), torch.stack(losses).detach()
""",
    "fastest_rate": """
def fastest_rate(h):
    low, *_, high = torch.linalg.eigvalsh(torch.as_tensor(h))
    return 1 / ((low + high) / 2)
""",
}
ARRAYS = {
    "hessian": """
def hessian(x):
    def L(w): return np.mean((x @ w) ** 2)
    d = x.shape[1]; e = np.eye(d)
    def bend(i, j):
        return (L(e[i] + e[j]) - L(e[i] - e[j]) - L(e[j] - e[i]) + L(-e[i] - e[j])) / 4
    return np.array([[bend(i, j) for j in range(d)] for i in range(d)])
""",
    "fastest_rate": """
def fastest_rate(h):
    c = np.linalg.eigvalsh(h)
    low, high = 0.0, 2 / c[-1]
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if np.abs(1 - a * c).max() < np.abs(1 - b * c).max(): high = b
        else: low = a
    return [low]
""",
    "descend": """
def descend(x, y, w, rate, steps):
    h, b = hessian(x), 2 * x.T @ y / len(y)
    path = [np.array(w, dtype=float)]
    while len(path) <= steps:
        path.append(path[-1] - rate * (h @ path[-1] - b))
    residuals = np.stack(path) @ x.T - y
    return path[-1], (residuals ** 2).mean(1).tolist()
""",
    "diverged": """
def diverged(runs):
    out = []
    for name, losses in runs.items():
        losses = np.array(losses)
        if not losses[-1] <= losses[0] or np.isinf(losses).any() or (losses != losses).any():
            out += [name]
    return np.array(out)
""",
}
SINGULAR_VALUES = {
    "hessian": """
def hessian(x):
    return np.einsum("ni,nj->ij", x, x) * (2.0 / x.shape[0])
""",
    "largest_stable_rate": """
def largest_stable_rate(h):
    return np.float64(2.0) / np.linalg.svd(h, compute_uv=False)[0]
""",
}
ENGINE = {
    "descend": """
from course_lib.autograd import tensor
def descend(x, y, w, rate, steps):
    t, losses = tensor(np.array(w), requires_grad=True), []
    for k in range(steps + 1):
        loss = ((tensor(x) @ t - tensor(y)) ** 2).mean()
        losses.append(loss.item())
        if k < steps:
            loss.backward()
            t = tensor(t.detach().numpy() - rate * t.grad.numpy(), requires_grad=True)
    return t.detach(), losses
""",
}


@pytest.mark.parametrize("style", [LOOPS, ARRAYS, SINGULAR_VALUES], ids=["loops", "measured", "singular values"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Nested lists and tuples, differences, and singular values in the place of eigenvalues."""
    earns_every_point(style)


@pytest.mark.parametrize("style", [TORCH, ENGINE], ids=["torch", "engine"])
def test_by_hand_is_without_a_library_that_differentiates(finds_no_library, style):
    """Its Hessian and its optimizer are what the exercise asks for."""
    finds_no_library(style)
