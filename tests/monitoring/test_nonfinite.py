"""The first nan or infinity of a step: which operation made it, where, of what; and what is none of its concern."""

import pytest
import torch
from torch import nn

from course_lib.errors import InputError
from course_lib.monitoring import first_nonfinite

HERE = "test_nonfinite.py"
MASK = torch.tensor([[0.0, -torch.inf], [0.0, 0.0]])  # as a model keeps it in a buffer


def backward(loss):
    """Run the backward pass, and return the loss."""
    loss.backward()
    return loss


def leaf(*values, dtype=torch.float32):
    """Make a leaf."""
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def test_the_forward_operation_is_named_with_its_place_and_its_argument():
    """The logarithm of 0, three operations before the loss."""
    p = leaf(0.5, 0.0)
    found = first_nonfinite(lambda: -(p * p.log()).sum())
    assert (found.op, found.node, found.nan, found.inf, found.size, found.dtype) == ("log", "", 0, 1, 2, "float32")
    assert found.given == ("(2,) from 0 to 0.5",)
    assert found.place.module == "(outside modules)"
    assert found.place.line == "found = first_nonfinite(lambda: -(p * p.log()).sum())"
    assert found.place.file.startswith(f"{HERE}:")


def test_the_backward_operation_is_named_with_the_place_of_its_forward_pass():
    """The root of 0 is 0, and its slope is infinite; the loss is fine."""
    p = leaf(4.0, 0.0)

    def step():
        roots = p.sqrt()
        return backward(roots.sum())

    found = first_nonfinite(step)
    assert (found.op, found.node, found.inf) == ("div", "SqrtBackward0", 1)
    assert found.place.line == "roots = p.sqrt()"
    assert p.grad[1] == torch.inf


def test_a_masked_value_does_not_mask_its_slope():
    """What where() hides in the forward pass is nan in the backward pass, and the message says so."""
    p = leaf(0.5, 0.0)
    found = first_nonfinite(lambda: backward(torch.where(p > 0, p.log(), p).sum()))
    assert (found.node, found.nan) == ("LogBackward0", 1)
    assert "hides the value and not the slope" in found.remedy


@pytest.mark.parametrize(
    "step",
    [
        lambda: backward(leaf(0.0, 0.0).std()),  # divides by 0 on the way, and masks it
        lambda: backward(torch.where(torch.tensor([True, False]), leaf(0.5, 0.0), leaf(1.0, 1.0)).sum()),
        lambda: backward(leaf(1.0, 2.0).masked_fill(torch.tensor([True, False]), -torch.inf).softmax(0).square().sum()),
        lambda: torch.full((3,), torch.inf),
        lambda: torch.empty(1000).fill_(1.0),
        lambda: torch.tensor([1, 2]).sum(),
        lambda: (torch.ones(2, 2) + MASK).softmax(-1),
        lambda: torch.tensor([1.0, torch.nan])[:1].exp(),  # of a batch with a nan, what is not nan
        lambda: torch.maximum(torch.tensor(-torch.inf), leaf(1.0)).sum(),
    ],
)
def test_what_is_masked_or_asked_for_is_no_finding(step):
    """Nothing of it is left in the results, or the code asked for it."""
    assert first_nonfinite(step) is None


def test_nan_made_of_what_was_asked_for_is_a_finding():
    """A row that is masked altogether has no softmax."""
    x = leaf(1.0, 2.0)
    found = first_nonfinite(lambda: x.masked_fill(torch.tensor([True, True]), -torch.inf).softmax(0).sum())
    assert (found.op, found.nan) == ("_softmax", 2)
    assert found.remedy.startswith("A row holds -inf alone")


def test_what_was_there_before_is_told_apart():
    """A nan in the batch, and one in a parameter, made by the step before."""
    model = nn.Sequential(nn.Linear(3, 2))
    batch = torch.ones(4, 3)
    batch[1, 2] = torch.nan
    found = first_nonfinite(lambda: backward(model(batch).sum()))
    assert (found.op, found.nan, found.size, found.place.module) == ("", 1, 12, "0")
    assert "were there before, read in module '0'" in " ".join(str(found).split())
    assert "No operation of the step made them" in found.remedy


def test_the_first_of_several_is_found_and_its_module():
    """Later operations hand on what the first has made, through views and writes in place."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 1))
    with torch.no_grad():
        model[1][0].weight.fill_(3e38)
        model[0].bias.fill_(5.0)
    found = first_nonfinite(lambda: backward(model(torch.ones(2, 4)).view(-1).mul_(2.0).log().sum()))
    assert (found.op, found.place.module) == ("addmm", "1.0")
    assert "grew out of the dtype's range" in found.remedy


def test_what_float16_cannot_hold():
    """A cast makes an infinity of a number that is none."""
    found = first_nonfinite(lambda: leaf(70000.0).half())
    assert (found.op, found.inf, found.dtype) == ("_to_copy", 1, "float16")
    assert "float16 ends at 65504" in found.remedy


def test_a_parameter_that_the_optimizer_spoils_is_found():
    """Also what is written in place counts, if it stays."""
    w = leaf(1.0)

    def step():
        w.grad = None
        loss = backward(w.square())
        with torch.no_grad():
            w.addcdiv_(w.grad, torch.zeros(()))
        return loss

    assert first_nonfinite(step).op == "addcdiv_"
    assert first_nonfinite(step).op == ""


def test_it_is_said_in_words():
    """Operation, counts, place, arguments, and what helps."""
    p = leaf(4.0, 0.0)
    said = str(first_nonfinite(lambda: backward(p.sqrt().sum())))
    assert max(map(len, said.splitlines())) <= 76
    said = " ".join(said.split())
    assert said.startswith(
        "div, called by SqrtBackward0 in the backward pass, made 1 inf of 2 numbers in float32. Its forward pass is in "
        "no module: "
    )
    assert said.endswith(
        "It was given (2,) from 1 to 1; (2,) from 0 to 4. A root has an infinite slope at 0, and no value below: add a "
        "small number under the root, not after it."
    )


def test_what_cannot_run_is_refused():
    """In words; an error of the step is passed on, and nothing goes on watching."""
    with pytest.raises(InputError, match="step must be a function that runs one step, but a Tensor came"):
        first_nonfinite(torch.ones(3).sum())
    with pytest.raises(ZeroDivisionError):
        first_nonfinite(lambda: 1 / 0)
    assert not torch._C._len_torch_dispatch_stack()
