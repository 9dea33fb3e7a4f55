"""FLOPs by formula against what is counted in torch: equal, not close."""

import jax
import jax.numpy as jnp
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from course_lib.costs import (
    attention,
    conv2d,
    embedding,
    freeze,
    gru,
    linear,
    lstm,
    mlp,
    ratio_from_first_layer,
    rnn,
    training_cost,
    transformer_layer,
)
from course_lib.errors import InputError
from course_lib.instrument import count_flops
from course_lib.instrument.aten_flops import flop_formulas


def both(cost):
    """Return FLOPs of the forward and of the backward pass."""
    return cost.forward, cost.backward


def perceptron(widths):
    """Return linear layers with ReLUs between them."""
    layers = []
    for d, f in zip(widths, widths[1:]):  # noqa: B905, RUF007 - as in the page
        layers += [nn.Linear(d, f), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp_of(depth):
    """Return the widths of a network of 256 inputs, hidden layers of 256 and 10 outputs."""
    return [256] * (depth + 1) + [10]


@pytest.mark.parametrize("input_grad", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(input_grad, bias):
    """One product becomes two, or one if the input wants no gradient; the bias costs no product."""
    layer, x = nn.Linear(5, 7, bias=bias), torch.randn(3, 5, requires_grad=input_grad)
    predicted = training_cost([linear(3, 5, 7, bias=bias)], input_grad=input_grad)
    assert both(count_flops(lambda: layer(x).sum())) == both(predicted)


@pytest.mark.parametrize("input_grad", [False, True])
@pytest.mark.parametrize(("stride", "padding", "groups"), [(1, 0, 1), (1, 1, 1), (2, 1, 1), (1, 1, 2), (3, 2, 4)])
def test_conv2d(stride, padding, groups, input_grad):
    """Strides, padding, and groups, which torch's counter gets wrong in the backward pass."""
    options = {"stride": stride, "padding": padding, "groups": groups}
    layer, x = nn.Conv2d(4, 8, 3, **options), torch.randn(2, 4, 9, 11, requires_grad=input_grad)
    predicted = training_cost([conv2d(2, 4, 8, (9, 11), 3, **options)], input_grad=input_grad)
    assert both(count_flops(lambda: layer(x).sum())) == both(predicted)


@pytest.mark.parametrize(("dilation", "bias"), [(1, False), (2, True), (3, False)])
def test_conv2d_with_gaps_and_without_a_bias(dilation, bias):
    """Gaps make the result smaller; a bias costs parameters, and no products."""
    layer, x = nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=dilation, bias=bias), torch.randn(1, 4, 9, 11)
    formula = conv2d(1, 4, 6, (9, 11), 3, stride=2, padding=1, dilation=dilation, bias=bias)
    assert both(count_flops(lambda: layer(x).sum())) == both(training_cost([formula]))
    assert formula.parameters == sum(p.numel() for p in layer.parameters())


def test_a_transposed_convolution_is_counted_as_torch_counts_it():
    """The mended formula leaves alone what was right."""
    layer, x = nn.ConvTranspose2d(4, 6, 3, stride=2), torch.randn(2, 4, 5, 5, requires_grad=True)
    loss = layer(x).sum()
    with FlopCounterMode(display=False) as reference:
        loss.backward()
    assert count_flops(lambda: layer(x).sum()).backward == reference.get_total_flops()


def manual_attention(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v


@pytest.mark.parametrize(("fused", "attend"), [(False, manual_attention), (True, F.scaled_dot_product_attention)])
def test_attention(fused, attend):
    """Fused attention recomputes one product, on CPU too, where torch's own counter says 0."""
    q, k, v = (torch.randn(2, 3, 8, 4, requires_grad=True) for _ in range(3))
    predicted = training_cost([attention(2, 3, 8, 4, fused=fused)], input_grad=True)
    assert both(count_flops(lambda: attend(q, k, v).sum())) == both(predicted)
    assert predicted.ratio == (2.5 if fused else 2.0)


def test_cross_attention_of_other_lengths():
    """5 queries meet 9 keys: two products of 2 b a s t e forward, five backward."""
    q, k, v = (torch.randn(*shape, requires_grad=True) for shape in [(2, 3, 5, 4), (2, 3, 9, 4), (2, 3, 9, 4)])
    found = count_flops(lambda: F.scaled_dot_product_attention(q, k, v).sum())
    assert both(found) == (2 * 6 * 45 * 8, 2 * 6 * 45 * 20)


@pytest.mark.parametrize("input_grad", [False, True])
@pytest.mark.parametrize(("layer", "formula"), [(nn.RNN, rnn), (nn.GRU, gru), (nn.LSTM, lstm)])
def test_recurrent_layers(layer, formula, input_grad):
    """In float64 each is made of products, so torch's own counter sees them all."""
    model, x = layer(3, 5, dtype=torch.float64), torch.randn(4, 2, 3, dtype=torch.float64, requires_grad=input_grad)
    predicted = training_cost([formula(4, 2, 3, 5)], input_grad=input_grad)
    assert both(count_flops(lambda: model(x)[0].sum())) == both(predicted)


def test_an_lstm_in_one_kernel():
    """In float32 on CPU torch's counter says 0; the kernel computes all gradients."""
    model, x = nn.LSTM(3, 5), torch.randn(4, 2, 3)
    with FlopCounterMode(display=False) as gap:
        model(x)
    assert gap.get_total_flops() == 0
    assert both(count_flops(lambda: model(x)[0].sum())) == both(training_cost([lstm(4, 2, 3, 5, fused=True)]))


def test_an_lstm_of_two_layers_in_both_directions():
    """The same forward FLOPs whether it runs as one kernel or as products."""
    whole = nn.LSTM(3, 5, num_layers=2, bidirectional=True)
    parts = nn.LSTM(3, 5, num_layers=2, bidirectional=True, dtype=torch.float64)
    x = torch.randn(4, 2, 3)
    assert count_flops(lambda: whole(x)[0].sum()).forward == count_flops(lambda: parts(x.double())[0].sum()).forward


def test_the_encoder_layers_fast_path_is_opened():
    """In evaluation mode without gradients the layer is one operation, of which torch's counter says 0."""
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 5, 8)

    @torch.no_grad()
    def forward():
        return model(x).sum()

    with FlopCounterMode(display=False) as gap:
        forward()
    found = count_flops(forward)
    assert gap.get_total_flops() == 0
    assert found.forward == 2 * 10 * (8 * 24 + 8 * 8 + 2 * 8 * 16) + 2 * 2 * 2 * 2 * 25 * 4
    assert found.backward == 0
    assert torch.backends.mha.get_fastpath_enabled()


def test_jax_counts_the_products_of_a_linear_layer_as_we_do():
    """A second oracle for 2 b d f: XLA's own count."""
    x, w = jnp.ones((16, 32)), jnp.ones((32, 64))
    counted = jax.jit(lambda x, w: x @ w).lower(x, w).compile().cost_analysis()["flops"]
    assert counted == linear(16, 32, 64).forward


@pytest.mark.parametrize(("depth", "ratio"), [(0, 1.000), (1, 1.038), (2, 1.510), (4, 1.752), (8, 1.876), (16, 1.938)])
def test_the_law_two_minus_the_first_layers_share(depth, ratio):
    """Counted, predicted and by the law: the same number."""
    model, x = perceptron(mlp_of(depth)), torch.randn(4, 256)
    chain = mlp(4, mlp_of(depth))
    found = count_flops(lambda: model(x).sum())
    assert both(found) == both(training_cost(chain))
    assert found.ratio == pytest.approx(ratio_from_first_layer(chain), rel=1e-12)
    assert round(found.ratio, 3) == ratio


def test_exactly_two_when_the_input_wants_a_gradient():
    """Then the first layer is like the others."""
    model, x = perceptron(mlp_of(4)), torch.randn(4, 256, requires_grad=True)
    found = count_flops(lambda: model(x).sum())
    assert found.ratio == training_cost(mlp(4, mlp_of(4)), input_grad=True).ratio == 2


def test_a_convolutional_network():
    """Three convolutions on 16 x 16 pixels and a head: the first has three channels, hence a small share."""
    model = nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)),
    )
    chain = [conv2d(2, c, f, (16, 16), 3, padding=1) for c, f in [(3, 32), (32, 32), (32, 64)]] + [linear(2, 64, 10)]
    found = count_flops(lambda: model(torch.randn(2, 3, 16, 16)).sum())
    assert both(found) == both(training_cost(chain))
    assert found.ratio == pytest.approx(ratio_from_first_layer(chain), rel=1e-12)
    assert round(found.ratio, 3) == 1.970


