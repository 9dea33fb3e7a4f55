"""Modules and optimizers, beside torch's with the same weights."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest
import torch

import course_lib.autograd as ag
from course_lib.errors import AutogradError


def models():
    """Build the same model twice, with torch's weights in both."""
    torch.manual_seed(0)
    built = []
    for nn in (ag.nn, torch.nn):
        first = [nn.BatchNorm1d(4), nn.Linear(4, 8), nn.Tanh()]
        built.append(nn.Sequential(*first, nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU(), nn.Linear(8, 3)))
    built[0].load_state_dict(copied(built[1]))
    return built


def copied(model):
    """Copy the parameters and buffers of a torch module."""
    return {name: ag.from_numpy(value.numpy().copy()) for name, value in model.state_dict().items()}


OPTIMIZERS = {
    "SGD": [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01},
        {"momentum": 0.9, "nesterov": True},
    ],
    "Adam": [{}, {"betas": (0.8, 0.9), "eps": 1e-6, "weight_decay": 0.1}],
    "AdamW": [{}, {"weight_decay": 0.2}],
}


@pytest.mark.parametrize(
    ("name", "options"), [(name, options) for name, many in OPTIMIZERS.items() for options in many]
)
def test_training_follows_torch(name, options):
    """Ten steps of every optimizer give torch's losses, weights and running statistics."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 4)).astype("f"), rng.integers(0, 3, 16)
    runs = []
    for lib, model in zip((ag, torch), models(), strict=True):
        optimizer = getattr(lib.optim, name)(model.parameters(), lr=0.05, **options)
        loss_of, losses = lib.nn.CrossEntropyLoss(), []
        for _ in range(10):
            optimizer.zero_grad()
            loss = loss_of(model(lib.tensor(x)), lib.tensor(y))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        runs.append(
            (losses, model(lib.tensor(x)).detach().numpy(), {k: v.numpy() for k, v in model.state_dict().items()})
        )
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=2e-4)
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=5e-3, atol=5e-4)
    assert runs[0][2].keys() == runs[1][2].keys()
    np.testing.assert_allclose(runs[0][2]["0.running_var"], runs[1][2]["0.running_var"], rtol=1e-3)


def test_groups_have_their_own_settings():
    """A parameter group overrides the defaults; a parameter without gradient stays; a closure is called."""
    a, b, c = (ag.tensor([1.0], requires_grad=True) for _ in "abc")
    optimizer = ag.optim.SGD([{"params": [a]}, {"params": [b, c], "lr": 1.0}], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (a + b).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2
    np.testing.assert_allclose([a.item(), b.item(), c.item()], [0.9, 0.0, 1.0], atol=1e-6)


def test_each_parameter_is_stepped_in_its_own_precision():
    """A rate that was rounded for a float32 parameter is not used for the float64 one after it."""
    single, double = (ag.tensor([1.0], dtype=dtype, requires_grad=True) for dtype in (np.float32, np.float64))
    (single.sum() + double.sum()).backward()
    ag.optim.SGD([single, double], lr=0.1).step()
    assert (single.item(), double.item()) == (np.float32(1) - np.float32(0.1), 1 - 0.1)


def test_recurrent_cells_agree_with_torch():
    """An RNN cell, unrolled over five steps, has torch's state and gradients."""
    cells = ag.nn.RNNCell(3, 4), torch.nn.RNNCell(3, 4)
    cells[0].load_state_dict(copied(cells[1]))
    xs = np.random.default_rng(0).standard_normal((5, 2, 3)).astype("f")
    answers = []
    for lib, cell in zip((ag, torch), cells, strict=True):
        h = None
        for x in xs:
            h = cell(lib.tensor(x), h)
        h.pow(2).sum().backward()
        answers.append([h.detach().numpy(), *(p.grad.numpy() for p in cell.parameters())])
    for a, b in zip(*answers, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_modules_know_their_parts():
    """Parameters are named as torch names them, shared ones listed once, and the whole prints as torch's does."""
    ours, theirs = models()
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert [tuple(p.shape) for p in ours.parameters()] == [tuple(p.shape) for p in theirs.parameters()]
    tied = ag.nn.Sequential(ours[1], ours[1])
    assert len(list(tied.parameters())) == 2
    shown = [repr(nn.Sequential(nn.Linear(2, 3), nn.Tanh())) for nn in (ag.nn, torch.nn)]
    assert shown[0] == shown[1]
    assert repr(ag.nn.Dropout(0.1)) == repr(torch.nn.Dropout(0.1))
    assert repr(ag.nn.RNNCell(2, 3)) == repr(torch.nn.RNNCell(2, 3))
    for nn in (ag.nn, torch.nn):  # of some settings torch has more
        assert repr(nn.LayerNorm((2, 3), eps=1e-3)).startswith("LayerNorm((2, 3), eps=0.001")
        assert repr(nn.BatchNorm1d(4)).startswith("BatchNorm1d(4, eps=1e-05, momentum=0.1")
    assert repr(ag.nn.Parameter(ag.ones(1))) == repr(torch.nn.Parameter(torch.ones(1)))
    assert len(ours) == len(theirs)
    with pytest.raises(AutogradError, match=r"\['bias', 'weight'\] are missing"):
        ours[1].load_state_dict({})


def test_initial_weights_have_torchs_distribution():
    """Weights and biases of a linear layer are uniform within one over the root of the inputs."""
    ag.manual_seed(0)
    layer = ag.nn.Linear(100, 2000)
    for p in (layer.weight, layer.bias):
        assert p.abs().amax().item() <= 0.1
        assert abs(p.std().item() - 0.1 / 3**0.5) < 2e-3
    ag.manual_seed(0)
    assert ag.equal(ag.nn.Linear(100, 2000).weight, layer.weight)


def test_dropout_keeps_the_mean():
    """About p of the elements become 0, in value and gradient alike, and the others grow; in eval nothing happens."""
    ag.manual_seed(0)
    module, x = ag.nn.Dropout(0.25), ag.ones(400, 50).requires_grad_()
    y = module(x)
    y.sum().backward()
    assert ag.equal(x.grad, y.detach())
    assert abs(y.mean().item() - 1) < 0.02
    assert np.unique(y.detach().numpy()).tolist() == pytest.approx([0, 4 / 3])
    assert module.eval()(x) is x
    assert ag.dropout(x, 1.0).sum().item() == 0


def test_running_statistics_follow_torch():
    """In training the running mean and variance move as torch's do."""
    x = np.random.default_rng(0).standard_normal((6, 3)).astype("f") * 2 + 1
    stats = []
    for lib, f in ((ag, ag.batch_norm), (torch, torch.nn.functional.batch_norm)):
        mean, var = lib.zeros(3), lib.ones(3)
        f(lib.tensor(x), mean, var, training=True, momentum=0.3)
        stats.append([mean.tolist(), var.tolist()])
    np.testing.assert_allclose(*stats, rtol=1e-5)


@pytest.mark.parametrize("shape", [(1,), (), (1, 4)])
def test_a_bias_that_broadcasts_gets_its_sum(shape):
    """A bias of another shape than (out_features,) takes the plain path, and its gradient has its shape."""
    x, w, b = (ag.tensor(np.ones(s), requires_grad=True) for s in ((5, 3), (4, 3), shape))
    ag.linear(x, w, b).sum().backward()
    assert b.grad.shape == shape
    assert b.grad.sum().item() == 20


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("MSELoss", {"reduction": "sum"}),
        ("CrossEntropyLoss", {"label_smoothing": 0.1, "reduction": "none"}),
        ("GELU", {"approximate": "tanh"}),
        ("Flatten", {"start_dim": 0}),
    ],
)
def test_a_layer_without_parameters_keeps_its_settings(name, settings):
    """Settings given by name when a layer is made are those of its function, as in torch."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 3)).astype("f"), rng.standard_normal((4, 3)).astype("f")
    y = {"MSELoss": [y], "CrossEntropyLoss": [np.array([0, 1, 2, 1])]}.get(name, [])
    ours, theirs = (getattr(lib.nn, name)(**settings)(*map(lib.from_numpy, (x, *y))).numpy() for lib in (ag, torch))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "setting"), [("GELU", "tanh"), ("Flatten", 0)])
def test_settings_may_be_given_by_place_and_are_shown(name, setting):
    """The first place after the tensors is the setting's, as in torch, and the layer prints as torch's does."""
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("f")
    layers = [getattr(lib.nn, name)(setting) for lib in (ag, torch)]
    ours, theirs = (layer(lib.from_numpy(x)).numpy() for layer, lib in zip(layers, (ag, torch), strict=True))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert repr(layers[0]) == repr(layers[1])
    assert repr(getattr(ag.nn, name)()) == repr(getattr(torch.nn, name)())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: ag.nn.MSELoss(reductions="sum"),
            "MSELoss() can be given reduction, each once, but got reductions='sum'",
        ),
        (lambda: ag.nn.ReLU(True), "ReLU() can be given no setting, each once, but got True"),
        (lambda: ag.nn.Flatten(1, start_dim=0), "start_dim, end_dim, each once, but got 1, start_dim=0"),
    ],
)
def test_a_setting_that_no_layer_has_is_refused_when_it_is_made(make, said):
    """A misspelt setting does not wait for the first batch."""
    with pytest.raises(AutogradError, match=re.escape(said)):
        make()


def test_an_optimizer_prints_its_settings():
    """One line each, as torch does, and no address, which would differ from run to run."""
    shown = []
    for lib in (ag, torch):
        x = lib.zeros(1, requires_grad=True)
        shown.append(repr(lib.optim.Adam([{"params": [x]}], lr=0.1, weight_decay=0.5)).splitlines())
    assert set(shown[0]) <= set(shown[1])
    assert {"Adam (", "Parameter Group 0", "    lr: 0.1", ")"} <= set(shown[0])


def test_a_state_of_another_shape_is_refused():
    """It would be broadcast; nothing of it is copied."""
    layer = ag.nn.Linear(2, 3)
    before = layer.weight.tolist()
    with pytest.raises(AutogradError, match=r"weight must have the shape it has in this module, \(3, 2\)"):
        layer.load_state_dict(ag.nn.Linear(2, 1).state_dict())
    assert layer.weight.tolist() == before


@pytest.mark.parametrize("remade", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["copy", "pickle"])
def test_copies_collect_gradients_of_their_own(remade):
    """A copied module trains its own parameters, and has the gradients that the first had."""
    layer = ag.nn.Linear(2, 1)
    layer(ag.ones(1, 2)).sum().backward()
    other = remade(layer)
    assert isinstance(other.weight, ag.nn.Parameter)
    assert other.weight.grad.tolist() == layer.weight.grad.tolist() == [[1, 1]]
    other(ag.ones(1, 2)).sum().backward()
    assert (other.weight.grad.tolist(), layer.weight.grad.tolist()) == ([[2, 2]], [[1, 1]])
    assert other.weight.tolist() == layer.weight.tolist()
    with pytest.raises(AutogradError, match=r"only a leaf can be copied or pickled, .* Use .detach\(\) or .clone\(\)"):
        remade(layer.weight * 2)


@pytest.mark.parametrize(
    "params", [lambda m: m.parameters(), lambda m: (p for p in m.parameters()), lambda m: m.weight]
)
def test_a_group_takes_what_torch_takes(params):
    """A generator is read once, and a single tensor is a group of one."""
    for lib in (ag, torch):
        model = lib.nn.Linear(2, 2)
        optimizer = lib.optim.SGD([{"params": params(model), "lr": 0.5}], lr=0.1)
        found = optimizer.param_groups[0]["params"]
        assert [p is q for p, q in zip(found, model.parameters(), strict=False)] == [True] * len(found)
        assert len(found) == (1 if params(model) is model.weight else 2)


@pytest.mark.parametrize(
    "line",
    [
        "from torch import Tensor, nn, optim",
        "import torch.nn.functional as F",
        "from torch.nn import Linear, Module, functional",
        "from torch.nn.functional import cross_entropy, softmax",
        "from torch.optim import AdamW",
        "from torch.linalg import vector_norm",
        "from torch.autograd import Function, grad, gradcheck",
        "from torch.autograd.functional import hvp, jacobian",
        "from torch.autograd.graph import Node, saved_tensors_hooks",
    ],
)
def test_a_snippet_moves_by_its_import_line(line):
    """Whatever torch's name is imported from there, the engine has it at the same address."""
    ours, theirs = {}, {}
    exec(line, theirs)
    exec(re.sub(r"torch(\.autograd)?", "course_lib.autograd", line, count=1), ours)
    assert ours.keys() == theirs.keys()


