"""Every operation against finite differences."""

import numpy as np
import pytest

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
