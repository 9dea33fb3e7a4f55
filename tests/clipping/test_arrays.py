"""Clipping NumPy arrays, which makes new ones, and this course's engine, in place."""

import math
from collections import OrderedDict, deque, namedtuple
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from course_lib.autograd import nn, no_grad, optim, randn, tensor
from course_lib.clipping import clip_by_global_norm, clip_by_value
from course_lib.errors import AutogradError, InputError, NonFiniteError

Pair = namedtuple("Pair", "w b")


def exact_norm(gs):
    """Sum the squares as fractions of integers, which neither overflow nor round."""
    from fractions import Fraction

    square = sum(Fraction(float(v)) ** 2 for g in gs for v in np.ravel(g))
    if not square:
        return 0.0
    shift = square.numerator.bit_length() - square.denominator.bit_length() - 120
    shift -= shift % 2
    root = math.isqrt(int(square / Fraction(2) ** shift))
    return float(Fraction(root) * Fraction(2) ** (shift // 2))


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from([np.float16, np.float32, np.float64]))
def test_norm_is_exact_and_the_clipped_is_within_the_bound(data, dtype):
    """Any finite numbers of any dtype, against exact arithmetic."""
    largest = float(np.finfo(dtype).max) / 8
    numbers = st.floats(-largest, largest, width=np.dtype(dtype).itemsize * 8)
    g = data.draw(arrays.arrays(dtype, st.integers(1, 5), elements=numbers))
    bound = 2.0 ** data.draw(st.integers(-60, 60))
    (clipped,), norm = clip_by_global_norm([g], bound)
    right = exact_norm([g])
    assert norm == pytest.approx(right, rel=1e-14)
    assert clipped.dtype == dtype
    if right <= bound:
        np.testing.assert_array_equal(clipped, g)
    else:
        eps, least = float(np.finfo(dtype).eps), float(np.finfo(dtype).smallest_subnormal)
        assert exact_norm([clipped]) == pytest.approx(bound, rel=4 * eps, abs=least * len(g))


def test_every_form_of_tree_comes_back_in_its_form():
    """Nested lists, tuples, named tuples, dicts in their order, None, 0-d arrays, scalars; other mappings as dicts."""
    tree = {
        "a": [np.array([2.0]), None],
        "b": Pair(np.array(1.0), (np.float64(2.0),)),
        "c": OrderedDict(z=np.zeros((2, 0))),
        "d": MappingProxyType({"w": np.zeros(1)}),
    }
    clipped, norm = clip_by_global_norm(tree, 1.5)
    assert norm == 3
    assert clipped["a"] == [np.array([1.0]), None]
    assert clipped["b"] == Pair(np.array(0.5), (1.0,))
    assert isinstance(clipped["c"], OrderedDict)
    assert clipped["c"]["z"].shape == (2, 0)
    assert clipped["d"] == {"w": np.zeros(1)}
    assert clip_by_global_norm((np.array([3.0]), np.array([4.0])), 2.5)[0] == (np.array([1.5]), np.array([2.0]))
    assert clip_by_global_norm((g for g in [np.array([3.0])]), 1.0)[0] == [np.array([1.0])]


def test_the_given_arrays_are_neither_changed_nor_shared():
    """Also when there is nothing to clip."""
    g = np.array([3.0, 4.0])
    for bound in (1.0, 10.0):
        clipped, _ = clip_by_global_norm(g, bound)
        assert not np.shares_memory(clipped, g)
        assert g.tolist() == [3, 4]


def test_the_direction_stays_by_norm_and_turns_by_value():
    """The angle of [3, 0.3] is kept, and by value becomes that of [1, 0.3]."""
    g = np.array([3.0, 0.3])
    by_norm, by_value = clip_by_global_norm(g, 1.0)[0], clip_by_value(g, 1.0)[0]
    assert math.atan2(*by_norm) == pytest.approx(math.atan2(*g))
    assert by_value.tolist() == [1.0, 0.3]


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_what_is_not_finite(value):
    """Refused by its path; skipped untouched; or zeros everywhere."""
    tree = {"a": np.array([5.0]), "b": [np.array([1.0]), np.array([value, 2.0])]}
    with pytest.raises(NonFiniteError, match=r"target\['b'\]\[1\] holds (inf|NaN)"):
        clip_by_global_norm(tree, 1.0)
    clipped, norm = clip_by_global_norm(tree, 1.0, nonfinite="skip")
    assert not math.isfinite(norm)
    np.testing.assert_array_equal(clipped["b"][1], [value, 2.0])
    assert clipped["a"] == 5
    clipped, norm = clip_by_value(tree, 1.0, nonfinite="zero")
    assert not math.isfinite(norm)
    assert (clipped["a"].tolist(), clipped["b"][1].tolist()) == ([0.0], [0.0, 0.0])


def test_the_message_names_the_first_three_and_counts_all():
    """Where many are bad the first is where to look."""
    bad = [np.array([math.nan]) for _ in range(5)]
    with pytest.raises(NonFiniteError, match=r"target\[0\] holds NaN .*target\[1\], target\[2\], \.\.\.; 5"):
        clip_by_global_norm(bad, 1.0)


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        (0, "max_norm must be above 0, but it is 0: it would clip every gradient to nothing"),
        (-1.0, "must be above 0, but it is -1: it would turn every gradient around"),
        (math.nan, "must be above 0, but it is nan: no gradient can be compared with it"),
        (-math.inf, "must be above 0"),
        ("1.0", "must be a number, but it is '1.0'"),
        (b"1.0", "must be a number, but it is b'1.0'"),
        (None, "max_norm must be a number, but it is None"),
        ([1.0, 2.0], "must be a number"),
        pytest.param(10**400, r"that fits a float, but it does not\. Pass float\('inf'\)", id="10**400"),
    ],
)
def test_refuses_a_bound_that_is_not_above_zero(bound, message):
    """And says what it would have done."""
    with pytest.raises(InputError, match=message):
        clip_by_global_norm(np.ones(2), bound)
    with pytest.raises(InputError, match="clip_value must be"):
        clip_by_value(np.ones(2), bound)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([], "the target is empty"),
        ({}, "the target is empty"),
        (3.0, "but target is 3.0"),
        ({"w": [1.0, 2.0]}, r"but target\['w'\]\[0\] is 1.0"),
        ("weights", "but target is 'weights'"),
        (b"weights", "but target is b'weights'"),
        pytest.param("w" * 100, rf"but target is '{'w' * 59}\. Pass", id="long"),
        (np.arange(3), "of target must be dense and one of float16, .* but it is int64"),
        (np.ones(2, complex), "but it is complex128"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), r"but it is masked\. Say what the masked entries are"),
        (np.ones((1, 2)).view(np.matrix), r"a matrix, which .*\. Pass np\.asarray\(g\)"),
        ([np.ones(1), tensor([1.0])], "all be from one library, but these are from NumPy and course_lib.autograd"),
    ],
    ids=str,
)
def test_refuses_what_is_no_gradient(target, message):
    """And says where it stands."""
    with pytest.raises(InputError, match=message):
        clip_by_global_norm(target, 1.0)


