"""The monitor of JAX's loops: what torch's sees, out of a jitted step that is as it was."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import linen, nnx
from flax.training.train_state import TrainState

from course_lib.errors import InputError, MonitorError
from course_lib.monitoring import GradientMonitor, JaxGradientMonitor, compute_grad_norm
from course_lib.training import make_jax_step

RNG = np.random.default_rng(0)
X = RNG.normal(size=(32, 8)).astype(np.float32)


def tower(layers=3, scale=1.0):
    """Return parameters of a tanh network, and its loss."""
    rng = np.random.default_rng(1)
    weights = [scale * rng.normal(size=(8, 8)) / math.sqrt(8) for _ in range(layers)]
    params = {"layers": [{"w": jnp.array(w, jnp.float32), "b": jnp.zeros(8)} for w in weights]}

    def loss(params, x):
        for layer in params["layers"]:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return ((x - 1) ** 2).mean()

    return params, loss


def train(params, loss, optimizer, *, steps=12, x=X, donate=False, **options):
    """Train with a monitor; return it and the parameters."""
    monitor = JaxGradientMonitor(params, **options)
    watched = monitor.watch(optimizer)
    step, state = make_jax_step(loss, watched, donate=donate), watched.init(params)
    for _ in range(steps):
        params, state, _ = step(params, state, x)
        monitor.step(state)
    return monitor, params


def test_it_measures_what_the_monitor_of_torch_does():
    """Each column but the update ratio, which torch's monitor sees one step later."""
    params, loss = tower()
    w = [torch.tensor(np.array(layer[k]), requires_grad=True) for layer in params["layers"] for k in ("w", "b")]

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.p = torch.nn.ParameterList(w)

    model = Model()
    ours, _ = train(params, loss, optax.sgd(0.1), donate=False)
    optimizer, theirs = torch.optim.SGD(model.parameters(), lr=0.1), GradientMonitor(model)
    for _ in range(12):
        optimizer.zero_grad()
        h = torch.tensor(X)
        for i in range(3):
            h = torch.tanh(h @ model.p[2 * i] + model.p[2 * i + 1])
        ((h - 1) ** 2).mean().backward()
        theirs.step()
        optimizer.step()
    a, b = ours.history, theirs.history
    for column in ("norm", "mean", "std", "max", "weight_norm"):
        known = b[column].notna()
        np.testing.assert_allclose(a[column][known], b[column][known], rtol=2e-3, atol=1e-7, err_msg=column)
    n = len(params["layers"]) * 2
    later = b.update_ratio[n : 11 * n].to_numpy()
    np.testing.assert_allclose(a.update_ratio[: 10 * n][~np.isnan(later)], later[~np.isnan(later)], rtol=1e-3)


@pytest.mark.parametrize("donate", [False, True])
def test_the_step_stays_as_it_is(donate):
    """The same parameters to the last bit; and what is donated was copied before."""
    params, loss = tower()
    optimizer = optax.adam(1e-2)
    step, state, plain = make_jax_step(loss, optimizer), optimizer.init(params), params
    for _ in range(12):
        plain, state, _ = step(plain, state, X)
    monitor, watched = train(jax.tree.map(jnp.copy, params), loss, optimizer, donate=donate)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, plain, watched))
    assert monitor.diagnose().healthy
    assert len(monitor.history) == 12 * 6


def test_every_measures_one_step_in_so_many():
    """The numbers are those of these steps."""
    params, loss = tower()
    each, _ = train(params, loss, optax.sgd(0.1))
    some, _ = train(params, loss, optax.sgd(0.1), every=4, updates=False)
    frame = each.history[each.history.step.isin([1, 5, 9])]
    assert some.history.step.tolist() == frame.step.tolist()
    np.testing.assert_allclose(some.history.norm, frame.norm, rtol=1e-5)
    assert some.history.update_ratio.isna().all()


