"""Dead units are counted as they are, whatever runs, and the model is left as it was."""

import pytest
import torch
from torch import nn

from course_lib.errors import InputError, MonitorError
from course_lib.monitoring import DeadUnits


def network():
    """Return two layers with ReLUs, whose biases close one unit of four, and two of three."""
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3), nn.ReLU6(), nn.Linear(3, 1))
    for layer, biases in ((model[0], [0.1, 0.1, -9.0, 0.1]), (model[2], [1.0, -99.0, -99.0])):
        nn.init.constant_(layer.weight, 0.5)
        layer.bias = nn.Parameter(torch.tensor(biases))
    return model


def test_units_that_are_shut_for_every_row_are_dead():
    """By layer, in the order of the calls; and by definition: the column of outputs that is 0."""
    model, x = network(), torch.rand(50, 2)
    with DeadUnits(model) as dead:
        model(x)
    assert dead.shares == {"1": 0.25, "3": pytest.approx(2 / 3)}
    shut = model[:2](x).count_nonzero(0) == 0
    assert dead.shares["1"] == shut.float().mean().item()


def test_a_unit_that_opens_once_is_alive():
    """All batches in the block count as one, and another block begins anew."""
    model = network()
    far = torch.full((1, 2), 100.0)
    with DeadUnits(model) as dead:
        model(torch.rand(50, 2))
        model(far)
    assert dead.shares["1"] == 0
    with dead:
        model(torch.rand(50, 2))
    assert dead.shares["1"] == 0.25


def test_a_nan_is_not_a_zero():
    """A unit that gives nan is broken, not shut."""
    with DeadUnits(model := nn.Sequential(nn.ReLU())) as dead:
        model(torch.tensor([[torch.nan, -1.0]]))
    assert dead.shares == {"0": 0.5}


def test_a_batch_without_rows_kills_no_unit():
    """Such as the last one of a filter that let nothing through; alone it says nothing."""
    model = network()
    with DeadUnits(model) as dead:
        model(torch.rand(0, 2))
    with pytest.raises(MonitorError, match="with one row or more"):
        _ = dead.shares
    with dead:
        model(torch.rand(100, 2))
        model(torch.rand(0, 2))
    assert dead.shares == {"1": 1 / 4, "3": pytest.approx(2 / 3)}


def test_a_single_sample_is_a_row():
    """Without a dimension for the batch, too."""
    with DeadUnits(relu := nn.ReLU()) as dead:
        relu(torch.tensor([1.0, -1.0, -1.0, 1.0]))
    assert dead.shares == {"ReLU": 0.5}


def test_what_was_compiled_before_is_not_watched():
    """torch.compile leaves hooks out that came after it, so the message says what to run."""
    compiled = torch.compile(network(), backend="eager")
    compiled(torch.rand(5, 2))
    with DeadUnits(compiled) as dead:
        compiled(torch.rand(5, 2))
    with pytest.raises(MonitorError, match=r"torch\.compile has compiled before"):
        _ = dead.shares


def test_units_of_convolutions_are_their_channels():
    """Along dimension 1, over all rows and places; of a single module the name is its kind."""
    out = torch.zeros(2, 4, 3, 3)
    out[1, 2, 0, 0] = 1.0
    relu = nn.ReLU()
    with DeadUnits(relu, unit_dim=1) as dead:
        relu(out)
    assert dead.shares == {"ReLU": 0.75}


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_the_model_is_left_as_it_was(error):
    """The hooks are gone, also after an error, and gradients are what they are without it."""
    model, x = network(), torch.rand(5, 2)
    model(x).sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    if error:
        with pytest.raises(error), DeadUnits(model):
            raise error
    else:
        with DeadUnits(model):
            model(x).sum().backward()
        assert all(torch.equal(p.grad, w) for p, w in zip(model.parameters(), wanted, strict=True))
    assert not any(module._forward_hooks for module in model.modules())


def test_what_cannot_be_counted_is_refused():
    """In one sentence, with what to do."""
    with pytest.raises(InputError, match=r"torch\.nn\.Module, but got a list"):
        DeadUnits([network()])
    for unit_dim in ("1", 1.0, None, True):
        with pytest.raises(InputError, match=rf"unit_dim must be .* {unit_dim!r}\. Pass -1"):
            DeadUnits(network(), unit_dim=unit_dim)
    model, shape = network(), r"but got 2 for those of '1', of shape \(5, 4\)"
    with DeadUnits(model, unit_dim=2), pytest.raises(InputError, match=f"a dimension of the outputs, {shape}"):
        model(torch.rand(5, 2))
    shared = nn.ReLU()
    model = nn.Sequential(nn.Linear(2, 4), shared, nn.Linear(4, 3), shared)
    widths = r"one width, but '1' got 4 units, and then 3. Give each layer a ReLU"
    with DeadUnits(model), pytest.raises(InputError, match=widths):
        model(torch.rand(5, 2))
    with DeadUnits(nn.Linear(2, 2)) as dead:
        dead.model(torch.rand(5, 2))
    with pytest.raises(MonitorError, match=r"runs inside the block, but none did.*F\.relu"):
        _ = dead.shares
