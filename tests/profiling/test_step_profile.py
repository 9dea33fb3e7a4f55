"""Splitting a step: the parts, the modules, and nothing changed by looking."""

import copy
import random
import re
import subprocess
import sys
from collections import UserDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from course_lib.errors import InputError
from course_lib.profiling import profile_step
from course_lib.profiling.device_clocks import HostClock
from course_lib.profiling.module_times import ModuleTimer
from course_lib.profiling.training_step import TrainingStep

SHORT = {"budget_seconds": 0.02, "warmup": 1}


def make(optimizer=torch.optim.AdamW):
    """Return a model with every kind of state, its loss, its optimizer after one step, and a batch."""
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(16, 3))
    )
    batch = torch.randn(12, 8), torch.randint(3, (12,))
    loss_fn, steps = nn.CrossEntropyLoss(), optimizer(model.parameters(), lr=0.1)
    loss_fn(model(batch[0]), batch[1]).backward()
    steps.step()
    return model, loss_fn, steps, batch


def everything(model, optimizer):
    """Return a copy of all that a step could change."""
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    modes = [m.training for m in model.modules()]
    grads = [p.grad for p in model.parameters()]
    return copy.deepcopy((model.state_dict(), optimizer.state_dict(), grads, modes, states))


def same(a, b):
    """Say whether two nests of tensors are equal to the bit."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return bool(a == b)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad])
def test_profiling_does_not_train(optimizer):
    """Weights, buffers, gradients, optimizer, modes and all random numbers are what they were; so are the objects."""
    model, loss_fn, steps, batch = make(optimizer)
    model[3].eval()
    before, grads = everything(model, steps), [p.grad for p in model.parameters()]
    profile_step(model, lambda out, y: loss_fn(out, y) + 0 * random.random() * np.random.rand(), steps, batch, **SHORT)
    assert same(everything(model, steps), before)
    assert all(p.grad is g for p, g in zip(model.parameters(), grads, strict=True))
    assert not nn.modules.module._global_forward_hooks


def test_an_optimizer_that_never_stepped_has_no_state_afterwards():
    """Its first real step makes it."""
    model, loss_fn, _, batch = make()
    fresh = torch.optim.AdamW(model.parameters(), lr=0.1)
    profile_step(model, loss_fn, fresh, batch, **SHORT)
    assert not fresh.state
    assert fresh.param_groups[0]["lr"] == 0.1


def test_training_goes_on_as_if_nothing_had_happened():
    """The next step gives the same weights, to the bit, with and without a profile before it."""

    def next_weights(profiled):
        model, loss_fn, steps, batch = make()
        if profiled:
            profile_step(model, loss_fn, steps, batch, **SHORT)
        steps.zero_grad()
        loss_fn(model(batch[0]), batch[1]).backward()
        steps.step()
        return model.state_dict()

    assert same(next_weights(True), next_weights(False))


def test_everything_is_put_back_when_the_step_raises():
    """In the forward pass of a later step, with the state half changed."""
    model, loss_fn, steps, batch = make()
    before, calls = everything(model, steps), []

    def fails_later(output, target):
        calls.append(None)
        if len(calls) == 4:
            raise ArithmeticError("the fourth time")
        return loss_fn(output, target)

    with pytest.raises(ArithmeticError):
        profile_step(model, fails_later, steps, batch, **SHORT)
    assert same(everything(model, steps), before)
    assert not nn.modules.module._global_forward_hooks


def test_a_batch_that_wants_gradients_gets_none():
    """Nor does any other leaf the loss reaches."""
    model, loss_fn, steps, (x, y) = make()
    x.requires_grad_()
    other = torch.ones(3, requires_grad=True)
    profile_step(model, lambda out, y: loss_fn(out * other, y), steps, (x, y), **SHORT)
    assert x.grad is None
    assert other.grad is None


def test_attributes_that_modules_count_up_are_put_back():
    """A module's own numbers too; where it puts new tensors in the place of old ones, the old ones are back."""

    class Counts(nn.Linear):
        seen = 0

        def forward(self, x):
            self.seen, self.count = self.seen + 1, self.count + 1
            self.scale = nn.Parameter(self.scale.detach() + 1)
            return super().forward(x * self.scale)

    model = Counts(4, 2)
    model.register_buffer("count", count := torch.zeros(()))
    model.scale = scale = nn.Parameter(torch.ones(()))
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    profile_step(model, lambda out: out.sum(), steps, torch.ones(3, 4), **SHORT)
    assert model.seen == 0
    assert model.count is count
    assert model.scale is scale