def test_histograms_are_counted_inside_the_step():
    """At one in so many measured steps, as NumPy counts the gradients of that step; their map has a column for each."""
    params, loss = tower()
    _, at_fifth = train(params, loss, optax.sgd(0.1), steps=4)
    grads = jax.grad(loss)(at_fifth, X)
    counting = {"every": 2, "histogram_every": 2, "donate": True}
    monitor, _ = train(jax.tree.map(jnp.copy, params), loss, optax.sgd(0.1), steps=5, **counting)
    by_name = {f"layers.{i}.{k}": layer[k] for i, layer in enumerate(grads["layers"]) for k in "wb"}
    for name, gradient in by_name.items():
        counts, edges = monitor.histogram(name)
        assert counts.sum() == gradient.size
        numpy_counts = np.histogram(np.array(gradient, np.float64), edges)[0]
        assert np.abs(counts - numpy_counts).sum() <= 2, "one on an edge may be rounded to its other side"
    assert list(monitor.histogram_map("layers.0.w").columns) == [1, 5]
    assert set(monitor._history.latest_histograms()) == {f"gradient/{name}" for name in by_name}
    with pytest.raises(MonitorError, match="histogram_every=10"):
        train(params, loss, optax.sgd(0.1), steps=1)[0].histogram("layers.0.w")


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float32, jnp.complex64])
def test_a_histogram_is_that_of_torchs_monitor(dtype):
    """Also of what is not finite, and on the edges; a missing gradient has no elements."""
    values = np.array([math.nan, math.inf, -math.inf, 0.0, 1e-30, -2.0, 2.0, 3.0, -0.25, 0.25], np.float32)
    gradient = (jnp.array(values) * (1 + 1j) if dtype == jnp.complex64 else jnp.array(values)).astype(dtype)
    ours = JaxGradientMonitor({"a": jnp.ones(len(values), dtype), "b": jnp.ones(3, dtype)}, histogram_every=1)
    ours.step({"a": gradient})
    p = torch.nn.Parameter(torch.ones(len(values), dtype=getattr(torch, jnp.dtype(dtype).name)))
    wide = jnp.complex64 if dtype == jnp.complex64 else jnp.float32
    p.grad = torch.tensor(np.array(gradient.astype(wide))).to(p.dtype)
    with GradientMonitor(torch.nn.ParameterDict({"a": p}), histogram_every=1) as theirs:
        theirs.step()
    for found, expected in zip(ours.histogram("a"), theirs.histogram("a"), strict=True):
        assert found.tolist() == expected.tolist()
    assert ours.histogram("b").counts.sum() == 0


def test_sick_runs_are_named():
    """By the diagnosis that all monitors share."""
    vanishing, _ = train(*tower(20, 0.2), optax.sgd(0.1))
    assert "vanishing" in vanishing.diagnose().kinds
    slow, _ = train(*tower(), optax.sgd(1e-8))
    assert slow.diagnose().kinds == ("barely moves",)
    diverging, _ = train({"w": jnp.ones((8, 1))}, lambda p, x: ((x @ p["w"] - 1) ** 2).mean(), optax.sgd(3.0))
    assert "exploding" in diverging.diagnose().kinds


def test_a_nan_is_found_with_its_step_and_place():
    """The gradient of sqrt at 0, from the third step on."""
    params = {"a": jnp.ones(3), "b": jnp.ones(3)}
    monitor = JaxGradientMonitor(params)
    optimizer = monitor.watch(optax.sgd(0.0))
    step = make_jax_step(lambda p, x: jnp.sqrt(jnp.abs(p["b"] * x)).sum() + (p["a"] ** 2).sum(), optimizer)
    state = optimizer.init(params)
    for x in (1.0, 2.0, 0.0):
        params, state, _ = step(params, state, x)
        monitor.step(state)
    (found,) = [f for f in monitor.diagnose().findings if f.kind == "non-finite"]
    assert (found.parameters, found.steps) == (("b",), (3,))
    assert math.isnan(monitor.scalars()["gradient_norm/b"])


def test_dead_units_are_counted():
    """Of a ReLU that is closed for every example."""
    rng = np.random.default_rng(0)
    params = {"bias": jnp.full(10, -100.0).at[:2].set(0), "weight": jnp.array(rng.normal(size=(8, 10)), jnp.float32)}
    monitor, _ = train(
        params, lambda p, x: (jax.nn.relu(x @ p["weight"] + p["bias"]) ** 2).mean(), optax.sgd(1e-3), steps=15
    )
    assert "8 of 10 in bias" in str(monitor.diagnose())


def test_extreme_gradients_are_measured():
    """Squares that leave float32, a mean that hides the deviation, and half precision."""
    params = {"big": jnp.zeros(4), "half": jnp.zeros(4, jnp.bfloat16), "shifted": jnp.zeros(1000), "tiny": jnp.zeros(4)}
    shifted = (1000 + 1e-2 * RNG.normal(size=1000)).astype(np.float32)
    tiny, big = jnp.full(4, 1e-30), jnp.full(4, 1e30)
    monitor = JaxGradientMonitor(params)
    monitor.step({"big": big, "half": jnp.full(4, 0.5, jnp.bfloat16), "shifted": shifted, "tiny": tiny}, params)
    row = monitor.history.set_index("parameter")
    assert row.norm[["big", "half", "tiny"]].tolist() == pytest.approx([2e30, 1.0, 2e-30])
    assert row["std"]["shifted"] == pytest.approx(shifted.astype(float).std(ddof=1), rel=1e-3)
    assert row.weight_norm.tolist() == [0.0] * 4


