"""Sixty single mistakes in eight networks: the first wrong gradient is named, and its cause, or that there is none."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from tests.oracle.planted import arrays, first, grads, instead

UNBROADCAST, LOST, ORDER = "missing unbroadcast", "overwritten instead of accumulated", "wrong order"
TRANSPOSE, MEAN, MASK, DETACHED = "missing transpose", "mean vs sum", "missing mask", "detached path"
CLIPPED = "clipped before unscaled"


# three layers with biases, tanh and GELU, the mean of squares; every size is another


def perceptron(x, w0, b0, w1, b1, w2, b2, y, xp):
    return ((xp.gelu(xp.tanh(x @ w0 + b0) @ w1 + b1) @ w2 + b2 - y) ** 2).mean()


DEEP = arrays(1, x=(6, 4), w0=(4, 5), b0=(5,), w1=(5, 7), b1=(7,), w2=(7, 3), b2=(3,), y=(6, 3))


def deep_by_hand(bug=""):
    """Pull back through the three layers, with one mistake."""
    x, w0, b0, w1, b1, w2, b2, y = DEEP.values()
    h0 = np.tanh(x @ w0 + b0)
    z1 = h0 @ w1 + b1
    cdf = 0.5 * (1 + np.vectorize(math.erf)(z1 / math.sqrt(2)))
    h1, slope = z1 * cdf, cdf + z1 * np.exp(-z1 * z1 / 2) / math.sqrt(2 * math.pi)
    out = h1 @ w2 + b2
    g = {"over the batch": 2 / len(y), "over the outputs": 2 / 3, "no 2": 1 / y.size, "sign": -2 / y.size}.get(
        bug, 2 / y.size
    ) * (out if bug == "no target" else out - y)
    G = {"b2": g.sum(0), "w2": (z1 if bug == "w2 from z" else h1).T @ g}  # noqa: N806
    g1 = (g @ w2.T) * (1 if bug == "no gelu" else slope)
    sums = {
        "b1 mean": g1.mean(0),
        "b1 last": g1[-1],
        "b1 first": g1[0],
        "b1 zero": 0 * b1,
        "b1 total": 0 * b1 + g1.sum(),
    }
    G["b1"] = sums.get(bug, g1.sum(0))
    G["w1"] = (g1.T @ h0) if bug == "w1 turned" else h0.T @ g1 / (len(x) if bug == "w1 mean" else 1)
    g0 = (g1 @ w1.T) * {"no tanh": 1, "mask for tanh": h0 > 0}.get(bug, 1 - h0 * h0)
    G["b0"] = {"b0 unsummed": g0, "b0 row": g0.sum(0, keepdims=True)}.get(bug, g0.sum(0))
    G["w0"], G["x"] = x.T @ g0, g0 @ w0.T
    return {**G, **({"w0": G["w1"], "w1": G["w0"]} if bug == "w0 and w1 mixed up" else {})}


@pytest.mark.parametrize(
    ("bug", "where", "cause", "evidence"),
    [
        ("over the batch", "b2", MEAN, "multiplied by 3, the size of dim 1 of (6, 3)"),
        ("over the outputs", "b2", MEAN, "multiplied by 6, the size of dim 0 of (6, 3)"),
        ("no 2", "b2", None, "halved"),
        ("sign", "b2", None, "other sign"),
        ("no target", "b2", None, "No known mistake"),
        ("w2 from z", "w2", None, "No known mistake"),
        ("no gelu", "b1", None, "derivative of gelu is left out"),
        ("b1 mean", "b1", MEAN, "divided by 6"),
        ("b1 last", "b1", LOST, "last of the 6 rows"),
        ("b1 first", "b1", LOST, "first of the 6 rows"),
        ("b1 zero", "b1", DETACHED, "zero everywhere"),
        ("b1 total", "b1", None, "sum of all the right ones"),
        ("w1 turned", "w1", TRANSPOSE, "order (1, 0)"),
        ("w1 mean", "w1", MEAN, "divided by 6, the size of dim 0 of (6, 7)"),
        ("w0 and w1 mixed up", "w1", ORDER, "right gradient of w0"),
        ("no tanh", "b0", None, "derivative of tanh is left out"),
        ("mask for tanh", "b0", None, "No known mistake"),
        ("b0 unsummed", "b0", UNBROADCAST, "axes (0,)"),
        ("b0 row", "b0", UNBROADCAST, "axes (0,)"),
    ],
)
def test_one_mistake_in_three_layers(bug, where, cause, evidence):
    """Biases, slopes, sums and means."""
    found = first(perceptron, DEEP, deep_by_hand(bug))
    assert (found.name, found.cause, evidence in found.evidence) == (where, cause, True), found


SQUARE = arrays(21, x=(4, 4), w0=(4, 4), b0=(4,), w1=(4, 4), b1=(4,))


def square(x, w0, b0, w1, b1, xp):
    return ((xp.relu(x @ w0 + b0) @ w1 + b1) ** 2).mean()


def square_by_hand(bug=""):
    """Pull back where every shape fits, whatever is written."""
    x, w0, b0, w1, b1 = SQUARE.values()
    z = x @ w0 + b0
    h = np.maximum(z, 0)
    out = h @ w1 + b1
    g = 2 * out / out.size
    gh = {"g @ w1": g @ w1, "w1 @ g": w1 @ g, "w1.T @ g": w1.T @ g}.get(bug, g @ w1.T)
    gz = gh * {"no mask": 1, "turned mask": (z > 0).T, "mask of g": gh > 0, "mask of x": x > 0, "h itself": h}.get(
        bug, z > 0
    )
    return {
        "b1": g.sum(1 if bug == "b1 by rows" else 0),
        "w1": h @ g if bug == "h @ g" else h.T @ g,
        "b0": {"b0 by rows": gz.sum(1), "b0 largest": gz.max(0)}.get(bug, gz.sum(0)),
        "w0": x @ gz if bug == "x @ g" else x.T @ gz,
        "x": {"g @ w0": gz @ w0, "w0 @ g": w0 @ gz}.get(bug, gz @ w0.T),
    }


@pytest.mark.parametrize(
    ("bug", "where", "cause"),
    [
        ("b1 by rows", "b1", UNBROADCAST),
        ("h @ g", "w1", TRANSPOSE),
        ("g @ w1", "b0", TRANSPOSE),
        ("w1 @ g", "b0", TRANSPOSE),
        ("w1.T @ g", "b0", TRANSPOSE),
        ("no mask", "b0", MASK),
        ("turned mask", "b0", None),
        ("mask of g", "b0", None),
        ("mask of x", "b0", None),
        ("h itself", "b0", None),
        ("b0 by rows", "b0", UNBROADCAST),
        ("b0 largest", "b0", None),
        ("x @ g", "w0", TRANSPOSE),
        ("g @ w0", "x", TRANSPOSE),
        ("w0 @ g", "x", TRANSPOSE),
    ],
)
def test_one_mistake_where_all_is_square(bug, where, cause):
    """No shape gives a hint."""
    found = first(square, SQUARE, square_by_hand(bug))
    assert (found.name, found.cause) == (where, cause), found


@pytest.mark.parametrize("factor", [0.1, 0.9, -0.01, 1 / 3, math.pi])
def test_a_factor_that_is_no_size_is_not_called_a_mean(factor):
    """Four is a size here, these are not."""
    found = first(square, SQUARE, {n: factor * g for n, g in square_by_hand().items()})
    assert found.cause is None
    assert "no size in this network" in found.evidence


# classes


CLASSES = {**arrays(2, x=(8, 5), w0=(5, 6), b0=(6,), w1=(6, 4), b1=(4,)), "labels": np.array([0, 1, 2, 3, 3, 2, 1, 1])}


def classes(x, w0, b0, w1, b1, labels, xp):
    return xp.cross_entropy(xp.gelu(x @ w0 + b0) @ w1 + b1, labels)


def wrong_classes(last):
    return lambda x, w0, b0, w1, b1, labels: last(F.gelu(x @ w0 + b0) @ w1 + b1, labels)


def sent(g):
    """Send a cotangent of one's own to the scores."""
    return lambda s, y: (s * g(s.detach(), F.one_hot(y, 4))).sum()