def test_the_parts_add_up():
    """To the whole step measured apart within 5%, or the result says that it is noisy."""
    model, loss_fn, steps, batch = make()
    found = profile_step(model, loss_fn, steps, batch, budget_seconds=0.1)
    parts = found.forward_seconds + found.backward_seconds + found.optimizer_seconds
    assert parts == found.parts_seconds
    assert found.parts_disagree == (abs(parts - found.total_seconds) > 0.05 * found.total_seconds)
    assert found.noisy == (found.parts_disagree or bool(found.noisy_modules))
    assert min(found.forward_seconds, found.backward_seconds, found.optimizer_seconds) > 0


def test_modules_are_listed_in_the_order_of_their_calls():
    """The outermost under its class's name, the loss too; what encloses takes longer than what it encloses."""
    model, loss_fn, steps, batch = make()
    found = profile_step(model, loss_fn, steps, batch, **SHORT).modules
    assert list(found) == ["Sequential", "0", "1", "2", "3", "4", "CrossEntropyLoss"]
    assert [m.kind for m in found.values()][1:3] == ["Linear", "BatchNorm1d"]
    assert {m.calls for m in found.values()} == {1}
    assert all(found[name].backward_seconds > 0 for name in "01234")
    rows = TrainingStep(model, loss_fn, steps, batch).time_modules()[1]  # of one step, since medians do not add up
    assert rows["Sequential"][1] > sum(rows[name][1] for name in "01234")
    assert rows["Sequential"][2] == pytest.approx(sum(rows[name][2] for name in "01234"))


def watched(forward):
    """Return who recorded what, by the names of nodes."""
    watch, seen = ModuleTimer(HostClock()), []
    with watch.time_forward():
        loss = forward()
    hook = watch.hook_node
    watch.hook_node = lambda node, stack: seen.append((node.name(), stack)) or hook(node, stack)
    with watch.time_backward(loss):
        loss.backward()
    return dict(seen), watch


def test_a_node_belongs_to_the_module_that_recorded_it():
    """Also parameters' nodes; a functional loss belongs to no module; one module called twice counts twice."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Tanh()))
    seen, watch = watched(lambda: nn.functional.mse_loss(model(model(torch.ones(2, 3))), torch.ones(2, 3)))
    assert seen["TanhBackward0"] == ("Sequential", "1", "1.0")
    assert seen["AddmmBackward0"] == seen["torch::autograd::AccumulateGrad"] == ("Sequential", "0")
    assert seen["MseLossBackward0"] == ()
    times = watch.seconds(1.0)
    assert times["0"][0] == times["Sequential"][0] == 2
    assert times["(outside modules)"][1] == pytest.approx(1.0 - times["Sequential"][1])


def test_hooks_leave_no_trace_on_a_leafs_node():
    """It lives as long as the leaf's other graphs; a later backward pass must not be timed."""
    model = nn.Linear(3, 3)
    kept = model(torch.ones(2, 3)).sum()  # keeps the nodes of the parameters alive
    _, watch = watched(lambda: model(torch.ones(2, 3)).sum())
    count = len(watch.backward)
    kept.backward()
    assert len(watch.backward) == count > 0


def test_the_time_of_recomputing_is_backward_time():
    """Of the module that was checkpointed; its forward pass is counted once."""
    inner = nn.Sequential(nn.Linear(64, 64), nn.Tanh())

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return checkpoint(self.inner, x, use_reentrant=False)

    model = Checkpointed()
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    found = profile_step(model, lambda out: out.sum(), steps, torch.randn(4, 64), **SHORT).modules
    assert found["inner"].calls == 1
    assert found["inner"].backward_seconds > found["inner.0"].backward_seconds > 0


@pytest.mark.parametrize(
    ("loss_fn", "message"),
    [
        (lambda out, y: nn.functional.cross_entropy(out, y, reduction="none"), r"shape is \(12,\). Average it"),
        (lambda out, y: 3.0, "returned float"),
        (lambda out, y: out.detach().sum(), "depend on a parameter that requires grad"),
    ],
)
def test_a_loss_without_a_backward_pass_is_refused(loss_fn, message):
    """A vector, a plain number, a detached one; and all is put back."""
    model, _, steps, batch = make()
    before = everything(model, steps)
    with pytest.raises(InputError, match=message):
        profile_step(model, loss_fn, steps, batch, **SHORT)
    assert same(everything(model, steps), before)


def test_a_loss_that_has_called_backward_is_refused():
    """It could not be timed apart; the message says what takes a whole step."""
    model, loss_fn, steps, batch = make()
    before = everything(model, steps)

    def differentiates(out, y):
        loss = loss_fn(out, y)
        loss.backward()
        return loss

    with pytest.raises(InputError, match=r"leave backward\(\) to profile_step, .* advise\(step\) or time_call"):
        profile_step(model, differentiates, steps, batch, **SHORT)
    assert same(everything(model, steps), before)


