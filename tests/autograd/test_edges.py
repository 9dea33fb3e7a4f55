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


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 9])
def test_a_split_leaves_no_empty_piece_behind(size):
    """Where the size divides the length, the last piece is as large as the others."""
    pieces = [[piece.tolist() for piece in lib.split(lib.arange(6), size)] for lib in (ours, torch)]
    assert pieces[0] == pieces[1]


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


def test_logic_is_of_truth_and_not_of_bits():
    """A number is true if it is not 0, so 1 and 2 are both true, though they share no bit; fractions are taken too."""
    for lib in (ours, torch):
        for x, y in (
            (lib.tensor([0, 1, 1]), lib.tensor([0, 2, 0])),
            (lib.tensor([0, 0.5, 1]), lib.tensor([0, 2.0, 0])),
        ):
            assert lib.logical_and(x, y).tolist() == [False, True, False]
            assert lib.logical_or(x, y).tolist() == [False, True, True]
            assert lib.logical_not(x).tolist() == [True, False, False]


def test_what_is_finite_is_neither_infinite_nor_nan():
    """Integers always are."""
    for lib in (ours, torch):
        x = lib.tensor([1.0, np.inf, -np.inf, np.nan])
        assert lib.isfinite(x).tolist() == [True, False, False, False]
        assert lib.isnan(x).tolist() == [False, False, False, True]
        assert lib.isfinite(lib.tensor([1, 2])).tolist() == [True, True]


def test_close_means_close_to_the_second():
    """The relative tolerance is a share of the second tensor, and both tolerances are torch's."""
    pairs = [(1.0, 1.1), (1.1, 1.0), (1.0, 1 + 2e-5), (1.0, 1 + 5e-6), (0.0, 5e-9), (0.0, 5e-8)]
    options = [{}, {"rtol": 0.095, "atol": 0.0}, {"rtol": 0.0, "atol": 1e-5}]
    found = [
        [lib.allclose(*(lib.tensor([v], dtype=lib.float64) for v in pair), **o) for pair in pairs for o in options]
        for lib in (ours, torch)
    ]
    assert found[0] == found[1]


def test_equal_means_of_equal_shape():
    """A row of ones is no matrix of ones, although it would be broadcast to one; the answer is Python's own."""
    for lib in (ours, torch):
        assert lib.equal(lib.ones(2), lib.ones(2)) is True
        assert lib.equal(lib.ones(2), lib.ones(2, 2)) is False
        assert lib.equal(lib.ones(2), lib.zeros(2)) is False


def test_zero_to_a_power_that_is_a_tensor():
    """Where the slope is infinite times nothing, it is 0, in the base and in the exponent."""
    exponents = np.array([0.0, 1.0, 2.0, -1.0])
    found = []
    for lib in (ours, torch):
        x, y = lib.tensor(np.zeros(4), requires_grad=True), lib.tensor(exponents, requires_grad=True)
        lib.pow(x, y).sum().backward()
        found.append([x.grad.tolist(), y.grad.tolist()])
    assert found[0] == found[1] == [[0, 1, 0, -np.inf], [0, 0, 0, -np.inf]]


def test_relu_stops_infinities_where_the_backward_pass_is_recorded_too():
    """0 times infinity would be NaN."""
    for lib in (ours, torch):
        x = lib.tensor([1.0, -1.0, 0.0], requires_grad=True)
        (dx,) = lib.autograd.grad(lib.relu(x), x, lib.tensor([np.inf] * 3), create_graph=True)
        assert dx.tolist() == [np.inf, 0, 0]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_walk_may_start_from_one_element_of_any_shape(shape):
    """The gradient has the shape of its tensor, recorded or not."""
    for lib in (ours, torch):
        x = lib.ones(shape, requires_grad=True)
        (x * 2).backward()
        (dx,) = lib.autograd.grad(x * x, x, create_graph=True)
        assert (tuple(x.grad.shape), tuple(dx.shape), x.grad.item(), dx.item()) == (shape, shape, 2, 2)


def test_a_cotangent_in_double_precision_leaves_single_precision_behind():
    """Whether it is a tensor or not, gradients have the dtype of their tensors."""
    for lib in (ours, torch):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        (dx,) = lib.autograd.grad(x * 2, x, lib.ones(2, dtype=lib.float64))
        (x * 2).backward(lib.ones(2, dtype=lib.float64))
        assert dx.dtype == x.grad.dtype == lib.float32


