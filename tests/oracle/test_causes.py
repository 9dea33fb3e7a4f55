"""Mistakes planted by hand, each cause on networks of different kinds and sizes; the oracle must name them."""

import numpy as np
import pytest

from course_lib.mlp import manual_mlp_grad, mlp_activations
from course_lib.oracle import CAUSES, compare

FAST = ["autograd", "differences"]


def normal(*shapes, seed=0):
    """Return arrays of normal numbers."""
    random = np.random.default_rng(seed)
    return [random.normal(size=shape) for shape in shapes]


def named(names, *shapes, seed=0):
    return dict(zip(names.split(), normal(*shapes, seed=seed), strict=True))


def first(loss, arrays, manual, **options):
    """Compare, see that the engine itself is right, and return the first difference."""
    report = compare(loss, arrays, manual, engines=FAST, **options)
    assert "differences" not in report.wrong
    return report.first


# networks: a loss, arrays, and a backward pass by hand with places for mistakes


def two_layers(x, w_0, w_1, xp):
    return 0.5 * ((xp.relu(x @ w_0) @ w_1) ** 2).sum()


def two_layer_arrays(b=5, d=4, f=6, c=3, seed=0):
    return named("x w_0 w_1", (b, d), (d, f), (f, c), seed=seed)


def biased(x, w, b, v, c, xp):
    return ((xp.tanh(x @ w + b) @ v + c) ** 2).mean()


def biased_grads(x, w, b, v, c):
    h = np.tanh(x @ w + b)
    g = 2 * (h @ v + c) / (len(x) * v.shape[1])
    g_z = (g @ v.T) * (1 - h * h)
    return {"c": g, "v": h.T @ g, "b": g_z, "w": x.T @ g_z, "x": g_z @ w.T}  # biases still unsummed


def biased_arrays(n=4, d=3, f=5, k=2, seed=1):
    return named("x w b v c", (n, d), (d, f), (f,), (f, k), (k,), seed=seed)


def rnn(xs, h, u, w, v, xp):
    for t in range(xs.shape[0]):
        h = xp.tanh(xs[t] @ u + h @ w)
    return 0.5 * ((h @ v) ** 2).sum()


def rnn_grads(xs, h, u, w, v, *, overwrite=False, cut=None):
    states = [h]
    for x in xs:
        states.append(np.tanh(x @ u + states[-1] @ w))
    out = states[-1] @ v
    grads = {"v": states[-1].T @ out, "u": 0 * u, "w": 0 * w, "xs": np.zeros_like(xs)}
    g = out @ v.T
    for t in reversed(range(len(xs))):
        g_z = g * (1 - states[t + 1] ** 2)
        if overwrite:
            grads["w"], grads["u"] = states[t].T @ g_z, xs[t].T @ g_z
        else:
            grads["w"], grads["u"] = grads["w"] + states[t].T @ g_z, grads["u"] + xs[t].T @ g_z
        grads["xs"][t] = g_z @ u.T
        g = g_z @ w.T * (t != cut)
    return {**grads, "h": g}


def rnn_arrays(t=4, b=2, d=3, h=5, seed=2):
    return named("xs h u w v", (t, b, d), (b, h), (d, h), (h, h), (h, 2), seed=seed)


def residual(x, w, v, xp):
    h = x @ w
    return ((h + xp.tanh(h @ v)) ** 2).sum()


def residual_grads(x, w, v, *, skip=1.0, branch=1.0):
    h = x @ w
    a = np.tanh(h @ v)
    g = 2 * (h + a)
    g_s = g * (1 - a * a)
    g_h = skip * g + branch * (g_s @ v.T)
    return {"v": h.T @ g_s, "w": x.T @ g_h, "x": g_h @ w.T}


def residual_arrays(b=3, d=2, f=4, seed=3):
    return named("x w v", (b, d), (d, f), (f, f), seed=seed)


# every network above is right without its mistake: else the tests below prove nothing


