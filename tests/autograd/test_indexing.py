"""Every kind of index, alone and beside every other: values, shapes, gradients, writes and refusals are torch's."""

from itertools import islice, product

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError, AutogradIndexError


class InTensor:
    """A part of an index that is a tensor of whichever library."""

    def __init__(self, data, dtype=None):
        self.array = np.array(data, dtype)

    def __repr__(self):
        return f"tensor({self.array.tolist()}, {self.array.dtype})"


NUMBERS = [0, 1, -1, np.int64(0)]
SLICES = [slice(None), slice(1, None), slice(None, None, 2), slice(-2, 9), slice(2, 1)]
NEW = [None, ..., True, False]
PLACES = [
    [0], [], [-1, 0], (0, 1), (1,), ((0, 1), (1, 0)), [[0], [1]], [2, 0],
    np.array([1, 0]), np.array([[0, 1]]), np.array(1), np.zeros(0, int), InTensor([0, 1]), InTensor(-1),
    InTensor([1], "i4"),
]  # fmt: skip
MASKS = [
    [True, False], (False, True, True), [False] * 3, np.array([True] * 2), np.array([True]), np.zeros(0, bool),
    InTensor([[True, False, True], [False, True, True]]), InTensor([True, False, True, True]), InTensor(True),
]  # fmt: skip
PARTS = [*NUMBERS, *SLICES, *NEW, *PLACES, *MASKS]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 1), (2, 0), (2, 3, 4), (2, 1, 3)]
ALONE = [
    [[0, 1], [1, 0]], [[0, 1]], [0, slice(None)], [None, 0], [..., 1], [(0, 1), [1, 1]], [[True, False], 1], [[]],
    [InTensor([0, 1]), 0], [InTensor(1), 0], [[[0, 1], [1, 0]]], [np.array([0, 1]), slice(1)], range(2), [1.5][:0],
]  # fmt: skip


REFUSED = "refused"


def indices():
    """Count up some ten thousand: each part alone, each beside each other, and every eightieth index of three parts."""
    yield from product(SHAPES, [*PARTS, *ALONE, (), *((part,) for part in PARTS)])
    yield from product(SHAPES[3:], product(PARTS, repeat=2))
    yield from islice(product(SHAPES[4:], product(PARTS, repeat=3)), 0, None, 80)


def of(lib, index):
    """Make the tensors in an index those of a library."""
    if isinstance(index, (tuple, list)):
        return type(index)(of(lib, part) for part in index)
    return lib.tensor(index.array) if isinstance(index, InTensor) else index


def outcome(lib, refusal, shape, index):
    """Read and write by an index: return what is read, what is written, and the gradients of both."""
    index, count = of(lib, index), np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    x = lib.tensor(count, requires_grad=True)
    written = x * 2
    try:
        read = x[index]
    except refusal:
        with pytest.raises(refusal):
            written[index] = 0.0
        return REFUSED
    weights = np.arange(1.0, 1 + read.numel()).reshape(read.shape)
    v = lib.tensor(weights, requires_grad=True)
    written[index] = v
    ((read * lib.tensor(weights)).sum() + (written * lib.tensor(count)).sum()).backward()
    dv = lib.zeros_like(v) if v.grad is None else v.grad
    return [(tuple(a.shape), a.tolist()) for a in (read, written, x.grad, dv)]


def differs_on_purpose(index, mine, theirs):
    """Say whether one side refuses for a reason that makes no sense on the other.

    Where nothing is picked, torch does not look whether it could be; here, as in NumPy, an index beyond the end is a
    mistake in any case. A second Ellipsis stands for nothing more; torch counts its dimensions again, and finds none.
    """
    if mine == REFUSED:
        return theirs != REFUSED and 0 in theirs[0][0]
    return theirs == REFUSED and isinstance(index, tuple) and sum(part is ... for part in index) > 1


