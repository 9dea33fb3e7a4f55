"""JAX arrays on the second of two devices stay there, or are parts of one whole on both.

Run by itself, since JAX counts its devices once.
"""

import itertools

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


def on_both(clip):
    """Return a clipping in which each device sees its half of every gradient; what is not split is the same on both."""
    mesh, split = jax.sharding.Mesh(np.array(jax.devices()), ("half",)), jax.sharding.PartitionSpec("half")
    return jax.jit(jax.shard_map(clip, mesh=mesh, in_specs=split, out_specs=(split, jax.sharding.PartitionSpec())))


def check_parts_of_one_whole_have_one_norm():
    """Also where squares overflow on one device alone, and where one has nothing but zeros."""
    random = np.random.default_rng(0)
    for scales in ([1, 1], [1e30, 1], [1, 1e-25], [0, 1], [0, 0]):
        whole = {name: random.normal(size=shape) for name, shape in {"w": (2, 3), "b": (2,)}.items()}
        whole = {name: jnp.float32(a * np.reshape(scales, (2, *[1] * (a.ndim - 1)))) for name, a in whole.items()}
        for clip, bound in itertools.product((clip_by_global_norm, clip_by_value), (0.5, 10.0)):
            found = on_both(lambda g: clip(g, bound, axis_name="half"))(whole)  # noqa: B023 - called here
            tree_close(found, clip(whole, bound))
    both = {"w": jnp.arange(8.0).reshape(2, 4)}
    tree_close(
        jax.pmap(lambda g: clip_by_global_norm(g, 1.0, axis_name="half")[0], "half")(both),
        clip_by_global_norm(both, 1.0)[0],
    )


def check_a_part_that_is_not_finite_is_known_to_all_devices():
    """NaN, too, which a largest value of all devices loses."""
    for bad in (np.nan, np.inf):
        whole = {"w": jnp.array([3.0, bad, 4.0, 0.0])}
        for clip, policy in itertools.product((clip_by_global_norm, clip_by_value), ("error", "skip", "zero")):
            found = on_both(lambda g: clip(g, 1.0, nonfinite=policy, axis_name="half"))(whole)  # noqa: B023 - called here
            tree_close(found, jax.jit(lambda g: clip(g, 1.0, nonfinite=policy))(whole))  # noqa: B023 - called here


def tree_close(found, expected):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)


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
