"""Tensors print as torch's do."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import course_lib.autograd as ag

SPECIAL = st.sampled_from([1e-6, 1e9, np.inf, -np.inf, np.nan, 0.0])
VALUES = st.one_of(st.floats(-10, 10, width=32), st.integers(-5, 5).map(float), SPECIAL)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_elements_are_formatted_as_torchs(data):
    """Whole, fractional, tiny, huge and special numbers of every dtype line up as in torch, in any shape."""
    dtype = data.draw(st.sampled_from([np.float32, np.float64, np.int64, np.int32, np.bool_]))
    elements = VALUES.map(np.float32) if dtype == np.float32 else VALUES if dtype == np.float64 else None
    x = data.draw(
        arrays(dtype, data.draw(array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)), elements=elements)
    )
    assert repr(ag.tensor(x)) == repr(torch.tensor(x))


@pytest.mark.parametrize("shape", [(30,), (1001,), (40, 30), (8, 8, 20), (1200, 2), (0, 3), ()])
def test_long_tensors_are_wrapped_and_shortened_as_torchs(shape):
    """Lines break where torch's do, and the middle of large tensors is left out."""
    x = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
    assert repr(ag.tensor(x.astype("f"))) == repr(torch.tensor(x.astype("f")))


@pytest.mark.parametrize("first", [0.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("rest", [0.0, np.nan, 1.0, 12.5])
def test_zeros_and_what_is_not_finite_do_not_count_for_the_width(first, rest):
    """Lines hold as many elements as torch's where some, or all, are 0, inf or nan."""
    x = np.array([first] + [rest] * 40, "f")
    assert repr(ag.tensor(x)) == repr(torch.tensor(x))


def test_what_is_not_the_default_is_shown():
    """requires_grad, grad_fn and dtype follow the elements, on a line of their own if there is no room."""
    for text in ("x", "x * 2", "(x * x).sum()", "x.double() / 3", "x.reshape(2, 1)", "x @ x", "x[0]", "x.expand(9, 2)"):
        ours, theirs = (repr(eval(text, {"x": lib.tensor([1.5, 2.0], requires_grad=True)})) for lib in (ag, torch))
        assert ours == theirs


def test_numbers_can_be_formatted():
    """A single number takes a format, and converts to Python's numbers."""
    x = ag.tensor(2.5, requires_grad=True)
    assert (f"{x:.2f}", float(x), int(x), bool(x)) == ("2.50", 2.5, 2, True)
    assert f"{ag.tensor([1.0])}" == "tensor([1.])"
    assert [10, 20, 30][ag.tensor(1)] == 20
