"""The doctor says what is wrong with a loop that stays as it is, and leaves the loop as it was."""

import re
import traceback

import pytest
import torch
from torch import nn
from torch.nn import functional

from course_lib.doctor import Report, watch
from course_lib.doctor.loop import loop_watcher
from course_lib.doctor.loop.watched_optimizer import WatchedOptimizer
from course_lib.errors import InputError, MonitorError

X, Y = torch.randn(64, 8, generator=torch.Generator().manual_seed(0)), torch.arange(64) % 4


def perceptron(width=32):
    """Return a network of three layers, the same in each test."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


def train(model, optimizer, *, loss_fn=functional.cross_entropy, steps=30, x=X, **given) -> Report:
    """Run a plain loop inside watch, and return the report."""
    with watch(model, optimizer, **given) as doctor:
        for _ in range(steps):
            optimizer.zero_grad()
            loss_fn(model(x), Y).backward()
            optimizer.step()
    return doctor.report()


class Sick(nn.Module):
    """A network that does something to its output from a step on."""

    def __init__(self, harm, *, after):
        super().__init__()
        self.net, self.harm, self.after, self.calls = perceptron(), harm, after, 0

    def forward(self, x):
        """Run the network, and harm what it returns once its time has come."""
        self.calls += self.training
        out = self.net(x)
        return self.harm(out) if self.calls > self.after else out


def test_a_healthy_run_is_called_healthy():
    """Nothing is found in the gradients, and the numbers are there."""
    report = train(model := perceptron(), torch.optim.SGD(model.parameters(), lr=0.1))
    assert [found.kind for found in report.gradients] == ["healthy"]
    assert not [found for found in report.findings if found.part != "time"]
    assert (report.steps, report.memory.parameters_bytes) == (30, sum(p.nbytes for p in model.parameters()))
    assert report.losses[1] < report.losses[0]
    assert sum(report.times.parts.values()) == pytest.approx(report.times.step_seconds)


def test_a_rate_that_changes_nothing_barely_moves():
    """1e-9 looks healthy in the gradients alone."""
    assert train(model := perceptron(), torch.optim.SGD(model.parameters(), lr=1e-9)).kinds[0] == "barely moves"


def test_a_rate_far_too_large_explodes():
    """The first value that is not finite comes first, and the gradients that led to it after."""
    kinds = train(model := perceptron(), torch.optim.SGD(model.parameters(), lr=1e4)).kinds
    assert kinds[:2] == ("first non-finite", "exploding")


def test_closed_relus_are_dead():
    """Their gradients are exactly 0."""
    with torch.no_grad():
        (model := perceptron())[0].bias -= 100
    assert "dead" in train(model, torch.optim.SGD(model.parameters(), lr=0.1)).kinds


def test_gradients_that_are_not_zeroed_are_found():
    """A loop that forgets zero_grad."""
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as doctor:
        for _ in range(30):
            functional.cross_entropy(model(X), Y).backward()
            optimizer.step()
    assert "not zeroed" in doctor.report().kinds


def test_parameters_that_no_optimizer_has_are_named():
    """As where an optimizer was made for a part of the model."""
    model = perceptron()
    report = train(model, torch.optim.SGD(model[4].parameters(), lr=0.1))
    (found,) = (found for found in report.findings if found.kind == "not trained")
    assert found.evidence.startswith("0.weight and 3 more ")


@pytest.mark.parametrize("after", [0, 17])
def test_the_operation_that_made_the_first_nan_is_named_with_its_line(after):
    """The step is repeated while its parameters are finite, in the first step, too."""
    model = Sick(lambda out: out * torch.sqrt(-out.square().sum()), after=after)
    found = train(model, torch.optim.AdamW(model.parameters())).nonfinite
    assert (found.step, found.where, found.origin.op) == (after + 1, "loss", "sqrt")
    assert found.origin.place.line.startswith("model = Sick(lambda out: out * torch.sqrt")
    assert "A root has" in found.remedy


def test_a_gradient_that_is_not_finite_is_found_before_it_is_used():
    """The loss is finite still; the parameters, too, when the step is repeated."""
    model = Sick(lambda out: out + (out - out).square().sqrt(), after=17)
    found = train(model, torch.optim.AdamW(model.parameters())).nonfinite
    assert (found.step, found.where, found.origin.node) == (18, "gradients", "SqrtBackward0")


class LogOfSoftmax(nn.Module):
    """A cross entropy that underflows."""

    def forward(self, out, y):
        """Return the mean."""
        return -torch.log(torch.softmax(1000 * out, 1).gather(1, y[:, None])).mean()


def test_an_operation_of_the_loss_is_named_if_the_doctor_has_it():
    """Its calls are seen, as those of the model."""
    loss_fn = LogOfSoftmax()
    report = train(model := perceptron(), torch.optim.SGD(model.parameters()), loss_fn=loss_fn, steps=2)
    assert report.nonfinite.origin is None
    assert "Softmax, Gather, Log, Mean, Neg" in report.nonfinite.note
    with watch(model := perceptron(), optimizer := torch.optim.SGD(model.parameters()), loss_fn) as doctor:
        loss_fn(model(X), Y).backward()
        optimizer.step()
    assert doctor.report().nonfinite.origin.op == "log"


def test_a_batch_with_nan_is_named():
    """No operation made it."""
    x = X.clone()
    x[3, 3] = torch.nan
    found = train(model := perceptron(), torch.optim.SGD(model.parameters()), x=x, steps=2).nonfinite
    assert (found.step, found.origin) == (1, None)
    assert "the data of this batch" in found.note


def test_nothing_changes_that_the_loop_computes(monkeypatch):
    """To the last bit, with dropout, batch norm and momentum, whatever is looked at, and in a step with NaN, too."""
    monkeypatch.setattr(loop_watcher, "LOOKS_SHARE", 1e9)
    finals = []
    for watched in (False, True):
        torch.manual_seed(0)
        model = Sick(lambda out: out + 0 * torch.sqrt(-out.square().sum()), after=20)
        model.net.insert(2, nn.Dropout())
        model.net.insert(2, nn.BatchNorm1d(32))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        if watched:
            train(model, optimizer)
        else:
            for _ in range(30):
                optimizer.zero_grad()
                functional.cross_entropy(model(X), Y).backward()
                optimizer.step()
        finals.append([*model.state_dict().values(), torch.rand(3)])
    assert all(torch.equal(a.nan_to_num(7), b.nan_to_num(7)) for a, b in zip(*finals, strict=True))


def hooks_of(model, optimizer):
    """Return everything that could be left behind."""
    everywhere = nn.modules.module
    return (
        torch.Tensor.backward,
        [len(part._forward_pre_hooks) + len(part._forward_hooks) for part in model.modules()],
        [len(p._post_accumulate_grad_hooks or ()) + len(p._backward_hooks or ()) for p in model.parameters()],
        len(everywhere._global_forward_hooks) + len(everywhere._global_forward_pre_hooks),
        len(optimizer._optimizer_step_pre_hooks) + len(optimizer._optimizer_step_post_hooks),
    )


def walk_twice(model, optimizer, doctor, *, at):
    """Train until a graph is walked a second time."""
    with doctor:
        for i in range(30):
            (loss := functional.cross_entropy(model(X), Y)).backward()
            if i == at:
                loss.backward()
            optimizer.step()


@pytest.mark.parametrize("fails_at", [0, 5, 12])
def test_an_error_leaves_the_report_its_own_traceback_and_no_hooks(tmp_path, monkeypatch, fails_at):
    """Even while modules or operations are looked at."""
    monkeypatch.setattr(loop_watcher, "LOOKS_SHARE", 1e9)
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = hooks_of(model, optimizer)
    doctor = watch(model, optimizer, write_to=tmp_path / "r.md")
    with pytest.raises(RuntimeError, match="second time") as caught:
        walk_twice(model, optimizer, doctor, at=fails_at)
    assert "course_lib" not in "".join(traceback.format_tb(caught.tb))
    assert hooks_of(model, optimizer) == before
    assert f"{fails_at} step" in (tmp_path / "r.md").read_text(encoding="utf-8")


def test_modules_and_operations_are_looked_into(monkeypatch):
    """The names are the model's, and what each keeps is counted once."""
    monkeypatch.setattr(loop_watcher, "LOOKS_SHARE", 1e9)
    report = train(model := perceptron(), torch.optim.SGD(model.parameters(), lr=0.1))
    kept = {use.name: use.saved_bytes for use in report.modules}
    assert (kept["1"], kept["3"], kept["0"]) == (64 * 32 * 4, 64 * 32 * 4, X.nbytes)
    assert all(use.seconds >= 0 for use in report.modules)
    assert report.memory.activations_bytes == sum(kept.values())
    assert sum(each.share for each in report.bottlenecks.bottlenecks) == pytest.approx(1)
    assert report.notes == ()


