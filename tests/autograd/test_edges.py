"""Inputs at the edges, against torch: empty choices, mixed dtypes, infinite slopes, dims given twice."""

import pickle

import numpy as np
import pytest
import torch

import course_lib.autograd as ours
from course_lib.errors import AutogradError

F = {ours: ours, torch: torch.nn.functional}


def both(f, *arrays):
    """Give value and gradients of the sum of squares in both libraries."""
    answers = []
    for lib in (ours, torch):
        xs = [lib.tensor(a) for a in arrays]
        wanted = [x.requires_grad_() for x, a in zip(xs, arrays, strict=True) if a.dtype.kind == "f"]
        y = f(lib, *xs)
        (y * y).sum().backward()
        answers.append([y.detach(), *(x.grad for x in wanted)])
    for a, b in zip(*answers, strict=True):
        assert str(a.dtype) == str(b.dtype).removeprefix("torch.")
        assert a.shape == tuple(b.shape)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i8", "f4"), ("f4", "i4"), ("f8", "f4")])
@pytest.mark.parametrize("join", ["cat", "stack"])
def test_joined_tensors_agree_on_a_dtype(join, dtypes):
    """Floats beat integers, and each gradient has the dtype of its own tensor."""
    both(lambda lib, x, y: getattr(lib, join)([x, y]), *(np.ones(2, d) for d in dtypes))


@pytest.mark.parametrize("options", [{}, {"ignore_index": 0}, {"label_smoothing": 0.2}])
def test_a_batch_in_which_nothing_counts_has_no_gradient(options):
    """The mean over no target is NaN, and the gradients are 0, so that the optimizer is not harmed."""
    skipped = [options.get("ignore_index", -100)] * 2
    both(lambda lib, x: F[lib].cross_entropy(x, lib.tensor(skipped), **options), np.ones((2, 3)))


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum"}])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 2), (3,)])
def test_a_batch_of_nothing_has_the_loss_that_torch_gives_it(shape, options):
    """The mean over no rows of probabilities is NaN, their sum 0; one row is a batch of its own."""
    logits = np.arange(float(np.prod(shape))).reshape(shape)
    both(lambda lib, x, t: F[lib].cross_entropy(x, t, **options), logits, np.full(shape, 0.5))


@pytest.mark.parametrize("order", [0.5, -1.0])
def test_a_norm_with_a_zero_among_the_elements(order):
    """Where the slope of a power is infinite, torch sends 0."""
    norm = {ours: ours.vector_norm, torch: torch.linalg.vector_norm}
    both(lambda lib, x: norm[lib](x, order), np.array([1.0, -2.0, 0.0, 2.0]))


def test_the_number_of_elements_that_are_not_0_has_a_slope_of_0():
    """As a norm of order 0 it can stand in a loss."""
    x = ours.tensor([1.0, -2.0, 0.0], requires_grad=True)
    y = ours.vector_norm(x, 0)
    y.backward()
    assert y.item() == 2
    assert x.grad.tolist() == [0, 0, 0]


def test_integers_clamped_to_fractions_become_float32():
    """As in all arithmetic of integers with a Python float."""
    found = ours.tensor([0, 1, 2]).clamp(0.5, 1.5)
    assert repr(found) == repr(torch.tensor([0, 1, 2]).clamp(0.5, 1.5))
    assert found.dtype == np.float32


def test_nothing_is_equal_to_none():
    """Comparing with None, as ``in`` may do, is a question that Python answers."""
    for lib in (ours, torch):
        x = lib.tensor([1.0, 2.0])
        assert (x == None) is False  # noqa: E711 - the operator is what is tested
        assert (x != None) is True  # noqa: E711
        assert None not in [x]


def test_booleans_have_integer_powers():
    """As in all arithmetic of booleans with a Python integer."""
    assert repr(ours.tensor([True, False]) ** 2) == repr(torch.tensor([True, False]) ** 2)


def test_a_product_of_small_integers_is_int64():
    """So is their sum."""
    assert ours.tensor(np.array([200, 2], "u1")).prod().item() == 400