@pytest.mark.parametrize(
    ("loss", "arrays", "manual"),
    [
        (two_layers, two_layer_arrays(), manual_mlp_grad),
        (rnn, rnn_arrays(), rnn_grads),
        (residual, residual_arrays(), residual_grads),
    ],
)
def test_without_a_mistake_nothing_differs(loss, arrays, manual):
    """The planted mistakes are the only ones."""
    assert first(loss, arrays, manual) is None


# missing unbroadcast


@pytest.mark.parametrize("sizes", [(4, 3, 5, 2), (1, 3, 5, 2), (7, 2, 7, 7)])
def test_a_bias_gradient_that_was_not_summed_over_the_batch(sizes):
    """It has the batch's axis still; found at the output's bias, which comes first."""
    arrays = biased_arrays(*sizes)
    found = first(biased, arrays, biased_grads)
    assert (found.name, found.cause) == ("c", "missing unbroadcast")
    assert (found.found, found.expected) == ((sizes[0], sizes[3]), (sizes[3],))


def test_a_gain_a_column_and_a_scalar_that_were_not_summed():
    """Shapes (1, f), (b, 1) and () against a (b, f) result."""
    arrays = named("x gain column t", (4, 3), (1, 3), (4, 1), ())

    def loss(x, gain, column, t, xp):
        return xp.exp(x * gain + column * t).sum()

    def grads(x, gain, column, t):
        g = np.exp(x * gain + column * t)
        right = {
            "t": (g * column).sum(),
            "column": (g * t).sum(1, keepdims=True),
            "gain": (g * x).sum(0, keepdims=True),
        }
        return {**right, "x": g * gain}, {"t": g * column, "column": g * t, "gain": g * x}

    right, unsummed = grads(**arrays)
    assert first(loss, arrays, right) is None
    for name, g in unsummed.items():
        found = first(loss, arrays, {**right, name: g})
        assert (found.name, found.cause, found.unexplained) == (name, "missing unbroadcast", ())


def test_a_bias_gradient_that_keeps_the_summed_axis_is_not_also_called_reshaped():
    """Its entries are right, and only its shape is not; to sum over the axis is to drop it."""
    arrays = biased_arrays()
    grads = biased_grads(**arrays)
    found = first(biased, arrays, {"c": grads["c"].sum(0, keepdims=True)})
    assert (found.name, found.cause, found.also) == ("c", "missing unbroadcast", ())


def test_a_bias_gradient_that_was_summed_over_the_wrong_axis():
    """With as many rows as columns, the shape does not tell."""
    arrays = biased_arrays(5, 3, 5, 2)
    grads = biased_grads(**arrays)
    found = first(biased, arrays, {**grads, "c": grads["c"].sum(0), "b": grads["b"].sum(1)})
    assert (found.name, found.cause) == ("b", "missing unbroadcast")
    assert "summed over axes (1,)" in found.evidence


# overwritten instead of accumulated


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_recurrent_weights_that_keep_the_last_step_to_arrive(steps):
    """The loop runs backward in time, so it is the first step that is left over."""
    found = first(rnn, rnn_arrays(steps), lambda **a: rnn_grads(**a, overwrite=True))
    assert found.cause == "overwritten instead of accumulated"
    assert found.unexplained == ()


def test_tied_weights_that_keep_one_of_two_uses():
    """An autoencoder with one matrix."""
    arrays = named("x w", (5, 4), (4, 3))

    def loss(x, w, xp):
        return ((xp.tanh(x @ w) @ w.T - x) ** 2).mean()

    x, w = arrays["x"], arrays["w"]
    h = np.tanh(x @ w)
    g = 2 * (h @ w.T - x) / x.size
    decode, encode = g.T @ h, x.T @ ((g @ w) * (1 - h * h))
    assert first(loss, arrays, {"w": decode + encode}) is None
    assert first(loss, arrays, {"w": encode}).cause == "overwritten instead of accumulated"
    other = first(loss, arrays, {"w": decode})
    assert {other.cause, *other.also} >= {"overwritten instead of accumulated", "detached path"}