def test_a_model_without_gradients_is_refused():
    """Frozen altogether; or with an optimizer that belongs to another model."""
    model, loss_fn, steps, batch = make()
    stranger = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    with pytest.raises(InputError, match="brought none to its 2: build the optimizer from"):
        profile_step(model, loss_fn, stranger, batch, **SHORT)
    model.requires_grad_(False)
    with pytest.raises(InputError, match="time inference with time_call"):
        profile_step(model, loss_fn, steps, batch, **SHORT)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [("AdamW", "got a str. Make one from"), ("lbfgs", "LBFGS runs several in each step")],
)
def test_an_optimizer_that_does_not_step_on_its_own_is_refused(optimizer, message):
    """Its name alone, and one that runs the model itself."""
    model, loss_fn, _, batch = make()
    optimizer = torch.optim.LBFGS(model.parameters()) if optimizer == "lbfgs" else optimizer
    with pytest.raises(InputError, match=message):
        profile_step(model, loss_fn, optimizer, batch, **SHORT)


@pytest.mark.parametrize(("batch", "found"), [((torch.ones(2),), "a tuple of 1"), ({1, 2}, "set")])
def test_a_batch_of_another_form_is_refused(batch, found):
    """The message says what a batch is."""
    model, loss_fn, steps, _ = make()
    with pytest.raises(InputError, match=f"but it is {found}. Pass"):
        profile_step(model, loss_fn, steps, batch, **SHORT)


def test_several_inputs_and_a_single_tensor():
    """All but the last go to the model; a single tensor needs no target."""

    class Adds(nn.Linear):
        def forward(self, a, b):
            return super().forward(a + b)

    model, plain = Adds(4, 2), nn.Linear(4, 2)
    x, y = torch.ones(3, 4), torch.ones(3, 2)
    profile_step(model, nn.functional.mse_loss, torch.optim.SGD(model.parameters()), (x, x, y), **SHORT)
    profile_step(plain, torch.sum, torch.optim.SGD(plain.parameters()), x, **SHORT)


def test_several_inputs_beside_the_target():
    """As train_epoch takes them: in a tuple or a list, with any target, as a model that computes its own loss wants."""

    class Scores(nn.Linear):
        def forward(self, x, target):
            return (scores := super().forward(x)), nn.functional.mse_loss(scores, target)

    model, x, y = Scores(4, 2), torch.ones(3, 4), torch.ones(3, 2)
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs in ((x, y), [x, y]):
        found = profile_step(model, lambda out, y: out[1], steps, (inputs, {"y": y}), **SHORT)
        assert found.modules["Scores"].calls == 1
    alone = profile_step(model, None, steps, (x, y), **SHORT)
    assert alone.backward_seconds > 0
    assert list(alone.modules) == ["Scores"]
    with pytest.raises(InputError, match=r"without a loss_fn, the model must return a tensor of one element, .* tuple"):
        profile_step(lambda x, y: model(x, y)[:1], None, steps, (x, y), **SHORT)


def test_inference_has_a_forward_pass_alone():
    """Without an optimizer: nothing records a graph or changes, and the result says that there was no backward pass."""
    model, loss_fn, steps, (x, y) = make()
    before, graphs = everything(model, steps), []
    watched = model.register_forward_hook(lambda module, args, output: graphs.append(output.requires_grad))
    found = profile_step(model, None, None, x, **SHORT)
    watched.remove()
    assert same(everything(model, steps), before)
    assert set(graphs) == {False}
    assert (found.backward_seconds, found.optimizer_seconds, found.has_backward) == (0, 0, False)
    assert list(found.modules) == ["Sequential", *"01234"]
    assert all(m.forward_seconds > 0 == m.backward_seconds for m in found.modules.values())
    text = repr(found).splitlines()
    assert [line.split()[0] for line in text[:3]] == ["part", "forward", "whole"]
    assert not any("backward" in line for line in text[:-1])
    assert "forward pass only" in repr(found)
    assert "CrossEntropyLoss" in profile_step(model, loss_fn, None, (x, y), **SHORT).modules


@pytest.mark.parametrize("kind", [dict, UserDict])
def test_a_dict_holds_arguments_by_name(kind):
    """All of a batch, the target in it, or all of the input; the loss gets what the model returns, as in training."""

    class Scores(nn.Linear):
        def forward(self, x, bias, y=None):
            out = super().forward(x) + bias
            return out if y is None else {"loss": nn.functional.mse_loss(out, y)}

    model, x, y = Scores(4, 2), torch.ones(3, 4), torch.ones(3, 2)
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    whole = profile_step(model, lambda out: out["loss"], steps, kind(x=x, bias=1.0, y=y), **SHORT)
    pair = profile_step(model, nn.functional.mse_loss, steps, (kind(x=x, bias=1.0), y), **SHORT)
    assert whole.modules["Scores"].calls == pair.modules["Scores"].calls == 1


