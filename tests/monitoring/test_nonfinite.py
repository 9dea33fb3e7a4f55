"""The first nan or infinity of a step: which operation made it, where, of what; and what is none of its concern."""

import gc
import re
import weakref

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.utils.checkpoint import checkpoint

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
        lambda: filled_by_index(leaf(1.0, 2.0) * 1),
        lambda: torch.where(torch.tensor([True, False]), leaf(1.0, 2.0), torch.tensor(-torch.inf)),
        lambda: torch.where(torch.tensor([True, False]), leaf(1.0, 2.0), torch.tensor(torch.inf)),
        lambda: torch.distributions.Categorical(logits=filled_by_index(leaf(1.0, 2.0) * 1)).probs,
        lambda: leaf([1.0, 2.0], [3.0, 4.0]) + MASK,  # a mask that stays with the scores
        lambda: (leaf([1.0, 2.0], [3.0, 4.0]) + torch.tensor([[0.0, -torch.inf], [0.0, 0.0]]), leaf(1.0)),
    ],
)
def test_what_is_masked_or_asked_for_is_no_finding(step):
    """Nothing of it is left in the results, or the code asked for it."""
    assert first_nonfinite(step) is None


def filled_by_index(scores):
    """Mask in the way most people write."""
    scores[torch.tensor([False, True])] = -torch.inf
    return scores


@pytest.mark.parametrize("mask", [filled_by_index, lambda scores: scores + MASK[0]], ids=["index", "buffer"])
def test_a_mask_hides_no_nan_that_is_made_behind_it(mask):
    """The scores stay, and nan comes from elsewhere."""

    def step():
        scores, advantages = mask(leaf(1.0, 2.0) * 1), torch.zeros(2)
        return (scores.softmax(0) * (advantages / advantages.std())).sum(), scores

    assert first_nonfinite(step).op == "div"


def test_an_infinity_that_came_and_is_no_mask_was_there_before():
    """In a batch that a matrix is multiplied by, in a parameter, in a gradient that is added to."""
    layer, p, spoiled = nn.Linear(2, 2), leaf(4.0, 0.0), leaf(1.0, -torch.inf)
    assert first_nonfinite(lambda: layer(torch.tensor([[-torch.inf, 1.0]]))).op == ""
    assert first_nonfinite(lambda: spoiled * 2).op == ""
    p.grad = torch.tensor([-torch.inf, 1.0])
    assert first_nonfinite(lambda: backward((p * 2).sum())).op == ""
    sgd = torch.optim.SGD([p], lr=1.0)
    assert first_nonfinite(sgd.step).op == "add_"  # of which the parameter becomes infinite


def test_nan_made_of_what_was_asked_for_is_a_finding():
    """A row that is masked altogether has no softmax."""
    x = leaf(1.0, 2.0)
    found = first_nonfinite(lambda: x.masked_fill(torch.tensor([True, True]), -torch.inf).softmax(0).sum())
    assert (found.op, found.nan) == ("_softmax", 2)
    assert found.remedy.startswith("A row holds only -inf")


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


