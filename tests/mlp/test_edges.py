"""Empty batches, single layers, and what would silently be another loss."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.mlp import manual_mlp_grad, mlp_activations, mlp_grad


@pytest.mark.parametrize("library", [np.asarray, torch.tensor, jnp.asarray])
@pytest.mark.parametrize("loss", ["half_sum", "mse"])
def test_an_empty_batch_has_gradients_of_zero(library, loss):
    """The mean of nothing is NaN, as in torch, without a warning."""
    x, w, v = (library(np.zeros(shape, np.float32)) for shape in [(0, 3), (3, 4), (4, 2)])
    found = mlp_grad(x, [w, v], target=library(np.zeros((0, 2), np.float32)), loss=loss)
    assert np.isnan(float(found.loss)) == (loss == "mse")
    assert [tuple(g.shape) for g in found.grads.weights] == [(3, 4), (4, 2)]
    assert not any(float(abs(g).sum()) for g in found.grads.weights)
    assert np.isnan(found.ratio)


@pytest.mark.parametrize("library", [np.asarray, torch.tensor, jnp.asarray])
def test_an_empty_batch_has_a_cross_entropy_too(library):
    """NaN as well, and gradients of zero."""
    x, w = library(np.zeros((0, 3), np.float32)), library(np.ones((3, 2), np.float32))
    found = mlp_grad(x, [w], target=library(np.zeros(0, np.int64)), loss="cross_entropy")
    assert np.isnan(float(found.loss))
    assert np.asarray(found.grads.weights[0]).tolist() == [[0, 0]] * 3


def test_one_layer_takes_empty_choices():
    """One name for each hidden layer: there is none; biases may be left out by an empty list, too."""
    x, w = np.ones((2, 3)), np.ones((3, 4))
    found = mlp_grad(x, [w], [], activation=[], keep=[])
    assert (found.loss, found.grads.biases) == (mlp_grad(x, [w]).loss, ())


@pytest.mark.parametrize("option", ["activation", "keep"])
def test_one_layer_refuses_a_name_that_is_not_known(option):
    """Though there is no hidden layer that it would be for."""
    with pytest.raises(InputError, match=f"{option} must be one of .*, but it is 'swish'"):
        mlp_grad(np.ones((2, 3)), [np.ones((3, 4))], **{option: "swish"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: mlp_grad([[1.0]], [w]), r"x must be an array.* but it is a list.*np\.array\(x\)"),
        (lambda x, w: mlp_grad(x, [w], target=np.ones(4)), r"half_sum.* needs a target of shape \(2, 4\)"),
        (lambda x, w: mlp_grad(x, [w], target=np.array([0, 4]), loss="cross_entropy"), "between 0 and 3.*from 0 to 4"),
    ],
)
def test_what_would_be_another_loss_is_refused(call, message):
    """A target that would broadcast, a label without a column, a list without a shape."""
    with pytest.raises(InputError, match=message):
        call(np.ones((2, 3)), np.ones((3, 4)))


X, W = np.ones((2, 3)), np.ones((3, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mlp_grad(X.astype(int), [W.astype(int)]), r"x must be real .*int64.*asarray\(x, float\)"),
        (lambda: mlp_grad(X, [W * 1j]), "w_0 must be real .*complex128"),
        (lambda: mlp_grad(jnp.ones((2, 3)), [jnp.ones((3, 4), int)]), "w_0 must be real and floating point"),
        (lambda: manual_mlp_grad(X, W.astype(np.int8), W.T), "w_0 must be real and floating point, but it is int8"),
        (lambda: mlp_grad(torch.ones(2, 3).int(), [torch.ones(3, 4)]), r"floating point.*as in x\.float\(\)"),
        (
            lambda: mlp_grad(torch.ones(2, 3), [torch.ones(3, 4).double()]),
            "one dtype, .*x is torch.float32, w_0 is torch.float64",
        ),
        (lambda: mlp_grad(torch.ones(2, 3), [W]), "w_0 is not of torch. Convert"),
        (lambda: mlp_activations(X, W, torch.ones(4, 3)), "w_1 is torch.float32. Convert"),
        (lambda: mlp_grad(X, W), r"weights must be a list .* one array of shape \(3, 4\). Pass \[weights\[0\]"),
        (lambda: mlp_grad(X, None), "weights must be a list .* but got None"),
        (lambda: mlp_grad(X, [W], np.ones(4)), r"biases must be a list .* one array of shape \(4,\)"),
        (lambda: mlp_grad(X, [W], [None]), "b_0 must be an array .* but it is a NoneType"),
        (lambda: mlp_grad(X, [W], [np.ones(4, int)]), "b_0 must be real and floating point"),
        (lambda: mlp_grad(autograd.tensor(X), [autograd.tensor(W)]), "x must be an array of NumPy, torch or JAX"),
        (lambda: mlp_grad(X, [W], target=[0, 1], loss="cross_entropy"), r"a NumPy or JAX array, but .*builtins\.list"),
        (lambda: mlp_grad(X, [W], target=torch.ones(2, 4)), r"but it is a torch\.Tensor.*np\.asarray\(target\)"),
        (lambda: mlp_grad(torch.ones(2, 3), [torch.ones(3, 4)], target=X), r"a torch tensor, .*torch\.as_tensor"),
        (lambda: mlp_grad(X, [W], loss=["mse"]), r"loss must be one of .*, but it is \['mse'\]"),
        (lambda: mlp_grad(X, [W], loss=None), "loss must be one of .*, but it is None"),
        (lambda: mlp_grad(X, [W], activation=None), "activation must be one of .*, but it is None"),
        (lambda: mlp_grad(X, [W], keep=7), "keep must be one of .*, but it is 7"),
    ],
)
def test_what_no_product_takes_or_would_be_cut_off_is_refused(call, message):
    """Whole numbers, of which a target became one too; two libraries; one matrix, whose rows would be layers."""
    with pytest.raises(InputError, match=message):
        call()


def test_layers_may_come_from_a_generator():
    """It is read once, though there are checks before the pass."""
    found = mlp_grad(X, (w for w in [W]), (b for b in [np.ones(4)]))
    assert found.loss == mlp_grad(X, [W], [np.ones(4)]).loss


def test_arrays_of_numpy_and_jax_go_together():
    """JAX converts the one to the other."""
    found = mlp_grad(X, [jnp.asarray(W)], target=np.zeros((2, 4)))
    assert float(found.loss) == mlp_grad(X, [W], target=np.zeros((2, 4))).loss


@pytest.mark.parametrize("library", [np.asarray, torch.tensor, jnp.asarray])
@pytest.mark.parametrize("labels", [[0, 4], [-1, 2], [0.5, 1.0]])
def test_a_label_without_a_column_is_refused_for_every_library(library, labels):
    """It would have no loss, and nobody would see."""
    x, w = library(np.ones((2, 3), np.float32)), library(np.ones((3, 4), np.float32))
    with pytest.raises(InputError, match=r"labels must be .* between 0 and 3"):
        mlp_grad(x, [w], target=library(np.array(labels)), loss="cross_entropy")


def test_while_jax_traces_labels_have_no_values_to_look_at():
    """Such a row has no gradient, as the docstring says; the others have theirs."""
    x, w = jnp.ones((2, 3)), jnp.ones((3, 4))
    run = jax.jit(lambda x, w, labels: mlp_grad(x, [w], target=labels, loss="cross_entropy").grads.x)
    assert not run(x, w + jnp.eye(3, 4), jnp.array([0, 9]))[1].any()
    np.testing.assert_allclose(
        run(x, w + jnp.eye(3, 4), jnp.array([0, 9]))[0], run(x, w + jnp.eye(3, 4), jnp.array([0, 1]))[0]
    )


def test_under_torchs_transforms_labels_are_not_read():
    """vmap has no numbers to copy either."""
    x, w, labels = torch.ones(5, 2, 3), torch.ones(3, 4), torch.zeros(5, 2, dtype=torch.int64)
    run = torch.func.vmap(lambda x, y: mlp_grad(x, [w], target=y, loss="cross_entropy").grads.x)
    assert run(x, labels).shape == (5, 2, 3)


def test_the_steps_print_as_a_table_that_fits_a_phone():
    """Under a heading for each phase, and the totals below."""
    x, w = np.ones((4, 2)), [np.ones((2, 3)), np.ones((3, 1))]
    lines = repr(mlp_grad(x, w, [np.ones(3), np.ones(1)])).splitlines()
    assert [line for line in lines if line and " " not in line] == ["forward", "backward"]
    assert "  z_0 = h_0 @ w_0 + b_0  (4, 3)     48     0" in lines
    assert lines[-1] == "backward / forward = 2.000"
    assert max(map(len, lines)) <= 46
