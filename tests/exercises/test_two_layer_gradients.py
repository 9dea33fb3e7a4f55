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
    s, y = torch.as_tensor(logits), torch.as_tensor(y)
    return (torch.softmax(s, 1) - torch.nn.functional.one_hot(y, s.shape[1])) / len(s)
""",
    "backward": """
def backward(cache):
    t = {name: torch.as_tensor(cache[name]) for name in ("x", "h1", "z1", "h2", "z2")}
    w = {name: torch.as_tensor(array) for name, array in cache["params"].items()}
    g3 = loss_backward(cache["logits"], cache["y"])
    g2 = torch.mm(g3, w["w3"].T).masked_fill(t["z2"] <= 0, 0)
    g1 = torch.mm(g2, w["w2"].T).masked_fill(t["z1"] <= 0, 0)
    pairs = [(t["x"], g1), (t["h1"], g2), (t["h2"], g3)]
    found = {f"w{n}": h.T.mm(g) for n, (h, g) in enumerate(pairs, 1)}
    return found | {f"b{n}": g.sum(0) for n, (_, g) in enumerate(pairs, 1)}
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
LAYERS = {
    "backward": """
%precision 4
class Linear:
    # its own backward(), not torch's loss.backward()
    def __init__(self, w, b, h):
        self.w, self.b, self.h = w, b, h
    def backward(self, g):
        return self.h.T @ g, g.sum(axis=0), g @ self.w.T

class ReLU:
    def __init__(self, z):
        self.z = z
    def backward(self, g):
        return np.where(self.z > 0, g, g.dtype.type(0))

def backward(cache):
    p, found = cache["params"], {}
    layers = [Linear(p["w1"], p["b1"], cache["x"]), Linear(p["w2"], p["b2"], cache["h1"]),
              Linear(p["w3"], p["b3"], cache["h2"])]
    relus = [ReLU(cache["z1"]), ReLU(cache["z2"]), None]
    g = loss_backward(cache["logits"], cache["y"])
    for n in (3, 2, 1):
        g = g if relus[n - 1] is None else relus[n - 1].backward(g)
        found[f"w{n}"], found[f"b{n}"], g = layers[n - 1].backward(g)
    return found
""",
}
JAX = {
    "backward": """
import jax, jax.numpy as jnp
def backward(cache):
    with jax.enable_x64(True):
        p = {k: jnp.asarray(v) for k, v in cache["params"].items()}
        s = jnp.asarray(cache["logits"])
        g = (jax.nn.softmax(s) - jax.nn.one_hot(cache["y"], s.shape[1], dtype=s.dtype)) / s.shape[0]
        found = {}
        for n, h in ((3, "h2"), (2, "h1"), (1, "x")):
            found |= {f"w{n}": jnp.asarray(cache[h]).T @ g, f"b{n}": g.sum(0)}
            g = (g @ p[f"w{n}"].T) * (jnp.asarray(cache[h]) > 0)
        return {k: np.asarray(v) for k, v in found.items()}
""",
}


@pytest.mark.parametrize(
    "style",
    [EINSUM, LISTS, LOGADDEXP, LAYERS],
    ids=["einsum", "lists", "logaddexp", "layers"],
)
def test_a_right_answer_in_another_style_gets_every_point(earns_every_point, style):
    """Einsum and an extra cache entry; lists and a slope in place; layers with a `backward`."""
    earns_every_point(style)


@pytest.mark.parametrize("style", [TORCH, JAX], ids=["torch", "jax"])
def test_by_hand_is_without_a_librarys_arrays(finds_no_library, style):
    """Neither is there where it is graded, not even for its arrays."""
    finds_no_library(style)


def test_the_check_says_that_a_copied_dict_shares_its_arrays(grade):
    """Both losses are then the same, and the slope is 0."""
    copied = """
def slope(x, y, params, name, index, eps=1e-5):
    above, below = params.copy(), params.copy()
    above[name][index] += eps
    below[name][index] -= eps
    return (forward(x, y, above)[0] - forward(x, y, below)[0]) / (2 * eps)
"""
    checks = {row.name: row.message for row in grade({"slope": copied}).rows if row.kind == "check"}
    assert "copies the dict, not its arrays" in checks["check_slope"]


def test_what_forward_differentiated_earns_nothing_for_backward(grade):
    """The cache may hold whatever `forward` keeps, but not what another library made of it."""
    forward = """
def forward(x, y, params):
    import torch
    t = {name: torch.tensor(array, requires_grad=True) for name, array in params.items()}
    z1 = torch.tensor(x) @ t["w1"] + t["b1"]
    z2 = z1.relu() @ t["w2"] + t["b2"]
    s = z2.relu() @ t["w3"] + t["b3"]
    loss = torch.nn.functional.cross_entropy(s, torch.tensor(y))
    loss.backward()
    cache = {"x": x, "y": y, "z1": z1, "h1": z1.relu(), "z2": z2, "h2": z2.relu(), "logits": s, "params": params}
    cache = {name: part.detach().numpy() if torch.is_tensor(part) else part for name, part in cache.items()}
    return loss.item(), cache | {"found": {name: tensor.grad.numpy() for name, tensor in t.items()}}
"""
    report = grade({"forward": forward, "backward": "def backward(cache): return cache['found']"})
    assert report.points == 2  # what forward earned is lost with it: torch is not there
    assert any(message.startswith("`backward` uses `loss.backward`") for message in report.messages)


FORWARD = """
def forward(x, y, params):
    z1 = x @ params["w1"] + params["b1"]
    h1 = np.maximum(z1, 0)
    z2 = h1 @ params["w2"] + params["b2"]
    h2 = np.maximum(z2, 0)
    s = h2 @ params["w3"] + params["b3"]
    loss = (np.logaddexp.reduce(s, axis=1) - s[np.arange(len(y)), y]).sum() / b
    return loss, {"x": x, "y": y, "z1": z1, "h1": h1, "z2": z2, "h2": h2, "logits": s, "params": params}
"""


def test_a_batch_size_taken_from_the_notebook_is_named(grade):
    """The checks pass, since theirs is the same; the loss is wrong for every other batch, and not for one alone."""
    report = grade({"forward": FORWARD})
    assert {row.status for row in report.rows if row.kind == "check"} == {"passed"}
    [message] = report.messages
    assert "`forward` reads the notebook's own `b`" in message


def test_what_widens_is_looked_for_where_it_does(grade):
    """The gradient of the logits is where it begins, and `backward` has nothing to mend."""
    widening = """
def loss_backward(logits, y):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True) - np.eye(logits.shape[1])[y]) / len(y)
"""
    (message,) = grade({"loss_backward": widening}).messages
    assert message.endswith("is float64: something in `loss_backward` widens it")
