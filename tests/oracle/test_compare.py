"""The comparison itself: engines, order, precision, the table, and what is refused."""

import subprocess
import sys
from dataclasses import FrozenInstanceError

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from course_lib import autograd
from course_lib.autograd import no_grad
from course_lib.errors import InputError
from course_lib.mlp import manual_mlp_grad, mlp_grad
from course_lib.oracle import compare

ALL = ("autograd", "torch", "jax", "differences")


def arrays_of(*shapes, seed=0):
    random = np.random.default_rng(seed)
    return [random.normal(size=shape) for shape in shapes]


def two_layers(x, w_0, w_1, xp):
    return 0.5 * ((xp.relu(x @ w_0) @ w_1) ** 2).sum()


def arrays():
    return dict(zip(["x", "w_0", "w_1"], arrays_of((5, 4), (4, 6), (6, 3)), strict=True))


def test_four_engines_and_the_manual_gradients_agree():
    """To round-off, and finite differences to their own precision."""
    report = compare(two_layers, arrays(), manual_mlp_grad)
    assert report.agrees
    assert report.first is None
    assert report.engines == (*ALL, "manual")
    for (engine, _), error in report.errors.items():
        assert error < (1e-8 if engine == "differences" else 1e-13)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, w, xp: xp.gelu(x @ w).mean(),
        lambda x, w, xp: xp.softmax(x @ w, dim=-1).square().sum() if hasattr(x, "square") else 0 * x.sum(),
        lambda x, w, xp: xp.log_softmax(x @ w, dim=1)[:, 0].sum(),
        lambda x, w, xp: xp.logsumexp(x @ w, dim=1).sum(),
        lambda x, w, xp: xp.sigmoid(x @ w).std() if hasattr(x, "std") else x.sum(),
        lambda x, w, xp: xp.linear(x, xp.transpose(w, 0, 1)).exp().sum() if hasattr(x, "exp") else xp.exp(x @ w).sum(),
        lambda x, w, xp: xp.cat([x @ w, xp.tanh(x @ w)], dim=1).sum(1).mean(),
        lambda x, w, xp: xp.mse_loss(x @ w, xp.ones_like(x @ w)),
        lambda x, w, xp: xp.where(x @ w > 0, x @ w, 0.1 * (x @ w)).sum(),
        lambda x, w, xp: xp.clamp(x @ w, -1.0, 1.0).sum() + xp.silu(x @ w).sum() + xp.softplus(x @ w).sum(),
    ],
)
def test_one_spelling_runs_on_every_engine(loss):
    """torch's names, in JAX too; where a method is missing the loss above says otherwise for JAX."""
    x, w = arrays_of((4, 3), (3, 5))
    report = compare(loss, {"x": x, "w": w}, engines=["autograd", "torch", "differences"])
    assert report.agrees, report
    assert not report.failed