@pytest.mark.parametrize("form", [iter, deque, lambda pair: dict(enumerate(pair)).values()])
def test_containers_that_cannot_be_given_back_are_refused_inside_of_others(form):
    """At the top they become a list; inside, all but one gradient would be lost."""
    pair = [np.array([3.0]), np.array([4.0])]
    assert clip_by_global_norm(form(pair), 2.5)[0] == [np.array([1.5]), np.array([2.0])]
    with pytest.raises(InputError, match=r"must be in lists.* holds some.*Make a list"):
        clip_by_global_norm({"a": form(pair)}, 2.5)


@pytest.mark.parametrize("clip", [clip_by_global_norm, clip_by_value])
def test_refuses_an_unknown_policy(clip):
    """A misspelt one must not mean the default."""
    with pytest.raises(InputError, match=r'"zero", but it is .ignore'):
        clip(np.ones(2), 1.0, nonfinite="ignore")


def test_parameters_of_the_engine_are_clipped_in_place():
    """A module, its parameters, one tensor; the norm is a tensor."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    (model(randn(5, 3)) ** 2).sum().backward()
    before = [p.grad.numpy().astype(np.float64) for p in model.parameters()]
    norm = clip_by_global_norm(model, 0.5)
    assert norm.item() == pytest.approx(exact_norm(before))
    after = [p.grad.numpy() for p in model.parameters()]
    for f, g in zip(after, before, strict=True):
        np.testing.assert_allclose(f, g * 0.5 / norm.item(), rtol=1e-6)
    assert clip_by_global_norm(model.parameters(), 9.0).item() == pytest.approx(0.5)
    first = next(model.parameters())
    clip_by_value(first, 1e-3)
    assert np.abs(first.grad.numpy()).max() == np.float32(1e-3)


def test_gradients_of_the_engine_that_share_memory_are_scaled_once():
    """Both terms of a sum get the same cotangent, and may hold one array."""
    x, y = tensor([1.0, 1.0], requires_grad=True), tensor([2.0, 2.0], requires_grad=True)
    ((x + y) * tensor([3.0, 4.0])).sum().backward()
    assert clip_by_global_norm([x, y], 2.5).item() == pytest.approx(math.sqrt(50))
    assert exact_norm([x.grad.numpy(), y.grad.numpy()]) == pytest.approx(2.5, rel=1e-6)


def test_the_engine_names_a_bad_gradient_and_refuses_none():
    """As torch parameters."""
    model = nn.Linear(2, 1)
    with pytest.raises(InputError, match="none of the 2 has"):
        clip_by_global_norm(model, 1.0)
    model(tensor([[math.inf, 1.0]])).sum().backward()
    with pytest.raises(NonFiniteError, match="that of weight holds inf"):
        clip_by_global_norm(model, 1.0)


def test_an_optimizer_steps_by_the_clipped_gradient():
    """After backward, before step."""
    w = tensor([0.0, 0.0], requires_grad=True)
    (w * tensor([30.0, 40.0])).sum().backward()
    clip_by_global_norm([w], 1.0)
    optim.SGD([w], lr=1.0).step()
    with no_grad():
        np.testing.assert_allclose(w.detach().numpy(), [-0.6, -0.8], rtol=1e-6)


def test_a_single_number_can_be_clipped_and_added_to():
    """Its gradient stays an array, which the next backward pass adds to."""
    x = tensor(3.0, requires_grad=True)
    for clip in (clip_by_value, clip_by_global_norm):
        x.grad = None
        (x * x).backward()
        clip([x], 1.0)
        (x * x).backward()
        assert x.grad.item() == 7


def test_three_bad_gradients_are_all_named():
    """There is none left to hint at."""
    with pytest.raises(NonFiniteError, match=r"\(and target\[1\], target\[2\]; 3 in all\)"):
        clip_by_global_norm([np.array([math.nan])] * 3, 1.0)


def test_modules_in_a_list_have_their_place_in_the_name():
    """Else two of them would share one."""
    models = [nn.Linear(1, 1), nn.Linear(1, 1)]
    for model in models:
        model(tensor([[1.0]])).sum().backward()
    models[1].weight.grad = tensor([[math.nan]])
    with pytest.raises(NonFiniteError, match=r"that of target\[1\]\.weight holds NaN\. Nothing"):
        clip_by_global_norm(models, 1.0)


def test_a_parameter_of_the_engine_counts_once_however_often_it_is_listed():
    """As torch's do."""
    w = tensor([3.0, 4.0], requires_grad=True)
    w.sum().backward()
    w.grad = tensor([3.0, 4.0])
    assert clip_by_global_norm([w, w], 2.5).item() == 5
    assert w.grad.tolist() == [1.5, 2.0]


