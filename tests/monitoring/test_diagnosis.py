"""What the monitor says of training runs, broken on purpose and not."""

import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from course_lib.monitoring import GradientMonitor
from tests.monitoring.broken_runs import BROKEN
from tests.monitoring.healthy_runs import HEALTHY
from tests.monitoring.zoo import fit, mlp, vectors

BROKEN_RUNS = [(kind, name) for kind, runs in BROKEN.items() for name in runs]


@pytest.fixture(autouse=True, params=[0, 1])
def seed(request):
    """Draw every run twice."""
    torch.manual_seed(request.param)


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_where_nothing_is_wrong(name):
    """Many architectures, and runs that only look odd: small steps, small gradients, rows and layers without any."""
    diagnosis = HEALTHY[name]().diagnose()
    assert diagnosis.healthy, diagnosis
    assert re.match(r"healthy: in steps 1 to \d+, the norm of all gradients was between", str(diagnosis))


def test_threads_that_diagnose_at_once_leave_warnings_as_they_were():
    """A run in which a parameter has no gradient, of which NumPy would warn."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    monitor, filters, interval = GradientMonitor(model), list(warnings.filters), sys.getswitchinterval()
    model[0](torch.ones(2, 4)).sum().backward()
    monitor.step()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: str(monitor.diagnose()), range(100)))
    finally:
        sys.setswitchinterval(interval)
    assert len(set(found)) == 1
    assert warnings.filters == filters


@pytest.mark.parametrize(("kind", "name"), BROKEN_RUNS)
def test_each_illness_is_recognised(kind, name):
    """On several architectures."""
    assert kind in BROKEN[kind][name]().diagnose().kinds


@pytest.mark.parametrize(
    "run", [("vanishing", "one small layer"), ("vanishing", "deep sigmoid"), ("dead", "a closed layer")], ids=" ".join
)
def test_nothing_else_is_found(run):
    """A vanishing gradient is not called exploding from its other end, and a dead one not vanishing."""
    assert BROKEN[run[0]][run[1]]().diagnose().kinds == (run[0],)


def test_vanishing_names_the_weights_the_numbers_and_a_way_out():
    """The rms in the smallest and the largest are those of the history."""
    monitor = BROKEN["vanishing"]["deep tanh, small weights"]()
    (finding,) = monitor.diagnose().findings
    assert finding.parameters[0] == "0.weight"
    assert "24.weight" not in finding.parameters
    rms, names = monitor.weight_rms()
    typical = dict(zip(names, torch.tensor(rms[-20:]).quantile(0.5, dim=0).tolist(), strict=True))
    least, top = min(typical, key=typical.get), max(typical, key=typical.get)
    said = (
        f"the rms of the gradient is {typical[least]:.2g} in {least}, and {typical[top]:.2g} in {top} (medians of steps"
    )
    assert said in finding.words
    assert "initialization" in finding.advice


def test_dead_names_the_layer():
    """The one whose ReLU is closed, and those behind it."""
    (finding,) = BROKEN["dead"]["a closed layer"]().diagnose().findings
    assert set(finding.parameters) >= {"2.weight", "2.bias", "0.weight", "0.bias"}
    assert "4.bias" not in finding.parameters
    assert "exactly 0" in finding.words


def test_most_units_of_a_layer_are_counted():
    """Twenty of twenty-four have a closed ReLU, so the gradient of the weight is not 0 as a whole."""
    model = mlp(3)
    with torch.no_grad():
        model[2].bias[:20] = -50.0
    (finding,) = fit(model).diagnose().findings
    assert finding.kind == "dead"
    assert finding.parameters == ("2.bias",)
    assert re.search(
        r"Most units of 1 layer had no gradient in any of steps \d+ to \d+: 2[0-3] of 24 in 2.bias", finding.words
    )


def test_not_finite_names_the_step_and_says_whether_the_parameters_were():
    """The step is that of the bad batch; before it, the parameters are finite, and after it they are not."""
    finding = BROKEN["non-finite"]["NaN in a batch"]().diagnose().findings[0]
    assert finding.kind == "non-finite"
    assert finding.steps[0] == 13
    assert "at step 13" in finding.words
    assert "parameters were still finite" in finding.words


def test_a_step_that_spoils_the_parameters_is_told_from_a_bad_batch():
    """Then the parameters are not finite when the gradient is first seen not to be."""

    def spoil(step, model, optimizer):
        if step == 5:
            with torch.no_grad():
                model[0].weight[0, 0] = float("inf")

    finding = fit(mlp(), before=spoil, steps=8).diagnose().findings[0]
    assert finding.kind == "non-finite"
    assert "no longer finite either (0.weight)" in finding.words


@pytest.mark.parametrize("update_every", [10, None])
def test_steps_that_a_scaler_skips_are_called_its_search(update_every):
    """The gradients are finite again, which they are not after a step that uses one that is not."""
    model = mlp(1)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.05), torch.amp.GradScaler("cpu", init_scale=2.0**24)
    with GradientMonitor(model, update_every=update_every) as monitor:
        for step in range(20):
            optimizer.zero_grad()
            x, y = vectors(step)
            with torch.autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            monitor.step()
            scaler.step(optimizer)
            scaler.update()
    (finding,) = monitor.diagnose().findings
    assert finding.kind == "non-finite"
    assert finding.advice.startswith(
        "If a GradScaler scales the loss, that is how it finds a scale, and it is harmless. If"
    )
    assert "GradScaler" not in str(BROKEN["non-finite"]["NaN in a batch"]().diagnose())


def test_of_gradients_far_too_large_the_scale_of_the_loss_is_suspected():
    """Which is what they are measured with before ``unscale_``."""
    monitor = fit(mlp(1), loss=lambda out, y: 2.0**24 * nn.functional.cross_entropy(out, y))
    assert monitor.diagnose().healthy  # Adam trains with it
    assert "If a GradScaler scales the loss, call step() after its unscale_(optimizer)." in str(monitor.diagnose())


@pytest.mark.parametrize("name", ["a hinge that is satisfied", "looked too late"])
def test_no_gradient_anywhere_is_not_blamed_on_closed_units(name):
    """Both causes are named."""
    (finding,) = BROKEN["dead"][name]().diagnose().findings
    assert "hinge" in finding.advice
    assert "zero_grad(set_to_none=False)" in finding.advice
    assert "ReLU" not in finding.advice


def test_weights_without_a_gradient_of_late_have_no_numbers():
    """It is said that they have none."""
    model = nn.Linear(4, 4)
    with GradientMonitor(model) as monitor:
        for step in range(30):
            model.weight.grad, model.bias.grad = torch.ones(4, 4) if step < 5 else None, torch.ones(4)
            monitor.step()
    diagnosis = monitor.diagnose()
    assert diagnosis.healthy
    assert "the weights had no gradient (None) in steps 11 to 30." in str(diagnosis)


def test_a_branch_without_a_gradient_beside_others_that_have_one_is_not_vanishing():
    """Queries and keys of attention to which all positions are alike: the gradient reaches the input all the same."""
    assert fit(Alike(), lr=1e-5).diagnose().healthy


class Alike(nn.Module):
    """Attention beside a straight path, with hardly any preference for a position."""

    def __init__(self):
        super().__init__()
        self.stem, self.values = nn.Linear(24, 24), nn.Linear(24, 24)
        self.alike, self.head = nn.Linear(24, 48), nn.Linear(24, 4)
        nn.init.normal_(self.alike.weight, std=1e-5)
        nn.init.zeros_(self.alike.bias)

    def forward(self, x):
        """Return a score for each class."""
        x = self.stem(x)
        q, k = self.alike(x).chunk(2, dim=-1)
        return self.head(x + nn.functional.scaled_dot_product_attention(q, k, self.values(x)))


def test_a_violent_beginning_that_is_no_longer_in_the_history():
    """The first step that is kept came after a violent update itself."""
    monitor = BROKEN["exploding"]["too fast"](steps=40, keep=37)
    assert monitor.history.query("step == 4").update_ratio.median() > 1
    assert monitor.diagnose().findings


def test_not_zeroed_gives_the_count():
    """Every step but the first began with what was left of the one before."""
    finding = BROKEN["not zeroed"]["perceptron"]().diagnose().findings[0]
    assert finding.kind == "not zeroed"
    assert "in 29 of 29 steps (steps 2 to 30)" in finding.words
    assert "zero_grad" in finding.advice


@pytest.mark.parametrize("to_none", [True, False])
def test_both_ways_of_zeroing_count(to_none):
    """Gradients set to None, and filled with 0."""
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with GradientMonitor(model) as monitor:
        for _ in range(10):
            optimizer.zero_grad(set_to_none=to_none)
            model(torch.randn(8, 24)).square().mean().backward()
            monitor.step()
            optimizer.step()
    assert monitor.diagnose().healthy


def test_a_layer_that_the_loss_does_not_reach_is_named():
    """Its gradient is None at every step."""

    class Detached(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(24, 24), nn.Linear(24, 4)

        def forward(self, x):
            return self.last(self.first(x).detach())

    (finding,) = fit(Detached()).diagnose().findings
    assert finding.kind == "unreached"
    assert finding.parameters == ("first.weight", "first.bias")


class Own(nn.Module):
    """A layer whose weight and bias have short names."""

    def __init__(self):
        super().__init__()
        self.W, self.b = nn.Parameter(torch.randn(16, 32) / 4), nn.Parameter(torch.zeros(32))

    def forward(self, x):
        """Multiply and add."""
        return x @ self.W + self.b


def frozen():
    layer = nn.Linear(16, 32)
    layer.weight.requires_grad_(False)
    return layer


@pytest.mark.parametrize(
    "layer",
    [Own, frozen, lambda: nn.utils.parametrizations.weight_norm(nn.Linear(16, 32))],
    ids=["own", "frozen", "normed"],
)
def test_dead_units_are_counted_by_any_bias(layer):
    """Whatever the weight beside it is called, or if it is not trained."""
    torch.manual_seed(0)
    model = nn.Sequential(first := layer(), nn.ReLU(), nn.Linear(32, 4))
    with torch.no_grad():
        (first.b if isinstance(first, Own) else first.bias)[:28] = -50
    with GradientMonitor(model) as monitor:
        for _ in range(20):
            model.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(32, 16)), torch.randint(4, (32,))).backward()
            monitor.step()
    assert monitor.diagnose().kinds == ("dead",)
    assert "28 of 32 in 0.b" in str(monitor.diagnose())


def test_where_no_weight_has_a_gradient_a_bias_may_explode():
    """The parameter that is named is the largest of those that have one."""
    model = nn.Linear(3, 2)
    with GradientMonitor(model) as monitor:
        for step in range(6):
            model.weight.grad = None if step == 5 else torch.ones(2, 3)
            model.bias.grad = torch.full((2,), 1e6 if step == 5 else 1.0)
            monitor.step()
    (finding,) = monitor.diagnose().findings
    assert (finding.kind, finding.parameters, finding.steps) == ("exploding", ("bias",), (6,))


def summed(reduction="sum", scale=100.0):
    """Fit large targets, without a change of what the optimizer does."""
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
    x = torch.randn(512, 8)
    y = scale * x[:, :1].sin() + scale
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss = nn.MSELoss(reduction=reduction)
    return fit(model, optimizer=optimizer, loss=loss, data=lambda step: (x, y))


@pytest.mark.parametrize("options", [("sum", 100.0), ("mean", 1e5)], ids=["sum", "large targets"])
def test_the_unit_of_the_loss_is_no_explosion(options):
    """Where updates are healthy: it is said, with its causes."""
    diagnosis = summed(*options).diagnose()
    assert diagnosis.healthy, diagnosis
    assert "the loss has a large unit, and a bound for clipping must be as large. If the loss is a sum (red" in str(
        diagnosis
    )
    assert "the loss has a large unit" not in str(summed("mean", 1.0).diagnose())


def test_a_sum_is_the_first_cause_that_is_named_of_what_may_explode():
    """Where it is not known how far the updates move."""
    model = nn.Linear(24, 4)
    said = str(fit(model, steps=1, loss=lambda out, y: 1e9 * nn.functional.cross_entropy(out, y)).diagnose())
    assert said.startswith("exploding")
    assert 'in healthy networks). If the loss is a sum (reduction="sum"), take the mean' in said


def test_frozen_parameters_and_buffers_are_asked_before_the_parameters_are_called_finite():
    """A frozen weight with NaN, and running means that a bad batch spoiled."""
    model, other = (nn.Sequential(nn.Linear(24, 24), nn.BatchNorm1d(24), nn.Linear(24, 4)) for _ in "ab")
    model.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
    said = str(fit(model, steps=2, loss=lambda out, y: out.sum() * torch.nan).diagnose())
    assert "parameters were still finite" in said
    assert "buffers" not in said
    other[0].requires_grad_(False).weight[0, 0].fill_(torch.nan)
    said = str(fit(other, steps=1).diagnose())
    assert "Frozen parameters were not finite either (0.weight)" in said
    assert "still finite" not in said
    assert "There is NaN in buffers, too (1.running_mean and 1.running_var)" in said


def test_a_parameter_without_elements_is_not_dead():
    """Nor vanishing: it has no gradient that could be."""
    model = nn.Linear(24, 4)
    model.extra = nn.Parameter(torch.zeros(0, 24))
    diagnosis = fit(model, loss=lambda out, y: nn.functional.cross_entropy(out, y) + model.extra.sum()).diagnose()
    assert diagnosis.healthy
    assert "in the weights was between 0 and" not in str(diagnosis)


@pytest.mark.parametrize(("steps", "seen"), [(30, "in steps 21 to 30"), (60, "in steps 41 to 60")])
def test_a_run_in_which_no_gradient_is_left_is_dead_at_once(steps, seen):
    """A loss that is flat from step 21 on, as where a sigmoid has saturated: ten steps tell, later more."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    with GradientMonitor(model) as monitor:
        for step in range(steps):
            model.zero_grad()
            (torch.sigmoid(model(torch.ones(4, 3)) + 200 * (step >= 20)).sum()).backward()
            monitor.step()
    diagnosis = monitor.diagnose()
    assert diagnosis.kinds == ("dead",)
    assert seen in str(diagnosis)
    assert "No gradient is left anywhere" in str(diagnosis)
