"""Every fast twin gives what its plain function gives: values, dtypes, signs of zeros, and gradients of both orders."""

import numpy as np
import pytest

import course_lib.autograd as ag
from course_lib.autograd.fast.elementwise import fast_relu, fast_relu_vjp
from course_lib.autograd.fast.sgd import fast_sgd_step
from course_lib.autograd.nn.functional import affine, losses
from course_lib.autograd.ops import activations, elementwise, shape
from course_lib.errors import AutogradError

MODULES = (elementwise, shape, activations, affine, losses)
TWINS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if hasattr(value, "__wrapped__") and not hasattr(value, "cache_info")
}
NAMES = {name: list(value.__wrapped__.__code__.co_varnames) for name, value in TWINS.items()}
UNARY = [name for name, taken in NAMES.items() if taken[:2] == ["input"]]
BINARY = [name for name, taken in NAMES.items() if "x" in taken and "other" in taken]
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 80.0, np.inf, -np.inf, np.nan]


def outcome(f, *arrays, grad=True):
    """Return everything that a call and the two orders of gradients give, or the error."""
    xs = [ag.from_numpy(a.copy()).requires_grad_(grad and a.dtype.kind == "f") if isinstance(a, np.ndarray) else a
          for a in arrays]  # fmt: skip
    try:
        y = f(*xs)
    except AutogradError as error:
        return [str(error)]
    found = [y]
    leaves = [x for x in xs if isinstance(x, ag.Tensor) and x.requires_grad]
    if y.requires_grad:
        first = ag.grad(y, leaves, ag.tensor(weights(y.shape).astype(y.dtype)), create_graph=True)
        found += first
        second = [(g, ag.tensor(weights(g.shape).astype(g.dtype))) for g in first if g.requires_grad]
        if second:
            gs, vs = map(list, zip(*second, strict=True))
            found += ag.grad(gs, leaves, vs, materialize_grads=True)
    return [(x.detach().numpy(), x.requires_grad) for x in found]


def weights(shape):
    """Make a cotangent with infinite, negative and zero entries."""
    return np.resize([1.0, -2.0, 0.0, -0.0, np.inf, 0.25, np.nan], shape)


def assert_same(fast, plain, *, bits):
    """Compare, bit by bit or up to rounding."""
    assert len(fast) == len(plain)
    for f, p in zip(fast, plain, strict=True):
        if isinstance(f, str) or isinstance(p, str):
            assert f == p
            continue
        (f, f_grad), (p, p_grad) = f, p
        assert (f.dtype, f.shape, f_grad) == (p.dtype, p.shape, p_grad)
        if bits:
            np.testing.assert_array_equal(f, p)
            np.testing.assert_array_equal(np.signbit(f) & (f == 0), np.signbit(p) & (p == 0))
        else:
            np.testing.assert_allclose(f, p, rtol=1e-5 if f.dtype == np.float32 else 1e-12, atol=1e-7)