def test_an_embedding_whose_repeated_word_keeps_its_last_gradient():
    """grad[words] = g, where np.add.at(grad, words, g) was needed."""
    arrays = {**named("table w", (6, 3), (3, 2)), "words": np.array([1, 4, 1, 0, 1])}

    def loss(table, w, words, xp):
        return ((table[words] @ w) ** 2).sum()

    table, w, words = arrays["table"], arrays["w"], arrays["words"]
    out = table[words] @ w
    grads = {"table": np.zeros_like(table), "w": 2 * table[words].T @ out}
    grads["table"][words] = 2 * out @ w.T
    found = first(loss, arrays, grads)
    assert (found.name, found.cause) == ("table", "overwritten instead of accumulated")


def test_a_loop_over_examples_that_keeps_the_last_one():
    """grad = outer(x_i, g_i) in a loop, without the plus."""
    arrays = two_layer_arrays(7, 3, 4, 2)
    _, (x, h, out) = mlp_activations(**arrays)
    g = (out @ arrays["w_1"].T) * (h > 0)
    last = np.outer(x[-1], g[-1])
    found = first(two_layers, arrays, {"w_1": h.T @ out, "w_0": last, "x": g @ arrays["w_0"].T})
    assert (found.name, found.cause) == ("w_0", "overwritten instead of accumulated")
    assert "last of the 7 rows" in found.evidence


# wrong order


def test_results_that_are_returned_in_another_order():
    """The names are right, and the gradients, but not together."""
    found = first(two_layers, two_layer_arrays(), lambda x, w_0, w_1: manual_mlp_grad(x, w_0, w_1)[::-1])
    assert (found.name, found.cause) == ("w_1", "wrong order")
    assert "right gradient of x" in found.evidence


def test_what_is_sent_on_again_at_each_arrival_at_one_of_two_joins():
    """The sum of the first and of both: it is no whole walk that went wrong."""
    arrays = named("x w v", (3, 2), (2, 4), (4,), seed=5)

    def loss(x, w, v, xp):
        a = xp.tanh(x @ w)
        c = xp.tanh(a + a * v)
        return ((c + xp.sin(c)) ** 2).sum()

    x, w, v = arrays.values()
    a = np.tanh(x @ w)
    c = np.tanh(a + a * v)
    g = 2 * (c + np.sin(c))
    g_b = (2 * g + g * np.cos(c)) * (1 - c * c)  # that of the skip arrives first, and is sent with the other once more
    g_z = g_b * (1 + v) * (1 - a * a)
    found = first(loss, arrays, {"v": (g_b * a).sum(0), "w": x.T @ g_z, "x": g_z @ w.T})
    assert (found.name, found.cause, found.unexplained) == ("v", "wrong order", ())
    assert "tanh is sent on again" in found.evidence


def test_what_is_sent_on_when_two_of_three_are_there():
    """The watched sum of all three is right."""
    arrays = named("x w v u", (3, 2), (2, 4), (4,), (4,), seed=5)

    def loss(x, w, v, u, xp):
        h = xp.watch("h", x @ w)
        return (h + xp.sin(h) * v + xp.cos(h) * u).sum()

    x, w, v, u = arrays.values()
    h = x @ w
    first_two, third = 1 - np.sin(h) * u, np.cos(h) * v  # what was computed last arrives first
    found = first(loss, arrays, {"h": first_two + third, "w": x.T @ first_two, "x": first_two @ w.T})
    assert (found.name, found.cause, found.unexplained) == ("w", "wrong order", ())
    assert "2 of 3 cotangents" in found.evidence