def test_functional_has_names_of_torch_only():
    """What runs with our ``nn.functional`` runs with torch's."""
    assert set(ag.nn.functional.__all__) <= set(dir(torch.nn.functional))
    assert all(getattr(ag.nn.functional, name) is getattr(ag, name) for name in ag.nn.functional.__all__)


def defaults(function):
    """Return the defaults of a function's arguments, or of those that a class is made with, if it is in Python."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return {}
    return {p.name: p.default for p in parameters if p.default is not p.empty}


@pytest.mark.parametrize(
    ("ours", "theirs", "least"),
    [(ag.nn.functional, torch.nn.functional, 20), (ag.nn, torch.nn, 6), (ag.optim, torch.optim, 13)],
    ids=["functional", "layers", "optimizers"],
)
def test_what_is_left_out_is_what_torch_takes(ours, theirs, least):
    """An argument that has a default in both has the same."""
    both = {
        f"{name}: {argument}": (value, defaults(getattr(theirs, name))[argument])
        for name in set(ours.__all__) - {"functional"}
        for argument, value in defaults(getattr(ours, name)).items()
        if argument in defaults(getattr(theirs, name))
    }
    assert len(both) >= least
    assert {name: ours for name, (ours, _) in both.items()} == {name: theirs for name, (_, theirs) in both.items()}