def test_it_prints_as_two_tables():
    """Parts with their shares, and modules."""
    model, loss_fn, steps, batch = make()
    text = repr(profile_step(model, loss_fn, steps, batch, **SHORT))
    assert [line.split()[0] for line in text.splitlines()[:4]] == ["part", "forward", "backward", "optimizer"]
    assert "CrossEntropyLoss" in text
    assert "steps each way, on cpu" in text


def test_a_compiled_model_is_a_row_of_its_own_and_warns_of_nothing():
    """What torch.compile makes of a model is timed as a whole, and torch's advice about our hooks is not passed on."""
    model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)), backend="aot_eager")
    batch = torch.randn(4, 8), torch.randint(0, 2, (4,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    profile = profile_step(model, nn.CrossEntropyLoss(), optimizer, batch, budget_seconds=0.01)
    assert "OptimizedModule" in profile.modules
    assert "0" not in profile.modules


def test_a_compiler_is_kept_from_what_times_the_modules():
    """The module inside a compiled one has hooks too, at which torch would warn; once, hence the fresh process."""
    script = """
import torch
from course_lib.profiling import profile_step

class Net(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x).relu()

model, x = Net(4, 4), torch.ones(3, 4)
compiled, steps = torch.compile(model, backend="eager"), torch.optim.SGD(model.parameters(), lr=0.1)
print("Net" in [m.kind for m in profile_step(compiled, torch.sum, steps, x, budget_seconds=0.01).modules.values()])
"""
    python = [sys.executable, "-W", "ignore:Guards may run slower"]  # which torch says of Python 3.13.0 itself
    done = subprocess.run([*python, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_under_autocast_each_step_converts_the_weights_as_in_training():
    """Autocast would keep those that the first step has converted."""
    model, batch = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), (torch.ones(3, 4), torch.zeros(3, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", torch.bfloat16), torch.profiler.profile() as seen:
        profile_step(model, nn.functional.mse_loss, optimizer, batch, budget_seconds=0.01)
    counts = {row.key: row.count for row in seen.key_averages()}
    steps = counts["aten::mse_loss"]
    assert counts["aten::_to_copy"] >= 6 * steps  # two weights, two biases, what comes in, and the loss


def test_processes_that_train_together_are_refused(monkeypatch):
    """Each would run another number of steps; one alone in its group waits for nobody."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 4)
    model = nn.Linear(2, 1)
    step = (model, nn.functional.mse_loss, torch.optim.SGD(model.parameters()), (torch.ones(1, 2), torch.ones(1, 1)))
    with pytest.raises(InputError, match=r"one process, but 4 train together.*trace\("):
        profile_step(*step)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 1)
    assert profile_step(*step, **SHORT).steps >= 6


def test_a_complex_loss_is_refused_before_anything_is_timed():
    """Torch has no backward pass for it."""
    model = torch.nn.Linear(3, 1)
    optimizer, batch = torch.optim.SGD(model.parameters(), lr=0.1), (torch.ones(2, 3), torch.ones(2, 1))
    with pytest.raises(InputError, match=r"real number, .*torch\.complex64\. Take its \.real"):
        profile_step(model, lambda out, y: (out - y).sum() * 1j, optimizer, batch)


@pytest.mark.parametrize(
    ("batch", "note"),
    [
        (
            (np.ones((2, 8)), torch.ones(2, 3)),
            r"called with float64 \(2, 8\), and .* returns and float32 \(2, 3\), the last",
        ),
        (
            torch.ones(2, 8),
            r"with float32 \(2, 8\), and loss_fn is called with what it returns alone\. A batch is \(x, tar",
        ),
        ({"x": torch.ones(2, 8)}, r"called with \{x: float32 \(2, 8\)\}, .*alone"),
        ((torch.ones(2, 8), torch.ones(2, 8), torch.ones(2, 3)), r"with \[float32 \(2, 8\), float32 \(2, 8\)\], and"),
    ],
)
def test_what_a_batch_of_the_wrong_form_raises_says_how_it_was_used(batch, note):
    """The error itself is torch's, or the loss's."""
    model = nn.Linear(8, 3)
    with pytest.raises((TypeError, RuntimeError)) as caught:
        profile_step(model, nn.functional.mse_loss, torch.optim.SGD(model.parameters()), batch, **SHORT)
    assert re.search(note, "".join(caught.value.__notes__))
