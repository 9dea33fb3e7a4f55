"""The two-layer network by hand, against torch, JAX and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.errors import InputError
from course_lib.mlp import manual_mlp_grad, mlp_activations

SIZES = st.integers(min_value=1, max_value=6)


def network(b=5, d=4, f=7, c=3, *, seed=0, dtype=np.float64):
    """Return x (b, d), w_0 (d, f) and w_1 (f, c)."""
    random = np.random.default_rng(seed)
    return [random.normal(size=shape).astype(dtype) for shape in [(b, d), (d, f), (f, c)]]


def by_torch(arrays):
    leaves = [torch.tensor(a, requires_grad=True) for a in arrays]
    x, w_0, w_1 = leaves
    loss = 0.5 * (torch.relu(x @ w_0) @ w_1).square().sum()
    loss.backward()
    return loss.detach().numpy(), [leaf.grad.numpy() for leaf in leaves]


def by_jax(arrays):
    with jax.enable_x64(True):
        loss, grads = jax.value_and_grad(lambda x, u, v: 0.5 * jnp.sum((jax.nn.relu(x @ u) @ v) ** 2), (0, 1, 2))(
            *arrays
        )
        return np.asarray(loss), [np.asarray(g) for g in grads]


@settings(max_examples=12, deadline=None)
@given(b=SIZES, d=SIZES, f=SIZES, c=SIZES, seed=st.integers(0, 99))
def test_agrees_with_torch_and_jax_to_round_off(b, d, f, c, seed):
    """In float64, at every combination of sizes, down to 1."""
    arrays = network(b, d, f, c, seed=seed)
    loss, _ = mlp_activations(*arrays)
    for expected_loss, expected in (by_torch(arrays), by_jax(arrays)):
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-12)
        for found, right in zip(manual_mlp_grad(*arrays), expected, strict=True):
            np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-12)


def test_agrees_with_finite_differences():
    """The second oracle differentiates nothing."""
    arrays, h = network(), 1e-6
    for k, found in enumerate(manual_mlp_grad(*arrays)):
        for index in np.ndindex(found.shape):
            above, below = ([a.copy() for a in arrays] for _ in range(2))
            above[k][index] += h
            below[k][index] -= h
            slope = (mlp_activations(*above)[0] - mlp_activations(*below)[0]) / (2 * h)
            assert found[index] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_keeps_input_hidden_and_output_but_no_pre_activation():
    """The backward pass pops them from the end; the ReLU's mask is read from its result."""
    x, w_0, w_1 = network()
    _, activations = mlp_activations(x, w_0, w_1)
    assert activations[0] is x
    np.testing.assert_array_equal(activations[1], np.maximum(x @ w_0, 0))
    np.testing.assert_array_equal(activations[2], activations[1] @ w_1)
    assert len(activations) == 3


def test_changes_none_of_its_arguments():
    """What the caller passed is as it was."""
    arrays = network()
    copies = [a.copy() for a in arrays]
    manual_mlp_grad(*arrays)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_at_zero_the_relu_is_shut_as_in_torch_and_jax_nn():
    """A bias-free network meets exact zeros at dead inputs."""
    arrays = network()
    arrays[0][0] = 0
    for expected in (by_torch(arrays)[1], by_jax(arrays)[1]):
        for found, right in zip(manual_mlp_grad(*arrays), expected, strict=True):
            np.testing.assert_allclose(found, right, atol=1e-12)


def test_a_nan_is_passed_on_not_hidden():
    """max(nan, 0) is nan."""
    x, w_0, w_1 = network()
    x[0, 0] = np.nan
    assert np.isnan(mlp_activations(x, w_0, w_1)[0])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numpy_dtype_is_kept(dtype):
    """Loss and gradients come in the dtype of the inputs."""
    arrays = network(dtype=dtype)
    assert mlp_activations(*arrays)[0].dtype == dtype
    assert {g.dtype for g in manual_mlp_grad(*arrays)} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch_dtype_and_type_are_kept(dtype):
    """Half precisions too; the numbers are torch's own within that precision."""
    arrays = [torch.tensor(a, dtype=dtype) for a in network()]
    assert mlp_activations(*arrays)[0].dtype == dtype
    for found, right in zip(manual_mlp_grad(*arrays), by_torch(network())[1], strict=True):
        assert found.dtype == dtype
        torch.testing.assert_close(found.double(), torch.tensor(right), rtol=0.1, atol=0.1 * abs(right).max())


def test_can_be_jitted():
    """Nothing in it asks for a value while it is traced."""
    arrays = [jnp.asarray(a, jnp.float32) for a in network()]
    jitted = jax.jit(manual_mlp_grad)(*arrays)
    for found, plain in zip(jitted, manual_mlp_grad(*arrays), strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-5)


def test_jax_grad_of_the_loss_gives_only_the_first_unless_told():
    """The page says so, and why the names of the results are three."""
    arrays = network(dtype=np.float32)
    first = jax.grad(lambda *a: mlp_activations(*a)[0])(*map(jnp.asarray, arrays))
    np.testing.assert_allclose(first, manual_mlp_grad(*arrays)[0], rtol=1e-4, atol=1e-4)


def test_a_transposed_weight_is_named_with_the_likely_reason():
    """Which array, which sizes, and what to look at."""
    x, w_0, w_1 = network()
    with pytest.raises(InputError, match=r"\(5, 4\) and \(7, 4\).*Is w_0 transposed"):
        manual_mlp_grad(x, w_0.T, w_1)


def test_leading_dimensions_are_refused_with_the_remedy():
    """Three-dimensional inputs need their rows stacked first."""
    x, w_0, w_1 = network()
    with pytest.raises(InputError, match=r"2 dimensions, .*\(1, 5, 4\)\. Flatten"):
        mlp_activations(x[None], w_0, w_1)