def test_jax_runs_the_same_spelling():
    """Softmax, cross-entropy, GELU, concatenation and reductions by dim."""
    x, w = arrays_of((4, 3), (3, 5))
    labels = np.array([0, 4, 2, 2])

    def loss(x, w, labels, xp):
        z = xp.cat([xp.gelu(x @ w), xp.softmax(x @ w, dim=1)], dim=1)
        return xp.cross_entropy(z, xp.tensor(labels)) + xp.sum(z, dim=0, keepdim=True).sum()

    report = compare(loss, {"x": x, "w": w, "labels": labels})
    assert report.agrees, report
    assert not report.failed
    assert report.names == ("w", "x")


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, w, xp: xp.std(x @ w) + xp.std(x @ w, dim=0).sum() + xp.var(x @ w, dim=1, keepdim=True).sum(),
        lambda x, w, xp: sum((part**2).sum() * k for k, part in enumerate(xp.split(x @ w, 1, dim=1), 1)),
        lambda x, w, xp: sum((part**2).sum() * k for k, part in enumerate(xp.split(x @ w, [1, 4], dim=1), 1)),
        lambda x, w, xp: xp.gelu(x @ w, approximate="tanh").sum() + (xp.unsqueeze(x, dim=0) @ w).sum(),
        lambda x, w, xp: xp.mse_loss(x @ w, x @ w * 2, reduction="sum"),
        lambda x, w, xp: xp.cross_entropy(x @ w, xp.tensor([0, 4, 2, 2]), reduction="sum"),
        lambda x, w, xp: (xp.cross_entropy(x @ w, xp.tensor([0, 4, 2, 2]), reduction="none") ** 2).sum(),
        lambda x, w, xp: xp.cross_entropy(x @ w, xp.tensor([0, -100, 2, 2])),
        lambda x, w, xp: xp.cross_entropy(x @ w, xp.tensor([0, 1, 2, 2]), ignore_index=2),
        lambda x, w, xp: (xp.sum(x @ w, 1, True) * xp.mean(x, 0, True).sum() * xp.amax(x, 1, True)).sum(),
        lambda x, w, xp: (xp.flatten(xp.mul(x @ w, 2.0)) ** 2).sum() + xp.flatten(xp.stack([x @ w]), 1)[0].sum(),
        lambda x, w, xp: (xp.gather(x @ w, 1, xp.tensor([[0, 1], [4, 4]])) ** 2).sum() + (xp.div(x, 2.0) ** 2).sum(),
        lambda x, w, xp: (xp.index_select(x @ w, 0, xp.tensor([3, 3, 1])) ** 3).sum(),
        lambda x, w, xp: (xp.layer_norm(x @ w, (5,), w[0], w[1]) ** 3).sum(),
        lambda x, w, xp: (xp.linear(x, xp.transpose(w, 0, 1), w[0]) ** 2).sum() + xp.linear(x, x).sum(),
        lambda x, w, xp: (xp.cat([x, x @ x[1:]])[5:] ** 2).sum() + (xp.clamp(x, -1, 0.2) @ xp.clamp(w, max=0.3)).sum(),
        lambda x, w, xp: xp.std(x @ w, correction=0) + xp.var(x @ w, dim=0, correction=2).sum(),
        lambda x, w, xp: (xp.flatten(xp.stack([x] * 2), 0, 1) @ w).sum() + xp.flatten(xp.sum(x)).sum(),
        lambda x, w, xp: (xp.split(x @ w, [1, 4], dim=1)[-1] ** 2).sum(),
    ],
)
def test_what_jax_calls_the_same_and_means_otherwise_is_as_in_torch(loss):
    """Degrees of freedom, sizes or counts of parts, and reductions: else a right engine would be accused."""
    x, w = arrays_of((4, 3), (3, 5))
    report = compare(loss, {"x": x, "w": w})
    assert report.agrees, report
    assert not report.failed


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, w, xp: xp.max(x @ w) + xp.min(x @ w) + xp.max(x, x**2).sum() + xp.min(x, x**2).sum(),
        lambda x, w, xp: (xp.max(x @ w, dim=1)[0] ** 2).sum() + (xp.min(x @ w, 0, keepdim=True).values ** 2).sum(),
        lambda x, w, xp: ((x @ w)[xp.max(x @ w, dim=0).indices] ** 2).sum(),
        lambda x, w, xp: (xp.max(x @ w, dim=1, keepdim=True)[0] * (x @ w)).sum(),
        lambda x, w, xp: (xp.sort(x @ w)[0][:, 0] ** 2).sum() + xp.sort(x, dim=0, descending=True)[0][0].sum(),
        lambda x, w, xp: xp.median(x) + (xp.median(x @ w, dim=0)[0] ** 2).sum() + w.sum(),
        lambda x, w, xp: xp.nanmedian(x) + (xp.nanmedian(xp.where(x > 1, xp.nan, x), 0)[0] ** 2).sum() + w.sum(),
        lambda x, w, xp: (xp.gradient(x[0])[0] ** 2).sum() + (xp.gradient(w, spacing=0.5)[1] ** 2).sum(),
        lambda x, w, xp: (xp.gradient(x @ w, dim=0)[0] ** 2).sum() + (xp.gradient(w, dim=(0, 1))[1] ** 2).sum(),
        lambda x, w, xp: xp.nonzero(w > 0)[0].sum() * x.sum() + w[xp.nonzero(w > 0, as_tuple=True)].sum(),
        lambda x, w, xp: (xp.pad(x @ w, (1, 0, 0, 2), value=3.0)[1:, :3] ** 2).sum(),
        lambda x, w, xp: (xp.meshgrid(x[0], w[0])[0][0] ** 2).sum(),
        lambda x, w, xp: xp.cross_entropy(xp.stack([x @ w] * 2), xp.tensor([[0, 3, 2, 2, 1], [0, 0, 1, -100, 1]])),
        lambda x, w, xp: xp.cross_entropy(x @ w, xp.softmax(x @ w * 2, dim=1)) + xp.cross_entropy(w[0], xp.tensor(3)),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.meshgrid")