def engine_that_walks_wrong(x, w, v, *, once, deep=True, mirrored=False):
    """Visit depth or breadth first, from either side: a node sends on all it has, at each arrival or at the first."""
    a = x @ w
    b = np.tanh(a)
    c = b * v
    d = b + c  # b meets itself here
    e = np.sin(d) * d  # and d here
    grads = dict.fromkeys(["x", "w", "v", "a", "b", "c", "d", "e", "s"], 0.0)
    edges = {
        "e": [("s", lambda g: g * d), ("d", lambda g: g * np.sin(d))],
        "s": [("d", lambda g: g * np.cos(d))],
        "d": [("b", lambda g: g), ("c", lambda g: g)],
        "c": [("b", lambda g: g * v), ("v", lambda g: (g * b).sum(0))],
        "b": [("a", lambda g: g * (1 - b * b))],
        "a": [("x", lambda g: g @ w.T), ("w", lambda g: x.T @ g)],
    }
    grads["e"] = np.ones_like(e)
    visited = {"e"}

    def edges_of(node):
        return [(node, i) for i in range(len(edges[node]))][:: -1 if mirrored else 1]

    waiting = edges_of("e")
    while waiting:
        node, i = waiting.pop(0)
        parent, vjp = edges[node][i]
        grads[parent] = grads[parent] + vjp(grads[node])
        if parent in edges and not (once and parent in visited):
            visited.add(parent)
            waiting = edges_of(parent) + waiting if deep else waiting + edges_of(parent)
    return {k: grads[k] for k in ("x", "w", "v")}


@pytest.mark.parametrize("mirrored", [True, False])
@pytest.mark.parametrize("deep", [True, False])
@pytest.mark.parametrize("once", [True, False])
@pytest.mark.parametrize("sizes", [(3, 2, 4), (2, 5, 3)])
def test_a_walk_in_a_wrong_order(once, deep, mirrored, sizes):
    """The graph has two places where paths meet, so the walk is told from a single lost path."""
    b, d, f = sizes
    arrays = named("x w v", (b, d), (d, f), (f,), seed=5)

    def loss(x, w, v, xp):
        h = xp.tanh(x @ w)
        d = h + h * v
        return (xp.sin(d) * d).sum()

    found = first(loss, arrays, lambda **a: engine_that_walks_wrong(**a, once=once, deep=deep, mirrored=mirrored))
    assert "wrong order" in (found.cause, *found.also)  # a breadth-first walk may lose one path and no more
    assert found.cause == "wrong order" or (once and not deep)
    assert found.unexplained == ()


def test_a_cotangent_that_is_sent_on_before_it_is_complete():
    """The watched sum is right, what came of it is not: that is order, not a lost path."""
    arrays = residual_arrays()

    def loss(x, w, v, xp):
        h = xp.watch("h", x @ w)
        return ((h + xp.tanh(h @ v)) ** 2).sum()

    x, w, v = arrays["x"], arrays["w"], arrays["v"]
    early = residual_grads(x, w, v, branch=0.0)
    h = x @ w
    a = np.tanh(h @ v)
    complete = 2 * (h + a) + (2 * (h + a) * (1 - a * a)) @ v.T
    found = first(loss, arrays, {**early, "h": complete})
    assert found.cause == "wrong order"


# missing transpose


@pytest.mark.parametrize("name", ["w_0", "w_1"])
def test_a_weight_gradient_that_lies_on_its_side(name):
    """Rectangular: the shape tells. Square: only the numbers do."""
    for arrays in (two_layer_arrays(), two_layer_arrays(5, 4, 4, 4)):
        right = dict(zip(["x", "w_0", "w_1"], manual_mlp_grad(**arrays), strict=True))
        found = first(two_layers, arrays, {**right, name: right[name].T})
        assert (found.name, found.cause, found.unexplained) == (name, "missing transpose", ())


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 0, 1)])
def test_a_gradient_of_three_dimensions_whose_axes_are_in_another_order(axes):
    """A stack of matrices."""
    arrays = named("k x", (2, 3, 4), (4, 5))
    k, x = arrays.values()
    right = 2 * (k @ x) @ x.T
    found = first(lambda k, x: ((k @ x) ** 2).sum(), arrays, {"k": right.transpose(axes)})
    back = tuple(int(a) for a in np.argsort(axes))
    assert (found.name, found.cause) == ("k", "missing transpose")
    assert f"axes in the order {back}" in found.evidence