def test_only_the_head_is_trained():
    """No cotangent goes further down than the last thing that learns."""
    model = perceptron(mlp_of(4))
    model[:-1].requires_grad_(False)
    *body, head = mlp(4, mlp_of(4))
    found = count_flops(lambda: model(torch.randn(4, 256)).sum())
    assert both(found) == both(training_cost([*freeze(*body), head]))
    assert round(found.ratio, 3) == 0.010


def test_only_the_first_layer_is_trained():
    """The cotangent goes all the way down, but leaves no gradients on the way."""
    model = perceptron(mlp_of(4))
    model[1:].requires_grad_(False)
    first, *rest = mlp(4, mlp_of(4))
    found = count_flops(lambda: model(torch.randn(4, 256)).sum())
    assert both(found) == both(training_cost([first, *freeze(*rest)]))


def test_frozen_with_a_gradient_for_the_input():
    """As in adversarial examples: one product a layer."""
    model = perceptron(mlp_of(4)).requires_grad_(False)
    x = torch.randn(4, 256, requires_grad=True)
    found = count_flops(lambda: model(x).sum())
    assert found.ratio == training_cost(freeze(*mlp(4, mlp_of(4))), input_grad=True).ratio == 1


def test_checkpointed():
    """Eight equal layers, each with its ReLU in a checkpoint of its own: 2 - 1/8, and one forward pass more."""
    layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(8)]

    def forward():
        h = torch.randn(4, 256)
        for layer in layers:
            h = checkpoint(layer, h, use_reentrant=False)
        return h.sum()

    chain = [linear(4, 256, 256)] * 8
    found = count_flops(forward)
    assert both(found) == both(training_cost(chain, recomputed=chain))
    assert found.ratio == 2.875