def forward_loss(targets, hidden):
    """Return a loss of which some classes are masked."""
    scores = leaf([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).masked_fill(torch.arange(3) == hidden, -torch.inf)
    return backward(nn.functional.cross_entropy(scores, torch.tensor(targets)))


def test_an_infinite_loss_is_a_finding_also_if_a_mask_made_it():
    """A loss is no mask: the class that is the target had been hidden, or there is no target at all."""
    found = first_nonfinite(lambda: forward_loss([0, 1], hidden=1))
    assert (found.op, found.inf) == ("nll_loss_forward", 1)
    assert "target class" in found.remedy
    assert first_nonfinite(lambda: forward_loss([0, 2], hidden=1)) is None
    assert first_nonfinite(lambda: forward_loss([-100, -100], hidden=1)).nan == 1
    assert first_nonfinite(lambda: leaf(1.0).masked_fill(torch.tensor([True]), -torch.inf).sum()) is None


@pytest.mark.parametrize("option", [{"foreach": False}, {"foreach": True}, {"fused": True}])
def test_what_an_operation_writes_to_and_does_not_return_is_looked_at(option):
    """As the operations of optimizers do on lists: Adam divides 0 by 0."""
    w = nn.Parameter(torch.ones(3))
    adam = torch.optim.Adam([w], eps=0, **option)

    def step():
        (w * 0).sum().backward()
        adam.step()

    found = first_nonfinite(step)
    assert found.op in ("addcdiv_", "_foreach_addcdiv_", "_fused_adam_")
    assert found.nan == 3
    assert "eps must be above 0" in found.remedy


def test_the_running_statistics_of_batch_norm_are_looked_at():
    """Their variance grows out of the range before anything else does, and no schema says that they are written."""
    norm = nn.BatchNorm1d(1)
    found = first_nonfinite(lambda: norm(torch.tensor([[3e38], [-3e38]])).square().sum().isnan())
    assert (found.op, found.place.module) == ("native_batch_norm", "BatchNorm1d")
    assert norm.running_var.isinf().all()


def test_an_infinite_learning_rate_asks_for_nothing():
    """Unlike an infinity that something is filled with."""
    w = nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([w], lr=torch.inf)

    def step():
        w.sum().backward()
        sgd.step()

    assert first_nonfinite(step).op == "add_"


def by_parts(numbers):
    """Mend what is not finite, number by number."""
    for i in range(len(numbers)):
        numbers[i] = torch.nan_to_num(numbers[i], 0.0, 0.0, 0.0)
    return numbers


def in_numpy(numbers):
    """Mend it where torch sees nothing."""
    numbers.numpy()[:] = 0.0
    return numbers


@pytest.mark.parametrize("mended", [torch.nan_to_num_, by_parts, in_numpy])
def test_what_was_mended_is_not_left(mended):
    """At once, in parts, or behind torch's back."""
    assert first_nonfinite(lambda: mended(torch.tensor([1.0, 0.0]).log())) is None


def test_what_only_a_cycle_holds_is_not_left():
    """It is freed some time later."""

    def step():
        class Box:
            pass

        box = Box()
        box.self, box.value = box, torch.zeros(2).log()
        return torch.ones(2).sum()

    assert first_nonfinite(step) is None


def partly_written():
    """Fill what held infinities, as a mask does, in parts."""
    numbers = torch.full((4,), -torch.inf)
    numbers[:2], numbers[2:] = 1.0, 0.0
    return numbers


@pytest.mark.parametrize(
    ("step", "op"),
    [
        (lambda: partly_written().log(), "log"),  # of what no longer is infinite
        (lambda: torch.tensor([0.0, -1.0]).reciprocal()[1:].log(), "log"),  # of the part that never was
        (lambda: torch.full((4,), torch.nan)[:2].view(-1), None),  # views have made nothing
    ],
)
def test_what_counts_is_what_an_operation_was_given(step, op):
    """And not what once was in the same memory."""
    found = first_nonfinite(step)
    assert (found and found.op) == op


def test_a_gradient_that_was_infinite_before_and_is_zeroed_in_place():
    """What comes into it now is new."""
    p = leaf(4.0, 0.0)
    p.grad = torch.tensor([torch.inf, torch.inf])

    def step():
        p.grad.zero_()
        return backward(p.sqrt().sum())

    assert first_nonfinite(step).node == "SqrtBackward0"


def test_a_gradient_that_was_infinite_before_and_is_added_to():
    """It was there before, and it is left; what the step adds to it came first, if it is infinite too."""
    p = leaf(4.0, 0.0)
    p.grad = torch.tensor([torch.inf, 1.0])
    assert first_nonfinite(lambda: backward((p * 2).sum())).op == ""
    assert first_nonfinite(lambda: backward(p.sqrt().sum())).node == "SqrtBackward0"


def test_nothing_stays_with_what_lives_on():
    """Neither a weak reference nor what it holds."""
    p = leaf(4.0, 0.0)
    first_nonfinite(lambda: p.sqrt().sum())
    gc.collect()
    assert weakref.getweakrefcount(p.untyped_storage()) == 0


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    "step",
    [
        lambda: torch.ones(3).to(torch.float8_e4m3fn),
        lambda: torch.nested.nested_tensor([torch.ones(3), torch.ones(5)]).mul(2),
        lambda: torch.ones(3, device="meta").log(),
        lambda: torch.cond(torch.tensor(True), torch.exp, torch.sin, (torch.ones(2),)),
    ],
)
def test_what_cannot_be_looked_at_is_left_alone(step):
    """No step fails for being watched."""
    assert first_nonfinite(step) is None


def test_numbers_of_fake_tensors_are_none():
    """There are none to look at."""
    with FakeTensorMode():
        assert first_nonfinite(lambda: torch.ones(3).log().sum()) is None


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


class Divided(torch.autograd.Function):
    """Hands on what it gets; backward, divides by it."""

    @staticmethod
    def forward(ctx, x):
        """Save it."""
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        """Divide."""
        return g / ctx.saved_tensors[0]


class Root(nn.Module):
    """Makes an infinite slope."""

    def forward(self, x):
        """Take the root of 0, after one of what is not 0."""
        y = x.exp().sqrt()
        return y + (x * 0).sqrt()


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_node_of_a_checkpointed_region_has_its_place(reentrant):
    """Also where the region is run again, and its nodes are new."""
    model = nn.Sequential(nn.Linear(3, 3), Root(), nn.Linear(3, 1))

    def step():
        h = checkpoint(model[1], model[0](torch.ones(2, 3)), use_reentrant=reentrant)
        return backward(model[2](h).sum())

    found = first_nonfinite(step)
    assert (found.node, found.place.module) == ("SqrtBackward0", "Root")
    assert found.place.line == "return y + (x * 0).sqrt()"