@pytest.mark.parametrize("op", [lambda x: x, lambda x: x + 1, lambda x: x.reshape(3, 1), lambda x: x.expand(3, 3)])
def test_what_is_returned_shares_no_memory_with_the_cotangent(op):
    """Not even where one is the other, or a view of it."""
    x = ours.ones(3, requires_grad=True)
    y = op(x)
    v = ours.ones_like(y)
    ours.grad(y, x, v)[0].zero_()
    assert v.sum().item() == v.numel()


def test_each_output_has_a_cotangent():
    """One too few is not taken for one output less."""
    for lib in (ours, torch):
        x = lib.ones(2, requires_grad=True)
        with pytest.raises((RuntimeError, ValueError)):
            lib.autograd.grad([x * 2, x * 3], x, [lib.ones(2)])


def test_rows_may_be_tuples():
    """Python floats in them are float32, and tensors keep their dtype."""
    for lib in (ours, torch):
        assert lib.tensor(((1.0, 2.0), (3.0, 4.0))).dtype == lib.float32
        one = lib.tensor(1.0, dtype=lib.float64)
        assert lib.tensor(((one, one),)).dtype == lib.float64


@pytest.mark.parametrize("name", ["zeros_like", "ones_like"])
def test_what_is_made_like_another_has_its_dtype_or_the_one_asked_for(name):
    """And its shape, but none of its elements."""
    found = []
    for lib in (ours, torch):
        like = [lib.tensor([[1, 2]]), lib.tensor(5.0), lib.tensor([True])]
        made = [getattr(lib, name)(x, **o) for x in like for o in ({}, {"dtype": lib.float64})]
        found.append([(str(x.dtype).removeprefix("torch."), tuple(x.shape), x.tolist()) for x in made])
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["rand", "randn"])
def test_random_numbers_are_in_single_precision_unless_asked_for(name):
    """Of the shape that is given, as one tuple or not; uniform ones are from 0 to 1, normal ones on both sides of 0."""
    for lib in (ours, torch):
        x = getattr(lib, name)(1000, 2)
        assert (tuple(x.shape), x.dtype) == ((1000, 2), lib.float32)
        assert getattr(lib, name)((3,), dtype=lib.float64).dtype == lib.float64
        assert (x.amin().item() < 0) == (name == "randn")
        assert (x.amax().item() < 1) == (name == "rand")


def test_a_number_beyond_single_precision_becomes_infinite_in_silence():
    """A warning would be an error here."""
    for lib in (ours, torch):
        assert lib.tensor([1e300, -1e300]).tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("bounds", [{"min": -1.0}, {"max": 1.0}, {"min": -1.0, "max": 1.0}, {"min": -1, "max": 1.5}])
def test_at_its_bounds_a_clamp_lets_the_gradient_pass(bounds):
    """Beyond them it stops it, also an infinite one."""
    found = []
    for lib in (ours, torch):
        x = lib.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
        x.clamp(**bounds).backward(lib.tensor([np.inf, 2.0, 3.0, 4.0, np.inf]))
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("bounds", [{"min": 0.5}, {"max": 1.5}, {"min": 1, "max": 1.5}, {"min": 0.5, "max": 2}])
def test_one_fractional_bound_makes_float32_of_integers(bounds):
    """Whichever it is."""
    found = [lib.tensor([0, 1, 2]).clamp(**bounds) for lib in (ours, torch)]
    assert repr(found[0]) == repr(found[1])
    assert found[0].dtype == np.float32


@pytest.mark.parametrize("pair", [(1, 2), (1.0, 2), (1, 2.5), (True, 0.0)], ids=str)
def test_where_takes_numbers_on_either_side(pair):
    """Beside a tensor they take its dtype, and two of them that of torch's tensors."""
    found = []
    for lib in (ours, torch):
        condition, x = lib.tensor([True, False]), lib.tensor([7.0, 8.0], dtype=lib.float64)
        made = [lib.where(condition, *pair), lib.where(condition, x, pair[1]), lib.where(condition, pair[0], x)]
        found.append([(str(y.dtype).removeprefix("torch."), y.tolist()) for y in made])
    assert found[0] == found[1]