def test_the_twins_are_found():
    """So that the tests below are about something."""
    assert {"activations.relu", "elementwise.exp", "shape.clone", "activations.silu"} <= set(UNARY)
    assert {"elementwise.plus", "elementwise.mul", "elementwise.maximum", "elementwise._tensor_power"} <= set(BINARY)
    assert set(TWINS) - {*UNARY, *BINARY} == {"affine.linear", "losses.mse_loss", "losses.cross_entropy"}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name):
    """On edge cases of every dtype, on numbers, on nothing, on many, with and without gradients."""
    fast = TWINS[name]
    inputs = [np.array(EDGES, dtype) for dtype in ("f2", "f4", "f8")]
    inputs += [np.array(0.5, "f4"), np.zeros((0, 3)), np.resize(EDGES, (40, 30)).astype("f4")]
    inputs += [np.arange(-3, 4), np.array([True, False]), np.array([3, 0], "u1")]
    for x in inputs:
        for grad in (True, False):
            assert_same(outcome(fast, x, grad=grad), outcome(fast.__wrapped__, x, grad=grad), bits=True)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name):
    """Of one shape, of shapes that broadcast or do not, of several dtypes, and with numbers."""
    fast = TWINS[name]
    x, y = (np.array(v).ravel() for v in np.meshgrid(EDGES, EDGES))
    pairs = [(x.astype(d), y.astype(d)) for d in ("f4", "f8")]
    pairs += [(x.astype("f4"), y), (x[:11], np.array(2.0)), (x[:11].reshape(11, 1), y[::11]), (x[:3], y[:4])]
    pairs += [(x[:11], 2.0), (2.0, x[:11]), (x[:11], 3), (np.arange(1, 5), np.arange(2, 6)), (np.arange(1, 5), 2.5)]
    pairs += [(np.array([True, False]), np.array([True, True])), (np.zeros((0, 2)), np.zeros((0, 2)))]
    for pair in pairs:
        assert_same(outcome(fast, *pair), outcome(fast.__wrapped__, *pair), bits=True)
        assert_same(outcome(fast, *pair, grad=False), outcome(fast.__wrapped__, *pair, grad=False), bits=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("edge", [0.0, -0.0, np.inf, np.nan])
def test_linear_and_losses(dtype, edge):
    """Up to rounding, since the fused forms sum in another order; NaN and infinity come out at the same places."""
    rng = np.random.default_rng(0)
    x, w, b, t = (rng.standard_normal(s).astype(dtype) for s in ((5, 3), (4, 3), (4,), (5, 3)))
    x[1, 2] = edge
    for args in ((x, w, b), (x, w), (x[:1], w, b)):
        assert_same(outcome(ag.linear, *args), outcome(ag.linear.__wrapped__, *args), bits=False)
    assert_same(outcome(ag.mse_loss, x, t), outcome(ag.mse_loss.__wrapped__, x, t), bits=False)
    y = np.array([0, 2, 1, 1, 0])
    assert_same(outcome(ag.cross_entropy, x, y), outcome(ag.cross_entropy.__wrapped__, x, y), bits=False)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", [(), (0, 3), (8, 64), (27, 19)], ids=["number", "nothing", "few", "many"])
def test_the_gradient_of_relu_is_that_of_a_choice(shape, dtype):
    """Of few elements and of many, bit by bit: infinite, NaN and negative zeros too."""
    rng = np.random.default_rng(0)
    out = np.asarray(np.maximum(rng.standard_normal(shape), 0) + rng.choice([0, 0, np.nan], shape), dtype)
    drawn = rng.standard_normal(shape) * rng.choice([1, 0, -0.0, np.inf, np.nan], shape)
    g = np.asarray(drawn, dtype)

    def plain(g, out):
        return elementwise.select(g, 0, out != 0)

    with np.errstate(all="ignore"):  # as in the walk
        fast, chosen = fast_relu_vjp(plain)(g, out), plain(g, out)
        assert fast.dtype == dtype
        np.testing.assert_array_equal(fast, chosen)
        np.testing.assert_array_equal(np.signbit(fast), np.signbit(chosen))
        np.testing.assert_array_equal(fast_relu(lambda x: np.maximum(x, 0))(g), np.maximum(g, 0))


def test_a_step_of_sgd():
    """Parameters of two dtypes, with a gradient that overflows."""
    found = []
    for step in (fast_sgd_step, plain_sgd_step):
        ps = [ag.tensor(np.array([1.0, -2.0, 3e38], d), requires_grad=True) for d in ("f4", "f8")]
        for p in ps:
            p.grad = ag.tensor(np.array([0.5, -0.0, -3e38], p.dtype))
        with np.errstate(all="ignore"):
            step(ps, 10.0)
        found.append([p.detach().numpy() for p in ps])
    for fast, plain in zip(*found, strict=True):
        assert fast.dtype == plain.dtype
        np.testing.assert_array_equal(fast, plain)


def plain_sgd_step(params, lr):
    """Step as SGD does with any settings."""
    optimizer = ag.optim.SGD(params, lr)
    for p in params:
        optimizer.update(p, p.value, p.grad.value, optimizer.param_groups[0])
