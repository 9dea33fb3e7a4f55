"""Every operation against finite differences."""

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from tests.autograd.oracle_cases import CASES


def inputs_of(name, rng):
    """Draw inputs of the first shapes of a case."""
    _, shapes, (low, high) = CASES[name]
    return [ag.tensor(np.asarray(rng.uniform(low, high, s)), requires_grad=True) for s in shapes[0]]


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name):
    """The gradient of every operation is what small steps in its inputs do to its output."""
    assert ag.gradcheck(lambda *xs: CASES[name][0](ag, *xs), inputs_of(name, np.random.default_rng(5)))


@pytest.mark.parametrize("name", [name for name in CASES if "dim=" not in name and "ropy" not in name])
def test_second_gradients_are_slopes_of_gradients(name):
    """The gradient of a gradient is what small steps do to the gradient."""
    xs = inputs_of(name, np.random.default_rng(6))
    assert ag.gradgradcheck(lambda *xs: CASES[name][0](ag, *xs), xs, rtol=2e-3, atol=1e-4)


def sloped(function, factor, slope):
    """Return an operation that multiplies by a factor, and says that its slope is another number."""

    class Sloped(function):
        @staticmethod
        def forward(ctx, x):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * slope

    return Sloped.apply


GRADCHECKS = ((ag, ag.Function, ag), (torch, torch.autograd.Function, torch.autograd))


@pytest.mark.parametrize(
    ("factor", "slope", "options", "passes"),
    [
        (1, 1 + 5e-4, {}, True),
        (1, 1 + 2e-3, {}, False),
        (0, 5e-6, {}, True),
        (0, 5e-5, {}, False),
        (1, 1.105, {"rtol": 0.1, "atol": 0}, False),
        (1, 0.91, {"rtol": 0.1, "atol": 0}, True),
        (1, 1.105, {"rtol": 0, "atol": 0.11}, True),
        (1, float("nan"), {}, False),
    ],
)
def test_tolerances_are_torchs(factor, slope, options, passes):
    """A share of what the differences give, and a little more; NaN is never near."""
    for lib, function, g in GRADCHECKS:
        x = lib.tensor([0.5, -1.5], dtype=lib.float64, requires_grad=True)
        assert g.gradcheck(sloped(function, factor, slope), x, raise_exception=False, **options) is passes


@pytest.mark.parametrize(("eps", "passes"), [({}, True), ({"eps": 1e-2}, False)])
def test_a_kink_out_of_reach_is_no_obstacle(eps, passes):
    """The step is a millionth, unless another one is asked for."""
    for lib, _, g in GRADCHECKS:
        x = lib.tensor([1e-4], dtype=lib.float64, requires_grad=True)
        assert g.gradcheck(lambda x: x.abs(), x, raise_exception=False, **eps) is passes


def test_gradients_are_checked_where_nothing_is_recorded_and_of_numbers_alone():
    """The function is recorded all the same; outputs that have no gradient are passed over, and the input stays."""
    x = ag.tensor([0.5, -1.5], dtype=ag.float64, requires_grad=True)
    with ag.no_grad():
        assert ag.gradcheck(lambda x: (x * x, x > 0), x)
    assert x.tolist() == [0.5, -1.5]


def second(base, *, x_counts, g_counts):
    """Return a square whose gradient may have forgotten that it depends on x, or on its cotangent."""

    class Square(base):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return (g if g_counts else g.detach()) * 2 * (x if x_counts else x.detach())

    return Square.apply


@pytest.mark.parametrize(("x_counts", "g_counts"), [(True, True), (True, False), (False, True), (False, False)])
def test_second_derivatives_are_checked_in_the_inputs_and_in_the_cotangents(x_counts, g_counts):
    """Both are arguments of the backward pass."""
    for lib, base, g in GRADCHECKS:
        x = lib.tensor([0.5, -1.5], dtype=lib.float64, requires_grad=True)
        f = second(base, x_counts=x_counts, g_counts=g_counts)
        assert g.gradgradcheck(f, x, raise_exception=False) is (x_counts and g_counts)


def test_second_derivatives_are_checked_as_asked_for():
    """With the cotangents and the tolerances that are given."""
    for lib, base, g in GRADCHECKS:
        x = lib.tensor([0.5, -1.5], dtype=lib.float64, requires_grad=True)
        f = second(base, x_counts=False, g_counts=True)
        with pytest.raises(RuntimeError):
            g.gradgradcheck(f, x)
        assert g.gradgradcheck(f, x, atol=10)
        assert g.gradgradcheck(f, x, [lib.zeros(2, dtype=lib.float64)])


def test_what_is_no_tensor_and_what_is_empty_is_passed_over():
    """A number among the inputs is handed on, and a gradient without elements agrees."""
    x = ag.tensor([0.5, -1.5], dtype=ag.float64, requires_grad=True)
    assert ag.gradcheck(lambda x, n: x * n, [x, 3.0])
    assert ag.gradgradcheck(lambda x, n: x * x * n, [x, 3.0])
    assert ag.gradcheck(lambda x: (x[:0], x * x), x)
    assert ag.gradcheck(lambda x: x * x, ag.zeros(0, 2, dtype=ag.float64, requires_grad=True))


@pytest.mark.parametrize("g", [ag, torch.autograd])
def test_one_tensor_in_two_places_has_a_gradient_in_each(g):
    """Moved in one place, it must not be compared with the gradient of both."""
    lib = ag if g is ag else torch
    x = lib.tensor([1.0, 2.0], dtype=lib.float64, requires_grad=True)
    assert g.gradcheck(lambda a, b: a * b * b, (x, x))
    assert g.gradgradcheck(lambda a, b: a * b * b, (x, x))
