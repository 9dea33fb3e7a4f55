"""Saved bytes by formula against what autograd really saves: equal, not close."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it

from course_lib.costs import (
    attention,
    conv2d,
    cross_entropy,
    dropout,
    elementwise,
    embedding,
    freeze,
    layer_norm,
    linear,
    max_pool2d,
    mlp,
    mse_loss,
    training_cost,
    transformer_activation_bytes,
    transformer_layer,
)
from course_lib.errors import InputError
from course_lib.instrument import peak_bytes, saved_tensors

ACTS = {"relu": F.relu, "tanh": torch.tanh, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid}


@pytest.mark.parametrize(
    "op", ["relu", "tanh", "sigmoid", "exp", "sqrt", "softmax", "log_softmax", "elu", "gelu", "silu"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_functions_of_each_element(op, dtype):
    """Their result or their input, but one of the two."""
    x = torch.rand(4, 8, dtype=dtype, requires_grad=True)
    dim = {"dim": -1} if "softmax" in op else {}
    function = getattr(F, op) if hasattr(F, op) else getattr(torch, op)
    assert saved_tensors(lambda: function(x, **dim)).bytes == elementwise(op, 32, itemsize=x.itemsize).saved_bytes


@pytest.mark.parametrize(
    "op", ["log", "sin", "cos", "square", "abs", "softplus", "leaky_relu", "add", "neg", "sum", "mean"]
)
def test_functions_that_save_their_input_or_nothing(op):
    """The other kinds."""
    x = torch.rand(4, 8, requires_grad=True)
    function = getattr(torch, op) if hasattr(torch, op) else getattr(F, op)
    found = saved_tensors((lambda: x + 1) if op == "add" else lambda: function(x))
    assert found.bytes == elementwise(op, 32).saved_bytes


def test_layers_with_inputs_of_their_own_kind():
    """One by one: linear, convolution, normalisation, pooling, dropout, look-up, two losses."""
    x, image = torch.randn(4, 8, requires_grad=True), torch.randn(2, 3, 8, 8, requires_grad=True)
    layers = {
        "linear": (nn.Linear(8, 5), x, linear(4, 8, 5)),
        "conv": (nn.Conv2d(3, 6, 3), image, conv2d(2, 3, 6, (8, 8), 3)),
        "norm": (nn.LayerNorm(8), x, layer_norm(4, 8)),
        "pool": (nn.MaxPool2d(2), image, max_pool2d(2, 3, (8, 8), 2)),
        "cpu dropout": (nn.Dropout(), x, dropout(32, mask_itemsize=4)),
        "gpu dropout": (lambda x: torch.native_dropout(x, 0.5, True), x, dropout(32)),
        "embedding": (nn.Embedding(9, 5), torch.arange(4), embedding(4, 9, 5)),
        "cross-entropy": (lambda x: F.cross_entropy(x, torch.arange(4)), x, cross_entropy(4, 8)),
        "mse": (lambda x: F.mse_loss(x, torch.zeros(4, 8)), x, mse_loss(32)),
    }
    found = {
        name: saved_tensors(lambda f=f, x=x: f(x), parameters=getattr(f, "parameters", list)()).bytes
        for name, (f, x, _) in layers.items()
    }
    assert found == {name: cost.saved_bytes for name, (_, _, cost) in layers.items()}


def manual_attention(q, k, v, p=0.0):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (torch.native_dropout(weights, p, True)[0] if p else weights) @ v


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention(dtype):
    """By hand it keeps the (s, s) weights, with dropout twice and a mask; fused it keeps one number a row."""
    q, k, v = (torch.randn(2, 3, 8, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    for options, attend in [
        ({"fused": False}, manual_attention),
        ({"fused": False, "drop": True}, lambda q, k, v: manual_attention(q, k, v, 0.5)),
        ({"fused": True}, F.scaled_dot_product_attention),
    ]:
        found = saved_tensors(lambda attend=attend: attend(q, k, v))
        assert found.bytes == attention(2, 3, 8, 4, itemsize=q.itemsize, **options).saved_bytes


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("input_grad", [False, True])
def test_a_chain_counts_a_shared_tensor_once(act, input_grad):
    """A ReLU's result is the next layer's input: one tensor, saved twice; a GELU's is not what it saves itself."""
    layers = [nn.Linear(6, 7), nn.Linear(7, 8), nn.Linear(8, 3)]
    x = torch.randn(5, 6, requires_grad=input_grad)

    def forward():
        h = x
        for layer in layers[:-1]:
            h = ACTS[act](layer(h))
        return layers[-1](h)

    found = saved_tensors(forward, parameters=[p for layer in layers for p in layer.parameters()])
    assert found.bytes == training_cost(mlp(5, [6, 7, 8, 3], activation=act), input_grad=input_grad).saved_bytes


