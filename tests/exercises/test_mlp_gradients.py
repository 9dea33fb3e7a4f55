"""Right answers to mlp_gradients that look nothing like the reference get every point."""

import itertools

import numpy as np
import pytest
import torch

from course_grader.grading.exercises.exercise import find_exercise

EINSUM = {
    "forward": """
from itertools import accumulate

def forward(x, weights):
    def layer(h, w):
        z = np.einsum("bi,ij->bj", h, w)
        return z * np.heaviside(z, 0)
    stack = list(accumulate(weights[:-1], layer, initial=x))
    return np.einsum("bi,ij->bj", stack[-1], weights[-1]), stack
""",
    "backward": """
def backward(out, stack, weights):
    grads, n = [None] * len(weights), len(weights)
    delta = out.copy()
    for i in range(n - 1, -1, -1):
        h = stack.pop(-1)
        grads[i] = np.einsum("bi,bj->ij", h, delta)
        delta = np.einsum("bj,ij->bi", delta, weights[i])
        if i != 0:
            delta[h == 0] = 0
    return tuple(grads), delta
""",
    "tied_gradients": """
def tied_gradients(x, weights, uses):
    full = [weights[k] for k in uses]
    out, stack = forward(x, full)
    g = backward(out, stack, full)[0]
    return [sum((d for d, use in zip(g, uses) if use == k), np.zeros_like(w)) for k, w in enumerate(weights)]
""",
}
TORCH = {
    "forward": """
import torch

def forward(x, weights):
    stack = [torch.as_tensor(x)]
    for w in weights[:-1]:
        stack.append(torch.relu(stack[-1] @ torch.as_tensor(w)))
    return stack[-1] @ torch.as_tensor(weights[-1]), stack
""",
    "backward": """
def backward(out, stack, weights):
    g, found = torch.as_tensor(out), []
    while stack:
        h, w = torch.as_tensor(stack.pop()), torch.as_tensor(weights[len(stack)])
        found.insert(0, h.T.mm(g))
        g = g.mm(w.T)
        g = g.masked_fill(h <= 0, 0) if stack else g
    return found, g
""",
    "tied_gradients": """
def tied_gradients(x, weights, uses):
    layers = [weights[k] for k in uses]
    found = [torch.zeros_like(torch.as_tensor(w)) for w in weights]
    for k, g in zip(uses, backward(*forward(x, layers), layers)[0]):
        found[k] += torch.as_tensor(g)
    return found
""",
}
LISTS = {
    "forward": """
def product(a, b):
    return [[sum(p * q for p, q in zip(row, column)) for column in zip(*b)] for row in a]

def forward(x, weights):
    stack = [np.asarray(x).tolist()]
    for w in weights[:-1]:
        stack.append([[max(z, 0.0) for z in row] for row in product(stack[-1], w.tolist())])
    return product(stack[-1], weights[-1].tolist()), stack
""",
    "backward": """
def backward(out, stack, weights):
    g, found = np.asarray(out).tolist(), []
    for w in weights[::-1]:
        h = np.asarray(stack.pop()).tolist()
        found.append(product(list(zip(*h)), g))
        g = product(g, w.T.tolist())
        if len(stack):
            g = [[d if v > 0 else 0.0 for d, v in zip(ds, vs)] for ds, vs in zip(g, h)]
    found.reverse()
    return found, g
""",
    "tied_gradients": """
def tied_gradients(x, weights, uses):
    found = [np.zeros(w.shape, w.dtype) for w in weights]
    layers = [weights[k] for k in uses]
    for k, g in zip(uses, backward(*forward(x, layers), layers)[0]):
        found[k] += np.array(g, dtype=found[k].dtype)
    return [g.tolist() for g in found]
""",
}
RECURSIVE = {
    "backward": """
def backward(out, stack, weights):
    h, *_, = stack.pop(),
    *below, w = weights
    g = out @ w.T
    if not below:
        return [h.T @ out], g
    gradients, g_x = backward(np.where(h > 0, g, 0), stack, below)
    return [*gradients, h.T @ out], g_x
""",
    "tied_gradients": """
def tied_gradients(x, weights, uses):
    # its own two loops, and neither of the functions above
    hs = [x]
    for k in uses:
        hs.append(np.maximum(hs[-1] @ weights[k], 0) if len(hs) < len(uses) else hs[-1] @ weights[k])
    g = hs.pop()
    found = {k: 0 * w for k, w in enumerate(weights)}
    for n, k in reversed(list(enumerate(uses))):
        found[k] = found[k] + hs[n].T @ g
        g = (g @ weights[k].T) * (hs[n] > 0)
    return [found[k] for k in range(len(weights))]
""",
}
JAX = {
    "backward": """
import jax, jax.numpy as jnp

def backward(out, stack, weights):
    with jax.enable_x64(True):
        g, found = jnp.asarray(out), []
        for w in weights[::-1]:
            h = jnp.asarray(stack.pop())
            found = [np.asarray(h.T @ g), *found]
            g = g @ jnp.asarray(w).T
            g = jnp.where(h > 0, g, jnp.zeros_like(g)) if stack else g
        return found, np.asarray(g)
""",
}