def test_nothing_and_one_can_be_picked():
    """An empty list picks no row, and a single number is an index of one element."""
    both(lambda lib, x: x[[]], np.ones((2, 3)))
    both(lambda lib, x: lib.index_select(x, 1, lib.tensor(2)), np.arange(6.0).reshape(2, 3))


def test_a_number_is_picked_from_as_if_it_were_a_vector():
    """Of a 0-d tensor there is element 0, along dimension 0."""
    both(lambda lib, x: lib.index_select(x, 0, lib.tensor([0])), np.array(3.0))
    both(lambda lib, x: lib.gather(x, 0, lib.tensor([0])), np.array(3.0))
    both(lambda lib, x: lib.gather(x, 0, lib.tensor(0)), np.array(3.0))


def test_an_empty_vector_is_joined_with_anything():
    """A loop may begin with ``found = tensor([])``."""
    both(lambda lib, x: lib.cat([lib.tensor([], dtype=x.dtype), x], 1), np.ones((2, 3)))
    both(lambda lib, x: lib.cat([x, x]), np.ones(0))


def test_bits_are_combined_one_by_one():
    """Booleans as booleans, integers bit by bit, as Python does."""
    for lib in (ours, torch):
        a, b, c = lib.tensor([5, 6]), lib.tensor([1, 3]), lib.tensor([True, False])
        assert [(a & b).tolist(), (a | b).tolist(), (~a).tolist(), (~c).tolist()] == [
            [1, 2], [5, 7], [-6, -7], [False, True]
        ]  # fmt: skip


def test_what_is_written_to_an_index_later_does_not_matter():
    """The gradient goes where the elements came from; torch refuses to say where, which is as safe."""
    picks = [lambda x, i: ours.gather(x, 0, i), lambda x, i: ours.index_select(x, 0, i), lambda x, i: x[i, None][:, 0]]
    for pick in picks:
        x, i = ours.tensor([1.0, 2.0, 3.0], requires_grad=True), ours.tensor([0, 1])
        y = pick(x, i)
        i.add_(1)
        y.sum().backward()
        assert x.grad.tolist() == [1, 1, 0]


def test_nothing_is_split_into_one_piece():
    """There is a piece to loop over."""
    for size in (0, 3, [0]):
        pieces = [tuple(piece.shape for piece in lib.split(lib.zeros(0), size)) for lib in (ours, torch)]
        assert pieces[0] == tuple(map(tuple, pieces[1])) == ((0,),)


def test_a_target_that_is_broadcast_is_warned_of():
    """A column beside a row makes a table: what is wrong about it is the meaning."""
    for lib in (ours, torch):
        with pytest.warns(UserWarning, match="broadcast"):
            F[lib].mse_loss(lib.ones(3, 1), lib.ones(3))


@pytest.mark.parametrize("dim", [1, [0, 1], (0, 0)])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "logsumexp"])
def test_a_number_has_no_second_dimension(name, dim):
    """A 0-d tensor takes dim 0 and -1, once; torch refuses the rest too."""
    with pytest.raises((IndexError, RuntimeError)):
        getattr(torch.tensor(1.0), name)(dim)
    with pytest.raises(AutogradError, match=r"dim"):
        getattr(ours.tensor(1.0), name)(dim)


def test_a_dim_is_given_once():
    """The message shows what was given."""
    with pytest.raises(AutogradError, match=r"reduced once, but dim is \(0, -2\) for 2 dimensions"):
        ours.ones(2, 3).sum((0, -2))


def test_what_saved_nothing_can_be_walked_again():
    """A leaf and a sum of two have nothing to free, so a second backward pass adds to the first, as in torch."""
    for lib in (ours, torch):
        x = lib.tensor(3.0, requires_grad=True)
        x.backward()
        x.backward()
        y = x + x
        y.backward()
        y.backward()
        assert x.grad.item() == 6


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_relu_passes_infinities_and_stops_them(dtype):
    """What arrives where relu was active goes on bit by bit, and 0 times infinity is 0 where it was not."""
    g = np.array([np.inf, -np.inf, np.nan, np.inf, np.nan, -0.0], dtype)
    x = ours.tensor(np.array([1, 1, 1, -1, 0, 1], dtype), requires_grad=True)
    ours.relu(x).backward(ours.tensor(g))
    np.testing.assert_array_equal(x.grad.numpy(), np.array([np.inf, -np.inf, np.nan, 0, 0, -0.0], dtype))
    assert x.grad.dtype == g.dtype