@pytest.mark.parametrize("size", [3, 6])
def test_a_square_weight_that_the_cotangent_meets_untransposed(size):
    """g @ w instead of g @ w.T has the right shape; all below it is wrong."""
    arrays = two_layer_arrays(4, 5, size, size)
    _, (x, h, out) = mlp_activations(**arrays)
    g = (out @ arrays["w_1"]) * (h > 0)
    found = first(two_layers, arrays, {"w_1": h.T @ out, "w_0": x.T @ g, "x": g @ arrays["w_0"].T})
    assert (found.name, found.cause, found.unexplained) == ("w_0", "missing transpose", ())


def attention(q, k, v, xp):
    p = xp.softmax(q @ k.T / k.shape[1] ** 0.5, dim=-1)
    return ((p @ v) ** 2).sum()


def attention_grads(q, k, v, *, transpose=True, through_p=1.0):
    scores = q @ k.T / k.shape[1] ** 0.5
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    g = 2 * p @ v
    g_p = through_p * g @ v.T
    g_s = p * (g_p - (g_p * p).sum(-1, keepdims=True)) / k.shape[1] ** 0.5
    return {"v": p.T @ g, "q": g_s @ k, "k": (g_s.T if transpose else g_s) @ q}


def test_attention_with_square_scores():
    """g_s @ q instead of g_s.T @ q; nothing else is wrong."""
    arrays = named("q k v", (4, 3), (4, 3), (4, 2))
    assert first(attention, arrays, attention_grads) is None
    found = first(attention, arrays, lambda **a: attention_grads(**a, transpose=False))
    assert (found.name, found.cause, found.unexplained) == ("k", "missing transpose", ())


# mean vs sum


@pytest.mark.parametrize("b", [2, 5, 12])
@pytest.mark.parametrize("c", [1, 4])
def test_a_mean_whose_division_was_forgotten_or_made_by_the_batch_alone(b, c):
    """The factor is the batch, the classes, or both: no other number."""
    arrays = named("x w", (b, 3), (3, c))
    g = 2 * arrays["x"] @ arrays["w"]
    for divisor in {1, b} - {b * c}:
        found = first(
            lambda x, w: ((x @ w) ** 2).mean(),
            arrays,
            {"w": arrays["x"].T @ g / divisor, "x": g @ arrays["w"].T / divisor},
        )
        assert (found.name, found.cause, found.unexplained) == ("w", "mean vs sum", ())


def test_a_cross_entropy_that_was_summed_over_the_batch():
    """The loss is one primitive, whose cotangent lacks 1 / b."""
    arrays = {**named("x w", (6, 3), (3, 4)), "labels": np.array([0, 1, 2, 3, 0, 1])}
    scores = arrays["x"] @ arrays["w"]
    p = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    g = p - np.eye(4)[arrays["labels"]]
    found = first(lambda x, w, labels, xp: xp.cross_entropy(x @ w, labels), arrays, {"w": arrays["x"].T @ g})
    assert (found.name, found.cause) == ("w", "mean vs sum")


def test_one_bias_that_was_averaged_over_the_batch():
    """Only that gradient is wrong."""
    arrays = biased_arrays()
    grads = biased_grads(**arrays)
    found = first(biased, arrays, {**grads, "c": grads["c"].sum(0), "b": grads["b"].mean(0)})
    assert (found.name, found.cause, found.unexplained) == ("b", "mean vs sum", ())


# missing mask


def three_layers(x, w_0, w_1, w_2, xp):
    return (xp.relu(xp.relu(x @ w_0) @ w_1) @ w_2).sum()


