"""Mistakes planted in a Transformer layer by hand: the first wrong gradient is named, and never a wrong cause."""

import math

import numpy as np
import pytest

from course_lib.oracle import compare

FAST = ["autograd", "differences"]
ORDER = ["b2", "w2", "b1", "w1", "wo", "wv", "wk", "wq", "b", "g", "x"]
LOST = {"detached path", "overwritten instead of accumulated"}


def layer(x, wq, wk, wv, wo, g, b, w1, b1, w2, b2, xp):
    h = xp.layer_norm(x, (x.shape[-1],)) * g + b
    q, k, v = h @ wq, h @ wk, h @ wv
    p = xp.softmax(q @ k.T / math.sqrt(wq.shape[1]), dim=-1)
    a = x + (p @ v) @ wo
    return ((a + xp.gelu(a @ w1 + b1) @ w2 + b2) ** 2).mean()


def arrays(n=6, d=4, f=7, seed=3):
    random = np.random.default_rng(seed)
    shapes = {"x": (n, d), "wq": (d, d), "wk": (d, d), "wv": (d, d), "wo": (d, d), "g": (d,), "b": (d,)}
    shapes |= {"w1": (d, f), "b1": (f,), "w2": (f, d), "b2": (d,)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def gelu_slope(z, kind):
    """Derive gelu; or its tanh approximation, or only the first half of the product rule, or a ReLU."""
    cdf = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    c = math.sqrt(2 / math.pi)
    t = np.tanh(c * (z + 0.044715 * z**3))
    return {
        "": cdf + z * np.exp(-z * z / 2) / math.sqrt(2 * math.pi),
        "gelu: tanh": 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * c * (1 + 3 * 0.044715 * z * z),
        "gelu: half of the product rule": cdf,
        "gelu: relu": z > 0,
    }[kind if kind.startswith("gelu") else ""]


def softmax_vjp(p, g, kind):
    """Pull back through a softmax; or leave its Jacobian out, or parts of it."""
    return {
        "": p * (g - (g * p).sum(-1, keepdims=True)),
        "softmax: left out": g,
        "softmax: diagonal": p * (1 - p) * g,
        "softmax: no sum": p * g,
        "softmax: other axis": p * (g - (g * p).sum(0, keepdims=True)),
    }[kind if kind.startswith("softmax") else ""]


def layer_norm_vjp(g, xh, sd, kind):
    """Pull back through a layer norm; or take a statistic for a constant."""
    mean, slope = g.mean(-1, keepdims=True), xh * (g * xh).mean(-1, keepdims=True)
    return {
        "": (g - mean - slope) / sd,
        "norm: mean constant": (g - slope) / sd,
        "norm: both constant": g / sd,
        "norm: deviation left out": g - mean - slope,
    }[kind if kind.startswith("norm") else ""]


def by_hand(x, wq, wk, wv, wo, g, b, w1, b1, w2, b2, bug=""):
    """Pull back through the layer, with one mistake."""
    sd = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    xh = (x - x.mean(-1, keepdims=True)) / sd
    h = xh * g + b
    q, k, v, s = h @ wq, h @ wk, h @ wv, math.sqrt(wq.shape[1])
    p = np.exp(q @ k.T / s)
    p /= p.sum(-1, keepdims=True)
    a = x + p @ v @ wo
    z = a @ w1 + b1
    m = z * 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    out = a + m @ w2 + b2
    G = {}  # noqa: N806
    g_out = {"square: no 2": 1, "sign": -2}.get(bug, 2) * out / out.size
    G["b2"] = g_out.mean(0) if bug == "bias averaged" else g_out.sum(0)
    G["w2"] = m.T @ g_out
    g_z = g_out @ w2.T * gelu_slope(z, bug)
    G["b1"], G["w1"] = g_z.sum(0), a.T @ g_z
    skip, branch = {"skip lost": (0, 1), "branch lost": (1, 0), "skip twice": (2, 1)}.get(bug, (1, 1))
    g_a = skip * g_out + branch * (g_z @ w1.T)
    G["wo"] = (p @ v).T @ g_a
    g_pv = g_a @ (wo if bug == "wo untransposed" else wo.T)
    g_s = softmax_vjp(p, g_pv @ v.T, bug) / {"scale left out": 1, "scale twice": s * s}.get(bug, s)
    g_v = (p if bug == "p untransposed" else p.T) @ g_pv
    g_q, g_k = g_s @ k, g_s.T @ q
    G["wv"], G["wk"], G["wq"] = h.T @ g_v, h.T @ g_k, h.T @ g_q
    g_h = g_q @ wq.T + (bug != "only q and v reach h") * (g_k @ wk.T) + g_v @ wv.T
    G["b"], G["g"] = g_h.sum(0), (g_h * xh).sum(0)
    g_x = layer_norm_vjp(g_h * g, xh, sd, bug)
    G["x"] = {"x twice": 2, "twice through the norm": 1}.get(bug, 1) * (
        g_a + (2 if bug == "twice through the norm" else 1) * g_x
    )
    return G


@pytest.mark.parametrize(
    ("bug", "where", "causes", "evidence"),
    [
        ("square: no 2", "b2", {None}, "halved"),
        ("sign", "b2", {None}, "other sign"),
        ("bias averaged", "b2", {"mean vs sum"}, "divided by 6"),
        ("gelu: tanh", "b1", {None}, "No known mistake"),
        ("gelu: half of the product rule", "b1", {None}, "No known mistake"),
        ("gelu: relu", "b1", {None}, "No known mistake"),
        ("skip lost", "wo", LOST, "add"),
        ("branch lost", "wo", {"detached path"}, "Nothing is sent from mm"),
        ("skip twice", "wo", {None}, "added twice"),
        ("wo untransposed", "wv", {"missing transpose"}, "g @ b is sent back through a @ b"),
        ("p untransposed", "wv", {"missing transpose"}, "a @ g"),
        ("softmax: left out", "wk", {None}, "derivative of softmax is left out"),
        ("softmax: diagonal", "wk", {None}, "No known mistake"),
        ("softmax: no sum", "wk", {None}, "No known mistake"),
        ("softmax: other axis", "wk", {None}, "No known mistake"),
        ("scale left out", "wk", {None}, "derivative of div is left out"),
        ("scale twice", "wk", {None}, "halved"),
        ("only q and v reach h", "g", LOST, "mm"),
        ("norm: mean constant", "x", {None}, "No known mistake"),
        ("norm: both constant", "x", {None}, "No known mistake"),
        ("norm: deviation left out", "x", {None}, "No known mistake"),
        ("x twice", "x", {None}, "counted twice"),
        ("twice through the norm", "x", {None}, "twice"),
    ],
)
def test_one_mistake_in_a_transformer_layer(bug, where, causes, evidence):
    """What comes before it in the backward pass is right, and what made it is named only if it is known."""
    report = compare(layer, arrays(), lambda **a: by_hand(**a, bug=bug), engines=FAST)
    assert report.names == tuple(ORDER)
    found = report.first
    assert (found.name, found.cause in causes) == (where, True), found
    assert evidence in found.evidence


def test_without_a_mistake_the_layer_agrees():
    """Else the tests above prove nothing."""
    assert compare(layer, arrays(), by_hand, engines=FAST).agrees


@pytest.mark.parametrize("told", [True, False])
def test_clipping_each_gradient_by_its_own_norm(told):
    """Not by the norm of all."""
    random = np.random.default_rng(0)
    given = {"x": random.normal(size=(5, 4)), "w_0": random.normal(size=(4, 6)), "w_1": random.normal(size=(6, 3))}
    right = two_layers_by_hand(**given)
    limit = 0.5 * min(np.linalg.norm(g) for g in right.values())
    manual = {n: g * min(1, limit / np.linalg.norm(g)) for n, g in right.items()}
    found = compare(two_layers, given, manual, engines=FAST, max_norm=limit if told else None).first
    assert (found.name, found.cause) == ("w_1", None)
    assert "by its own norm" in found.evidence


@pytest.mark.parametrize("told", [True, False])
def test_clipping_by_value(told):
    """Entries are cut, so the direction changes."""
    random = np.random.default_rng(0)
    given = {"x": random.normal(size=(5, 4)), "w_0": random.normal(size=(4, 6)), "w_1": random.normal(size=(6, 3))}
    manual = {n: np.clip(g, -0.7, 0.7) for n, g in two_layers_by_hand(**given).items()}
    found = compare(two_layers, given, manual, engines=FAST, max_norm=0.7 if told else None).first
    assert (found.name, found.cause) == ("w_1", None)
    assert all(part in found.evidence for part in ("-0.7 and 0.7", "by value"))


@pytest.mark.parametrize("max_norm", [0.3, 2.0])
def test_a_mistake_below_a_clip(max_norm):
    """The wrong gradients are clipped by their own norm: all differ, and the mistake is found where it was made."""
    random = np.random.default_rng(0)
    given = {"x": random.normal(size=(5, 4)), "w_0": random.normal(size=(4, 6)), "w_1": random.normal(size=(6, 3))}
    wrong = two_layers_by_hand(**given, mask=False)
    norm = math.sqrt(sum((g**2).sum() for g in wrong.values()))
    manual = {n: g * min(1, max_norm / norm) for n, g in wrong.items()}
    found = compare(two_layers, given, manual, engines=FAST, max_norm=max_norm).first
    assert (found.name, found.cause, found.unexplained) == ("w_1", "missing mask", ())
    assert "in w_0" in found.evidence


def test_a_mistake_above_a_clip_that_takes_nothing_away():
    """The norm is far below the limit: what is right stays as it is."""
    random = np.random.default_rng(0)
    given = {"x": random.normal(size=(5, 4)), "w_0": random.normal(size=(4, 6)), "w_1": random.normal(size=(6, 3))}
    manual = two_layers_by_hand(**given, mask=False)
    found = compare(two_layers, given, manual, engines=FAST, max_norm=1e4).first
    assert (found.name, found.cause, found.unexplained) == ("w_0", "missing mask", ())


def two_layers(x, w_0, w_1, xp):
    return 0.5 * ((xp.relu(x @ w_0) @ w_1) ** 2).sum()


def two_layers_by_hand(x, w_0, w_1, *, mask=True):
    h = np.maximum(x @ w_0, 0)
    g = h @ w_1
    return {"w_1": h.T @ g, "w_0": x.T @ ((g @ w_1.T) * ((h > 0) if mask else 1))}