ROWS = np.array([True, False, True, False])


@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None), [0, 1]), (0, slice(None), ROWS), (None, ..., -1, None, [0, 0, 1]), (slice(None), 0, [1, 2]),
        ([0, 1], 0), (0, [0, 1], 0), ([1, 0], slice(None), 2), (1, None, [0, 2]), (0, slice(None), np.array(1)),
    ],
    ids=str,
)  # fmt: skip
def test_integers_beside_arrays_pick_first(index):
    """As in torch, and unlike NumPy: values, the gradient of what is read, and of what is written."""
    a = np.arange(24.0).reshape(2, 3, 4)
    found = []
    for lib in (torch, ours):
        at = tuple(lib.tensor(i) if isinstance(i, np.ndarray) else i for i in index)
        x = lib.tensor(a, requires_grad=True)
        y = x[at]
        (y * y).sum().backward()
        written, value = lib.zeros(2, 3, 4, dtype=lib.float64) * 1, (y.detach() * 2).requires_grad_()
        written[at] = value
        (written * lib.tensor(a)).sum().backward()
        found.append([y.tolist(), x.grad.tolist(), written.tolist(), value.grad.tolist()])
    assert found[0] == found[1]


def test_nan_in_a_single_number_and_nothing_times_infinity():
    """The softmax of NaN is NaN, also without dimensions; what does not depend on x has no gradient at all."""
    for lib in (torch, ours):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        (x**0).backward(lib.tensor([float("inf"), float("nan")]))
        assert x.grad.tolist() == [0, 0]
        for f in (lib.softmax, lib.log_softmax):
            assert np.isnan(f(lib.tensor(float("nan")), 0).item())


def test_a_dtype_that_is_equal_and_not_the_same():
    """An array that was pickled brings a dtype object of its own."""
    a = pickle.loads(pickle.dumps(np.array([1.0, 2.0], np.float32)))
    assert a.dtype is not np.dtype(np.float32)
    x, y = ours.tensor(a, requires_grad=True), ours.tensor([3.0, 4.0], requires_grad=True)
    assert (ours.from_numpy(a) + y).tolist() == [4, 6]
    (x * y / 2).sum().backward()
    assert (x.grad.tolist(), y.grad.tolist()) == ([1.5, 2], [0.5, 1])
    assert ours.mse_loss(x, y).item() == 4


def test_a_function_may_return_what_is_no_tensor():
    """It is handed through, and its cotangent is None."""
    for base, lib in ((ours.Function, ours), (torch.autograd.Function, torch)):

        class Counted(base):
            @staticmethod
            def forward(ctx, x):
                return x * 2, 3, None

            @staticmethod
            def backward(ctx, g, *others):
                assert others == (None, None)
                return g * 2

        x = lib.ones(2, requires_grad=True)
        y, *others = Counted.apply(x)
        y.sum().backward()
        assert (others, x.grad.tolist()) == ([3, None], [2, 2])


@pytest.mark.parametrize(
    "make",
    [
        lambda lib: lib.eye(2, 3),
        lambda lib: lib.eye(3, dtype=lib.float64),
        lambda lib: lib.arange(0, 1, 0.25),
        lambda lib: lib.arange(5, 1, -2),
        lambda lib: lib.full((2, 2), 0.1),
        lambda lib: lib.full((2,), True),
        lambda lib: lib.tensor([lib.tensor(0.1, dtype=lib.float64), lib.tensor(2.0, dtype=lib.float64)]),
        lambda lib: lib.tensor(np.array([0.1, 0.2])),
        lambda lib: lib.tensor([np.float64(0.1)]),
    ],
)
def test_what_is_made_has_torchs_elements_shape_and_dtype(make):
    """Rows and columns, steps that are fractions, and the dtype of what the elements came from."""
    mine, theirs = make(ours), make(torch)
    assert (mine.shape, str(mine.dtype)) == (tuple(theirs.shape), str(theirs.dtype).removeprefix("torch."))
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