@pytest.mark.filterwarnings("ignore:.*non-tuple", "ignore:an index should be a tuple")
def test_every_index_picks_writes_and_is_refused_as_in_torch():
    """Values, shapes and gradients, of what is read and of what is written."""
    wrong, seen = [], 0
    for shape, index in indices():
        mine = outcome(ag, AutogradIndexError, shape, index)
        theirs = outcome(torch, IndexError, shape, index)
        seen += mine != REFUSED
        if mine != theirs and not differs_on_purpose(index, mine, theirs):
            wrong.append((shape, index, mine, theirs))
    assert not wrong, f"{len(wrong)}, such as {wrong[0]}"
    assert seen > 4000  # or they would all be refused


def test_a_list_of_lists_is_a_tuple_and_warned_of():
    """By torch's old custom; a long one is an array, and so is one of numbers, and those are not."""
    for lib in (ag, torch):
        x = lib.arange(24).reshape(2, 3, 4)
        with pytest.warns(UserWarning, match="tuple"):
            assert x[[[0, 1], [1, 0]]].tolist() == x[[0, 1], [1, 0]].tolist()
        assert tuple(x[[[0, 1]] * 32].shape) == (32, 2, 3, 4)
        assert tuple(x[[0, 1, 1]].shape) == (3, 3, 4)


@pytest.mark.parametrize(
    "index",
    [
        0.5, "a", [0.5], ["a"], [None, "a"], (0, [None]), (0, [[0, 1], [1]]), np.array([1.0]), np.array([1], "u1"),
        InTensor([1.0]), InTensor([1], "u1"), InTensor(1.0), 1j, {0},
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:an index should be a tuple")
def test_what_is_no_index_is_refused(index):
    """Fractions, which torch cuts off in a list, and bytes, which are masks to torch and numbers to NumPy."""
    x = ag.ones(2, 3)
    with pytest.raises(AutogradIndexError, match=r"integers, slices, None.* but a part of it is .*\.long\(\)"):
        x[of(ag, index)]
    with pytest.raises(AutogradIndexError):
        x[of(ag, index)] = 0.0


def test_more_is_allowed_than_in_torch():
    """Steps backwards, and integers of any size, which torch's strides and kernels do not know."""
    x = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x[::-1] * ag.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100, 10, 1]
    assert x[ag.tensor(np.array([2, 0], "i2"))].tolist() == [3, 1]


def test_a_mask_has_the_shape_of_what_it_masks():
    """Also where it masks nothing."""
    with pytest.raises(AutogradIndexError, match=r"a mask must have the shape .* \(2,\), but it has \(0,\)"):
        ag.ones(2, 3)[np.zeros(0, bool)]
    with pytest.raises(AutogradIndexError, match=r"\(3,\), but it has \(2,\)"):
        ag.ones(2, 3)[..., [True, False]]


def test_what_is_written_to_the_bound_of_a_slice_later_does_not_matter():
    """The gradient goes where the elements came from."""
    x, start = ag.tensor([1.0, 2.0, 3.0], requires_grad=True), ag.tensor(1)
    y = x[start:]
    start.sub_(1)
    y.sum().backward()
    assert x.grad.tolist() == [0, 1, 1]


def test_a_single_element_is_a_view():
    """What is written to it is in the whole, and an element of one that is recorded is not written to."""
    for lib in (ag, torch):
        x = lib.zeros(3)
        x[1].add_(5)
        assert x.tolist() == [0, 5, 0]


def test_loops_by_the_protocol_of_getitem_end():
    """An index beyond the end is Python's IndexError, and ours."""
    for lib in (ag, torch):
        x = lib.tensor([1.0, 2.0])
        assert [float(row) for row in map(x.__getitem__, range(2))] == [1, 2]
        with pytest.raises(IndexError):
            x[2]
        with pytest.raises(IndexError):
            x[2] = 0.0
        with pytest.raises(IndexError):
            x.sum(5)
        with pytest.raises(IndexError):
            x.size(5)
        assert [row.item() for row in reversed(x)] == [2, 1]

        class Rows:
            def __getitem__(self, i, x=x):
                return x[i]

        assert [row.item() for row in Rows()] == [1, 2]
    with pytest.raises(AutogradError):
        ag.ones(2)[2]