@pytest.mark.parametrize("trained", [0, 1, 2])
def test_below_the_first_trained_layer_nothing_is_saved(trained):
    """And a frozen layer above it saves no input: its weight is all that the cotangent needs."""
    layers = [nn.Linear(6, 7), nn.Linear(7, 8), nn.Linear(8, 3)]
    chain = list(mlp(5, [6, 7, 8, 3]))
    for i, layer in enumerate(layers):
        layer.requires_grad_(i == trained)
        if i != trained:
            chain[2 * i] = freeze(chain[2 * i])[0]
    forward = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
    found = saved_tensors(lambda: forward(torch.randn(5, 6)), parameters=forward.parameters())
    assert found.bytes == training_cost(chain).saved_bytes


def test_a_frozen_linear_layer_saves_no_input():
    """Its weight is all that the cotangent needs; the GELU below saves its own input, not its result."""
    layers = [nn.Linear(6, 7), nn.Linear(7, 3).requires_grad_(False)]
    first, act, last = mlp(5, [6, 7, 3], activation="gelu")
    parameters = [p for layer in layers for p in layer.parameters()]
    found = saved_tensors(lambda: layers[1](F.gelu(layers[0](torch.randn(5, 6)))), parameters=parameters)
    assert found.bytes == training_cost([first, act, *freeze(last)]).saved_bytes == 4 * 5 * (6 + 7)


def layer_of(b, s, h, a, *, p, fused, dtype):
    """Return a pre-norm Transformer layer as a function of x (b, s, h), and its parameters."""
    parts = [nn.LayerNorm(h), nn.Linear(h, 3 * h), nn.Linear(h, h), nn.LayerNorm(h), nn.Linear(h, 4 * h)]
    norm, qkv, project, norm_2, up = (part.to(dtype) for part in parts)
    down = nn.Linear(4 * h, h).to(dtype)

    def drop(x):
        return torch.native_dropout(x, p, True)[0] if p else x

    def run(x):
        q, k, v = qkv(norm(x)).view(b, s, 3, a, h // a).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v) if fused else manual_attention(q, k, v, p)
        x = x + drop(project(out.transpose(1, 2).reshape(b, s, h)))
        return x + drop(down(F.gelu(up(norm_2(x)))))

    return run, [w for part in (norm, qkv, project, norm_2, up, down) for w in part.parameters()]


@pytest.mark.parametrize(("b", "s", "h", "a"), [(2, 16, 32, 4), (1, 48, 24, 3), (3, 7, 64, 8)])
def test_a_transformer_layer_keeps_what_the_published_formula_says(b, s, h, a):
    """In bfloat16 with dropout: s b h (34 + 5 a s / h), and the statistics of two layer norms, which it leaves out."""
    run, parameters = layer_of(b, s, h, a, p=0.1, fused=False, dtype=torch.bfloat16)
    x = torch.randn(b, s, h, dtype=torch.bfloat16, requires_grad=True)
    found = saved_tensors(lambda: run(x), parameters=parameters).bytes
    statistics = 2 * 2 * b * s * 2
    assert found == s * b * h * (34 + 5 * a * s / h) + statistics
    assert found == transformer_activation_bytes(b, s, h, a) + statistics
    ours = transformer_layer(b, s, h, a, drop=True, itemsize=2, stats_itemsize=2)
    assert found == training_cost(ours, input_grad=True).saved_bytes


@pytest.mark.parametrize(("b", "s", "h", "a"), [(1, 128, 256, 4), (4, 1024, 1024, 16), (2, 3, 10, 5)])
def test_a_transformer_layer_by_a_count_of_its_tensors(b, s, h, a):
    """What the paper lists, tensor by tensor: 2 bytes an entry, masks of dropout 1; then the library, part by part."""
    hidden, scores = s * b * h, a * s * s * b
    by_hand = {
        "norm": 2 * hidden,  # its input, twice
        "qkv": 2 * hidden,  # one input for all three products
        "attention": 3 * 2 * hidden + 2 * scores + scores + 2 * scores,  # q, k, v; softmax, mask, what was left of it
        "projection": 2 * hidden,
        "dropout": hidden,  # a mask, twice
        "up": 2 * hidden,
        "gelu": 4 * 2 * hidden,
        "down": 4 * 2 * hidden,
    }
    total = sum(by_hand.values()) + by_hand["norm"] + by_hand["dropout"]
    assert total == transformer_activation_bytes(b, s, h, a) == 34 * hidden + 5 * scores
    layer = transformer_layer(b, s, h, a, drop=True, itemsize=2, stats_itemsize=0)
    assert len(layer) == 10
    assert {part.name.removeprefix("layer_"): part.saved_bytes for part in layer} == by_hand
    assert training_cost(layer, input_grad=True).saved_bytes == total


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_transformer_layer_without_dropout(fused, dtype):
    """The fused form keeps nothing that grows with the square of the sequence."""
    b, s, h, a = 2, 16, 32, 4
    run, parameters = layer_of(b, s, h, a, p=0.0, fused=fused, dtype=dtype)
    x = torch.randn(b, s, h, dtype=dtype, requires_grad=True)
    ours = transformer_layer(b, s, h, a, fused=fused, itemsize=x.itemsize, stats_itemsize=x.itemsize)
    found = saved_tensors(lambda: run(x), parameters=parameters)
    assert found.bytes == training_cost(ours, input_grad=True).saved_bytes


def test_adding_up_every_saved_tensor_counts_too_much():
    """Shared storage twice, and parameters, which are there anyway."""
    model = nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 3))
    found = saved_tensors(lambda: model(torch.randn(5, 6)), parameters=model.parameters())
    assert found.tensors == (((5, 6), "torch.float32", 120), ((5, 7), "torch.float32", 140))
    assert found.bytes == 260
    assert found.naive_bytes == 120 + 140 + 140 + 4 * 7 * 3