@pytest.mark.parametrize("masks", [(0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("sizes", [(4, 3, 5, 6, 2), (2, 7, 4, 4, 1)])
def test_a_relu_that_lets_every_cotangent_pass(masks, sizes):
    """At the lower layer, at the upper, at both."""
    b, d, f, k, c = sizes
    arrays = named("x w_0 w_1 w_2", (b, d), (d, f), (f, k), (k, c), seed=7)
    x, w_0, w_1, w_2 = arrays.values()
    h_0 = np.maximum(x @ w_0, 0)
    h_1 = np.maximum(h_0 @ w_1, 0)
    g = np.ones((b, c))
    g_1 = (g @ w_2.T) * ((h_1 > 0) if masks[1] else 1)
    g_0 = (g_1 @ w_1.T) * ((h_0 > 0) if masks[0] else 1)
    manual = {"w_2": h_1.T @ g, "w_1": h_0.T @ g_1, "w_0": x.T @ g_0, "x": g_0 @ w_0.T}
    found = first(three_layers, arrays, manual)
    assert (found.name, found.cause, found.unexplained) == ("w_0" if masks[1] else "w_1", "missing mask", ())


def test_a_mask_that_is_missing_in_one_gradient_only():
    """The gradient of the weights was taken before the mask, the one of the input after it."""
    arrays = two_layer_arrays()
    _, (x, h, out) = mlp_activations(**arrays)
    g = out @ arrays["w_1"].T
    manual = {"w_1": h.T @ out, "w_0": x.T @ g, "x": (g * (h > 0)) @ arrays["w_0"].T}
    found = first(two_layers, arrays, manual)
    assert (found.name, found.cause, found.unexplained) == ("w_0", "missing mask", ())


def test_dropout_whose_mask_was_not_applied_on_the_way_back():
    """With the scale 1 / (1 - p), and without."""
    keep = np.random.default_rng(1).random((5, 4)) < 0.6
    arrays = {**named("x w v", (5, 3), (3, 4), (4, 2)), "keep": keep}
    x, w, v = (arrays[k] for k in "xwv")
    h = np.tanh(x @ w)
    out = (h * keep / 0.6) @ v
    for scale in (1, 1 / 0.6):
        g = out @ v.T * scale * (1 - h * h)
        found = first(
            lambda x, w, v, keep, xp: 0.5 * (((xp.tanh(x @ w) * (keep / 0.6)) @ v) ** 2).sum(), arrays, {"w": x.T @ g}
        )
        assert (found.name, found.cause) == ("w", "missing mask")


def test_padding_that_still_gets_a_cotangent():
    """A loss over the first words of each sentence only."""
    arrays = {**named("x w", (4, 6), (6, 3)), "real": np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]], bool)}

    def loss(x, w, real, xp):
        return xp.where(xp.tensor(real), (x @ w) ** 2, 0 * (x @ w)).sum()

    found = first(loss, arrays, {"w": 2 * arrays["x"].T @ (arrays["x"] @ arrays["w"])})
    assert (found.name, found.cause) == ("w", "missing mask")


def test_a_maximum_whose_cotangent_goes_to_all():
    """Only the largest of each row took part."""
    arrays = named("x w", (5, 3), (3, 4))
    found = first(lambda x, w, xp: xp.amax(x @ w, dim=1).sum(), arrays, {"w": arrays["x"].T @ np.ones((5, 4))})
    assert (found.name, found.cause) == ("w", "missing mask")


# detached path


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_recurrent_state_that_was_detached_at_one_step(cut):
    """What lies before the cut gets nothing."""
    found = first(rnn, rnn_arrays(5), lambda **a: rnn_grads(**a, cut=cut))
    assert found.cause == "detached path"
    assert found.unexplained == ()


def test_a_residual_branch_that_was_detached():
    """The branch's own weights are right; below it only the skip counts."""
    found = first(residual, residual_arrays(), lambda **a: residual_grads(**a, branch=0.0))
    assert (found.name, found.cause, found.unexplained) == ("w", "detached path", ())


def test_attention_weights_that_were_detached():
    """Queries and keys get nothing."""
    arrays = named("q k v", (4, 3), (5, 3), (5, 2))
    found = first(attention, arrays, lambda **a: attention_grads(**a, through_p=0.0))
    assert (found.cause, found.unexplained) == ("detached path", ())


