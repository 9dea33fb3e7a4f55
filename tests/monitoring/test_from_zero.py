"""What the monitor says of models of which a part begins at 0, from their first step on."""

import pytest
import torch
from torch import nn

from tests.monitoring.broken_runs import BROKEN
from tests.monitoring.from_zero import FROM_ZERO
from tests.monitoring.zoo import CLASSES, WIDTH, fit


@pytest.mark.parametrize("steps", [2, 4, 12, 25])
@pytest.mark.parametrize("name", FROM_ZERO)
def test_what_waits_for_a_part_that_begins_at_zero_is_not_vanishing(name, steps):
    """Its gradient is exactly 0 at first, and grows with that part; the part itself changes by all it is."""
    torch.manual_seed(0)
    diagnosis = FROM_ZERO[name](steps).diagnose()
    assert diagnosis.healthy, diagnosis


def test_of_one_step_it_is_said_that_it_is_few():
    """Then what will grow looks dead."""
    torch.manual_seed(0)
    diagnosis = FROM_ZERO["head"](1).diagnose()
    assert diagnosis.kinds == ("dead",)
    assert "These are few steps: watch more of them." in str(diagnosis)


def test_what_was_never_zero_is_vanishing_though_it_grows():
    """A layer that is almost 0 and grows with small steps, so that the gradient before it grows as steadily."""
    torch.manual_seed(0)
    monitor = BROKEN["vanishing"]["one small layer"]()
    norms = monitor.history.query("parameter == '0.weight'").norm.to_numpy()
    assert norms[-1] > 5 * norms[0] > 0
    assert monitor.diagnose().kinds == ("vanishing",)


def test_what_has_waited_for_long_enough_is_vanishing():
    """Behind a head that began at 0 a deep sigmoid network still gets nothing after a hundred steps."""
    torch.manual_seed(0)
    layers = [layer for _ in range(20) for layer in (nn.Linear(WIDTH, WIDTH), nn.Sigmoid())]
    model = nn.Sequential(*layers, head := nn.Linear(WIDTH, CLASSES))
    nn.init.zeros_(head.weight)
    assert fit(model, steps=110).diagnose().kinds == ("vanishing",)
