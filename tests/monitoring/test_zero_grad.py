"""Whether gradients are zeroed between steps, whichever parameter is looked at."""

import re
from itertools import pairwise

import pytest
import torch
from torch.nn.functional import cross_entropy

from course_lib import autograd
from course_lib.monitoring import GradientMonitor
from tests.monitoring.broken_runs import BROKEN
from tests.monitoring.zoo import backward, fit, mlp, vectors


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("zero", [False, True])
def test_the_courses_engine_is_watched_for_zeroing(passes, zero):
    """Its backward pass goes on as if nobody watched, also where it adds up several on purpose."""
    model = autograd.nn.Linear(8, 1)
    optimizer = autograd.optim.SGD(model.parameters(), lr=0.01)
    with GradientMonitor(model) as monitor:
        for _ in range(12):
            if zero:
                optimizer.zero_grad()
            for _ in range(passes):
                (model(autograd.randn(32, 8)) ** 2).mean().backward()
            monitor.step()
            optimizer.step()
    assert monitor.diagnose().kinds == (("healthy",) if zero else ("not zeroed",))


def test_each_layer_has_its_turn_and_there_is_one_hook_at_a_time():
    """Ten measured steps for each, those next to another one not next in time."""
    model = mlp(4)
    hooked = []
    with GradientMonitor(model, every=2) as monitor:
        for step in range(100):
            backward(model)
            monitor.step()
            if step % 20 == 10:
                hooked.append([name for name, p in model.named_parameters() if p._backward_hooks])
    assert [len(names) for names in hooked] == [1] * 5
    assert {names[0] for names in hooked} == {f"{i}.bias" for i in range(0, 10, 2)}
    places = [int(names[0].split(".")[0]) for names in hooked]
    assert all(abs(a - b) > 2 for a, b in pairwise(places))


def test_it_is_said_which_parameters_are_zeroed_and_which_are_not():
    """Two optimizers, of which one is never zeroed."""
    (finding,) = BROKEN["not zeroed"]["two optimizers"]().diagnose().findings
    assert "4.bias" not in finding.parameters
    assert set(finding.parameters) == {"0.bias", "2.bias"}
    assert re.search(r"\(those of 0\.bias and 2\.bias, not of 4\.bias\), in (\d+) of \1 steps", finding.words)


def test_steps_that_do_not_come_to_what_is_looked_at_are_not_counted():
    """Of two heads that take turns, one is looked at for ten steps, and used in five of them."""
    (finding,) = BROKEN["not zeroed"]["two heads in turn"]().diagnose().findings
    assert re.search(r"in (\d+) of \1 steps", finding.words)


def test_one_that_is_zeroed_by_its_own_optimizer_is_not_counted():
    """Heads that take turns, all zeroed: a head that no backward pass came to says nothing."""
    trunk, heads = torch.nn.Linear(24, 24), torch.nn.ModuleList(torch.nn.Linear(24, 4) for _ in range(3))
    model = torch.nn.ModuleList([trunk, heads])
    with GradientMonitor(model) as monitor:
        for step in range(45):
            model.zero_grad(set_to_none=step % 2 == 0)
            x, y = vectors(step)
            cross_entropy(heads[step % 3](trunk(x)), y).backward()
            monitor.step()
    assert monitor.diagnose().healthy


def test_the_count_is_of_the_steps_that_are_kept():
    """The first of these was looked at, too."""
    finding = fit(mlp(), zero=False, keep=5).diagnose().findings[0]
    assert "in 5 of 5 steps (steps 26 to 30)" in finding.words


def test_accumulation_on_purpose_is_told_apart():
    """The monitor was called at each backward pass, and the gradients were emptied at every second."""
    model = mlp()
    with GradientMonitor(model) as monitor:
        for step in range(40):
            if step % 2 == 0:
                model.zero_grad()
            backward_again(model, step)
            monitor.step()
    (finding,) = monitor.diagnose().findings
    assert finding.kind == "not zeroed"
    assert "emptied in between, as they are if you accumulate on purpose" in finding.words
    assert "emptied in between" not in BROKEN["not zeroed"]["perceptron"]().diagnose().findings[0].words


def backward_again(model, step):
    x, y = vectors(step)
    cross_entropy(model(x), y).backward()


def test_gradients_that_are_set_and_not_added_to_are_no_finding():
    """A gradient that ``autograd.grad`` returns adds nothing to what is there."""
    model = mlp()
    with GradientMonitor(model) as monitor:
        for step in range(25):
            x, y = vectors(step)
            grads = torch.autograd.grad(cross_entropy(model(x), y), list(model.parameters()))
            for p, g in zip(model.parameters(), grads, strict=True):
                p.grad = g
            monitor.step()
    assert monitor.diagnose().healthy


def test_a_look_by_the_way_does_not_hide_that_nothing_is_zeroed():
    """As that of one who logs another gradient before each backward pass."""
    model = mlp()
    with GradientMonitor(model) as monitor:
        for step in range(25):
            x, y = vectors(step)
            torch.autograd.grad(cross_entropy(model(x), y), list(model.parameters()))
            backward_again(model, step)
            monitor.step()
    assert "not zeroed" in monitor.diagnose().kinds


def test_a_watched_model_goes_to_another_process_without_a_warning():
    """A warning would be an error here."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        backward(model)
        monitor.step()
        for p in model.parameters():
            torch.utils.hooks.warn_if_has_hooks(p)


def test_what_adds_up_in_one_network_does_not_make_another_vanish():
    """The second of two, which is never zeroed."""
    model = torch.nn.ModuleList([mlp(1), mlp(1)])
    with GradientMonitor(model) as monitor:
        for step in range(60):
            model[0].zero_grad()
            x, y = vectors(step)
            (1e-2 * cross_entropy(model[0](x), y) + cross_entropy(model[1](x), y)).backward()
            monitor.step()
    assert monitor.diagnose().kinds == ("not zeroed",)
