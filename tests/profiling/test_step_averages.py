"""What is made of the steps that were measured: on times that a test has chosen, each figure is known."""

import itertools
import math

import pytest
import torch
from torch import nn

from course_lib.errors import InputError
from course_lib.profiling import ModuleTime, StepProfile, module_times, profile_step
from course_lib.profiling import step_profile as measuring
from course_lib.profiling.device_clocks import HostClock
from course_lib.profiling.module_times import ModuleTimer
from course_lib.profiling.training_step import TrainingStep


class Ticks(HostClock):
    """A clock that is one second later each time it is read."""

    def __init__(self):
        super().__init__()
        self.mark = itertools.count().__next__


def profile(total_seconds):
    """Return a profile whose parts are six seconds."""
    outer, inner = ModuleTime("Net", "Net", 1, 0.9, 1.8, 0.2, 0.3), ModuleTime("0", "Linear", 2, 0.7, 1.5, 0.7, 1.5)
    return StepProfile(1.0, 2.0, 3.0, total_seconds, {"Net": outer, "0": inner}, 6, "cpu")


@pytest.mark.parametrize(("total_seconds", "noisy"), [(5.6, True), (5.8, False), (6.2, False), (6.4, True)])
def test_parts_that_miss_the_whole_by_a_twentieth_are_noisy(total_seconds, noisy):
    """On either side."""
    assert profile(total_seconds).noisy == noisy


def test_each_time_is_printed_in_its_row():
    """Shares are of the parts together; a module's kind follows its name, unless it is the name."""
    assert repr(profile(8.0)).splitlines() == [
        "part          time  share",
        "forward     1.00 s    17%",
        "backward    2.00 s    33%",
        "optimizer   3.00 s    50%",
        "whole step  8.00 s",
        "",
        "module    calls  forward  backward",
        "Net           1   900 ms    1.80 s",
        "0 Linear      2   700 ms    1.50 s",
        "(6 steps each way, on cpu)",
        "noisy: parts and whole differ by over 5%",
    ]
    assert "noisy" not in repr(profile(6.0))


@pytest.fixture
def step():
    """A step of a small model, on a clock that counts."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    step = TrainingStep(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.0), torch.ones(3, 4))
    step.clock = Ticks()
    return step


def test_the_fastest_quarter_counts_and_of_few_steps_three(step):
    """Of whole steps, and of split ones by the sum of their parts; of watched ones the median counts."""
    runs = measuring.StepRuns(step)
    runs.whole = [9.0, 1.0, 2.0, 8.0, 3.0, 7.0]
    runs.split = [[float(i), 40.0 - 2 * i, 1.0] for i in range(16)]
    runs.by_module = [{"Linear": [1.0, 9.0, 9.0, float(i), 2.0 * i]} for i in range(17)]
    runs.kinds = {"Linear": "Linear"}
    found = runs.result()
    assert found.total_seconds == 2
    assert (found.forward_seconds, found.backward_seconds, found.optimizer_seconds) == (13.5, 13, 1)
    assert found.modules == {"Linear": ModuleTime("Linear", "Linear", 1, 9, 9, 8, 16, (9, 9), (9, 9), noisy=False)}
    assert (found.steps, found.device) == (6, "cpu")


def rows_of(seconds):
    """Return a module's rows of steps, with these times."""
    return [[1.0, t, 2.0, t, 2.0] for t in seconds]


@pytest.mark.parametrize(
    ("seconds", "noisy"),
    [
        ([0.47, 1.78, 0.5, 1.7, 0.48, 1.75], True),
        ([1.0, 1.1] * 8, False),
        ([1.0, 1.6] * 8, True),
        ([1.0, 1.6] * 200, False),
        ([1.0] * 7 + [50.0], False),
    ],
)
def test_a_median_that_few_and_unlike_steps_leave_open_is_noisy(seconds, noisy):
    """Many steps settle it, and one slow step does not matter."""
    found = ModuleTime.from_steps("0", "Linear", rows_of(seconds), steps=len(seconds))
    assert found.noisy == noisy
    assert found.forward_quartiles[0] <= found.forward_seconds <= found.forward_quartiles[1]