MASK = np.array([[True, False, True], [False, True, True]])


@pytest.mark.parametrize(
    "index",
    [
        True, False, (0, True), np.array(True), np.array(False), MASK, (MASK, 0), (MASK, -1),
        (0, MASK.T[:, [0, 1, 0, 1]]), ([[0, 1], [1, 1]], 0), (0, [[0, 2], [1, 1]], 1), (np.array(1), [2, 0]),
        (np.array(1, np.int32), np.array(2)),
    ],
    ids=str,
)  # fmt: skip
def test_masks_and_tables_of_places_pick_as_in_torch(index):
    """Masks of no, one and two dimensions, and integers in a table, alone and beside a number."""
    a = np.arange(24.0).reshape(2, 3, 4)
    found = []
    for lib in (torch, ours):
        parts = index if isinstance(index, tuple) else (index,)
        at = tuple(lib.tensor(i) if isinstance(i, np.ndarray) else i for i in parts)
        x, y = lib.tensor(a, requires_grad=True), lib.tensor(a) * 1
        picked = x[at if isinstance(index, tuple) else at[0]]
        (picked * picked).sum().backward()
        y[at if isinstance(index, tuple) else at[0]] = -1.0
        found.append([picked.tolist(), x.grad.tolist(), y.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (1, 1, 2)])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var", "logsumexp"])
def test_only_what_is_reduced_goes(name, shape):
    """Other dimensions of size 1 stay."""
    both(lambda lib, x: getattr(lib, name)(x, shape.index(max(shape))), np.arange(float(np.prod(shape))).reshape(shape))


def test_integers_have_a_logsumexp():
    """In float32, as all functions with fractional results."""
    found = [lib.logsumexp(lib.tensor([[1, 2], [3, 4]]), 1) for lib in (ours, torch)]
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i8", "f4"), ("f4", "i4")])
def test_an_outer_product_agrees_on_a_dtype(dtypes):
    """As products of elements do, and unlike those of matrices."""
    both(lambda lib, x, y: lib.outer(x, y), *(np.arange(1, 4).astype(d) for d in dtypes))


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_exponentials_of_nothing_add_up_to_nothing(name, shape):
    """The logarithm of that is minus infinity, and softmax has no elements."""
    both(lambda lib, x: getattr(lib, name)(x, shape.index(0)), np.ones(shape))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_number_of_elements_that_are_not_0_has_the_dtype_of_the_elements(dtype):
    """Also along a dimension, which may be kept."""
    x = np.array([[1.0, 0.0], [2.0, 3.0]], dtype)
    for options in ({}, {"dim": 1}, {"dim": 0, "keepdim": True}):
        found = [
            f(lib.tensor(x), 0, **options) for lib, f in ((ours, ours.vector_norm), (torch, torch.linalg.vector_norm))
        ]
        assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("dim", [(), []])
@pytest.mark.parametrize("name", ["sum", "mean", "amax"])
def test_no_dimension_named_means_all(name, dim):
    """In a tuple or a list, as None does."""
    both(lambda lib, x: getattr(lib, name)(x, dim), np.arange(6.0).reshape(2, 3))


@pytest.mark.filterwarnings("ignore:(var|std)")  # torch warns of it
@pytest.mark.parametrize(("n", "correction"), [(1, 1), (2, 2), (2, 3), (1, 0), (3, 0)])
@pytest.mark.parametrize("name", ["var", "std"])
def test_a_variance_of_too_few_is_torchs(name, n, correction):
    """Nothing by nothing is NaN, and a negative number of degrees of freedom counts as none."""
    found = []
    for lib in (ours, torch):
        x = lib.tensor(np.arange(1.0, n + 1), requires_grad=True)
        y = getattr(lib, name)(x, correction=correction)
        y.backward()
        found.append([y.item(), *abs(x.grad).tolist()])
    np.testing.assert_allclose(*found)


def test_a_deviation_of_0_has_a_slope_of_0():
    """Where it would be infinite."""
    both(lambda lib, x: lib.std(x), np.ones(3))
    both(lambda lib, x: lib.std(x, 1), np.array([[1.0, 1.0], [1.0, 3.0]]))


