"""Right answers to vanishing_layer that look nothing like the reference get every point."""

import pytest

BY_HAND = {
    "weight_rms": """
import math
SLOPES = {"tanh": lambda z: 1 - np.tanh(z) ** 2, "relu": lambda z: z > 0, "linear": lambda z: 1.0}

def backward(layers, x, y):
    h, z = [x], []
    for w, b, kind in layers:
        z.append(h[-1] @ w + b)
        h.append({"tanh": np.tanh, "relu": lambda v: v * (v > 0), "linear": lambda v: v}[kind](z[-1]))
    g, found = 2 * (h[-1] - y) / h[-1].size, []
    for i in reversed(range(len(layers))):
        w, _, kind = layers[i]
        dz = g * SLOPES[kind](z[i])
        found.append((h[i].T @ dz, dz @ w.T, dz, g))
        g = dz @ w.T
    return found[::-1]

def weight_rms(layers, x, y):
    return [math.sqrt((dw * dw).mean()) for dw, *_ in backward(layers, x, y)]
""",
    "gains": """
def share(a, b):
    a, b = math.sqrt((a * a).sum()), math.sqrt((b * b).sum())
    return 1.0 if b == 0 else a / b

def gains(layers, x, y):
    return [share(left, came) for _, left, _, came in backward(layers, x, y)]
""",
    "verdict": """
def verdict(layers, x, y):
    logs = [math.log(g) if g > 0 else -math.inf for g in gains(layers, x, y)]
    logs = dict(enumerate(logs))
    del logs[0]
    total = sum(logs.values())
    if total >= math.log(0.001):
        return "healthy"
    worst = min(logs, key=logs.get)
    return worst if 2 * logs[worst] <= total else "everywhere"
""",
    "cause": """
def cause(layers, x, y, i):
    _, left, dz, came = backward(layers, x, y)[i]
    return ["weights", "activation"][share(dz, came) < share(left, dz)]
""",
}
ARRAYS = {
    "gains": """
def gains(layers, x, y):
    seen = run(layers, x, y)
    seen["loss"].backward()
    norms = np.array([float((h.grad ** 2).sum()) ** 0.5 for h in seen["h"]])
    return np.divide(norms[:-1], norms[1:], out=np.ones(len(layers)), where=norms[1:] != 0)
""",
    "verdict": """
def verdict(layers, x, y):
    g = gains(layers, x, y)
    g[0] = 1.0
    if g.prod() >= 1e-3:
        return "healthy"
    return np.argmin(g) if g.min() <= g.prod() ** 0.5 else "everywhere"
""",
}
MIXED = {
    "weight_rms": """
import torch
def weight_rms(layers, x, y):
    ws = [torch.tensor(w, requires_grad=True) for w, _, _ in layers]
    h = torch.tensor(x)
    for w, (_, b, kind) in zip(ws, layers):
        z = h @ w + torch.tensor(b)
        h = {"tanh": torch.tanh, "relu": torch.relu, "linear": lambda v: v}[kind](z)
    grads = torch.autograd.grad(((h - torch.tensor(y)) ** 2).mean(), ws)
    return torch.stack([g.square().mean().sqrt() for g in grads])
""",
    "gains": """
def gains(layers, x, y):
    seen = run(layers, x, y); seen["loss"].backward()
    out = []
    for before, after in zip(seen["h"][:-1], seen["h"][1:]):
        b, a = (np.sqrt(np.einsum("ij,ij->", g, g)) for g in (before.grad.numpy(), after.grad.numpy()))
        out.append(1.0 if a == 0 and b == 0 else float(b / a))
    return tuple(out)
""",
    "verdict": """
def verdict(layers, x, y):
    g = list(gains(layers, x, y))[1:]
    p = 1.0
    for v in g: p *= v
    if not p < 1e-3: return "healthy"
    i, m = min(enumerate(g, start=1), key=lambda pair: pair[1])
    if m * m > p: return "everywhere"
    return float(i)
""",
    "cause": """
def cause(layers, x, y, i):
    seen = run(layers, x, y); seen["loss"].backward()
    c, b, a = [float((t.grad * t.grad).sum().item()) for t in (seen["h"][i + 1], seen["z"][i], seen["h"][i])]
    first = 1.0 if c == 0 else b / c
    second = 1.0 if b == 0 else a / b
    if first >= second: return "weights"
    return "activation"
""",
}


@pytest.mark.parametrize(
    "style", [BY_HAND, ARRAYS, MIXED], ids=["gradients by hand", "arrays throughout", "torch and tuples"]
)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """No autograd, lists and logarithms; NumPy's integers, and a root instead of a square."""
    earns_every_point(style)