@pytest.mark.parametrize(
    ("last", "cause", "evidence"),
    [
        (lambda s, y: F.cross_entropy(s, y, reduction="sum"), MEAN, "multiplied by 8, the size of dim 0 of (8, 4)"),
        (lambda s, y: F.cross_entropy(s, y) / 4, MEAN, "divided by 4, the size of dim 1 of (8, 4)"),
        (lambda s, y: F.cross_entropy(s[:5], y[:5]) * 5 / 8, None, "No known mistake"),
        (lambda s, y: F.cross_entropy(s, y, label_smoothing=0.1), None, "No known mistake"),
        (lambda s, y: F.cross_entropy(s, (y + 1) % 4), None, "No known mistake"),
        (lambda s, y: F.cross_entropy(torch.softmax(s, -1), y), None, "No known mistake"),
        (sent(lambda s, y: torch.softmax(s, -1) / 8), None, "No known mistake"),
        (sent(lambda s, y: -y / 8), None, "No known mistake"),
        (sent(lambda s, y: (torch.softmax(s, 0) - y) / 8), None, "No known mistake"),
    ],
)
def test_one_mistake_in_a_cross_entropy(last, cause, evidence):
    """In its mean, its labels, its softmax."""
    found = first(classes, CLASSES, wrong_classes(last))
    assert (found.name, found.cause, evidence in found.evidence) == ("b1", cause, True), found


