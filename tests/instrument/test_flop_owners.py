"""Whose the FLOPs are: of which pass, of which module; whatever form a model, a loss or a closure has."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from course_lib.errors import InputError
from course_lib.instrument import count_flops

PRODUCT = 2 * 3 * 4 * 5  # of 3 x 4 with 4 x 5


class Scores(nn.Module):
    """A layer that returns its scores and, given targets, the loss, as language models do."""

    def __init__(self, form):
        super().__init__()
        self.head, self.form = nn.Linear(4, 5), form

    def forward(self, x, targets):
        """Return both."""
        scores = self.head(x)
        return self.form(scores, F.cross_entropy(scores, targets))


X, Y = torch.randn(3, 4), torch.tensor([0, 1, 2])


@pytest.mark.parametrize(
    "form",
    [
        lambda scores, loss: (scores, loss),
        lambda scores, loss: {"logits": scores, "loss": loss},
        lambda scores, loss: SimpleNamespace(loss=loss, logits=scores),
        lambda scores, loss: (loss.detach(), loss, loss[None]),
    ],
)
def test_the_loss_is_found_in_what_a_model_returns(form):
    """Beside the logits, by its name, and as the one without dimensions."""
    model = Scores(form)
    found = count_flops(lambda: model(X, Y))
    assert (found.forward, found.backward, found.has_backward) == (PRODUCT, PRODUCT, True)
    assert model.head.weight.grad is None


def test_two_losses_are_not_guessed_at():
    """The message says what to return."""
    model = Scores(lambda scores, loss: {"first": loss, "second": 2 * loss})
    with pytest.raises(InputError, match=r"only tensor of one element .* 2 came back\. Return .*their sum"):
        count_flops(lambda: model(X, Y))


@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_inference_has_no_backward_pass_and_says_so(switch):
    """Whether the output has a graph or not."""
    model = nn.Linear(4, 5)
    with switch():
        found = count_flops(lambda: (model(X), None))
    assert (found.forward, found.backward, found.has_backward) == (PRODUCT, 0, False)
    assert "forward pass only" in str(found)
    with pytest.raises(InputError, match="there was none"):
        _ = found.ratio


def closures(model, loss_of, optimizer):
    """Return steps that differentiate by themselves, and what each of them returns."""

    def backward():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        return loss

    def step():
        optimizer.step(backward)
        optimizer.zero_grad()

    return backward, step, lambda: backward().item(), lambda: torch.autograd.grad(loss_of(), list(model.parameters()))


@pytest.mark.parametrize("which", range(4))
def test_a_closure_that_differentiates_is_counted_as_it_is(which):
    """Nothing is differentiated again; each pass has its FLOPs, and each module."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss_of():
        return F.cross_entropy(model(X), Y)

    plain, found = count_flops(loss_of), count_flops(closures(model, loss_of, optimizer)[which])
    assert (found.forward_by_op, found.backward_by_op) == (plain.forward_by_op, plain.backward_by_op)
    assert found.modules == plain.modules
    assert found.has_backward


def test_the_modules_share_all_flops():
    """Own FLOPs add up to all, what encloses has those of what it encloses, and a functional product is outside."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Sequential(nn.ReLU(), nn.Linear(5, 6)))
    free = torch.randn(6, 7, requires_grad=True)
    found = count_flops(lambda: (model(X) @ free).sum())
    rows = {name: (m.kind, m.forward, m.backward) for name, m in found.modules.items()}
    second, last = 2 * 3 * 5 * 6, 2 * 3 * 6 * 7
    assert rows == {
        "Sequential": ("Sequential", PRODUCT + second, PRODUCT + 2 * second),
        "0": ("Linear", PRODUCT, PRODUCT),
        "1": ("Sequential", second, 2 * second),
        "1.1": ("Linear", second, 2 * second),
        "(outside modules)": ("", last, 2 * last),
    }
    assert sum(m.self_forward for m in found.modules.values()) == found.forward
    assert sum(m.self_backward for m in found.modules.values()) == found.backward
    assert [line.split()[0] for line in found.module_table().splitlines()] == ["module", "(outside", "1.1", "0"]


def test_torch_counts_the_same_by_module():
    """A convolutional network of two blocks, both passes together."""
    blocks = [nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU()) for _ in range(2)]
    model, x = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(192, 2)), torch.randn(2, 3, 8, 8)
    with FlopCounterMode(display=False) as counter:
        model(x).sum().backward()
    theirs = {
        name.removeprefix("Sequential."): sum(of.values()) for name, of in counter.get_flop_counts().items() if of
    }
    ours = count_flops(lambda: model(x).sum()).modules
    assert {name: m.forward + m.backward for name, m in ours.items()} == {
        name: flops for name, flops in theirs.items() if name != "Global"
    }


@pytest.mark.parametrize("reentrant", [False, True])
def test_what_a_checkpoint_recomputes_is_known(reentrant):
    """Its forward pass again, within the backward pass, in the modules that are called again."""
    inner, x = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 4), nn.Tanh()), X.clone().requires_grad_()
    found = count_flops(lambda: checkpoint(inner, x, use_reentrant=reentrant).sum())
    assert (found.forward, found.backward, found.recompute) == (2 * PRODUCT, 6 * PRODUCT, 2 * PRODUCT)
    assert found.modules["0"].backward == found.modules["2"].backward == 3 * PRODUCT


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_graph_of_the_backward_pass_is_no_recomputation():
    """As a closure makes it that will differentiate twice."""
    model = nn.Linear(4, 5)
    found = count_flops(lambda: model(X).pow(2).sum().backward(create_graph=True))
    assert (found.backward, found.recompute) == (PRODUCT, 0)


def test_a_layer_that_is_used_twice_has_both():
    """Under its one name."""
    layer = nn.Linear(4, 4)
    found = count_flops(lambda: layer(layer(X)).sum())
    assert (found.modules["Linear"].forward, found.modules["Linear"].backward) == (2 * 96, 3 * 96)


def test_a_compiled_model_has_the_names_of_what_was_compiled():
    """As a whole, and a layer of it."""
    model = nn.Sequential(nn.Linear(4, 5), nn.Sequential(nn.Linear(5, 6)))
    plain = count_flops(lambda: model(X).sum()).modules
    whole = count_flops(lambda: torch.compile(model, backend="eager")(X).sum()).modules
    assert list(whole) == ["OptimizedModule", "0", "1", "1.0"]
    assert [(m.forward, m.self_backward) for m in whole.values()] == [
        (m.forward, m.self_backward) for m in plain.values()
    ]
    model[1] = torch.compile(model[1], backend="eager")
    assert count_flops(lambda: model(X).sum()).modules == plain
