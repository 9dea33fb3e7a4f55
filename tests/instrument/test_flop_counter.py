"""FLOPs: what the counter promises to those who profile."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it

from course_lib.costs import lstm
from course_lib.errors import InputError
from course_lib.instrument import count_flops


def test_the_operators_add_up():
    """by_operator holds both passes."""
    model, x = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 2)), torch.randn(2, 3, 8, 8)
    found = count_flops(lambda: model(x).sum())
    assert sum(found.by_operator.values()) == found.forward + found.backward
    assert found.forward == 2 * 2 * 4 * 36 * 27 + 2 * 2 * 144 * 2
    assert set(found.by_operator) == {"aten.convolution", "aten.convolution_backward", "aten.addmm", "aten.mm"}


def test_what_has_no_formula_is_named():
    """Element-wise work, normalisation and pooling by name and number of calls; views and copies are no work."""
    model = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU())
    found = count_flops(lambda: model(torch.ones(2, 4)).T.contiguous().sum())
    assert found.uncounted == {
        **{f"aten.{name}": 1 for name in ("native_layer_norm", "native_layer_norm_backward", "gelu", "gelu_backward")},
        "aten.sum": 2,  # the loss, and the gradient of the bias
    }
    assert "not counted: aten.sum (2), " in str(found)


def test_a_product_of_unknown_kind_is_not_passed_over_in_silence():
    """A bilinear layer runs as one operation that has no formula."""
    found = count_flops(lambda: nn.Bilinear(3, 4, 5)(torch.randn(2, 3), torch.randn(2, 4)).sum())
    assert found.uncounted["aten._trilinear"] >= 1


@pytest.mark.parametrize(
    ("forward", "flops"),
    [
        (lambda x: nn.Linear(5, 7)(x), 70),
        (lambda x: torch.ones(7, 5) @ x, 70),
        (lambda x: torch.addmv(torch.ones(7), torch.ones(7, 5), x), 70),
        (lambda x: torch.zeros(7).addmv_(torch.ones(7, 5), x), 70),
        (lambda x: x @ x, 10),
        (lambda x: torch.vdot(x, x), 10),
        (lambda x: F.linear(x.expand(2, 3, 5), torch.ones(7, 5)), 420),
    ],
)
def test_products_with_a_vector(forward, flops):
    """2 times the terms."""
    x = torch.randn(5)
    assert count_flops(lambda: forward(x).sum()).forward == flops


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"attn_mask": torch.ones(8, 8, dtype=torch.bool)}])
def test_fused_attention_on_the_cpu(options):
    """Two products forward and five backward, with any mask."""
    q = torch.randn(2, 4, 8, 16, requires_grad=True)
    found = count_flops(lambda: F.scaled_dot_product_attention(q, q, q, **options).sum())
    product = 2 * 2 * 4 * 8 * 8 * 16
    assert (found.forward, found.backward) == (2 * product, 5 * product)


def test_a_bidirectional_lstm():
    """One kernel, four gates, both directions, as by formula."""
    model, x = nn.LSTM(3, 5, bidirectional=True), torch.randn(4, 2, 3)
    cost = lstm(4, 2, 3, 5, fused=True)
    found = count_flops(lambda: model(x)[0].sum())
    assert (found.forward, found.backward) == (2 * cost.forward, 2 * cost.weight_backward)


def test_counting_leaves_gradients_and_random_numbers_alone():
    """The gradient that was there is the same object with the same values; the next random number is the next."""
    model, x = nn.Sequential(nn.Linear(3, 3), nn.Dropout()), torch.randn(2, 3, requires_grad=True)
    model(x).sum().backward()
    before, values = model[0].weight.grad, model[0].weight.grad.clone()
    state = torch.get_rng_state()
    count_flops(lambda: model(x).sum())
    assert model[0].weight.grad is before
    assert torch.equal(before, values)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_failed_backward_puts_gradients_back():
    """Also the switch of the fused encoder layer."""
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 7.0)

    def forward():
        y = x.exp()
        loss = y.sum()
        y.add_(1)
        return loss

    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        count_flops(forward)
    assert x.grad.tolist() == [7, 7]
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned NoneType"),
        (1.0, "returned float"),
        (torch.tensor(1j), r"a real loss, but its dtype is torch\.complex64\. Take its \.real or \.abs\(\)"),
    ],
)
def test_what_is_not_a_loss_is_refused(result, message):
    """Nothing, a number without a graph, a complex number."""
    with pytest.raises(InputError, match=message):
        count_flops(lambda: result)


def test_a_loss_that_was_computed_already_is_refused():
    """Its operations are over, and there is nothing left to count."""
    with pytest.raises(InputError, match=r"fn must be a function .*got a Tensor, .* lambda: "):
        count_flops(nn.Linear(3, 1)(torch.ones(2, 3)).sum())


def test_without_a_graph_the_backward_pass_is_nothing():
    """A model without gradients has a forward pass only."""
    model = nn.Linear(3, 4).requires_grad_(False)
    found = count_flops(lambda: model(torch.ones(2, 3)).sum())
    assert (found.forward, found.backward) == (48, 0)


@pytest.mark.parametrize(
    ("forward", "flops"),
    [
        (lambda a, b: torch.zeros(3, 5).addmm_(a[0], b[0]), 2 * 3 * 4 * 5),
        (lambda a, b: torch.addbmm(torch.zeros(3, 5), a, b), 2 * 2 * 3 * 4 * 5),
        (lambda a, b: torch.zeros(3, 5).addbmm_(a, b), 2 * 2 * 3 * 4 * 5),
        (lambda a, b: torch.zeros(2, 3, 5).baddbmm_(a, b), 2 * 2 * 3 * 4 * 5),
        (lambda a, b: torch.conv_tbc(torch.ones(7, 2, 3), torch.ones(3, 3, 5), torch.ones(5), 1), 2 * 7 * 2 * 9 * 5),
    ],
)
def test_products_that_add_to_something(forward, flops):
    """In place too, summed over a batch, and a convolution with time first."""
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    assert count_flops(lambda: forward(a, b).sum()).forward == flops


def test_a_trained_matrix_times_a_vector():
    """As documented: the same product as a linear layer, whose backward pass is twice as long as what is counted."""
    w, v = torch.randn(7, 5, requires_grad=True), torch.randn(5, requires_grad=True)
    assert count_flops(lambda: (w @ v).sum()).backward == 70
    assert count_flops(lambda: F.linear(v, w).sum()).backward == 140


def test_a_penalty_on_a_gradient():
    """A forward pass that differentiates: two products of 3 x 4 and 4 x 5 each way, and those of the second pass."""
    layer, x = nn.Linear(4, 5, bias=False), torch.randn(3, 4, requires_grad=True)

    def forward():
        (g,) = torch.autograd.grad(layer(x).pow(2).sum(), x, create_graph=True)
        return g.pow(2).sum()

    found = count_flops(forward)
    product = 2 * 3 * 4 * 5
    assert (found.forward, found.backward) == (2 * product, 4 * product)


def test_a_jacobian_inside_the_forward_pass():
    """A transform of torch.func: one product forward, one for each of three rows of the Jacobian."""
    w, x = torch.randn(3, 4, requires_grad=True), torch.randn(2, 4)
    found = count_flops(lambda: torch.func.jacrev(lambda x: (x @ w.T).sum(0))(x).sum())
    assert found.forward == 2 * 2 * 4 * 3 * (1 + 3)