@pytest.mark.parametrize("style", [EINSUM, LISTS, RECURSIVE], ids=["einsum", "lists", "recursive"])
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Einsum, and in place; lists; recursion, and shared weights with loops of their own."""
    earns_every_point(style)


@pytest.mark.parametrize("style", [TORCH, JAX], ids=["torch", "jax"])
def test_by_hand_is_without_a_librarys_arrays(finds_no_library, style):
    """Neither is there where it is graded, not even for its arrays."""
    finds_no_library(style)


def test_shared_weights_earn_their_points_where_backward_is_wrong(grade):
    """A mistake of part 2 costs nothing in part 3, also where `backward` is not written at all."""
    wrong = "def backward(out, stack, weights): raise NotImplementedError('`backward` is not written yet')"
    rows = {row.name: row.points for row in grade({"backward": wrong}).rows if row.kind == "test"}
    assert sum(points for name, points in rows.items() if "uses" in name or "places" in name) == 1.5


def test_what_forward_differentiated_earns_nothing_for_backward(grade):
    """The stack may not hold what another library made of it, nor may `backward` return it."""
    forward = """
def forward(x, weights):
    import torch
    ts = [torch.tensor(array, requires_grad=True) for array in [x, *weights]]
    h, stack = ts[0], []
    for w in ts[1:]:
        stack.append(h.detach().numpy())
        out = h @ w
        h = out.relu()
    loss = 0.5 * (out**2).sum()
    loss.backward()
    globals()["found"] = [t.grad.numpy() for t in ts]
    return out.detach().numpy(), stack
"""
    backward = """
def backward(out, stack, weights):
    forward(stack[0], weights)
    stack.clear()
    return found[1:], found[0]
"""
    report = grade({"forward": forward, "backward": backward})
    assert report.points <= 3.5
    assert any(message.startswith("`backward` uses `loss.backward`") for message in report.messages)


@pytest.mark.parametrize("widths", [(3, 2), (5, 4, 6, 3, 2), (4, 4, 4, 4), (1, 1, 1)])
@pytest.mark.parametrize("b", [1, 6])
def test_the_reference_agrees_with_torch(request, b, widths):
    """The hidden tests compare with the same formulas, so these are held against another engine."""
    exercise = find_exercise("mlp_gradients", exercises=request.path.parents[2] / "exercises")
    key = {}
    for cell in exercise.reference().cells:
        if cell.id in ("setup", "forward", "backward", "tied_gradients"):
            exec(cell.source, key)
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(b, widths[0])), [rng.normal(size=shape) for shape in itertools.pairwise(widths)]
    gradients, g_x = key["backward"](*key["forward"](x, weights), weights)
    uses = [*range(len(weights))] if widths[0] != widths[-1] else [0, *range(len(weights)), 0]
    for order, came in ((range(len(weights)), [*gradients, g_x]), (uses, key["tied_gradients"](x, weights, uses))):
        ts = [torch.tensor(array, requires_grad=True) for array in [*weights, x]]
        h = ts[-1] @ ts[order[0]]
        for k in order[1:]:
            h = torch.relu(h) @ ts[k]
        (0.5 * (h**2).sum()).backward()
        for g, t in zip(came, ts, strict=False):
            np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-12, atol=1e-12)