def test_a_mean_that_is_divided_by_another_size():
    """The sum over eight, divided by the five features: no factor of a sum, and no whole one."""
    found = first(classes, CLASSES, {n: g * 8 / 4 for n, g in grads(wrong_classes(F.cross_entropy), CLASSES).items()})
    assert (found.name, found.cause, MEAN in found.also) == ("b1", None, True)  # two passes are as good a reading
    six = {**arrays(2, x=(6, 5), w=(5, 4)), "labels": np.array([0, 1, 2, 3, 3, 2])}
    wrong = {n: g * 6 / 4 for n, g in grads(lambda x, w, labels: F.cross_entropy(x @ w, labels), six).items()}
    found = first(lambda x, w, labels, xp: xp.cross_entropy(x @ w, labels), six, wrong)
    assert (found.name, found.cause) == ("w", MEAN)
    assert all(part in found.evidence for part in ("divided by 4", "dim 1 of (6, 4)", "not by 6"))


# broadcast sums


ADDED = arrays(13, row=(5,), column=(4, 1), s=(), m=(4, 5))


def added(row, column, s, m, xp):
    return (xp.tanh(row + column * m + s) ** 2).sum()


@pytest.mark.parametrize(
    ("name", "wrong", "cause", "evidence"),
    [
        ("s", lambda g, m: g.mean(), MEAN, "divided by 20"),
        ("s", lambda g, m: g.sum(0), UNBROADCAST, "axes (0,)"),
        ("row", lambda g, m: np.full(5, g.sum()), None, "sum of all the right ones"),
        ("row", lambda g, m: g[0], LOST, "first of the 4 rows"),
        ("column", lambda g, m: (g * m).mean(1, keepdims=True), MEAN, "divided by 5"),
        ("column", lambda g, m: (g * m).sum(1), None, "reshape it to (4, 1)"),
        ("column", lambda g, m: g.sum(1, keepdims=True), None, "No known mistake"),
    ],
)
def test_one_mistake_in_a_broadcast_sum(name, wrong, cause, evidence):
    """A row, a column and a number are added to a matrix."""
    right = grads(lambda **t: added(**t, xp=torch), ADDED)
    t = np.tanh(ADDED["row"] + ADDED["column"] * ADDED["m"] + ADDED["s"])
    found = first(added, ADDED, {**right, name: wrong(2 * t * (1 - t * t), ADDED["m"])})
    assert (found.name, found.cause, evidence in found.evidence) == (name, cause, True), found


# gates, masks, maxima


GATED = arrays(11, x=(5, 4), a=(4, 6), b=(4, 6), o=(6, 3))
KEEP = (np.random.default_rng(1).random((5, 6)) < 0.6) * 1.0


def gated(x, a, b, o, xp):
    return (((xp.sigmoid(x @ a) * (x @ b)) * xp.tensor(KEEP) @ o) ** 2).mean()


