"""Empty batches, single layers, and what would silently be another loss."""

import jax.numpy as jnp
import numpy as np
import pytest
import torch

from course_lib.errors import InputError
from course_lib.mlp import mlp_grad


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


def test_one_layer_takes_empty_choices():
    """One name for each hidden layer: there is none."""
    x, w = np.ones((2, 3)), np.ones((3, 4))
    assert mlp_grad(x, [w], activation=[], keep=[]).loss == mlp_grad(x, [w]).loss


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
