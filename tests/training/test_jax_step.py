"""The pure step against NumPy and torch."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from course_lib.errors import InputError
from course_lib.training import make_jax_step

RNG = np.random.default_rng(0)
W, C = RNG.normal(size=(3, 2)).astype(np.float32), np.zeros(2, np.float32)
X, Y = RNG.normal(size=(8, 3)).astype(np.float32), RNG.normal(size=(8, 2)).astype(np.float32)


def mean_squared_error(params, x, y):
    return ((x @ params["w"] + params["c"] - y) ** 2).mean()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (optax.sgd(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
        (optax.sgd(0.1, momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        (optax.adamw(0.01, weight_decay=0.1), lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1)),
    ],
    ids=["sgd", "momentum", "adamw"],
)
def test_ten_steps_are_those_of_torch(ours, theirs):
    """Same parameters, same losses, each the loss before its step."""
    params, state = {"w": jnp.array(W), "c": jnp.array(C)}, None
    step, state = make_jax_step(mean_squared_error, ours), ours.init(params)
    w, c = torch.tensor(W, requires_grad=True), torch.tensor(C, requires_grad=True)
    optimizer = theirs([w, c])
    for _ in range(10):
        params, state, loss = step(params, state, X, Y)
        optimizer.zero_grad()
        other = ((torch.tensor(X) @ w + c - torch.tensor(Y)) ** 2).mean()
        other.backward()
        optimizer.step()
        assert float(loss) == pytest.approx(other.item(), rel=1e-5)
    assert np.allclose(params["w"], w.detach(), rtol=1e-4, atol=1e-6)
    assert np.allclose(params["c"], c.detach(), rtol=1e-4, atol=1e-6)


def test_it_is_pure_and_compiled_once():
    """The same arguments give the same result; the old parameters are still there; a new shape compiles anew."""
    optimizer, traces = optax.sgd(0.1), []

    def loss_fn(params, x, y):
        traces.append(x.shape)
        return mean_squared_error(params, x, y)

    params = {"w": jnp.array(W), "c": jnp.array(C)}
    step = make_jax_step(loss_fn, optimizer)
    one, two = (step(params, optimizer.init(params), X, Y) for _ in range(2))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, one, two))
    assert np.array_equal(params["w"], W)
    step(params, optimizer.init(params), X[:3], Y[:3])
    assert traces == [(8, 3), (3, 3)]


def test_donated_parameters_are_gone():
    """Their memory belongs to the new ones, and that of the optimizer's state, too."""
    optimizer = optax.sgd(0.1, momentum=0.9)
    params = {"w": jnp.array(W), "c": jnp.array(C)}
    state = optimizer.init(params)
    new, _, _ = make_jax_step(mean_squared_error, optimizer, donate=True)(params, state, X, Y)
    assert params["w"].is_deleted()
    assert all(array.is_deleted() for array in jax.tree.leaves(state))
    assert not new["w"].is_deleted()


def test_an_optimizer_whose_state_is_the_parameters_can_be_given_them():
    """Memory can be given away only once: what is there twice is copied."""
    optimizer = optax.contrib.prodigy()
    params = {"w": jnp.array(W), "c": jnp.array(C)}
    state = optimizer.init(params)
    right, _, _ = make_jax_step(mean_squared_error, optimizer)(params, state, X, Y)
    new, _, _ = make_jax_step(mean_squared_error, optimizer, donate=True)(params, state, X, Y)
    jax.tree.map(np.testing.assert_array_equal, new, right)


def test_an_optimizer_that_wants_the_loss_gets_it():
    """It halves the step once the loss stays where it is."""
    optimizer = optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau(factor=0.5, patience=1))
    step, w = make_jax_step(lambda w: w * 0 + 1.0, optimizer), jnp.array(1.0)
    state = optimizer.init(w)
    for _ in range(5):
        w, state, _ = step(w, state)
    assert float(state[-1].scale) < 1


@pytest.mark.parametrize("opaque_mode", [False, True])
def test_an_optimizer_gets_what_it_names_and_no_more(opaque_mode):
    """Sharpness-aware minimization takes no loss; if it hides its two steps in one, it wants gradients elsewhere."""
    optimizer = optax.contrib.sam(optax.sgd(0.1), optax.sgd(0.05), opaque_mode=opaque_mode)
    step, w = make_jax_step(lambda w, x: (w * x) ** 2, optimizer), jnp.float32(1.0)
    state = optimizer.init(w)
    for _ in range(1 if opaque_mode else 2):
        w, state, _ = step(w, state, 1.0)
    assert float(w) == pytest.approx(1.0 - 0.1 * 2 * (1.0 + 0.05 * 2))


def test_a_line_search_gets_the_loss_of_the_batch():
    """It ends at the least squares."""
    optimizer = optax.lbfgs()
    params = {"w": jnp.array(W), "c": jnp.array(C)}
    step, state = make_jax_step(mean_squared_error, optimizer), optimizer.init(params)
    for _ in range(15):
        params, state, loss = step(params, state, X, Y)
    design = np.c_[X, np.ones(8, np.float32)]
    residuals = design @ np.linalg.lstsq(design, Y, rcond=None)[0] - Y
    assert float(loss) == pytest.approx((residuals**2).mean(), rel=1e-4)