@pytest.mark.parametrize(
    "options", [{}, {"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}, {"keepdim": True}], ids=str
)
def test_the_place_of_the_largest_is_torchs(options):
    """The first of equal ones, NaN before all others; the dimension may be kept."""
    for rows in ([[1.0, 3.0, 3.0], [5.0, 2.0, 7.0]], [[1.0, np.nan, 2.0], [0.0, 0.0, 0.0]]):
        found = [lib.tensor(rows).argmax(**options) for lib in (ours, torch)]
        assert (found[0].shape, found[0].tolist()) == (tuple(found[1].shape), found[1].tolist())


def test_a_clone_has_memory_of_its_own():
    """What is written to it is not in the first."""
    for lib in (ours, torch):
        x = lib.ones(2, requires_grad=True)
        y = x.clone()
        y.mul_(3)
        y.sum().backward()
        assert (x.tolist(), y.tolist(), x.grad.tolist()) == ([1, 1], [3, 3], [3, 3])


def test_sizes_may_be_in_a_list():
    """In a tuple, or one by one, as well."""
    for lib in (ours, torch):
        x = lib.arange(6)
        for shape in ([2, 3], (2, 3)):
            assert x.reshape(shape).tolist() == x.reshape(*shape).tolist() == [[0, 1, 2], [3, 4, 5]]
            assert tuple(lib.zeros(shape).shape) == tuple(lib.zeros(*shape).shape) == (2, 3)
        assert x.reshape(2, 3).permute([1, 0]).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_dimensions_of_size_1_are_dropped_where_they_are_named():
    """One or several; those of another size stay, and a number has none."""
    for lib in (ours, torch):
        x = lib.ones(1, 2, 1, 1)
        shapes = [tuple(x.squeeze(dim).shape) for dim in (0, 1, -1, (0, -1), (0, 1, 2), ())]
        assert shapes == [(2, 1, 1), (1, 2, 1, 1), (1, 2, 1), (2, 1), (2, 1), (1, 2, 1, 1)]
        assert tuple(lib.tensor(1.0).squeeze(0).shape) == ()


def test_a_number_is_transposed_into_itself():
    """Its dimensions 0 and -1 are the same."""
    both(lambda lib, x: x.transpose(0, -1), np.array(3.0))


def test_an_empty_vector_has_a_say_in_the_dtype():
    """It adds no element to what it is joined with."""
    both(lambda lib, x: lib.cat([lib.tensor([], dtype=lib.float64), x], 1), np.ones((2, 3), "f4"))


@pytest.mark.parametrize("bounds", [("x", None), (None, "x"), ("x", "y")])
def test_a_tensor_can_be_a_bound_and_has_a_gradient(bounds):
    """Where an element was moved to it."""
    rng = np.random.default_rng(0)
    x, low, high = (rng.normal(size=(3, 4)) + shift for shift in (0, -0.3, 0.5))

    def clamped(lib, x, low, high):
        named = {"x": low, "y": high}
        return lib.clamp(x, *(named.get(bound, bound) for bound in bounds)) + 0 * (low + high)

    both(clamped, x, low, high)


@pytest.mark.parametrize(
    "f",
    [
        lambda lib, x, number: x**number,
        lambda lib, x, number: lib.clamp(x, number),
        lambda lib, x, number: lib.linalg.vector_norm(x, number),
        lambda lib, x, number: F[lib].leaky_relu(x, number),
        lambda lib, x, number: F[lib].softplus(x, number),
        lambda lib, x, number: lib.full((2, 3), number) * x,
    ],
)
def test_a_number_of_numpys_is_a_number(f):
    """Its 64 bits do not make those of the tensor 64."""
    both(lambda lib, x: f(lib, x, np.float64(2)), np.array([[1.0, -2.0, 3.0]] * 2, np.float32))


@pytest.mark.parametrize("make", ["zeros", "ones", "rand", "randn"])
def test_none_stands_for_the_usual_dtype(make):
    """As in torch."""
    assert getattr(ours, make)(2, dtype=None).dtype == np.float32
    assert ours.eye(2, dtype=None).dtype == ours.linspace(0, 1, 3, dtype=None).dtype == np.float32


@pytest.mark.parametrize(
    ("start", "end", "steps"),
    [(5, -5, 20), (-7, 2, 11), (0.5, 5.9, 4), (-0.9, 0.9, 3), (3, 8, 1), (3, 8, 0), (0, 9, 4)],
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_an_interval_of_integers_is_cut_off_towards_0(start, end, steps, dtype):
    """Its ends too."""
    mine = ours.linspace(start, end, steps, dtype=np.dtype(dtype))
    theirs = torch.linspace(start, end, steps, dtype=getattr(torch, dtype))
    assert str(mine.dtype) == dtype
    np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("base", ["a tensor", "a number"])
def test_the_gradient_of_a_power_of_zero_can_be_differentiated(base):
    """With respect to the cotangent it is the slope again, also where that is 0 by decree."""
    found = []
    for lib in (ours, torch):
        y = lib.tensor([0.0, 1.0, 2.0, -1.0], requires_grad=True)
        g = lib.ones(4, requires_grad=True)
        x = lib.zeros(4) if base == "a tensor" else 0.0
        (dy,) = lib.autograd.grad(lib.pow(x, y), y, g, create_graph=True)
        found.append([dy.tolist(), lib.autograd.grad(dy.sum(), g)[0].tolist()])
    assert found[0] == found[1] == [[0, 0, 0, -np.inf]] * 2


def test_a_zero_to_the_power_zero_has_no_slope_in_the_base_either():
    """Nor has its gradient; torch's is NaN there."""
    x, g = ours.zeros(2, requires_grad=True), ours.ones(2, requires_grad=True)
    (dx,) = ours.grad(ours.pow(x, ours.tensor([0.0, 1.0])), x, g, create_graph=True)
    assert (dx.tolist(), ours.grad(dx.sum(), g)[0].tolist()) == ([0, 1], [0, 1])


@pytest.mark.parametrize("name", ["sign", "div"])
def test_a_step_sends_nothing_whatever_comes(name):
    """Also of an infinite cotangent."""
    for lib in (ours, torch):
        x = lib.tensor([1.0, -2.0, 0.0], requires_grad=True)
        y = lib.sign(x) if name == "sign" else lib.div(x, 2, rounding_mode="floor")
        y.backward(lib.tensor([np.inf, -np.inf, np.nan]))
        assert x.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dim", [0, 1])
def test_what_adds_nothing_to_a_joined_tensor_has_a_gradient_of_nothing(dim):
    """An empty vector too, of its own shape and dtype."""
    for lib in (ours, torch):
        shape = (0, 3) if dim == 0 else (2, 0)
        xs = [
            lib.zeros(0, requires_grad=True),
            lib.ones(2, 3, requires_grad=True),
            lib.zeros(shape, requires_grad=True),
        ]
        xs.append(lib.zeros(0, dtype=lib.float64, requires_grad=True))
        y = lib.cat(xs, dim)
        y.sum().backward()
        assert [(tuple(x.grad.shape), x.grad.dtype) for x in xs] == [(tuple(x.shape), x.dtype) for x in xs]
        assert (tuple(y.shape), y.dtype, xs[1].grad.tolist()) == ((2, 3), lib.float64, [[1] * 3] * 2)


def test_an_empty_vector_alone_has_a_gradient():
    """Joined with nothing."""
    for lib in (ours, torch):
        x = lib.zeros(0, requires_grad=True)
        lib.cat([x]).sum().backward()
        assert x.grad.tolist() == []


@pytest.mark.parametrize("shape", [(0,), (0, 5), (2, 0), (0, 0, 4)])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_an_empty_index_gathers_nothing(shape, dtype):
    """Whatever its shape and dtype; the gradient is 0."""
    for lib in (ours, torch):
        x = lib.ones(2, 3, requires_grad=True)
        y = lib.gather(x, 1, lib.zeros(shape, dtype=getattr(lib, dtype)))
        y.sum().backward()
        assert (tuple(y.shape), x.grad.tolist()) == (shape, [[0] * 3] * 2)


def test_an_empty_index_gathers_nothing_from_a_number():
    """A vector of no elements."""
    both(lambda lib, x: lib.gather(x, 0, lib.zeros(0, dtype=lib.int64)), np.array(3.0))


def test_a_mask_has_no_negative():
    """As in torch, which points to the operator for it; so do we."""
    for lib in (ours, torch):
        for negative in (lambda x: -x, lambda x, lib=lib: lib.neg(x), lambda x: x.neg()):
            with pytest.raises(RuntimeError, match="use the `~`"):
                negative(lib.tensor([True]))