def test_what_only_torch_and_jax_have_is_as_in_torch(loss):
    """Pairs of values and indices, the lower median, padding from the last axis, grids by rows."""
    x, w = arrays_of((4, 3), (3, 5))
    report = compare(loss, {"x": x, "w": w}, engines=["torch", "jax", "differences"])
    assert report.agrees, report
    assert not report.failed


def test_of_equal_entries_one_gets_the_cotangent():
    """As in torch, along an axis."""
    report = compare(lambda x, xp: xp.max(x, dim=1)[0].sum(), {"x": np.ones((2, 3))}, engines=["torch", "jax"])
    assert report.agrees
    assert report.grads["jax"]["x"].tolist() == [[1, 0, 0], [1, 0, 0]]


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, w, xp: xp.binary_cross_entropy_with_logits(x @ w, xp.ones_like(x @ w)),
        lambda x, w, xp: (xp.layer_norm(x @ w, (5,)) ** 3).sum(),
        lambda x, w, xp: xp.dropout(x @ w, 0.5, training=False).sum(),
    ],
)
def test_a_name_that_torch_has_twice_is_that_of_its_functional(loss):
    """``torch.layer_norm`` and others are the kernels, with arguments that no reader writes."""
    x, w = arrays_of((4, 3), (3, 5))
    report = compare(loss, {"x": x, "w": w}, engines=["autograd", "torch", "differences"])
    assert report.agrees, report
    assert not report.failed


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode, no_grad])
def test_gradients_are_found_where_they_are_switched_off(off):
    """By both engines that can be switched off, and with a cause that only the graph tells."""
    x, w_0, w_1 = arrays().values()
    without_mask = x.T @ (np.maximum(x @ w_0, 0) @ w_1 @ w_1.T)
    with off():
        report = compare(two_layers, arrays(), {"w_0": without_mask})
    assert not report.failed
    assert report.first.cause == "missing mask"


def test_the_order_is_that_of_the_backward_pass():
    """Not of the arguments: a gradient that is complete earlier comes earlier; shared weights come late."""
    x, w, v, b = arrays_of((4, 3), (3, 3), (3, 2), (2,))

    def loss(w, b, x, v, xp):
        h = xp.watch("h", xp.tanh(x @ w))
        return ((xp.tanh(h @ w) @ v + b) ** 2).sum()

    report = compare(loss, {"w": w, "b": b, "x": x, "v": v}, engines=["autograd"])
    assert report.names == ("b", "v", "h", "x", "w")


def test_what_is_watched_does_not_count_for_the_norm_of_a_clip():
    """An optimizer has no such parameter; its gradient is scaled like the others."""

    def loss(x, w, xp):
        return (xp.watch("h", x @ w) ** 2).sum()

    x, w = arrays_of((4, 3), (3, 2))
    g = 2 * x @ w
    factor = 1 / np.linalg.norm(x.T @ g)
    given = {"h": g * factor, "w": x.T @ g * factor}
    assert compare(loss, {"x": x, "w": w}, given, engines=["autograd"], max_norm=1.0).agrees


def test_without_the_mini_autograd_the_order_is_from_the_last_argument_to_the_first():
    """There is no graph to read it from."""
    report = compare(two_layers, arrays(), engines=["torch"])
    assert report.names == ("w_1", "w_0", "x")