def test_a_noisy_module_makes_a_profile_noisy_if_it_matters():
    """It is named, with its spread; one that takes a hundredth of the step is not waited for."""
    large = ModuleTime.from_steps("0", "Linear", rows_of([1.0, 3.0] * 3), steps=6)
    small = ModuleTime("1", "Tanh", 1, 0.02, 0.02, 0.02, 0.02, (0.0, 0.04), (0.0, 0.04), noisy=True)
    found = StepProfile(1.0, 2.0, 3.0, 6.0, {"0": large, "1": small}, 6, "cpu")
    assert (found.noisy, found.noisy_modules) == (True, ("0",))
    assert "2.00 s ±50%" in repr(found)
    assert "may be off by over 10%: 0" in repr(found)


def test_times_are_of_the_steps_that_call_a_module(step):
    """A layer that every other step calls takes what it takes there."""
    runs = measuring.StepRuns(step)
    runs.whole, runs.split = [1.0] * 3, [[1.0, 1.0, 1.0]] * 3
    runs.by_module = [{"0": [1.0, 5.0, 5.0, 5.0, 5.0]} if i % 2 else {} for i in range(6)]
    assert runs.result().modules["0"].forward_seconds == 5


def test_a_step_is_split_at_two_points(step):
    """The clock is read at its beginning, after each part, and nowhere else."""
    assert step.time_parts(split=True) == [1, 1, 1]
    assert step.time_parts(split=False) == [1]


@pytest.mark.parametrize(("agreement", "rounds"), [(math.inf, 1), (-1.0, 5)])
def test_measuring_goes_on_until_the_parts_agree(monkeypatch, agreement, rounds):
    """At most five rounds of six whole steps, six split ones and six watched ones, after one look and the warm-up."""
    monkeypatch.setattr(measuring, "AGREEMENT", agreement)
    monkeypatch.setattr(module_times, "UNCERTAIN", agreement)
    ran, seen = [], []

    class Counted(torch.optim.SGD):
        def step(self):
            ran.append("step")
            super().step()

    def loss_fn(out):
        ran.append("loss")
        seen.append((model.weight.detach().clone(), model.weight.grad))
        return out.sum()

    model = nn.Linear(4, 2)
    optimizer = Counted(model.parameters(), lr=torch.tensor(0.1) if rounds == 1 else 0.1)
    model(torch.ones(3, 4)).sum().backward()
    before = model.weight.detach().clone()
    found = profile_step(model, loss_fn, optimizer, torch.ones(3, 4), warmup=4, budget_seconds=1e-9)
    assert (found.steps, found.noisy) == (6 * rounds, rounds > 1)
    assert (ran.count("loss"), ran.count("step")) == (1 + 4 + 18 * rounds, 1 + 4 + 12 * rounds)
    assert all(torch.equal(weight, before) and grad is None for weight, grad in seen)  # each does the same work


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"warmup": 0},
            "warmup must be a whole number, at least 1, but it is 0: an optimizer makes its state in a first",
        ),
        ({"budget_seconds": 0}, "budget_seconds must be a time above 0, but it is 0"),
    ],
)
def test_numbers_out_of_range_are_refused(step, options, message):
    """Before anything is run."""
    with pytest.raises(InputError, match=message):
        profile_step(step.model, torch.sum, step.optimizer, *step.inputs, **options)


def test_what_modules_took_is_added_up(step):
    """A tick inside each innermost module, and one between any two readings of the clock."""
    kinds, found = step.time_modules()
    assert kinds == {"Sequential": "Sequential", "0": "Linear", "1": "Tanh"}
    calls, forward, backward, own_forward, own_backward = zip(*(found[name] for name in kinds), strict=True)
    assert calls == (1, 1, 1)
    assert forward == (5, 1, 1)
    assert own_forward == (3, 1, 1)
    assert own_backward == (0, backward[1], 1)
    assert backward == (backward[1] + 1, backward[1], 1)
    assert found["(outside modules)"] == [0, 2, 1, 2, 1]  # the sum, before the model's first reading and after its last


def test_a_module_that_calls_itself_is_counted_once():
    """The calls are two, and the time is that of the outer one."""

    class Again(nn.Module):
        def forward(self, x, times=1):
            return self(x, times - 1).exp() if times else x.sin()

    watch = ModuleTimer(Ticks())
    with watch.time_forward():
        loss = Again()(torch.ones(2, requires_grad=True))
    with watch.time_backward(loss):
        loss.sum().backward()
    assert watch.seconds(4.0)["Again"] == [2, 3, 2, 3, 2]
