"""JAX arrays on the second of two devices stay there; run by itself, since JAX counts its devices once."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.mlp import mlp_grad
from course_lib.training import make_jax_step
from tests.devices.report import run_checks


def on(device, seed=0):
    """Return a tree of parameters, a batch, and its labels on a device."""
    random = np.random.default_rng(seed)
    numbers = {"w": random.normal(size=(6, 4)), "b": random.normal(size=4)}, random.normal(size=(8, 6))
    tree, x = jax.tree.map(lambda a: jax.device_put(np.float32(a), device), numbers)
    return tree, x, jax.device_put(random.integers(4, size=8), device)


def loss(tree, x, labels):
    return optax.softmax_cross_entropy_with_integer_labels(x @ tree["w"] + tree["b"], labels).mean()


def alike(run):
    """See that what is made from arrays on a device lies there, and is the same on both."""
    made_on = {device: run(*on(device)) for device in jax.devices()}
    for device, made in made_on.items():
        leaves = [leaf for leaf in jax.tree.leaves(made) if isinstance(leaf, jax.Array)]
        assert leaves
        assert all(leaf.devices() == {device} for leaf in leaves), [leaf.devices() for leaf in leaves]
    jax.tree.map(np.testing.assert_array_equal, *made_on.values())


def check_clipping_by_global_norm():
    for policy in ("error", "skip", "zero"):
        alike(lambda tree, *_: clip_by_global_norm(tree, 0.1, nonfinite=policy))  # noqa: B023 - called here
    alike(lambda tree, *_: jax.jit(clip_by_global_norm)(tree, 0.1))


def check_clipping_by_value():
    alike(lambda tree, *_: clip_by_value(tree, 0.1))


def check_manual_gradients():
    for chosen in ("half_sum", "cross_entropy"):

        def run(tree, x, labels, chosen=chosen):
            target = labels if chosen == "cross_entropy" else None
            found = mlp_grad(x, [tree["w"], tree["w"].T], target=target, loss=chosen)
            return found.loss, found.grads.x, found.grads.weights

        alike(run)


def check_a_step_of_training():
    optimizer = optax.adamw(1e-2)
    step = make_jax_step(loss, optimizer)
    alike(lambda tree, x, labels: step(tree, optimizer.init(tree), x, labels))


def check_arrays_on_two_devices_are_refused():
    """The two devices are kept apart, as two GPUs are."""
    (tree, *_), (other, *_) = map(on, jax.devices())
    with pytest.raises(ValueError, match="incompatible devices"):
        jnp.add(tree["w"], other["w"])


if __name__ == "__main__":
    run_checks(globals().copy())