def test_the_gradient_of_an_intermediate_result_can_be_watched():
    """In every engine, finite differences too, and compared with the reader's."""

    def loss(x, w_0, w_1, xp):
        z = xp.watch("z", x @ w_0)
        return 0.5 * ((xp.watch("h", xp.relu(z)) @ w_1) ** 2).sum()

    x, w_0, w_1 = arrays().values()
    h = np.maximum(x @ w_0, 0)
    g_h = h @ w_1 @ w_1.T
    report = compare(loss, arrays(), {"h": g_h, "z": g_h * (h > 0)})
    assert report.agrees
    assert report.names == ("w_1", "h", "z", "w_0", "x")
    wrong = compare(loss, arrays(), {"h": g_h, "z": g_h}, engines=["autograd"])
    assert (wrong.first.name, wrong.first.cause) == ("z", "missing mask")


def test_an_engine_with_another_loss_is_found_out_and_diagnosed():
    """A torch model that detaches, against the loss as it was meant."""

    def detaching(x, w_0, w_1):
        return 0.5 * ((torch.relu(x @ w_0).detach() @ w_1) ** 2).sum()

    losses = {"autograd": two_layers, "torch": detaching, "jax": two_layers}
    report = compare(losses, arrays(), manual_mlp_grad)
    assert list(report.wrong) == ["torch"]
    assert (report.first.engine, report.first.name, report.first.cause) == ("torch", "w_0", "detached path")


def test_an_engine_is_held_to_the_precision_of_float64():
    """Five parts in a hundred thousand are no rounding."""
    losses = {"autograd": two_layers, "torch": lambda x, w_0, w_1: (1 + 5e-5) * two_layers(x, w_0, w_1, torch)}
    assert list(compare(losses, arrays()).wrong) == ["torch"]


def test_an_engine_and_the_gradients_by_hand_are_diagnosed_apart():
    """Each has a mistake of its own; the one to look at first is the reader's."""

    def detaching(x, w_0, w_1):
        return 0.5 * ((torch.relu(x @ w_0).detach() @ w_1) ** 2).sum()

    x, w_0, w_1 = arrays().values()
    h = np.maximum(x @ w_0, 0)
    unmasked = {"w_1": h.T @ h @ w_1, "w_0": x.T @ (h @ w_1 @ w_1.T)}
    report = compare({"autograd": two_layers, "torch": detaching}, arrays(), unmasked)
    assert {engine: found.cause for engine, found in report.wrong.items()} == {
        "torch": "detached path",
        "manual": "missing mask",
    }
    assert report.first.engine == "manual"


def test_the_majority_is_the_reference():
    """If the mini autograd's loss is the odd one out, it is the one that differs."""

    def doubled(x, w_0, w_1, xp):
        return 2 * two_layers(x, w_0, w_1, xp)

    losses = {"autograd": doubled, "torch": two_layers, "jax": two_layers}
    report = compare(losses, arrays(), engines=["autograd", "torch", "jax"])
    assert report.reference == "torch"
    assert list(report.wrong) == ["autograd"]


def test_finite_differences_are_of_the_first_engine_and_have_a_vote():
    """With it they are two against two, also where they look at some of the entries only."""

    def doubled(x, w):
        return 2 * ((x @ w) ** 2).sum()

    x, w = arrays_of((50, 20), (20, 2))
    losses = {"autograd": lambda x, w: ((x @ w) ** 2).sum(), "torch": doubled, "jax": doubled}
    report = compare(losses, {"x": x, "w": w})
    assert report.reference == "autograd"
    assert list(report.wrong) == ["torch", "jax"]


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, jnp.asarray, np.ndarray.tolist])
def test_arrays_of_any_library_and_lists(convert):
    """Inputs and gradients alike."""
    inputs = {name: convert(a.astype(np.float32)) for name, a in arrays().items()}
    right = manual_mlp_grad(*(a.astype(np.float32) for a in arrays().values()))
    manual = [convert(g) for g in right]
    report = compare(two_layers, inputs, [torch.tensor(g) for g in right] if convert is np.ndarray.tolist else manual)
    assert report.agrees, report


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_precision_of_the_manual_gradients_decides_what_counts_as_equal(dtype):
    """Rounding is no mistake; a wrong factor of 1.2 is one in every precision."""
    inputs = {name: torch.tensor(a).to(dtype) for name, a in arrays().items()}
    exact = {name: a.double() for name, a in inputs.items()}
    grads = [g.to(dtype) for g in manual_mlp_grad(**exact)]
    assert compare(two_layers, exact, grads, engines=["autograd"]).agrees
    assert not compare(two_layers, exact, [1.2 * g for g in grads], engines=["autograd"]).agrees


