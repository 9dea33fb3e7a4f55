"""NaN, infinities and kinks, against torch: values, first and second gradients of what divides or compares."""

import itertools

import numpy as np
import pytest
import torch

import course_lib.autograd as ours

F = {ours: ours, torch: torch.nn.functional}
NORM = {ours: ours.vector_norm, torch: torch.linalg.vector_norm}
ODD = [0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]
PAIRS = list(itertools.product(ODD, ODD))


def derived(lib, f, x):
    """Return value, gradient and second gradient at ``x``; None for what torch leaves undefined."""
    x = lib.tensor(x, dtype=lib.float64, requires_grad=True)
    y = f(lib, x)
    (g,) = lib.autograd.grad((1.3 * y).sum(), x, create_graph=True, allow_unused=True)
    if g is None:
        return [y.tolist()]
    found = [y.tolist(), g.tolist()]
    if g.requires_grad:
        (h,) = lib.autograd.grad((1.7 * g).sum(), x, allow_unused=True)
        found.append(h if h is None else h.tolist())
    return found


def agree(f, x, *, second=True):
    """Compare both libraries, as far as torch defines a derivative."""
    try:
        expected = derived(torch, f, x)[: 3 if second else 2]
    except RuntimeError:  # torch's second gradient of some norms has no memory behind it
        expected = []
    for a, b in zip(derived(ours, f, x), expected, strict=False):
        np.testing.assert_allclose(0 if a is None else a, 0 if b is None else b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_product(pair):
    """Without a zero it is divided by each element; of two zeros, or one, the rest is multiplied."""
    lone = 0 in pair and not np.isfinite(pair).all()  # torch multiplies in another order, and NaN comes elsewhere
    agree(lambda lib, x: lib.prod(x, 0), [*pair, 3.0], second=not lone)
    agree(lambda lib, x: lib.prod(x), [*pair, 3.0], second=not lone)


@pytest.mark.parametrize("order", [0, 0.5, 1, 1.5, 2, 3, np.inf, -np.inf])
@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_a_norm(pair, order):
    """NaN counts as an element that is not 0, and is the largest one where there is one."""
    agree(lambda lib, x: NORM[lib](x, order), list(pair))


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, 2, 3, 0, -1, -2.0])
def test_a_power(exponent):
    """Roots of minus infinity are NaN."""
    agree(lambda _, x: x**exponent, ODD)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_elu_at_its_kink(alpha):
    """The second derivative at 0 is that from above."""
    agree(lambda lib, x: F[lib].elu(x, alpha), [*ODD, -1e-30])


@pytest.mark.parametrize(("beta", "threshold"), [(1, 20), (2, 20), (1, 4), (5.0, 20)])
def test_softplus_at_its_threshold(beta, threshold):
    """Where it turns into x, the slope is still that from below, and the second derivative is 0."""
    agree(lambda lib, x: F[lib].softplus(x, beta, threshold), [*ODD, 4.0, 10.0, 20.0, 19.999, 20.001, -800.0])


def test_a_long_product_takes_no_square_of_memory():
    """Without a zero its gradient is one division."""
    x = ours.tensor(np.full(200_000, 1.00001), requires_grad=True)
    x.prod().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1.00001**199_999, rtol=1e-9, atol=1e-12)
