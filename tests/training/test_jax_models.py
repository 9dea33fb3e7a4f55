"""The JAX step on models of flax and equinox, with what they keep beside their parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx

from course_lib.errors import InputError
from course_lib.training import make_jax_step

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(16, 3)).astype(np.float32), RNG.normal(size=(16, 1)).astype(np.float32)


class Linen(linen.Module):
    """A layer, batch norm, dropout, and another layer."""

    @linen.compact
    def __call__(self, x, *, train):
        """Classify."""
        x = linen.BatchNorm(use_running_average=not train, momentum=0.9)(linen.Dense(4)(x))
        return linen.Dense(1)(linen.Dropout(0.5, deterministic=not train)(linen.relu(x)))


def test_flax_linen_with_batch_norm_and_dropout():
    """Parameters, loss and statistics are those of flax's own way, and the statistics are the batch's."""
    model, optimizer = Linen(), optax.sgd(0.1)
    variables = model.init(jax.random.key(0), X, train=False)
    params, stats = variables["params"], variables["batch_stats"]

    def loss_fn(params, stats, key, x, y):
        out, new = model.apply(
            {"params": params, "batch_stats": stats}, x, train=True, rngs={"dropout": key}, mutable=["batch_stats"]
        )
        return ((out - y) ** 2).mean(), new["batch_stats"]

    step, state, keys = make_jax_step(loss_fn, optimizer, has_aux=True), optimizer.init(params), jax.random.key(1)
    theirs, their_stats, losses = params, stats, []
    before = np.asarray(X @ params["Dense_0"]["kernel"] + params["Dense_0"]["bias"])
    for i in range(20):
        key = jax.random.fold_in(keys, i)
        (loss, new_stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(theirs, their_stats, key, X, Y)
        theirs, their_stats = jax.tree.map(lambda p, g: p - 0.1 * g, theirs, grads), new_stats
        params, state, ours, stats = step(params, state, stats, key, X, Y)
        losses.append(float(ours))
        assert losses[-1] == pytest.approx(float(loss), rel=1e-5)
        if i == 0:
            np.testing.assert_allclose(stats["BatchNorm_0"]["mean"], 0.1 * before.mean(0), rtol=1e-5, atol=1e-7)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), (params, stats), (theirs, their_stats)
    )
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_flax_nnx_with_batch_norm():
    """Its variables are split into parameters and the rest; the rest comes back beside the loss."""

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.hidden, self.norm = nnx.Linear(3, 4, rngs=rngs), nnx.BatchNorm(4, rngs=rngs)
            self.last = nnx.Linear(4, 1, rngs=rngs)

        def __call__(self, x):
            return self.last(nnx.relu(self.norm(self.hidden(x))))

    graph, params, rest = nnx.split(Model(nnx.Rngs(0)), nnx.Param, ...)

    def loss_fn(params, rest, x, y):
        model = nnx.merge(graph, params, rest, copy=True)
        loss = ((model(x) - y) ** 2).mean()
        return loss, nnx.split(model, nnx.Param, ...)[2]

    optimizer = optax.adam(0.01)
    step, state = make_jax_step(loss_fn, optimizer, has_aux=True), optimizer.init(params)
    losses = []
    for _ in range(50):
        params, state, loss, rest = step(params, state, rest, X, Y)
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]
    model = nnx.merge(graph, params, rest)
    hidden = np.asarray(model.hidden(X))
    np.testing.assert_allclose(model.norm.mean[...], hidden.mean(0), rtol=0.5, atol=0.2)


def test_equinox_with_batch_norm():
    """Its arrays are parted from the rest, and its state goes through beside the loss."""

    class Model(eqx.Module):
        hidden: eqx.nn.Linear
        norm: eqx.nn.BatchNorm
        last: eqx.nn.Linear

        def __call__(self, x, state):
            h, state = self.norm(self.hidden(x), state)
            return self.last(jax.nn.relu(h)), state

    keys = jax.random.split(jax.random.key(0))
    norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="batch")
    model = Model(eqx.nn.Linear(3, 4, key=keys[0]), norm, eqx.nn.Linear(4, 1, key=keys[1]))
    kept = eqx.nn.State(model)
    params, static = eqx.partition(model, eqx.is_inexact_array)

    def loss_fn(params, kept, x, y):
        model = eqx.combine(params, static)
        out, kept = jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, kept)
        return ((out - y) ** 2).mean(), kept

    optimizer = optax.adam(0.01)
    step, state = make_jax_step(loss_fn, optimizer, has_aux=True), optimizer.init(params)
    losses = []
    for _ in range(50):
        params, state, loss, kept = step(params, state, kept, X, Y)
        losses.append(float(loss))
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("optimizer", [optax.lbfgs(), optax.contrib.reduce_on_plateau()], ids=["search", "plateau"])
def test_an_optimizer_that_asks_for_the_loss_gets_the_loss_alone(optimizer):
    """Not the pair."""
    step = make_jax_step(lambda w, x: (((w * x - 2) ** 2).mean(), {"seen": x.sum()}), optimizer, has_aux=True)
    w = jnp.array(1.0)
    w, _, loss, aux = step(w, optimizer.init(w), X)
    assert float(aux["seen"]) == pytest.approx(X.sum(), rel=1e-4)
    assert float(loss) == pytest.approx(((X - 2) ** 2).mean(), rel=1e-5)


@pytest.mark.parametrize("returned", [lambda loss: loss, lambda loss: (loss, 1, 2), lambda loss: [loss, 1]])
def test_what_is_no_pair_is_refused(returned):
    """Under has_aux a loss alone is a mistake, and so are three things."""
    optimizer = optax.sgd(0.1)
    step = make_jax_step(lambda w: returned((w**2).sum()), optimizer, has_aux=True)
    w = jnp.ones(2)
    with pytest.raises(InputError, match=r"pair \(loss, aux\)"):
        step(w, optimizer.init(w))


def test_a_pair_without_has_aux_is_told_of_it():
    """Whoever returns a pair probably means it."""
    optimizer = optax.sgd(0.1)
    w = jnp.ones(2)
    with pytest.raises(InputError, match="has_aux=True"):
        make_jax_step(lambda w: ((w**2).sum(), 1), optimizer)(w, optimizer.init(w))