def test_in_float64_an_error_of_one_in_a_million_is_seen():
    """In one entry of one gradient."""
    grads = manual_mlp_grad(**arrays())
    grads[1][2, 3] *= 1 + 1e-6 * abs(grads[1]).max() / abs(grads[1][2, 3])
    found = compare(two_layers, arrays(), grads, engines=["autograd"]).first
    assert (found.name, found.index, found.cause) == ("w_0", (2, 3), None)
    assert found.relative == pytest.approx(1e-6, rel=1e-3)


def test_gradients_that_are_nothing_but_rounding_do_not_count():
    """A bias before a softmax loss gets exactly nothing, in truth."""
    x, w = arrays_of((6, 3), (3, 4))

    def loss(x, w, b, xp):
        return xp.cross_entropy(x @ w + b, xp.tensor(np.arange(6) % 4))

    assert compare(loss, {"x": x, "w": w, "b": np.zeros((6, 1))}).agrees


def test_a_leaf_that_the_loss_does_not_use_has_a_gradient_of_zero():
    """In every engine."""
    report = compare(lambda x, y: (x * x).sum(), {"x": np.ones(3), "y": np.ones(2)}, {"y": np.zeros(2)})
    assert report.agrees
    assert not report.grads["jax"]["y"].any()


def test_large_tensors_are_sampled_by_finite_differences():
    """A thousand entries in a moment, and what is not sampled is not held against anyone."""
    x, w = arrays_of((100, 50), (50, 20))
    calls = []

    def loss(x, w, xp):
        calls.append(x)
        return xp.tanh(x @ w).sum()

    assert compare(loss, {"x": x, "w": w}, engines=["autograd", "differences"]).agrees
    assert 4 * 400 < len(calls) < 4 * 400 + 10  # two for each entry, of 400 of each tensor


def test_finite_differences_take_steps_as_large_as_the_numbers_ask_for():
    """Beside a hundred million, a step for small numbers is lost."""
    x = 1e8 + np.array([1.0, -2.0, 0.3])
    assert compare(lambda x: ((x - 1e8) ** 2).sum(), {"x": x}, engines=["autograd", "differences"]).agrees


def test_an_array_without_entries_has_a_gradient_without_entries():
    """In every engine, in differences, and by hand."""
    given = {"x": np.ones((0, 3)), "w": np.ones((3, 2))}
    report = compare(lambda x, w: (x @ w).sum() + (w * w).sum(), given, lambda x, w: [x, 2 * w])
    assert report.agrees
    assert report.errors["manual", "x"] == 0


def test_a_kink_is_held_against_the_differences_only():
    """At 0 the slope of ReLU is half to differences, and 0 to every engine."""
    report = compare(lambda x, xp: xp.relu(x).sum(), {"x": np.array([0.0, 1.0])})
    assert list(report.wrong) == ["differences"]
    assert report.reference == "autograd"


def test_an_engine_that_cannot_run_the_loss_says_why():
    """The others go on."""
    report = compare(lambda x, xp: xp.relu_(x * 1).sum(), {"x": np.ones(3)}, engines=["torch", "jax"])
    assert report.engines == ("torch",)
    assert "xp.relu_ is missing from jax" in report.failed["jax"]
    assert "jax could not run the loss" in repr(report)


