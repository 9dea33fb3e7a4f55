"""Numbers and arrays in a few characters."""

import numpy as np
import pytest
import torch

from course_lib.figures.short_numbers import convert_to_array, format_briefly, format_elements


@pytest.mark.parametrize(
    ("value", "said"),
    [(4.0, "4"), (1 / 3, "0.3333"), (-0.0, "0"), (3e19, "3e+19"), (np.nan, "nan"), ([2.0, 4.0], "[2, 4]"), ([], "[]")],
)
def test_what_is_small_is_said_in_full(value, said):
    """Four digits, and no sign on a zero."""
    assert format_briefly(np.array(value)) == said


def test_what_is_big_is_said_by_shape_and_norm():
    """Room decides: in full, with the shape, or the norm alone; and the norm is Euclid's."""
    value = np.array([[3.0, 0.0], [0.0, 4.0]])
    assert format_briefly(value) == "[[3, 0], [0, 4]]"
    assert format_briefly(np.tile(value, (1, 8)) / np.sqrt(8)) == "2x16 array, norm 5"
    assert format_briefly(np.ones(16)) == "16-element array, norm 4"
    assert format_briefly(value, room=8) == "norm 5"
    assert format_elements(np.ones(9), room=99) is None


def test_any_tensor_becomes_an_array_of_its_own(engine):
    """The shape is kept, half precision and one number included, and the copy does not follow the original."""
    x = engine.tensor([[1.0, 2.0]], requires_grad=True)
    copy = convert_to_array(x)
    assert (copy.shape, convert_to_array(x.sum()).shape) == ((1, 2), ())
    copy[:] = 0
    assert x.tolist() == [[1.0, 2.0]]


def test_half_precision_is_read():
    """NumPy has no bfloat16, and the figure has no need of it."""
    assert format_briefly(convert_to_array(torch.tensor([1.5, 2.0], dtype=torch.bfloat16))) == "[1.5, 2]"