@pytest.mark.parametrize(
    ("loss_fn", "message"),
    [
        (lambda w: None, "loss_fn returned a NoneType; return the loss alone"),
        (lambda w: 0.5, r"one number in a JAX array, .*returned a float; return the loss alone, without float\(\)"),
        (lambda w: np.float32(0.5), "returned a float32; return"),
        (lambda w: w.sum().astype(int), "must be real and floating point, but loss_fn returned int32"),
        (lambda w: w.sum() * 1j, r"returned complex64; take abs\(\) of what is complex"),
    ],
)
def test_a_loss_without_a_gradient_is_refused(loss_fn, message):
    """A constant would train nothing, and say nothing."""
    optimizer = optax.sgd(0.1)
    with pytest.raises(InputError, match=message):
        make_jax_step(loss_fn, optimizer)(jnp.ones(2), optimizer.init(jnp.ones(2)))


def test_parameters_without_a_gradient_are_refused_by_name():
    """Traced or not."""
    optimizer, params = optax.sgd(0.1), {"w": jnp.ones(2), "n": [3]}
    step = make_jax_step(lambda p: p["w"].sum(), optimizer)
    for jit_is_off in (False, True):
        with jax.disable_jit(jit_is_off), pytest.raises(InputError, match=r"params\['n'\]\[0\] is int32; convert it"):
            step(params, optimizer.init(params))


def test_complex_parameters_are_refused():
    """JAX's gradient of |z|^2 is the conjugate of 2z: a step against it would go up along the imaginary axis."""
    optimizer, z = optax.sgd(0.1), jnp.array(1 + 1j)
    with pytest.raises(InputError, match=r"params must be real .* is complex64; .* make two arrays"):
        make_jax_step(lambda z: jnp.abs(z) ** 2, optimizer)(z, optimizer.init(z))


def test_bad_losses_and_parameters_are_refused():
    """Before anything is compiled."""
    optimizer = optax.sgd(0.1)
    with pytest.raises(InputError, match=r"loss_fn returned shape \(2,\); end it with"):
        make_jax_step(lambda w: w, optimizer)(jnp.ones(2), optimizer.init(jnp.ones(2)))
    with pytest.raises(InputError, match="loss_fn returned a tuple; return the loss alone"):
        make_jax_step(lambda w: (w.sum(), w), optimizer)(jnp.ones(2), optimizer.init(jnp.ones(2)))
    with pytest.raises(InputError, match="params must hold at least one array"):
        make_jax_step(lambda w: 0.0, optimizer)({}, optimizer.init({}))


def test_a_loss_that_cannot_be_called_is_refused():
    """Before the first step."""
    with pytest.raises(InputError, match=r"loss_fn must be a function .* got a float"):
        make_jax_step(0.5, optax.sgd(0.1))


@pytest.mark.parametrize("donate", [False, True])
def test_what_jax_cannot_trace_in_a_batch_is_named(donate):
    """Such as what torch's DataLoader gives."""
    sgd, w = optax.sgd(0.1), jnp.ones(2)
    step = make_jax_step(lambda w, batch: (w * batch["x"]).sum(), sgd, donate=donate)
    with pytest.raises(InputError, match=r"batch\[0\]\['x'\] is a torch\.Tensor; .*\.numpy\(\)"):
        step(w, sgd.init(w), {"x": torch.ones(2)})
    with pytest.raises(InputError, match=r"batch\[0\]\['x'\] is a builtins\.str"):
        step(w, sgd.init(w), {"x": "one"})
    with pytest.raises(InputError, match=r"arrays and numbers, but params is a torch\."):
        step(torch.ones(2), sgd.init(w), {"x": 1.0})
    assert float(step(w, sgd.init(w), {"x": 1.0})[2]) == 2


@pytest.mark.parametrize("state", [None, optax.sgd(0.1).init(jnp.ones(2)), optax.adam(0.1).init({"w": jnp.ones(2)})])
def test_the_state_of_another_optimizer_or_of_other_parameters_is_refused(state):
    """optax would speak of chains, or of None, which has no length."""
    step = make_jax_step(lambda w: w.sum(), optax.adam(0.1))
    with pytest.raises(InputError, match=r"opt_state must be what .*init\(params\) returned"):
        step(jnp.ones(2), state)


@pytest.mark.parametrize("jit_is_off", [False, True])
@pytest.mark.parametrize("donate", [False, True])
def test_a_function_among_the_parameters_is_named(donate, jit_is_off):
    """As in a module that is a pytree and holds its activation; a TypeError of the loss itself is passed on."""
    sgd = optax.sgd(0.1)
    step = make_jax_step(lambda p, x: p["act"](x * p["w"]).sum(), sgd, donate=donate)
    params = {"w": jnp.ones(3), "act": jnp.tanh}
    said = r"params\['act'\] is a \w*; keep it out of them.*eqx\.partition\(model, eqx\.is_inexact_array\)"
    with jax.disable_jit(jit_is_off), pytest.raises(InputError, match=said):
        step(params, sgd.init({"w": params["w"]}), jnp.ones(3))
    with jax.disable_jit(jit_is_off), pytest.raises(TypeError, match="not callable"):
        step({"w": jnp.ones(3), "act": jnp.ones(3)}, sgd.init({"w": 1.0, "act": 1.0}), jnp.ones(3))


@pytest.mark.parametrize("donate", [False, True])
def test_the_step_can_be_lowered(donate):
    """As what jax.jit returns: for its memory and its cost."""
    optimizer = optax.sgd(0.1)
    params = {"w": jnp.ones((3, 1))}
    step = make_jax_step(lambda p, x: ((x @ p["w"]) ** 2).mean(), optimizer, donate=donate)
    compiled = step.lower(params, optimizer.init(params), jnp.ones((4, 3))).compile()
    assert compiled.cost_analysis()["flops"] > 0