def test_a_graph_that_saved_a_gradient_notices_that_it_was_clipped():
    """Its backward pass would take the new elements for the old ones; within the bound they are the old ones."""
    w, x = tensor([3.0, 4.0], requires_grad=True), tensor([1.0, 1.0], requires_grad=True)
    (w * w).sum().backward()
    y, within = (w.grad * x).sum(), (w.grad * x).sum()
    clip_by_global_norm([w], 10.0)
    within.backward()
    assert x.grad.tolist() == [6, 8]
    clip_by_global_norm([w], 1.0)
    with pytest.raises(AutogradError, match=r"shape \(2,\), was changed in place by clipping"):
        y.backward()


def test_half_precision_takes_a_bound_beyond_its_range():
    """Which clips nothing."""
    (clipped,), _ = clip_by_value([np.array([6e4, -6e4], np.float16)], 1e6)
    assert clipped.dtype == np.float16
    assert clipped.tolist() == [6e4, -6e4]


def test_named_arrays_come_back_with_their_names():
    """As named_parameters() would have them."""
    clipped, norm = clip_by_global_norm([("w", np.array([3.0])), ("b", np.array([4.0]))], 2.5)
    assert (clipped, norm) == ([("w", np.array([1.5])), ("b", np.array([2.0]))], 5)
    with pytest.raises(NonFiniteError, match="that of b holds NaN"):
        clip_by_global_norm([("w", np.array([3.0])), ("b", np.array([math.nan]))], 2.5)
