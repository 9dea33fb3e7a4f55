"""Right answers to two_layer_gradients that look nothing like the reference get every point."""

import pytest

EINSUM = {
    "forward": """
def layer(h, w, b):
    return np.einsum("bi,ij->bj", h, w) + b[None]

def forward(x, y, params):
    cache = {"x": x, "y": y, "params": params, "h0": x}
    for n in (1, 2, 3):
        cache[f"z{n}"] = layer(cache[f"h{n - 1}"], params[f"w{n}"], params[f"b{n}"])
        cache[f"h{n}"] = np.where(cache[f"z{n}"] > 0, cache[f"z{n}"], np.zeros_like(cache[f"z{n}"]))
    s = cache["logits"] = cache["z3"]
    m = s.max(axis=-1)
    cache["log_p"] = s - m[:, None] - np.log(np.exp(s - m[:, None]).sum(-1))[:, None]
    return -np.take_along_axis(cache["log_p"], y[:, None], axis=1).mean(), cache
""",
    "backward": """
def backward(cache):
    y, grads = cache["y"], {}
    delta = np.exp(cache["log_p"]) - np.eye(cache["log_p"].shape[1], dtype=cache["log_p"].dtype)[y]
    delta /= len(y)
    for n in (3, 2, 1):
        below = cache["x"] if n == 1 else cache[f"h{n - 1}"]
        grads.update({f"w{n}": np.einsum("bi,bj->ij", below, delta), f"b{n}": np.einsum("bj->j", delta)})
        if n > 1:
            delta = np.einsum("bj,ij->bi", delta, cache["params"][f"w{n}"]) * np.heaviside(below, 0)
    return grads
""",
}
TORCH = {
    "forward": """
import torch

def forward(x, y, params):
    t = {name: torch.as_tensor(array) for name, array in params.items()}
    x = torch.as_tensor(x)
    z1 = x @ t["w1"] + t["b1"]
    h1 = torch.relu(z1)
    z2 = h1 @ t["w2"] + t["b2"]
    h2 = torch.relu(z2)
    s = h2 @ t["w3"] + t["b3"]
    loss = torch.nn.functional.cross_entropy(s, torch.as_tensor(y))
    return loss, {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": s, "params": params}
""",
    "loss_backward": """
def loss_backward(logits, y):
    s = torch.as_tensor(logits).clone().requires_grad_()
    torch.nn.functional.cross_entropy(s, torch.as_tensor(y)).backward()
    return s.grad
""",
    "backward": """
def backward(cache):
    t = {name: torch.as_tensor(array).clone().requires_grad_() for name, array in cache["params"].items()}
    loss, _ = forward(cache["x"], cache["y"], t)
    loss.backward()
    return {name: tensor.grad for name, tensor in t.items()}
""",
}
LISTS = {
    "loss_backward": """
import math

def loss_backward(logits, y):
    rows = []
    for row, label in zip(np.asarray(logits).tolist(), np.asarray(y).tolist()):
        top = max(row)
        e = [math.exp(s - top) for s in row]
        rows.append([(v / sum(e) - (j == label)) / len(y) for j, v in enumerate(e)])
    return rows
""",
    "backward": """
def backward(cache):
    out, g = {}, np.array(loss_backward(cache["logits"], cache["y"]))
    for n, below in [(3, "h2"), (2, "h1"), (1, "x")]:
        h = np.asarray(cache[below])
        out["w%d" % n] = sum(np.outer(a, d) for a, d in zip(h, g)).tolist()
        out["b%d" % n] = [float(column.sum()) for column in g.T]
        g = g.dot(np.transpose(cache["params"]["w%d" % n]))
        if n > 1:
            g[np.asarray(cache["z%d" % (n - 1)]) <= 0] = 0.0
    return out
""",
    "slope": """
def slope(x, y, params, name, index, eps=1e-5):
    old = params[name][index]
    params[name][index] = old + eps
    plus = forward(x, y, params)[0]
    params[name][index] = old - eps
    minus = forward(x, y, params)[0]
    params[name][index] = old
    return float((plus - minus) / eps / 2)
""",
}
LOGADDEXP = {
    "forward": """
def forward(x, y, params):
    z1 = x @ params["w1"] + params["b1"]
    h1 = np.maximum(z1, 0)
    z2 = h1 @ params["w2"] + params["b2"]
    h2 = z2 * (z2 > 0)
    logits = h2 @ params["w3"] + params["b3"]
    loss = np.mean(np.logaddexp.reduce(logits, axis=1) - np.take_along_axis(logits, y[:, None], 1)[:, 0])
    cache = {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": logits, "params": params}
    return loss, cache
""",
    "loss_backward": """
def loss_backward(logits, y):
    lse = np.logaddexp.reduce(logits, axis=1, keepdims=True)
    onehot = (np.arange(logits.shape[1]) == np.asarray(y)[:, None])
    return ((np.exp(logits - lse) - onehot) / logits.shape[0]).astype(logits.dtype)
""",
    "slope": """
def slope(x, y, params, name, index, eps=1e-5):
    p = dict(params)
    values = []
    for sign in (+1, -1):
        p[name] = np.array(params[name], copy=True)
        p[name][tuple(index)] = params[name][tuple(index)] + sign * eps
        values.append(float(forward(x, y, p)[0]))
    return np.array((values[0] - values[1]) / (2 * eps))
""",
}
ENGINE = {
    "backward": """
from course_lib.autograd import tensor, cross_entropy
def backward(cache):
    t = {k: tensor(np.array(v), requires_grad=True) for k, v in cache["params"].items()}
    h = tensor(np.array(cache["x"]))
    h = (h @ t["w1"] + t["b1"]).relu()
    h = (h @ t["w2"] + t["b2"]).relu()
    cross_entropy(h @ t["w3"] + t["b3"], tensor(np.array(cache["y"]))).backward()
    return {k: v.grad.numpy() for k, v in t.items()}
""",
}
JAX = {
    "backward": """
import jax, jax.numpy as jnp
def backward(cache):
    def loss(p):
        h = jnp.maximum(cache["x"] @ p["w1"] + p["b1"], 0)
        h = jnp.where(h @ p["w2"] + p["b2"] > 0, h @ p["w2"] + p["b2"], 0)
        s = h @ p["w3"] + p["b3"]
        return -jnp.take_along_axis(jax.nn.log_softmax(s), cache["y"][:, None], 1).mean()
    with jax.enable_x64(True):
        p = {k: jnp.asarray(v) for k, v in cache["params"].items()}
        def loss2(p):
            z1 = jnp.asarray(cache["x"]) @ p["w1"] + p["b1"]; h = jnp.where(z1 > 0, z1, 0)
            z2 = h @ p["w2"] + p["b2"]; h = jnp.where(z2 > 0, z2, 0)
            s = h @ p["w3"] + p["b3"]
            return -jnp.take_along_axis(jax.nn.log_softmax(s), jnp.asarray(cache["y"])[:, None], 1).mean()
        return {k: np.asarray(v) for k, v in jax.grad(loss2)(p).items()}
""",
}


@pytest.mark.parametrize(
    "style",
    [EINSUM, TORCH, LISTS, LOGADDEXP, ENGINE, JAX],
    ids=["einsum", "torch", "lists", "logaddexp", "engine", "jax"],
)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Einsum and an extra cache entry; torch tensors and autograd; nested lists and a slope in place."""
    earns_every_point(style)