def test_a_loop_may_start_a_profiler_of_its_own(monkeypatch):
    """Torch allows one; the doctor's makes way."""
    monkeypatch.setattr(loop_watcher, "LOOKS_SHARE", 1e9)
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as doctor:
        for i in range(30):
            if i == 6:  # while operations are recorded
                profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
                profiler.start()
            functional.cross_entropy(model(X), Y).backward()
            optimizer.step()
        profiler.stop()
    assert len(profiler.events()) > 0
    assert doctor.report().steps == 30


def test_a_model_that_returns_its_loss_and_clipping():
    """As nanoGPT does."""

    class Returning(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.LSTM(4, 16, batch_first=True), nn.Linear(16, 4)

        def forward(self, x, y):
            logits = self.head(self.rnn(x.view(64, 2, 4))[0][:, -1])
            return logits, functional.cross_entropy(logits, y)

    torch.manual_seed(0)
    model = Returning()
    optimizer = torch.optim.AdamW(model.parameters())
    with watch(model, optimizer) as doctor:
        for _ in range(12):
            _, loss = model(X, Y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    assert [found.kind for found in doctor.report().gradients] == ["healthy"]


def test_two_optimizers_are_diagnosed_apart():
    """Each by its own parameters; the loop's steps are those of the first to step."""
    models = nn.ModuleList([perceptron(), perceptron()])
    one, two = torch.optim.Adam(models[0].parameters()), torch.optim.SGD(models[1].parameters(), lr=1e-9)
    with watch(models, [one, two]) as doctor:
        for _ in range(15):
            for model, optimizer in zip(models, (one, two), strict=True):
                optimizer.zero_grad()
                functional.cross_entropy(model(X), Y).backward()
                optimizer.step()
    report = doctor.report()
    assert report.steps == 15
    assert [found.kind for found in report.gradients] == ["healthy", "barely moves"]
    assert report.gradients[1].words.startswith("optimizer 2 (SGD)")
    assert "not trained" not in report.kinds


def test_closures_and_accumulated_gradients():
    """L-BFGS computes gradients inside step(); four backward passes for each step are one step."""
    model = perceptron()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)

    def closure():
        optimizer.zero_grad()
        (loss := functional.cross_entropy(model(X), Y)).backward()
        return loss

    with watch(model, optimizer) as doctor:
        for _ in range(5):
            optimizer.step(closure)
    assert [found.kind for found in doctor.report().gradients] == ["healthy"]
    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as doctor:
        for i in range(40):
            (functional.cross_entropy(model(X), Y) / 4).backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    assert doctor.report().steps == 10
    assert [found.kind for found in doctor.report().gradients] == ["healthy"]


def test_names_of_a_compiled_model_are_clean():
    """And a copy that is compiled under another name is told."""
    model = perceptron()
    compiled = torch.compile(model, backend="eager")
    report = train(compiled, torch.optim.SGD(model.parameters(), lr=1e-9))
    assert report.kinds[0] == "barely moves"
    assert "_orig_mod" not in repr(report)
    with watch(model, optimizer := torch.optim.SGD(model.parameters(), lr=0.1)) as doctor:
        for _ in range(5):
            functional.cross_entropy(compiled(X), Y).backward()
            optimizer.step()
    assert "until backward" in doctor.report().times.parts
    assert any("compiled copy" in note for note in doctor.report().notes)


def test_what_fails_in_the_doctor_never_stops_the_loop(monkeypatch):
    """It stands in the notes."""

    def fail(self, *, step_seconds):
        raise ValueError("no luck")

    monkeypatch.setattr(WatchedOptimizer, "look", fail)
    report = train(model := perceptron(), torch.optim.SGD(model.parameters(), lr=0.1))
    assert report.steps == 30
    assert any("no luck" in note for note in report.notes)


def test_a_loop_without_a_step_has_a_report():
    """It says what is missing."""
    with watch(model := perceptron(), torch.optim.SGD(model.parameters())) as doctor:
        pass
    assert doctor.report().kinds == ("no step",)
    with pytest.raises(MonitorError, match="watch"), doctor:
        pass


def test_what_cannot_be_watched_is_refused(tmp_path):
    """Before the loop, in the three parts of an error."""
    model, other = perceptron(), perceptron()
    optimizer = torch.optim.SGD(model.parameters())
    wrong = {
        "but got a list": lambda: watch([model], optimizer),
        "but got a float": lambda: watch(model, 0.1),
        "the list is empty": lambda: watch(model, []),
        "none of its 6": lambda: watch(other, optimizer),
        "loss_fn must": lambda: watch(model, optimizer, torch.tensor(1.0)),
        ".html, .md or .txt": lambda: watch(model, optimizer, write_to=tmp_path / "r.pdf"),
        "a folder that is there": lambda: watch(model, optimizer, write_to=tmp_path / "no" / "r.md"),
    }
    for message, call in wrong.items():
        with pytest.raises(InputError, match=re.escape(message)):
            call()