def test_a_linen_model_in_a_train_state():
    """Layers are in the order of the forward pass, the tenth after the ninth; also once JAX has sorted them."""

    class Model(linen.Module):
        @linen.compact
        def __call__(self, x):
            for _ in range(11):
                x = linen.relu(linen.Dense(8)(x))
            return linen.Dense(1)(x)

    model = Model()
    params = model.init(jax.random.key(0), X)["params"]
    monitor = JaxGradientMonitor(params)
    state = TrainState.create(apply_fn=model.apply, params=params, tx=monitor.watch(optax.adam(1e-3)))

    @jax.jit
    def step(state, x):
        grads = jax.grad(lambda p: (state.apply_fn({"params": p}, x) ** 2).mean())(state.params)
        return state.apply_gradients(grads=grads)

    for _ in range(3):
        state = step(state, X)
        monitor.step(state)
    weights = [f"Dense_{i}.kernel" for i in range(12)]
    assert monitor.weight_rms()[1] == weights
    again = JaxGradientMonitor(state.params)
    again.step(state)
    assert again.weight_rms()[1] == weights
    assert again.history.step.unique().tolist() == [3]


def test_an_nnx_model_and_its_optimizer():
    """Its variables are boxes, which the names leave out."""

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.hidden, self.last = nnx.Linear(8, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)

        def __call__(self, x):
            return self.last(nnx.relu(self.hidden(x)))

    model = Model(nnx.Rngs(0))
    monitor = JaxGradientMonitor(nnx.state(model, nnx.Param))
    optimizer = nnx.Optimizer(model, monitor.watch(optax.adam(1e-2)), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x):
        grads = nnx.grad(lambda model: (model(x) ** 2).mean())(model)
        optimizer.update(model, grads)
        return grads

    for _ in range(3):
        grads = step(model, optimizer, X)
        monitor.step(optimizer)
    assert set(monitor.history.parameter) == {"hidden.kernel", "hidden.bias", "last.kernel", "last.bias"}
    assert monitor.scalars()["gradient_norm/total"] == pytest.approx(compute_grad_norm(grads), rel=1e-5)
    assert monitor.history.update_ratio.notna().any()


def test_an_equinox_model_with_what_is_no_array():
    """Activation functions are leaves of it; and gradients can be given themselves, with the same numbers."""
    model = eqx.nn.MLP(8, 1, 16, 3, key=jax.random.key(0))
    monitor, other = JaxGradientMonitor(model), JaxGradientMonitor(model)
    optimizer = monitor.watch(optax.sgd(0.1))
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state, x):
        grads = eqx.filter_grad(lambda model: (jax.vmap(model)(x) ** 2).mean())(model)
        updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), state, grads, updates

    for _ in range(3):
        old = model
        model, state, grads, updates = step(model, state, X)
        monitor.step(state)
        other.step(grads, old, updates)
    assert monitor.weight_rms()[1] == [f"layers.{i}.weight" for i in range(4)]
    for column in ("norm", "std", "update_ratio", "weight_norm"):
        np.testing.assert_allclose(monitor.history[column], other.history[column], rtol=1e-5)


def test_what_cannot_be_watched_is_refused():
    """With what to do instead."""
    params, _ = tower()
    monitor = JaxGradientMonitor(params)
    with pytest.raises(MonitorError, match="nothing was measured"):
        monitor.diagnose()
    with pytest.raises(InputError, match=r"layers\.0\.w"):
        monitor.step(optax.adam(1e-3).init(params["layers"][0]))
    with pytest.raises(InputError, match=r"layers\.0\.w has shape \(2, 8, 8\)"):
        monitor.step(jax.tree.map(lambda x: jnp.stack([x, x]), params))
    with pytest.raises(InputError, match="after the jitted step"):
        jax.jit(lambda grads: monitor.step(grads))(params)
    with pytest.raises(InputError, match="holds none"):
        JaxGradientMonitor({"a": 1})
    with pytest.raises(InputError, match="JaxGradientMonitor"):
        GradientMonitor(params)
    assert not len(monitor.history)


@pytest.mark.parametrize("p", [1, 2, 3.5, math.inf])
def test_the_norm_of_a_pytree(p):
    """That of all numbers as one vector, traced or not; beyond float32, too."""
    tree = {"w": jnp.array(RNG.normal(size=(3, 4)), jnp.float32), "b": [jnp.array([3 + 4j]), None, 7]}
    flat = np.concatenate([np.abs(np.ravel(tree["w"])), [5.0]])
    expected = np.linalg.norm(flat, p)
    found = compute_grad_norm(tree, p)
    assert type(found) is float
    assert found == pytest.approx(expected, rel=1e-5)
    assert float(jax.jit(lambda tree: compute_grad_norm(tree, p))(tree)) == pytest.approx(expected, rel=1e-5)
    assert compute_grad_norm([jnp.full(4, 2e38)]) == pytest.approx(4e38)
    assert compute_grad_norm([jnp.full(4, 2e-30)]) == pytest.approx(4e-30)
    assert math.isnan(compute_grad_norm([jnp.array([1.0, jnp.nan, jnp.inf])]))