def test_a_slice_holds_its_whole_storage():
    """Saving 2 of 100 numbers keeps 100 alive."""
    x = torch.rand(100, requires_grad=True) * 1
    assert saved_tensors(lambda: x[:2].exp().log()).bytes == 8
    assert saved_tensors(lambda: x[:2].log()).bytes == 400


def test_an_unknown_operation_is_refused():
    """With the list of what is known, and another way."""
    with pytest.raises(InputError, match=r"it is 'mish'\. Measure others with saved_tensors"):
        elementwise("mish", 3)


def test_tensors_without_memory_are_told_apart():
    """On the meta device, where every address is 0."""

    def seen(device):
        model, x = (
            nn.Sequential(nn.Linear(6, 7), nn.ReLU(), nn.Linear(7, 3)).to(device),
            torch.ones(5, 6, device=device),
        )
        return saved_tensors(lambda: model(x), parameters=model.parameters())

    assert seen("meta") == seen("cpu")
    assert seen("meta").bytes == 260


def test_a_sparse_tensor_counts_as_its_parts():
    """Five entries with two indices of 8 bytes and a value of 4; at the peak the two products and their sum besides."""
    graph, layer, x = torch.eye(5).to_sparse(), nn.Linear(3, 4, bias=False), torch.randn(5, 3)

    def forward():
        return torch.sparse.mm(graph, layer(x))

    assert saved_tensors(forward, parameters=layer.parameters()).bytes == 80 + 20 + 60
    assert peak_bytes(forward) >= 80 + 20 + 60 + 48 + 2 * 80


def test_what_a_compiler_has_left_to_python_is_counted_in_silence():
    """A graph break in a loop: torch.compile runs the function as it is, and is not to compile what counts."""
    script = """
import torch
from course_lib.instrument import peak_bytes, saved_tensors

def chain(h):
    for _ in range(8):
        h = h / (1 + (-h).exp())
        if not h.isfinite().all():
            print("not finite")
    return h

compiled, h = torch.compile(chain, backend="eager"), torch.ones(10, requires_grad=True)
compiled(h)
print(saved_tensors(lambda: compiled(h)).bytes == saved_tensors(lambda: chain(h)).bytes)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
