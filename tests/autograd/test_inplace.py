"""Changes in place: recorded where they can be, and noticed where they matter."""

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.autograd.graph import write_clock
from course_lib.errors import AutogradError


def change(lib, name, h, y):
    """Apply one change to h."""
    if name == "setitem":
        h[0] = y[1]
        h[1:] = 2.0
    elif name == "iadd":
        h += y
    elif name in ("zero_", "fill_"):
        getattr(h, name)(*([3.0] if name == "fill_" else []))
    else:
        getattr(h, name)(y)
    return h


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_", "copy_", "zero_", "fill_", "iadd", "setitem"])
def test_a_recorded_change_has_torchs_gradient(name):
    """A tensor in the graph may be changed in place; values and gradients are torch's."""
    answers = []
    for lib in (ag, torch):
        x, y = (lib.tensor(np.array(v), requires_grad=True) for v in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
        h = x * 1.0
        same = h
        h = change(lib, name, h, y)
        assert h is same
        (h * h).sum().backward()
        answers.append([h.detach().numpy(), *(np.zeros(3) if t.grad is None else t.grad.numpy() for t in (x, y))])
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("index", [0, (1, 2), [0, 2], ...])
def test_what_is_written_may_have_more_dimensions_of_size_1(index):
    """Leading ones do not matter, and the gradient has them too."""
    answers = []
    for lib in (ag, torch):
        y = lib.ones(1, 1, 1, requires_grad=True)
        h = lib.zeros(3, 4)
        h[index] = y * 2
        (h * h).sum().backward()
        answers.append((h.tolist(), y.grad.tolist()))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("name", ["copy_", "fill_", "setitem"])
def test_what_is_written_is_converted_and_its_gradient_converted_back(name):
    """A float32 tensor takes a float64 one, a number too, and the gradient of that is float64."""
    for lib in (ag, torch):
        y = lib.tensor(3.0, dtype=lib.float64, requires_grad=True)
        h = lib.zeros(2)
        if name == "setitem":
            h[:] = y
        else:
            getattr(h, name)(y)
        h.sum().backward()
        assert (h.tolist(), y.grad.item(), y.grad.dtype) == ([3, 3], 2, lib.float64)


@pytest.mark.parametrize("name", ["copy_", "fill_", "setitem"])
def test_a_number_can_be_written_to(name):
    """A tensor without dimensions too, whose cotangent NumPy may hold as a scalar."""
    for lib in (ag, torch):
        x, y = (lib.tensor(v, requires_grad=True) for v in (2.0, 3.0))
        h = x * 1
        if name == "setitem":
            h[...] = y
        else:
            getattr(h, name)(y)
        (h * h).backward()
        assert (h.item(), x.grad.item(), y.grad.item()) == (3, 0, 6)


@pytest.mark.parametrize("through", ["itself", "detached", "view", "data"])
def test_a_change_of_what_was_saved_is_noticed(through):
    """A write through any tensor that shares the memory raises at backward, and names node, array and write."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1.0
    y = h.sin()
    with ag.no_grad():
        {"itself": lambda: h, "detached": h.detach, "view": lambda: h[:1], "data": lambda: h.data}[through]().mul_(2)
    message = r"SinBackward0 saved .* its x, of shape \(2,\), was changed in place by mul_\(\)"
    with pytest.raises(AutogradError, match=message):
        y.sum().backward()


def test_a_change_of_a_result_that_was_saved_is_noticed():
    """exp saves its result; zeroing it is noticed, while sin's result is free to change."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y, z = x.exp(), x.sin()
    with ag.no_grad():
        y.zero_()
        z.zero_()
    z.sum().backward()
    with pytest.raises(AutogradError, match=r"its out, .* by zero_\(\)"):
        y.sum().backward()


def test_a_change_before_the_use_is_not_held_against_it():
    """Only writes after the saving count, also when an array's memory is used again."""
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    for _ in range(50):
        scratch = ag.zeros(2)
        scratch.add_(1)
        ((w * scratch).exp()).sum().backward()
        with ag.no_grad():
            w -= 0.01 * w.grad
        w.grad.zero_()
    assert len(write_clock.last_write) < 50


def test_an_optimizer_step_between_forward_and_backward_is_noticed():
    """Stepping before backward would give the gradient at the wrong weights."""
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    optimizer = ag.optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    y = (w * w).sum()
    optimizer.step()
    with pytest.raises(AutogradError, match="by an optimizer step"):
        y.backward()


@pytest.mark.parametrize(("name", "args"), [("fill_", (3.0,)), ("zero_", ())])
def test_what_was_overwritten_has_a_gradient_of_zero(name, args):
    """Also where the cotangent is infinite, or is differentiated."""
    for lib, grad in ((ag, ag.grad), (torch, torch.autograd.grad)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = x * 1
        getattr(y, name)(*args)
        (dx,) = grad(y, x, grad_outputs=lib.tensor([float("inf"), 1.0]), create_graph=True)
        assert dx.tolist() == [0, 0]


def test_a_leaf_keeps_its_value():
    """A leaf that requires grad is changed only under no_grad."""
    w = ag.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(AutogradError, match=r"add_\(\) would change it. Do it under no_grad"):
        w.add_(1)
    with ag.no_grad():
        w += 1
        w[0] = 7.0
    assert w.tolist() == [7, 3]
    assert w.requires_grad
    assert w.is_leaf
    w.data = w.data - 7
    w.data -= 1
    assert w.tolist() == [-1, -5]


def test_a_view_in_the_graph_stands_in_the_way():
    """A recorded change that a view would have to see is refused, not half recorded."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1.0
    part = h[:1]
    with pytest.raises(AutogradError, match="has, a view"):
        h.mul_(2)
    with pytest.raises(AutogradError, match="has, a view"):
        part.mul_(2)
    del part
    h.mul_(2)
    h.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_shape_and_dtype_stay():
    """A result of another shape or kind does not fit in place."""
    with pytest.raises(
        AutogradError, match=r"keeps shape and dtype, \(2,\) and int64, but the result has \(2,\) and float32"
    ):
        ag.tensor([1, 2]).add_(0.5)
    with pytest.raises(AutogradError, match=r"keeps shape and dtype, \(2,\) .* has \(3, 2\)"):
        ag.tensor([1.0, 2.0]).add_(ag.zeros(3, 2))


def test_a_write_that_is_refused_leaves_the_tensor_in_its_place_in_the_graph():
    """What did not fit is not in the gradient either."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    with pytest.raises(AutogradError, match="keeps shape and dtype"):
        y.mul_(ag.ones(3, 2))
    y.sum().backward()
    assert x.grad.tolist() == [3, 3]


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_", "copy_"])
def test_a_gradient_has_the_dtype_of_what_was_written(name):
    """Float64 written into float32 is rounded there, and its own gradient is float64, as in torch."""
    found = []
    for lib, grad in ((ag, ag.grad), (torch, torch.autograd.grad)):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        y = lib.tensor([3.0, 4.0], dtype=lib.float64, requires_grad=True)
        z = getattr(x * 1, name)(y)
        found.append([(str(g.dtype).removeprefix("torch."), g.tolist()) for g in (z, *grad(z.sum(), (x, y)))])
    assert found[0] == found[1]
    assert [dtype for dtype, _ in found[0]] == ["float32", "float32", "float64"]


def test_new_data_bring_their_shape():
    """What replaces the elements may have another shape, and operations see it; the shape itself cannot be written."""
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    x.data = ag.tensor([[1.0], [2.0], [3.0]])
    assert x.shape == (3, 1)
    (x * ag.tensor([[1.0, 10.0]])).sum().backward()
    assert x.grad.tolist() == [[11.0]] * 3
    with pytest.raises(AttributeError):
        x.shape = (1, 3)


@pytest.mark.parametrize("name", ["add_", "sub_"])
@pytest.mark.parametrize("number", [False, True])
def test_what_is_added_may_have_a_factor(name, number):
    """As in an optimizer written by hand: a tensor, whose gradient has it too, or a number."""
    found = []
    for lib in (ag, torch):
        x, y = (lib.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [4.0, 5.0]))
        h = getattr(x * 1, name)(4.0 if number else y, alpha=3)
        (h * h).sum().backward()
        found.append([h.tolist(), x.grad.tolist(), None if number else y.grad.tolist()])
    assert found[0] == found[1]


def test_a_retained_gradient_is_that_of_the_latest_value():
    """And a hook stays with the value that it was set on."""
    for lib in (ag, torch):
        x, seen = lib.ones(3, requires_grad=True), []
        h = x * 1
        h.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        h.retain_grad()
        h.mul_(2)
        h[0] = 3.0
        h.register_hook(lambda g, seen=seen: seen.append(g.tolist()))
        h *= 5
        h.sum().backward()
        assert (h.grad.tolist(), x.grad.tolist()) == ([1] * 3, [0, 10, 10])
        assert seen == [[5, 5, 5], [0, 10, 10]]
        assert h.retains_grad


def test_a_gradient_is_retained_only_if_asked_for():
    """Not because the tensor was changed, and not by one that is refused."""
    for lib in (ag, torch):
        x = lib.ones(3, requires_grad=True)
        h, k = x * 1, x * 2
        k.retain_grad()
        h.mul_(2)
        with pytest.raises(RuntimeError):
            k.mul_(lib.ones(2, 3))
        (h + k).sum().backward()
        assert (h.retains_grad, k.grad.tolist()) == (False, [1] * 3)


@pytest.mark.parametrize("when", ["before", "after", "without gradients"])
def test_a_leaf_is_not_changed_through_a_view(when):
    """Made before or after it became one; under no_grad it may be, and through a view of what was detached."""
    for lib in (ag, torch):
        b = lib.ones(4)
        b = b.requires_grad_() if when == "after" else b
        with lib.set_grad_enabled(when != "without gradients"):
            v = b[:3][0:2]
        apart = b.detach()[2:]
        b.requires_grad_()
        with pytest.raises(RuntimeError):
            v.mul_(2)
        with lib.no_grad():
            v.mul_(2)
        apart.mul_(3)
        assert b.tolist() == [2, 2, 3, 3]


def test_a_leaf_that_is_a_view_is_not_changed_either():
    """Its source may be, which torch does not notice."""
    for lib in (ag, torch):
        b = lib.ones(3)
        v = b[:1].requires_grad_()
        with pytest.raises(RuntimeError, match="leaf"):
            v.mul_(2)
        b.mul_(2)
        assert v.tolist() == [2]


def test_a_view_outlives_its_source():
    """It is a view of nothing then, and free."""
    for lib in (ag, torch):
        b = lib.ones(4)
        v = b[:2]
        del b
        v.mul_(2)
        assert v.tolist() == [2, 2]
    assert id(v) not in write_clock.views


def test_a_constant_view_stands_in_the_way_of_a_recorded_change():
    """It would have to see the change, and its gradient: torch gives it both, and here it is refused."""
    w, b = ag.ones(3, requires_grad=True), ag.ones(3)
    v = b[:1]
    with pytest.raises(AutogradError, match="has, a view"):
        b.mul_(w)
    apart = b.detach()[:1]
    del v
    b.mul_(w)
    b.sum().backward()
    assert (w.grad.tolist(), apart.tolist()) == ([1] * 3, [1])


def test_what_only_looks_like_a_view_is_none():
    """The memory of this sum is its own, though NumPy made it in another shape."""
    for lib in (ag, torch):
        x = lib.ones(2, 3)
        y = lib.logsumexp(x, 1)
        x.requires_grad_()
        y.add_(1)
        assert x.tolist() == [[1] * 3] * 2