def test_a_module_that_is_run_again_is_named():
    """Also if all code in it is torch's: the line is then that of the region."""
    model = nn.Sequential(nn.Identity(), nn.Linear(1, 2, bias=False))
    with torch.no_grad():
        model[1].weight.fill_(3e38)

    def step():
        h = checkpoint(model, torch.zeros(1, 1, requires_grad=True) * 1, use_reentrant=True)
        return backward(h.sum())

    found = first_nonfinite(step)
    assert (found.op, found.node, found.place.module) == ("mm", "MmBackward0", "1")
    assert found.place.line.startswith("h = checkpoint(model")


def test_what_python_runs_in_the_backward_pass_has_its_own_line():
    """In a function's rule, and in a hook; the message does not call it the forward pass."""
    x = leaf(1.0, 0.0)
    found = first_nonfinite(lambda: backward(Divided.apply(x).sum()))
    assert (found.node, found.place.line) == ("DividedBackward", "return g / ctx.saved_tensors[0]")
    assert "It is in no module: return g /" in " ".join(str(found).split())

    def hooked():
        y = x * 2
        y.register_hook(lambda g: g / 0)
        return backward(y.sum())

    assert first_nonfinite(hooked).place.line == "y.register_hook(lambda g: g / 0)"


def test_a_node_that_was_recorded_in_a_backward_pass_has_the_place_of_what_it_is_of():
    """In a gradient of a gradient: the slope of a root is a division, and the slope of that is too large."""
    x = leaf(1e-38)

    def step():
        y = x.sqrt()
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        loss = (slope * 1e3).sum()
        return backward(loss)

    found = first_nonfinite(step)
    assert (found.node, found.place.line) == ("DivBackward0", "y = x.sqrt()")


def test_a_place_that_is_not_known_is_not_made_up():
    """Of a graph that was there before, and of gradients that are added up."""
    p, q = leaf(4.0, 0.0), leaf(1.0)
    before = p.sqrt().sum()
    found = first_nonfinite(lambda: backward(before))
    assert (found.node, found.place.module, found.place.line) == ("SqrtBackward0", "", "")
    assert "forward pass is in" not in " ".join(str(found).split())

    def twice():
        backward((q * 3e38).sum())
        return backward((q * 3e38).sum())

    found = first_nonfinite(twice)
    assert (found.op, found.place.line) == ("add_", "")
    assert found.node.endswith("AccumulateGrad")


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
    with pytest.raises(InputError, match=r"step must be a function .* got a Tensor"):
        first_nonfinite(torch.ones(3).sum())
    with pytest.raises(ZeroDivisionError):
        first_nonfinite(lambda: 1 / 0)
    assert not torch._C._len_torch_dispatch_stack()


def test_what_an_optimizer_does_is_not_called_the_forward_pass():
    """Nor is an update by hand."""
    w = nn.Parameter(torch.ones(3))
    sgd = torch.optim.SGD([w], lr=3e38)
    w.grad = torch.full((3,), 1e3)
    assert str(first_nonfinite(sgd.step)).startswith("add_ in the update of the parameters made 3 inf")

    def by_hand():
        with torch.no_grad():
            w.copy_(torch.ones(3)).sub_(w * 3e38).mul_(10)

    assert str(first_nonfinite(by_hand)).startswith("mul_ in the update of the parameters made 3 inf")
    assert "log in the forward pass" in str(first_nonfinite(lambda: leaf(0.0).log()))


def test_of_a_fused_optimizer_it_is_said_what_it_was_given():
    """It writes to all that it is given."""
    w = nn.Parameter(torch.ones(3))
    adam = torch.optim.Adam([w], eps=0, fused=True)
    w.grad = torch.zeros(3)
    found = first_nonfinite(adam.step)
    assert found.op == "_fused_adam_"
    assert found.given[:2] == ("(3,) from 1 to 1", "(3,) from 0 to 0")


@pytest.mark.parametrize("warm", [False, True])
def test_a_compiled_step_runs_compiled_again_afterwards(warm):
    """While it is looked at it runs as it is written, so that the line at fault is found."""
    runs, p = [], leaf(0.5, 0.0)

    def compiler(graph, inputs):
        return lambda *args: runs.append(None) or graph(*args)

    step = torch.compile(lambda: (p * p.log()).sum(), backend=compiler)
    if warm:
        step()
    before, found = len(runs), first_nonfinite(step)
    assert found.op == "log"
    assert len(runs) == before
    step()
    assert len(runs) == before + 1


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (nn.Linear(2, 1), "but Linear needs input. Pass a function that gives it what it needs"),
        (lambda batch, scale=1: batch, "but <lambda> needs batch."),
    ],
)
def test_a_step_that_needs_arguments_is_refused(step, said):
    """By name, before torch says from deep inside what forward() is missing."""
    with pytest.raises(InputError, match=re.escape(said)):
        first_nonfinite(step)


def test_a_model_that_needs_nothing_is_a_step():
    """Its forward() may hold the data, and its loss."""

    class Model(nn.Module):
        def forward(self):
            return torch.log(torch.zeros(1) - 1)

    assert "log" in str(first_nonfinite(Model()))
