"""Random programs, shapes, layouts and dtypes, against torch."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, mutually_broadcastable_shapes

import course_lib.autograd as ag

QUICK = settings(max_examples=60, deadline=None)
UNARY = ("neg", "sin", "tanh", "sigmoid", "relu", "exp", "abs", "square")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
numbers = st.floats(-2, 2).map(lambda v: round(v, 3))


def run(lib, program, values):
    """Run a list of steps on a growing list of tensors, and return the outputs and gradients."""
    leaves = [lib.tensor(v, requires_grad=True) for v in values]
    xs = list(leaves)
    for op, i, j in program:
        x, y = xs[i % len(xs)], xs[j % len(xs)]
        xs.append(getattr(lib, op)(x).clamp(-5, 5) if op in UNARY else getattr(lib, op)(x, y).clamp(-5, 5))
    s = sum((x * x).mean() for x in xs)
    grad = ag.grad if lib is ag else torch.autograd.grad
    first = grad(s, leaves, create_graph=True)
    t = sum((g * g).sum() for g in first)
    second = grad(t, leaves, allow_unused=True)
    return [s, *first, *[lib.zeros(1) if g is None else g for g in second]]


@QUICK
@given(st.data())
def test_any_program_has_torchs_gradients(data):
    """A random graph of operations on broadcasting shapes has torch's value, gradients and second gradients."""
    shapes = data.draw(mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3)).input_shapes
    values = [data.draw(arrays(np.float64, s, elements=numbers)) for s in shapes]
    step = st.tuples(st.sampled_from(UNARY + BINARY), st.integers(0, 9), st.integers(0, 9))
    program = data.draw(st.lists(step, max_size=10))
    for a, b in zip(run(ag, program, values), run(torch, program, values), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.numpy(force=True), rtol=1e-7, atol=1e-9)


DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool")


@QUICK
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES), st.sampled_from([(), (3,)]), st.sampled_from([(), (3,)]))
def test_mixed_dtypes_give_torchs_dtype(a, b, s, t):
    """The dtype of a sum, product, quotient and choice is torch's, for every pair of dtypes."""
    results = []
    for lib in (ag, torch):
        x, y = lib.tensor(np.ones(s, a)), lib.tensor(np.ones(t, b))
        found = [x + y, x * y, x / y, lib.maximum(x, y), lib.where(x > y, x, y)]
        results.append([str(z.dtype).removeprefix("torch.") for z in found])
    assert results[0] == results[1]


@QUICK
@given(
    st.sampled_from(DTYPES),
    st.sampled_from([2, 2.5, True]),
    st.sampled_from(["__add__", "__mul__", "__truediv__", "__rmul__"]),
)
def test_numbers_do_not_change_the_dtype_more_than_in_torch(dtype, number, op):
    """A Python number makes a float of an integer tensor if it must, and leaves the dtype alone otherwise."""
    ours, theirs = (getattr(lib.tensor(np.ones(2, dtype)), op)(number).dtype for lib in (ag, torch))
    assert str(ours) == str(theirs).removeprefix("torch.")


@QUICK
@given(st.sampled_from(DTYPES), st.sampled_from(["exp", "sqrt", "sum", "sigmoid", "abs", "cumsum", "relu", "square"]))
def test_functions_of_integers_give_torchs_dtype(dtype, op):
    """Functions with fractional results make float32 of integers; sums make int64."""
    if dtype == "bool" and op in ("abs", "relu", "square"):
        return
    ours, theirs = (getattr(lib.tensor(np.ones(2, dtype)), op)(*([0] if op == "cumsum" else [])) for lib in (ag, torch))
    assert str(ours.dtype) == str(theirs.dtype).removeprefix("torch.")
    np.testing.assert_allclose(ours.numpy(), theirs.numpy())


def test_gradients_keep_the_dtype_of_their_tensor():
    """In a product of float32 and float64 each gradient has the dtype of its own leaf."""
    x, y = ag.tensor(np.ones(3, "float32"), requires_grad=True), ag.tensor(np.ones(3), requires_grad=True)
    (x * y).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (np.float32, np.float64)


@QUICK
@given(arrays(np.float64, (4, 6), elements=numbers), st.sampled_from(["T", "reverse", "step", "broadcast"]))
def test_layout_does_not_matter(x, layout):
    """Transposed, reversed, strided and broadcast arrays give the values and gradients of their copies."""
    view = {"T": x.T, "reverse": x[::-1, ::-1], "step": x[::2, 1::3], "broadcast": np.broadcast_to(x[:1], (4, 6))}[
        layout
    ]
    answers = []
    for array in (view, view.copy()):
        w = ag.tensor(np.arange(view.shape[1] * 2.0).reshape(view.shape[1], 2) / 7, requires_grad=True)
        a = ag.from_numpy(array).requires_grad_()
        y = (a @ w).tanh().sum(0) + a.softmax(1).mean() + a.relu().reshape(-1).cumsum(0)[-1] + ag.linear(a, w.T).sum()
        answers.append([y, *ag.grad(y.sum(), [a, w])])
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-12)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-310, 710.0, -710.0]
TESTED = [
    "neg",
    "reciprocal",
    "square",
    "abs",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "sinh",
    "cosh",
    "tanh",
    "atan",
    "erf",
    "sigmoid",
    "relu",
    "softplus",
    "elu",
    "leaky_relu",
    "silu",
    "logsumexp",
    "softmax",
    "log_softmax",
    "sum",
    "mean",
    "amax",
    "amin",
]


def test_special_values_pass_through_as_torchs_do():
    """Infinities, NaNs and subnormal numbers give torch's values and gradients, for finite and infinite cotangents."""
    wrong = []
    for name in TESTED:
        for g in (1.0, np.inf):
            answers = []
            for lib in (ag, torch):
                f = getattr(lib, name, None) or getattr(torch.nn.functional, name)
                xs = [lib.tensor(np.array([v]), requires_grad=True) for v in SPECIAL]
                with np.errstate(all="ignore"):
                    ys = [
                        f(x, 0) if ("soft" in name and name != "softplus") or name == "logsumexp" else f(x) for x in xs
                    ]
                    for y in ys:
                        y.sum().backward(lib.tensor(np.array(g)))
                answers.append([[y.item(), x.grad.item()] for x, y in zip(xs, ys, strict=True)])
            same = np.isclose(*answers, rtol=1e-9, atol=1e-300, equal_nan=True)
            wrong += [(name, g, SPECIAL[i], *(a[i] for a in answers)) for i in np.flatnonzero(~same.all(1))]
    assert not wrong