def deep_residual_grads(x, w, *, skip=1.0, branch=1.0):
    states = [x]
    for _ in range(3):
        states.append(states[-1] + np.maximum(states[-1] @ w, 0))
    g, grads_w = 2 * states[-1] / x.size, 0 * w
    for h in states[-2::-1]:
        g_z = g * (h @ w > 0)
        grads_w = grads_w + h.T @ g_z
        g = skip * g + branch * (g_z @ w.T)
    return {"x": g, "w": grads_w}


@pytest.mark.parametrize("lost", ["skip", "branch"])
def test_a_path_that_is_detached_at_each_of_three_blocks(lost):
    """The same slip at every block is one cause, and it explains all."""

    def loss(x, w, xp):
        for _ in range(3):
            x = x + xp.relu(x @ w)
        return (x**2).mean()

    arrays = named("x w", (4, 5), (5, 5))
    assert first(loss, arrays, deep_residual_grads) is None
    found = first(loss, arrays, lambda **a: deep_residual_grads(**a, **{lost: 0.0}))
    assert "detached path" in (found.cause, *found.also)
    assert found.unexplained == ()


def test_a_state_that_is_detached_at_every_step():
    """Truncation to one step, with a loss at each."""
    arrays = named("xs u w", (4, 3, 2), (2, 5), (5, 5))

    def loss(xs, u, w, xp):
        h, total = xp.tanh(xs[0] @ u), 0
        for t in range(1, 4):
            h = xp.tanh(xs[t] @ u + h @ w)
            total = total + (h**2).sum()
        return total

    xs, u, w = arrays.values()
    states = [np.tanh(xs[0] @ u)]
    for x in xs[1:]:
        states.append(np.tanh(x @ u + states[-1] @ w))
    cotangents = [2 * h * (1 - h * h) for h in states[1:]]
    found = first(loss, arrays, {"w": sum(h.T @ g for h, g in zip(states, cotangents, strict=False))})
    assert (found.name, found.cause) == ("w", "detached path")


def test_a_gradient_that_is_none():
    """Nothing arrived, as torch says it."""
    right = dict(zip(["x", "w_0", "w_1"], manual_mlp_grad(**two_layer_arrays()), strict=True))
    found = first(two_layers, two_layer_arrays(), {**right, "w_0": None})
    assert (found.name, found.cause) == ("w_0", "detached path")


def test_zeros_are_not_taken_for_the_gradient_of_what_is_not_used():
    """That is zero, too, and of the same shape; but zeros of another shape are no gradient at all."""
    arrays = named("x y", (3, 2), (3, 2))

    def loss(x, y):
        return (x * x).sum()

    assert first(loss, arrays, {"x": np.zeros((3, 2))}).cause == "detached path"
    found = first(loss, arrays, {"x": np.zeros((3, 3))})
    assert (found.cause, found.evidence.startswith("The shape is wrong")) == (None, True)


def test_a_normalisation_whose_mean_was_taken_for_a_constant():
    """One of three paths through a layer norm by hand is missing."""
    arrays = named("x w", (4, 6), (6, 2))

    def loss(x, w, xp):
        centred = x - x.mean(1, keepdim=True)
        return ((centred @ w) ** 2).sum()

    x, w = arrays.values()
    c = x - x.mean(1, keepdims=True)
    found = first(loss, arrays, {"w": 2 * c.T @ (c @ w), "x": 2 * (c @ w) @ w.T})
    assert (found.name, found.cause) == ("x", "detached path")


# clipped before unscaled


@pytest.mark.parametrize("max_norm", [1.0, 0.5, 5.0])
@pytest.mark.parametrize("loss_scale", [65536.0, 1024.0, 100.0])
@pytest.mark.parametrize("told", [True, False])
def test_gradients_clipped_with_the_loss_scale_still_in(max_norm, loss_scale, told):
    """Recognised from the norm that is left, whether or not the oracle is told the two numbers."""
    arrays = two_layer_arrays(6, 3, 5, 2, seed=4)
    scaled = [loss_scale * g for g in manual_mlp_grad(**arrays)]
    norm = np.sqrt(sum((g**2).sum() for g in scaled))
    manual = [g * min(1, max_norm / norm) / loss_scale for g in scaled]
    options = {"max_norm": max_norm, "loss_scale": loss_scale} if told else {}
    found = first(two_layers, arrays, manual, **options)
    assert (found.name, found.cause) == ("w_1", "clipped before unscaled")
    assert f"{max_norm:g} / {loss_scale:g}" in found.evidence or not told