@pytest.mark.parametrize(
    ("gate", "mask", "where", "cause"),
    [
        (lambda s, z: s.detach(), None, "a", DETACHED),
        (lambda s, z: instead(s, z), None, "a", None),
        (lambda s, z: instead(s, s * s), None, "a", None),
        (None, lambda t: t, "b", MASK),
        (None, lambda t: t * torch.tensor(1 - KEEP), "b", None),
        (None, lambda t: t * torch.tensor(np.roll(KEEP, 1, 0)), "b", None),
    ],
)
def test_one_mistake_in_a_gate_or_its_mask(gate, mask, where, cause):
    """A gate that is a constant, whose slope is lost, or a mask that is another one."""

    def wrong(x, a, b, o):
        s = torch.sigmoid(x @ a)
        t = (gate(s, x @ a) if gate else s) * (x @ b)
        masked = t * torch.tensor(KEEP)
        return (((instead(masked, mask(t)) if mask else masked) @ o) ** 2).mean()

    found = first(gated, GATED, wrong)
    assert (found.name, found.cause) == (where, cause), found


@pytest.mark.parametrize(
    ("rule", "cause"),
    [("sum", MASK), ("mean", None), ("amin", None)],
)
def test_one_mistake_in_a_maximum(rule, cause):
    """To all, evenly to all, to the smallest."""

    def wrong(x, w):
        parts = (x @ w).reshape(6, 2, 3)
        return (instead(parts.amax(1), getattr(parts, rule)(1)) ** 2).sum()

    given = arrays(10, x=(6, 4), w=(4, 6))
    found = first(lambda x, w, xp: (xp.amax((x @ w).reshape(6, 2, 3), dim=1) ** 2).sum(), given, wrong)
    assert (found.name, found.cause) == ("w", cause), found


# the loss scale and the clip


def scaled(**how):
    """Return the gradients of the parameters, times some factors."""
    right = {n: g for n, g in deep_by_hand().items() if n != "x"}
    return {n: g * how.get(n, how.get("all", 1.0)) for n, g in right.items()}


NORM = math.sqrt(sum((g**2).sum() for g in scaled().values()))


@pytest.mark.parametrize(
    ("manual", "options", "where", "cause", "evidence"),
    [
        (scaled(all=1024), {"loss_scale": 1024.0}, "b2", None, "1024, is still in all gradients"),
        (scaled(w1=1024), {"loss_scale": 1024.0}, "w1", None, "1024, is still in w1"),
        (scaled(all=1 / 1024), {"loss_scale": 1024.0}, "b2", None, "was divided out of all gradients twice"),
        (scaled(), {"max_norm": 0.1}, "b2", None, "They are right, but for the clipping"),
        (scaled(all=0.1 / NORM**2), {"max_norm": 0.1}, "b2", None, "its root is missing"),
        (scaled(all=100 / NORM), {"max_norm": 100.0}, "b2", None, "is enlarged to 100"),
        (scaled(all=0.5 / NORM / 4096), {"max_norm": 0.5, "loss_scale": 4096.0}, "b2", CLIPPED, "Unscale, then clip"),
        (scaled(all=1 / NORM / 1024), {}, "b2", CLIPPED, "Unscale, then clip"),
    ],
)
def test_one_mistake_with_the_loss_scale_or_the_clip(manual, options, where, cause, evidence):
    """What was not divided, divided twice, not clipped, or clipped by another power of the norm."""
    found = first(perceptron, DEEP, manual, **options)
    assert (found.name, found.cause, evidence in found.evidence) == (where, cause, True), found


def test_a_constant_that_is_multiplied_instead_of_divided():
    """A temperature of 0.5: a quarter of the gradient, as if it were averaged over four classes, too."""
    given = {**arrays(27, s=(5, 4)), "y": np.array([0, 3, 1, 2, 2])}
    found = first(
        lambda s, y, xp: xp.cross_entropy(s / 0.5, y),
        given,
        lambda s, y: F.cross_entropy(instead(s / 0.5, s * 0.5), y),
    )
    assert found.cause == MEAN
    assert "what div should multiply by 2 is divided by it" in found.also