def test_the_table_is_as_it_is_read():
    """Columns, the star, the verdict."""
    x, w = np.array([[1.0, -2.0]]), np.array([[3.0, -1.0], [0.5, 2.0]])
    report = compare(
        lambda x, w, xp: xp.relu(x @ w).sum(), {"x": x, "w": w}, {"w": x.T @ np.ones((1, 2))}, engines=["autograd"]
    )
    assert repr(report).splitlines() == [
        "gradient  manual",
        "w (2, 2)  *1e+00",
        "x (1, 2)       -",
        "Each number is the largest difference from",
        "autograd, over the largest entry there.",
        "The first to differ, from the loss towards",
        "the inputs, is w (manual), by 2 (relative 1)",
        "at (1, 1): -2 instead of 0.",
        "Likely cause: missing mask. The cotangent",
        "passes through relu everywhere, though 1 of",
        "2 places are shut.",
    ]


def test_the_table_has_one_star_and_shows_a_number_without_its_place():
    """What comes later is wrong, too, and has no star; a tensor of no dimensions has no place to name."""
    report = compare(lambda x, y: (x * y).sum(), {"x": 3.0, "y": 2.0}, {"x": 4.0, "y": 6.0}, engines=["autograd"])
    assert [line.split()[-1] for line in repr(report).splitlines()[1:3]] == ["*1e+00", "1e+00"]
    assert "is y (manual), by 3 (relative 1): 6 instead of 3.\n" in str(report.first)


def test_a_report_of_all_engines_fits_a_phone():
    """Beside their differences from the reference, which has no column of its own."""
    lines = repr(compare(two_layers, arrays(), manual_mlp_grad)).splitlines()
    assert lines[0].split() == ["gradient", "torch", "jax", "differences", "manual"]
    assert max(map(len, lines)) <= 46


def test_a_single_engine_has_its_column():
    """There is nothing else to show."""
    lines = repr(compare(two_layers, arrays(), engines=["autograd"])).splitlines()
    assert [line.split()[-1] for line in lines[:4]] == ["autograd", "0", "0", "0"]


def test_the_result_cannot_be_changed():
    """It is a record."""
    report = compare(two_layers, arrays(), engines=["autograd"])
    with pytest.raises(FrozenInstanceError):
        report.reference = "torch"


def test_gradients_by_hand_of_the_general_network():
    """A function of other argument names is called in order."""
    x, w, v, b, c = arrays_of((5, 3), (3, 4), (4, 2), (4,), (2,))
    target = np.array([0, 1, 1, 0, 1])

    def loss(x, w, b, v, c, target, xp):
        return xp.cross_entropy(xp.gelu(x @ w + b) @ v + c, xp.tensor(target))

    def by_hand(data, first, first_bias, second, second_bias, labels):
        options = {"target": labels, "loss": "cross_entropy", "activation": "gelu"}
        grads = mlp_grad(data, [first, second], [first_bias, second_bias], **options).grads
        return grads.x, grads.weights[0], grads.biases[0], grads.weights[1], grads.biases[1]

    assert compare(loss, {"x": x, "w": w, "b": b, "v": v, "c": c, "target": target}, by_hand).agrees


def test_what_the_reader_passes_is_not_changed():
    """Not by the engines, and not by a function that writes into its arguments."""
    given = arrays()
    copies = {name: a.copy() for name, a in given.items()}

    def careless(x, w_0, w_1):
        grads = manual_mlp_grad(x, w_0, w_1)
        x *= 0
        return grads

    assert compare(two_layers, given, careless, engines=["autograd", "differences"]).agrees
    for name, copy in copies.items():
        np.testing.assert_array_equal(given[name], copy)


def test_labels_that_the_loss_counts_from_zero_in_place_are_not_changed():
    """Each run gets its own."""

    def loss(scores, labels, xp):
        labels -= 1
        return xp.cross_entropy(scores, labels)

    (scores,) = arrays_of((3, 4))
    report = compare(loss, {"scores": scores, "labels": np.array([1, 4, 2])})
    assert report.agrees
    assert not report.failed


def test_an_engine_may_be_named_alone():
    """Without a list around it."""
    assert compare(two_layers, arrays(), engines="autograd").engines == ("autograd",)