def layer_of(b, s, h, a, attend):
    """Return a function of x (b, s, h) that is one pre-norm Transformer layer, and its modules."""
    parts = nn.ModuleDict(
        {
            "norm": nn.LayerNorm(h),
            "qkv": nn.Linear(h, 3 * h),
            "projection": nn.Linear(h, h),
            "norm_2": nn.LayerNorm(h),
            "up": nn.Linear(h, 4 * h),
            "down": nn.Linear(4 * h, h),
        }
    )

    def run(x):
        q, k, v = parts["qkv"](parts["norm"](x)).view(b, s, 3, a, h // a).permute(2, 0, 3, 1, 4)
        x = x + parts["projection"](attend(q, k, v).transpose(1, 2).reshape(b, s, h))
        return x + parts["down"](F.gelu(parts["up"](parts["norm_2"](x))))

    return run, parts


def test_a_language_model_with_fused_attention():
    """Two layers of width 128, 128 tokens, 1000 words: 2.056, which torch's counter makes 2.000 on CPU."""
    b, s, h, a, words = 1, 128, 128, 4, 1000
    layers = [layer_of(b, s, h, a, F.scaled_dot_product_attention)[0] for _ in range(2)]
    lookup, head = nn.Embedding(words, h), nn.Linear(h, words)
    tokens = torch.randint(words, (b, s))

    def forward():
        x = lookup(tokens)
        for layer in layers:
            x = layer(x)
        return head(x).sum()

    chain = [embedding(b * s, words, h), *transformer_layer(b, s, h, a, fused=True) * 2, linear(b * s, h, words)]
    found = count_flops(forward)
    assert both(found) == both(training_cost(chain))
    assert round(found.ratio, 3) == 2.056
    with FlopCounterMode(display=False) as forward_gap:
        loss = forward()
    with FlopCounterMode(display=False) as backward_gap:
        loss.backward()
    assert backward_gap.get_total_flops() == 2 * forward_gap.get_total_flops()


def test_operations_are_listed_by_name():
    """So that a reader sees which product is which."""
    found = count_flops(lambda: (torch.ones(2, 3, requires_grad=True) @ torch.ones(3, 4)).sum())
    assert found.forward_by_op == {"aten.mm": 48}
    assert found.backward_by_op == {"aten.mm": 48}


def test_a_loss_that_is_not_one_number_is_refused():
    """backward() would need to be told what to do with it, so only the forward pass is counted, and no ratio given."""
    found = count_flops(lambda: torch.ones(2, 3, requires_grad=True) @ torch.ones(3, 4))
    assert (found.forward, found.backward, found.has_backward) == (48, 0, False)
    with pytest.raises(InputError, match=r"returned no loss, .*one element .*Add \.sum"):
        _ = found.ratio


def test_a_ratio_to_nothing_is_refused():
    """Element-wise work is not counted, so there may be nothing to divide by."""
    with pytest.raises(InputError, match=r"only products, .* count"):
        _ = count_flops(lambda: torch.ones(2, requires_grad=True).sum()).ratio
    with pytest.raises(InputError, match="no layer has any"):
        training_cost([embedding(1, 2, 3)])


@pytest.mark.parametrize("rows", [(7, 4), (28,)])
def test_a_recurrent_layer_on_cuda_counts_its_rows_packed_or_not(rows):
    """cuDNN's operation needs a GPU, its formula only shapes: 28 rows of 5 numbers meet two matrices."""
    count = flop_formulas(torch.ops.aten)[torch.ops.aten._cudnn_rnn]
    assert count((*rows, 5), [(12, 5), (12, 3), (12,), (12,)]) == 2 * 28 * 12 * (5 + 3)


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
@pytest.mark.parametrize(
    ("layout", "multiply"),
    [
        (torch.sparse_coo, torch.mm),
        (torch.sparse_csr, torch.mm),
        (torch.sparse_csc, torch.mm),
        (torch.sparse_coo, torch.sparse.mm),
        (torch.sparse_csr, torch.sparse.mm),
    ],
)
def test_zeros_that_a_sparse_matrix_does_not_store_are_not_multiplied(layout, multiply):
    """Two FLOPs for each stored number and each column, on the way back too; a dense matrix has fifty times more."""
    matrix = torch.eye(50).to_sparse(layout=layout)
    weight = torch.ones(50, 8, requires_grad=True)
    counted = count_flops(lambda: multiply(matrix, weight).sum())
    assert (counted.forward, counted.backward) == (2 * 50 * 8, 2 * 50 * 8)


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
def test_a_sparse_matrix_at_the_right_and_one_at_both_sides():
    """In the square of a matrix with a full first column, that column's numbers meet the first row's one."""
    column = torch.tensor([[1.0, 0, 0]] * 3).to_sparse()
    rows = torch.ones(5, 3, requires_grad=True)
    assert count_flops(lambda: (rows @ column).sum()).forward == 2 * 5 * 3
    squared = count_flops(lambda: torch.sparse.mm(column, column).to_dense().sum())
    assert squared.forward == 2 * 3
    assert "aten.bincount" not in squared.uncounted


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta")
def test_two_sparse_matrices_that_are_not_square():
    """Three numbers in the first column of one meet the four in the first row of the other, and nothing else meets."""
    left = torch.tensor([[1.0, 0]] * 3).to_sparse()
    right = torch.tensor([[1.0] * 4, [0.0] * 4]).to_sparse()
    assert count_flops(lambda: torch.sparse.mm(left, right).to_dense().sum()).forward == 2 * 3 * 4
