"""Graphs that real code makes: nodes with several outputs, hooks on the way, and too many nodes."""

import pytest
import torch

from course_lib.autograd import tensor
from course_lib.errors import AutogradError
from course_lib.figures import backward_stepper


class Both(torch.autograd.Function):
    """Twice its input, and three times."""

    @staticmethod
    def forward(ctx, x):  # noqa: D102
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):  # noqa: D102
        return 2 * g + 3 * h


def test_two_outputs_of_one_node_are_told_apart():
    """Each has its own name, value and cotangent: these are not added up."""
    x = torch.tensor(5.0, requires_grad=True)
    p, q = Both.apply(x)
    _, product, both, leaf = map(str, backward_stepper(p * q, names={"x": x, "p": p, "q": q}).steps)
    assert "v * q to p and v * p to q. Sends: 1 * 15 = 15 to p and 1 * 10 = 10 to q." in product
    assert "Adds up" not in product
    assert both.startswith("p, q = both(x)")
    assert "Arrives: v = 15 and 10." in both
    assert "x.grad was None and is now 60" in leaf
    assert "v for 2 outputs" in backward_stepper(p * q)._repr_html_()


def test_parts_of_a_split_are_numbered_where_they_have_no_name():
    """As the chunks of a QKV projection."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    _, middle, last = x.chunk(3)
    steps = [str(step) for step in backward_stepper((middle * last).sum(), names={"x": x, "last": last}).steps]
    split = next(step for step in steps if "SplitBackward0" in step)
    assert split.startswith("t1[1], last = ")
    assert "[3] to t1[1] and [1] * [2] = [2] to last" in steps[2]


@pytest.mark.parametrize("make", [tensor, torch.tensor])
def test_a_hook_on_the_way_is_pointed_out(make):
    """Else 3 would be sent and 6 arrive, unexplained."""
    x = make(1.0, requires_grad=True)
    y = x * 1.0
    y.register_hook(lambda g: g * 2)
    steps = [str(step) for step in backward_stepper(y * 3.0, names={"x": x, "y": y}).steps]
    assert "Arrives: v = 6. Hook: 3 was sent; a hook on the way replaced it." in steps[2]
    assert not any("Hook" in steps[i] for i in (0, 1, 3))


@pytest.mark.parametrize("make", [tensor, torch.tensor])
def test_a_graph_of_two_hundred_nodes_is_refused(make):
    """It would be a figure as high as twenty pages; the message says what would do."""
    y = make(1.0, requires_grad=True)
    for _ in range(200):
        y = y * 1.01
    with pytest.raises(AutogradError, match=r"at most 120 nodes.*this graph has 201; take fewer layers"):
        backward_stepper(y)


def test_what_is_no_tensor_is_refused():
    """A number has no graph."""
    with pytest.raises(AutogradError, match="but got a float; pass the result itself"):
        backward_stepper(3.0)


def test_what_a_recurrent_kernel_keeps_is_not_called_a_mean():
    """Only the results of norms are means and deviations."""
    steps = backward_stepper(torch.nn.LSTM(2, 3)(torch.ones(2, 1, 2))[0].sum()).steps
    kernel = next(str(step) for step in steps if "Mkldnn" in step.operation)
    assert "the results of its kernel" in kernel
    assert "the means" not in kernel