def noisy(x):
    return (x * np.random.default_rng().random()).sum()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare(two_layers, arrays(), engines=["tensorflow"]), r"\['tensorflow'\] are not"),
        (lambda: compare(two_layers, arrays(), [np.ones(3)]), r"order \['x', 'w_0', 'w_1'\], but got 1"),
        (lambda: compare(two_layers, arrays(), {"w": 1}), r"but not of \['w'\]\. Rename"),
        (lambda: compare(lambda x: x * 2, {"x": np.ones(3)}), r"one number, but this one has shape \(3,\)\. Add \.sum"),
        (lambda: compare(lambda y: y.sum(), {"x": np.ones(3)}), "no engine could run the loss.*unexpected keyword"),
        (lambda: compare(two_layers, arrays(), engines=["differences"]), "has one; pass autograd"),
        (lambda: compare(two_layers, arrays(), engines=[]), "but there are none"),
        (lambda: compare({"tf": two_layers}, arrays()), r"\['tf'\] are not"),
        (lambda: compare("loss", arrays()), "loss must be a function"),
        (lambda: compare({}, arrays()), r"loss must be a function.*but it is \{\}"),
        (lambda: compare(two_layers, list(arrays().values())), "mapping of names to arrays.*it is a list"),
        (lambda: compare(lambda x: (x * x).sum(), {"x": np.arange(3)}), r"none of \['x'\] does"),
        (lambda: compare(lambda x: None, {"x": np.ones(3)}), r"\. autograd, torch, jax: .*None\. Is a return"),
        (lambda: compare(lambda x: float(x.sum()), {"x": np.ones(3)}, engines=["autograd"]), "without float"),
        (lambda: compare(lambda x: x.sum(), {"x": np.array([1, np.nan])}), "is nan, and there is NaN or infinity in x"),
        (lambda: compare(lambda x, y: (x * y).sum(), {"x": [np.nan], "y": [np.inf]}), "NaN or infinity in x and y"),
        (lambda: compare(lambda x, xp: xp.log(x).sum(), {"x": np.zeros(2)}), "is -inf, and all arrays are finite"),
        (lambda: compare(noisy, {"x": np.ones(2)}), "it gave .* and then .* Draw random numbers"),
        (lambda: compare(two_layers, arrays(), {}), r"no gradient to compare: manual gave \{\}"),
        (lambda: compare(two_layers, arrays(), lambda **a: None), "manual gave None"),
        (lambda: compare(two_layers, arrays(), {"x": "abc"}), "x must be an array of real numbers.*<U3"),
        (lambda: compare(two_layers, arrays(), {"x": np.ones((5, 4)) + 1j}), "dtype is complex128"),
        (lambda: compare(two_layers, {"p": {"w": np.ones(3)}}), r"p is a dict of \['w'\]\. Trees are not.*\{\"p_w\": "),
        (lambda: compare(two_layers, arrays(), {"x": {"w": np.ones(3)}}), "Trees are not taken: pass a flat dict"),
        (lambda: compare(two_layers, {"x": np.array(["2020-01-01"], "M8[D]")}), "x must .*, but its dtype is datetime"),
        (lambda: compare(two_layers, arrays(), {"x": [[1, 2], [3]]}), "NumPy cannot make one from it"),
        (lambda: compare(two_layers, arrays(), max_norm=-1), "max_norm must be positive and finite, but it is -1"),
        (lambda: compare(two_layers, arrays(), max_norm=np.inf), "max_norm must be positive and finite, but it is inf"),
        (lambda: compare(two_layers, arrays(), loss_scale=0), "loss_scale must be positive"),
        (lambda: compare(two_layers, arrays(), max_norm="1"), "max_norm must be positive and finite, but it is '1'"),
        (lambda: compare(two_layers, arrays(), engines=None), "engines must be a sequence of names.*but it is None"),
        (lambda: compare(two_layers, arrays(), 3), "manual must be gradients by name or in the order.*is 3"),
        (lambda: compare(two_layers, arrays(), {"x": torch.eye(5, 4).to_sparse()}), r"x must be dense.*to_dense\(\)"),
        (lambda: compare(two_layers, arrays(), {"x": torch.ones(5, 4, device="meta")}), "x must be dense, .* no data"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(call, message):
    """Each message says what came and what to do."""
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize("max_norm", [None, 1.0])
def test_gradients_that_are_all_zero_are_a_detached_path_and_not_clipped(max_norm):
    """As None for each, or as integers."""
    for nothing in ([None] * 3, [np.zeros_like(a, int) for a in arrays().values()]):
        first = compare(two_layers, arrays(), nothing, engines=["autograd"], max_norm=max_norm).first
        assert (first.cause, first.also) == ("detached path", ())


def test_gradients_may_come_from_a_generator():
    """In the order of the arrays, and one by one."""
    assert compare(two_layers, arrays(), iter(manual_mlp_grad(**arrays())), engines=["autograd"]).agrees


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_is_shown_as_that(broken):
    """Its shape is right, so the table must not say that it is not."""
    x, w_0, w_1 = manual_mlp_grad(**arrays())
    w_0[1, 2] = broken
    report = compare(two_layers, arrays(), [x, w_0, w_1], engines=["autograd"])
    assert (report.first.name, report.first.index, report.first.cause) == ("w_0", (1, 2), None)
    assert report.cell("manual", "w_0") == "*inf"
    assert "1 of 24 entries" in report.first.evidence


def test_one_array_alone_is_the_gradient_of_the_one_input():
    """It is not taken for a sequence of its rows."""
    x = np.random.default_rng(0).normal(size=(1, 3))
    for manual in (lambda x: 2 * x, lambda x: torch.tensor(2 * x)):
        assert compare(lambda x: (x * x).sum(), {"x": x}, manual, engines=["autograd"]).agrees


def test_a_mask_may_be_a_gradient():
    """It is read as zeros and ones, also where it is the wrong one."""
    x = np.array([1.0, -2.0, 3.0])
    right, wrong = (
        compare(lambda x, xp: xp.relu(x).sum(), {"x": x}, {"x": mask}, engines=["autograd"]) for mask in (x > 0, x < 0)
    )
    assert right.agrees
    assert (wrong.first.found, wrong.first.expected) == (0, 1)


def test_gradients_of_zero_are_not_clipped():
    """There is no norm to divide by."""
    assert compare(lambda x: (0 * x).sum(), {"x": np.ones(3)}, [np.zeros(3)], engines=["autograd"], max_norm=1.0).agrees


@pytest.mark.parametrize(("engine", "library"), [("torch", torch), ("autograd", autograd)], ids=["torch", "autograd"])
def test_the_gradients_of_what_a_loss_closes_over_are_left_alone(engine, library):
    """Neither an empty .grad nor one that training has filled is added to."""
    w, v = (library.tensor([1.0, 2.0, 3.0], dtype=library.float64, requires_grad=True) for _ in "wv")
    (w * w).sum().backward()
    report = compare(lambda x: (x * w * v).sum(), {"x": np.ones(3)}, engines=[engine, "differences"])
    assert report.agrees, report
    assert (w.grad.tolist(), v.grad) == ([2, 4, 6], None)


def test_the_averages_of_a_batch_norm_that_a_loss_closes_over_are_put_back():
    """Values and counts, though the loss ran some dozens of times."""
    norm = torch.nn.BatchNorm1d(3).double()
    norm(torch.randn(4, 3).double())
    before = {name: buffer.clone() for name, buffer in norm.named_buffers()}
    (x,) = arrays_of((5, 3))
    assert compare(lambda x: (norm(x) ** 3).sum(), {"x": x}, engines=["torch", "differences"]).agrees
    assert all(torch.equal(buffer, before[name]) for name, buffer in norm.named_buffers())


def test_a_missing_engine_is_named_and_the_others_go_on(monkeypatch):
    """With what to install."""
    monkeypatch.setitem(sys.modules, "jax", None)
    report = compare(two_layers, arrays(), manual_mlp_grad)
    assert report.agrees
    assert report.engines == ("autograd", "torch", "differences", "manual")
    assert "install the-backward-pass[jax] with: pip install " in report.failed["jax"]
    assert {*report.failed["jax"].split()} <= {*repr(report).split()}  # no word is cut in two at a hyphen


def test_importing_it_loads_neither_torch_nor_jax():
    """They load when they are asked for."""
    code = "import sys, course_lib.oracle; print({'torch', 'jax'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
