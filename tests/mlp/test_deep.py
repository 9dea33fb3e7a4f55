"""The general network by hand, against torch and JAX."""

from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.errors import InputError
from course_lib.mlp import manual_mlp_grad, mlp_grad

TORCH_ACT = {"relu": torch.relu, "tanh": torch.tanh, "gelu": torch.nn.functional.gelu}
JAX_ACT = {"relu": jax.nn.relu, "tanh": jnp.tanh, "gelu": lambda z: jax.nn.gelu(z, approximate=False)}
CONVERT = {"numpy": np.asarray, "torch": torch.tensor, "jax": jnp.asarray}


def network(widths=(5, 7, 6, 4, 3), b=8, *, seed=0, dtype=np.float64):
    """Return x (b, d), weights, biases and labels (b,)."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(b, widths[0])).astype(dtype)
    weights = [random.normal(size=s).astype(dtype) for s in pairwise(widths)]
    biases = [random.normal(size=n).astype(dtype) for n in widths[1:]]
    return x, weights, biases, random.integers(0, widths[-1], b)


def by_torch(x, weights, biases, target, acts, loss):
    """Let torch differentiate; returns loss and gradients of x, weights, biases in one list."""
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, *weights, *biases)]
    h, n = leaves[0], len(weights)
    for i, act in enumerate([*acts, None]):
        h = h @ leaves[1 + i] + leaves[1 + n + i]
        h = TORCH_ACT[act](h) if act else h
    target = torch.tensor(target)
    value = {"mse": torch.nn.functional.mse_loss, "cross_entropy": torch.nn.functional.cross_entropy}[loss](h, target)
    value.backward()
    return value.item(), [leaf.grad.numpy() for leaf in leaves]


def by_jax(x, weights, biases, target, acts, loss):
    """Let JAX differentiate."""

    def value(x, weights, biases):
        h = x
        for i, act in enumerate([*acts, None]):
            h = h @ weights[i] + biases[i]
            h = JAX_ACT[act](h) if act else h
        if loss == "mse":
            return jnp.mean((h - target) ** 2)
        return -jnp.mean(jax.nn.log_softmax(h)[jnp.arange(len(h)), target])

    result, grads = jax.value_and_grad(value, (0, 1, 2))(x, weights, biases)
    return float(result), [np.asarray(g) for g in jax.tree.leaves(grads)]


def flat(grads):
    return [np.asarray(g) for g in (grads.x, *grads.weights, *grads.biases)]


def target_for(loss, labels, c):
    return labels if loss == "cross_entropy" else np.random.default_rng(1).normal(size=(len(labels), c))


@pytest.mark.parametrize("library", CONVERT)
@pytest.mark.parametrize("keep", [None, "pre-activation", "both", "recompute", ("both", "recompute", "recompute")])
@pytest.mark.parametrize("loss", ["mse", "cross_entropy"])
def test_agrees_with_torch_and_jax_to_round_off(library, keep, loss):
    """Every library, every choice of what to keep, all three activations in one network."""
    with jax.enable_x64(True):
        x, weights, biases, labels = network()
        acts, target, convert = ("relu", "gelu", "tanh"), target_for(loss, labels, 3), CONVERT[library]
        found = mlp_grad(
            convert(x),
            [convert(w) for w in weights],
            [convert(v) for v in biases],
            target=convert(target),
            activation=acts,
            loss=loss,
            keep=keep,
        )
        for value, grads in (oracle(x, weights, biases, target, acts, loss) for oracle in (by_torch, by_jax)):
            assert float(found.loss) == pytest.approx(value, rel=1e-13)
            for mine, right in zip(flat(found.grads), grads, strict=True):
                np.testing.assert_allclose(mine, right, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("act", "keep"), [*product(["relu", "tanh"], ["activation", "recompute"]), ("gelu", "both")])
def test_agrees_with_finite_differences(act, keep):
    """The second oracle differentiates nothing."""
    x, weights, biases, labels = network((3, 4, 4, 2), b=3)
    options = {"target": labels, "activation": act, "loss": "cross_entropy", "keep": keep}
    found, h = flat(mlp_grad(x, weights, biases, **options).grads), 1e-6
    arrays = [x, *weights, *biases]
    for k, grad in enumerate(found):
        for index in np.ndindex(grad.shape):
            values = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][index] += sign * h
                values.append(mlp_grad(moved[0], moved[1:4], moved[4:], **options).loss)
            assert grad[index] == pytest.approx((values[0] - values[1]) / (2 * h), rel=1e-6, abs=1e-8)


def test_two_layers_without_biases_are_the_small_form():
    """The general function holds the small one."""
    x, weights, _, _ = network((4, 6, 2))
    found = mlp_grad(x, weights)
    for mine, right in zip(flat(found.grads), manual_mlp_grad(x, *weights), strict=True):
        np.testing.assert_array_equal(mine, right)


def test_labels_and_their_one_hot_rows_are_the_same_target():
    """Soft targets generalise labels."""
    x, weights, biases, labels = network()
    hot = np.eye(3)[labels]
    one, two = (mlp_grad(x, weights, biases, target=t, loss="cross_entropy") for t in (labels, hot))
    for a, b in zip(flat(one.grads), flat(two.grads), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)


def test_large_scores_do_not_overflow():
    """The softmax is shifted by its largest entry."""
    found = mlp_grad(np.array([[1000.0]]), [np.array([[1.0, -1.0]])], target=np.array([1]), loss="cross_entropy")
    assert found.loss == 2000
    np.testing.assert_array_equal(found.grads.weights[0], [[1000, -1000]])


@pytest.mark.parametrize("loss", ["mse", "cross_entropy", "half_sum"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_numpy_dtype_is_kept_even_with_a_float64_target(loss, dtype):
    """NumPy would promote; the gradients of float32 parameters must be float32."""
    x, weights, biases, labels = network(dtype=dtype)
    found = mlp_grad(x, weights, biases, target=target_for(loss, labels, 3), loss=loss, activation="gelu")
    assert {a.dtype for a in [found.loss, *flat(found.grads)]} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_kept_in_torch(dtype):
    """On tensors of 16 bits the kept bytes halve as well."""
    x, weights, _, labels = network(dtype=np.float32)
    options = {"target": torch.tensor(labels), "loss": "cross_entropy", "activation": ["relu", "gelu", "tanh"]}
    wide, half = (
        mlp_grad(*(torch.tensor(x).to(t), [torch.tensor(w).to(t) for w in weights]), **options)
        for t in (torch.float32, dtype)
    )
    assert {a.dtype for a in (half.loss, half.grads.x, *half.grads.weights)} == {dtype}
    assert 2 * half.kept_bytes == wide.kept_bytes


def test_can_be_jitted():
    """The gradients are a tuple of arrays, which jit can return; labels may be traced as well."""
    x, weights, biases, labels = network(dtype=np.float32)

    def grads(x, weights, biases, labels):
        acts = ("relu", "gelu", "tanh")
        return mlp_grad(
            x, weights, biases, target=labels, loss="cross_entropy", activation=acts, keep="recompute"
        ).grads

    for found, right in zip(
        flat(jax.jit(grads)(x, weights, biases, labels)), flat(grads(x, weights, biases, labels)), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-3, atol=1e-4 * abs(np.asarray(right)).max())


def test_keeping_less_keeps_fewer_bytes_and_computes_more():
    """x (8, 5), hidden layers of 7, 6 and 4 columns, output of 3 columns; 8 bytes each."""
    x, weights, biases, _ = network()
    found = {
        keep: mlp_grad(x, weights, biases, keep=keep) for keep in ("both", "activation", "pre-activation", "recompute")
    }
    assert {keep: r.kept_bytes for keep, r in found.items()} == {
        "both": 8 * 8 * (5 + 2 * 17 + 3),
        "activation": 8 * 8 * (5 + 17 + 3),
        "pre-activation": 8 * 8 * (5 + 17 + 3),
        "recompute": 8 * 8 * (5 + 3),
    }
    assert found["activation"].flops("recompute") == found["pre-activation"].flops("recompute") == 0
    assert found["recompute"].flops("recompute") == 2 * 8 * (5 * 7 + 7 * 6 + 6 * 4)
    assert found["recompute"].peak_bytes == 8 * 8 * (5 + 17)


def test_the_peak_is_the_most_at_any_time_not_the_last():
    """The upper hidden layers, 9 columns wide, are recomputed first, with more in the cache than ever after."""
    x, weights, _, _ = network((2, 2, 2, 9, 9, 1))
    found = mlp_grad(x, weights, keep=("recompute", "activation", "recompute", "recompute"))
    assert found.kept_bytes == 8 * 8 * (2 + 2 + 1)
    assert found.peak_bytes == 8 * 8 * (2 + 2 + 9 + 9)


def test_a_layer_that_is_done_with_makes_room_for_the_one_below():
    """Its input to GELU, of 4 columns, is gone when the two arrays of 50 columns are computed again."""
    x, weights, _, _ = network((2, 50, 4, 1))
    found = mlp_grad(x, weights, activation="gelu", keep=("recompute", "both"))
    assert found.kept_bytes == 8 * 8 * (2 + 4 + 4 + 1)
    assert found.peak_bytes == 8 * 8 * (2 + 50 + 50)


def test_targets_that_do_not_sum_to_one_are_weights_as_in_torch():
    """The cotangent of the scores is then softmax times their sum, minus them."""
    x, weights, biases, _ = network()
    target = np.random.default_rng(3).uniform(0, 2, (8, 3))
    found = mlp_grad(x, weights, biases, target=target, loss="cross_entropy")
    value, grads = by_torch(x, weights, biases, target, ("relu",) * 3, "cross_entropy")
    assert found.loss == pytest.approx(value)
    for mine, right in zip(flat(found.grads), grads, strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-11, atol=1e-14)


def test_a_run_of_recomputed_layers_is_recomputed_once():
    """Not once more for each layer above: that would be quadratic."""
    x, weights, biases, _ = network((3, 3, 3, 3, 3, 3))
    found = mlp_grad(x, weights, biases, keep="recompute")
    assert found.flops("recompute") == 4 * 2 * 8 * 9


@pytest.mark.parametrize("input_grad", [True, False])
def test_flops_are_those_that_torch_counts(input_grad):
    """Forward and backward, with and without the gradient of x."""
    x, weights, _, _ = network()
    leaves = [torch.tensor(x, requires_grad=input_grad), *(torch.tensor(w, requires_grad=True) for w in weights)]
    with FlopCounterMode(display=False) as forward:
        h = leaves[0]
        for w in leaves[1:-1]:
            h = torch.relu(h @ w)
        loss = (h @ leaves[-1]).square().sum()
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    found = mlp_grad(x, weights, input_grad=input_grad)
    assert (found.flops("forward"), found.flops("backward")) == (forward.get_total_flops(), backward.get_total_flops())
    assert (found.grads.x is None) is not input_grad


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "gelu", "keep": "activation"}, 'gelu falls before it rises.* keep="pre-activation"'),
        ({"activation": "swish"}, "activation must be one of relu, tanh, gelu, but it is 'swish'"),
        ({"keep": ["both"]}, "one for each hidden layer, 3 in all, but there are 1"),
        ({"loss": "mae"}, "loss must be one of half_sum, mse, cross_entropy"),
        ({"loss": "mse"}, r"needs a target of shape \(8, 3\), but it got no target"),
        ({"loss": "mse", "target": np.zeros(8)}, r"got a target of shape \(8,\)\. .*broadcast into a different loss"),
        ({"loss": "cross_entropy", "target": np.zeros((8, 1))}, r"of shape \(8,\) or \(8, 3\)"),
        ({"biases": [np.zeros(7)]}, r"shapes must be \[\(7,\), \(6,\), \(4,\), \(3,\)\], but they are \[\(7,\)\]"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(options, message):
    """Each message says what must hold, what came, and the way out."""
    x, weights, biases, _ = network()
    with pytest.raises(InputError, match=message):
        mlp_grad(x, weights, **{"biases": biases, **options})


def test_no_layers_is_refused():
    """An empty list of weights has no output."""
    with pytest.raises(InputError, match="at least one layer"):
        mlp_grad(np.ones((2, 2)), [])


def test_half_sum_is_that_of_the_distance_from_the_target():
    """One layer that passes x on: the residual is x - target, and its cotangent is the residual itself."""
    x, target = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 1.0], [5.0, 1.0]])
    found = mlp_grad(x, [np.eye(2)], target=target, loss="half_sum")
    assert found.loss == (0 + 1 + 4 + 16) / 2
    np.testing.assert_array_equal(found.grads.x, x - target)


def test_the_shapes_of_the_table_are_one_below_another():
    """Text to the left, numbers to the right."""
    lines = repr(mlp_grad(np.ones((4, 10)), [np.ones((10, 3)), np.ones((3, 1))])).splitlines()
    places = {line.index("(") for line in lines if "(" in line and "relu" not in line}
    assert places == {lines[0].index("shape")}