def test_gradients_clipped_after_the_unscaling_are_right():
    """Told the norm, the oracle clips too; only what is learned counts for the norm."""
    arrays = two_layer_arrays(6, 3, 5, 2)
    _, *grads = manual_mlp_grad(**arrays)
    norm = np.sqrt(sum((g**2).sum() for g in grads))
    manual = {name: g / norm for name, g in zip(["w_0", "w_1"], grads, strict=True)}
    assert first(two_layers, arrays, manual, max_norm=1.0) is None
    assert "if clipped to it" in first(two_layers, arrays, manual).evidence


# none of them: the oracle must not guess


@pytest.mark.parametrize(
    ("mistake", "evidence"),
    [
        (lambda g: 0.37 * g, "0.37 times the right one"),
        (lambda g: -g, "the other sign"),
        (lambda g: g + 0.01 * np.cos(np.arange(g.size)).reshape(g.shape), "No known mistake"),
        (lambda g: np.sign(g), "No known mistake"),
        (lambda g: np.clip(g, -0.5, 0.5), "clipped by value"),
        (lambda g: g * np.nan, "are not finite"),
        (lambda g: g[:-1], "The shape is wrong"),
        (lambda g: 65536 * g, "the loss scale was not divided out"),
    ],
)
def test_what_no_known_mistake_makes_is_said_to_be_unknown(mistake, evidence):
    """A wrong guess would cost the reader more than none."""
    manual = [mistake(g) for g in manual_mlp_grad(**two_layer_arrays())]
    found = first(two_layers, two_layer_arrays(), manual)
    assert found.cause is None
    assert evidence in found.evidence
    assert str(found).count("none of the known ones") == 1


def test_a_wrong_derivative_is_named_but_is_none_of_the_causes():
    """1 - h instead of 1 - h^2 is unknown; no derivative at all is recognised for what it is."""
    arrays = biased_arrays()
    x, w, b, v, c = arrays.values()
    h = np.tanh(x @ w + b)
    g = 2 * (h @ v + c) / (len(x) * v.shape[1])
    for slope, evidence in [(1 - h, "No known mistake"), (1, "The derivative of tanh is left out")]:
        g_z = (g @ v.T) * slope
        found = first(biased, arrays, {"w": x.T @ g_z, "b": g_z.sum(0)})
        assert (found.cause, found.name) == (None, "b")
        assert evidence in found.evidence


def test_a_scale_that_was_left_out_is_not_taken_for_a_mean():
    """sqrt(d) = 2 happens to be a size here, but the place where it belongs explains it better."""
    arrays = named("q k v", (3, 4), (5, 4), (2,))

    def loss(q, k, v, xp):
        return xp.tanh(q @ k.T / 2.0).sum() + v.sum()

    g = 1 - np.tanh(arrays["q"] @ arrays["k"].T / 2) ** 2
    found = first(loss, arrays, {"q": g @ arrays["k"], "k": g.T @ arrays["q"]})
    assert found.cause is None
    assert "derivative of div" in found.evidence


def test_two_mistakes_at_once_are_both_pointed_at():
    """The first is explained, the other one is named as what is left."""
    arrays = two_layer_arrays()
    x, w_0, w_1 = manual_mlp_grad(**arrays)
    found = first(two_layers, arrays, {"w_1": w_1.T, "w_0": w_0, "x": x * 1.01})
    assert (found.name, found.cause, found.unexplained) == ("w_1", "missing transpose", ("x",))
    assert "does not explain x" in str(found)


def test_the_causes_are_eight():
    """Each has a test above."""
    assert len(CAUSES) == len(set(CAUSES)) == 8
