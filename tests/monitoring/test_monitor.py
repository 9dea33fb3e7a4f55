"""What the monitor keeps, draws and refuses."""

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import autograd
from course_lib.clipping import clip_by_global_norm
from course_lib.errors import InputError, MonitorError, NonFiniteError
from course_lib.monitoring import GradientMonitor, compute_grad_norm, log_gradient_stats
from tests.monitoring.zoo import backward, fit, mlp

UPDATES = [{"update_every": value} for value in (-1, 0, False, "", 2.5)]
COLUMNS = ["step", "parameter", "norm", "mean", "std", "max", "nonfinite", "update_ratio", "weight_norm"]


def test_the_history_is_a_row_for_each_step_and_parameter():
    """In the columns that are promised."""
    frame = fit(mlp(1), steps=4).history
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 4 * 4
    assert frame.step.tolist() == [1] * 4 + [2] * 4 + [3] * 4 + [4] * 4
    assert frame.parameter.tolist()[:4] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert not frame.norm.isna().any()


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("engine", ["torch", "ours"])
def test_the_update_ratio_is_how_far_the_last_step_moved(engine, large):
    """The norm of the change over the norm before, of the first ten steps, and of every tenth after them."""
    if engine == "ours":
        model = autograd.nn.Linear(3, 4)
        optimizer = autograd.optim.SGD(model.parameters(), lr=0.1)
        run, arrays = (
            lambda: (model(autograd.randn(5, 3)) ** 2).mean(),
            lambda: [p.detach().numpy() for p in model.parameters()],
        )
    else:
        model = nn.Linear(300 if large else 3, 300 if large else 4)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        run, arrays = (
            lambda: model(torch.randn(5, model.in_features)).square().mean(),
            lambda: [p.detach().numpy() for p in model.parameters()],
        )
    before, expected = None, {}
    with GradientMonitor(model) as monitor:
        for step in range(1, 33):
            now = [np.array(a, dtype=float) for a in arrays()]
            optimizer.zero_grad()
            run().backward()
            monitor.step()
            if before is not None and (step <= 11 or step % 10 == 1):
                pairs = zip(now, before, strict=True)
                expected[step] = [np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs]
            optimizer.step()
            before = now
    frame = monitor.history.pivot(index="step", columns="parameter", values="update_ratio")[["weight", "bias"]]
    known = frame.dropna()
    assert known.index.tolist() == sorted(expected) == [*range(2, 12), 21, 31]
    np.testing.assert_allclose(known.to_numpy(), [expected[i] for i in known.index], rtol=1e-4)
    kept = monitor.history.query("parameter == 'weight'").set_index("step").weight_norm.dropna()
    assert kept.index.tolist() == [*range(1, 12), 21, 31]


def test_an_unfinite_step_tells_whether_the_parameters_were_but_no_update():
    """Between two measured updates, the change since the last of them is not that of one step."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        for step in range(1, 19):
            backward(model, float("inf") if step in (15, 17) else 1.0)
            monitor.step()
            with torch.no_grad():
                model[0].weight.mul_(1.1)
    frame = monitor.history[monitor.history.parameter == "0.weight"].set_index("step")
    assert frame.weight_norm.notna()[15]
    assert frame.update_ratio.notna().sum() == 10
    assert frame.nonfinite[frame.nonfinite].index.tolist() == [15, 17]


def test_every_measures_one_step_in_so_many():
    """The first of each; the change of the parameters is still that of one step."""
    model, norms = mlp(1), [0.0]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with GradientMonitor(model, every=4) as monitor:
        for _ in range(10):
            optimizer.zero_grad()
            model[0].weight.sum().backward()
            monitor.step()
            norms.append(model[0].weight.norm().item())
            optimizer.step()
    frame = monitor.history[monitor.history.parameter == "0.weight"]
    assert frame.step.tolist() == [1, 5, 9]
    moved = 0.1 * 24  # each of 24 by 24 elements by a tenth
    assert frame.update_ratio.tolist()[1:] == pytest.approx([moved / norms[4], moved / norms[8]], rel=1e-4)


def test_memory_is_bounded():
    """Only the latest steps are kept."""
    monitor = fit(mlp(1), steps=30, keep=7)
    assert sorted(set(monitor.history.step)) == list(range(24, 31))
    assert monitor.diagnose().healthy


def test_the_gradients_are_those_at_the_call():
    """What is clipped or zeroed afterwards does not change what was measured."""
    model = nn.Linear(2, 1, bias=False)
    model(torch.tensor([[3.0, 4.0]])).sum().backward()
    with GradientMonitor(model) as monitor:
        monitor.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model.zero_grad(set_to_none=False)
    assert monitor.history.norm.tolist() == [5.0]


def test_a_parameter_that_is_added_or_frozen_later():
    """The monitor watches those that were trainable when it was made; one that loses its gradient becomes NaN."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        backward(model)
        monitor.step()
        model.append(nn.Linear(4, 4))
        model[0].weight.requires_grad_(False)
        model[0].weight.grad = None
        backward(model)
        with pytest.warns(UserWarning, match=r"^3\.weight .*not watched, nor are 1 more"):
            monitor.step()
    frame = monitor.history[monitor.history.step == 2].set_index("parameter")
    assert list(frame.index) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert np.isnan(frame.norm["0.weight"])
    assert frame.norm["2.weight"] > 0


@pytest.mark.parametrize("engine", [nn, autograd.nn], ids=["torch", "autograd"])
@pytest.mark.parametrize("unfrozen", [2, 20])
def test_of_a_layer_that_is_unfrozen_later_it_is_said_once_that_it_is_not_watched(engine, unfrozen):
    """At once in the first ten steps, then at the hundredth; the warning points at the call of step()."""
    model = engine.Sequential(engine.Linear(4, 4), engine.Linear(4, 1))
    made = torch.randn if engine is nn else autograd.randn
    model[0].weight.requires_grad_(False)
    with GradientMonitor(model, update_every=None) as monitor, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in range(202):
            if step == unfrozen:
                model[0].weight.requires_grad_(True)
            model(made(2, 4)).sum().backward()
            monitor.step()
            assert len(caught) == (step >= (unfrozen if unfrozen < 10 else 100))
    assert str(caught[0].message).startswith("0.weight requires grad now and is not watched: a monitor watches")
    assert str(caught[0].message).endswith("Make a new GradientMonitor(model).")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("engine", [nn, autograd.nn], ids=["torch", "autograd"])
def test_a_layer_that_is_replaced_is_not_watched_in_silence(engine):
    """The gradient of the layer that is gone would be reported for ever, unchanged."""
    model = engine.Sequential(engine.Linear(4, 4), engine.Linear(4, 1))
    made = torch.randn if engine is nn else autograd.randn
    with GradientMonitor(model, update_every=None) as monitor:
        model(made(2, 4)).sum().backward()
        monitor.step()
        setattr(model, "1", engine.Linear(4, 1))
        model(made(2, 4)).sum().backward()
        with pytest.raises(MonitorError, match=r"1\.weight is another one now, .*and 1 more"):
            monitor.step()
    assert len(monitor.history) == 4


def test_a_model_that_changes_its_precision_goes_on():
    """The next step measures it where it is now."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        backward(model)
        monitor.step()
        model.double()
        model(torch.randn(8, 24, dtype=torch.float64)).square().mean().backward()
        monitor.step()
    assert monitor.history.norm.notna().all()


def test_a_model_that_changes_its_precision_has_no_dead_units_for_that():
    """Of twenty units, each batch reaches two; the first batch in double precision is the only one of its reader."""
    model = nn.Sequential(nn.Linear(4, 20), nn.ReLU(), nn.Linear(20, 1))
    with GradientMonitor(model) as monitor:
        for step in range(28):
            if step == 17:
                model.double()
            for p in model.parameters():
                p.grad = torch.randn_like(p)
            model[0].bias.grad[torch.arange(20) % 10 != step % 10] = 0
            monitor.step()
            assert "dead" not in monitor.diagnose().kinds


def test_a_parameter_that_changes_its_shape_is_named():
    """And not left to torch, which would say two numbers."""
    model = nn.Linear(8, 4)
    with GradientMonitor(model) as monitor:
        for _ in range(15):
            model.zero_grad()
            model(torch.randn(2, 8)).sum().backward()
            monitor.step()
        model.weight.grad, model.weight.data = None, torch.randn(6, 8)
        model.bias.grad, model.bias.data = None, torch.randn(6)
        model(torch.randn(2, 8)).sum().backward()
        said = r"but weight had shape \(4, 8\) when it was first watched and has \(6, 8\) now.*new GradientMonitor"
        with pytest.raises(MonitorError, match=said):
            monitor.step()


@pytest.mark.parametrize("engine", [nn, autograd.nn], ids=["torch", "autograd"])
def test_a_closed_monitor_keeps_what_it_measured_and_not_the_model(engine):
    """The model's memory is free as soon as nobody else holds it; every question still has its answer."""
    model = engine.Sequential(engine.Linear(4, 4), engine.Linear(4, 1))
    made = torch.randn if engine is nn else autograd.randn
    with GradientMonitor(model) as monitor:
        for _ in range(12):
            model(made(2, 4)).sum().backward()
            monitor.step()
        open_answers = [repr(monitor).replace("watching", "closed"), monitor.scalars(), str(monitor.diagnose())]
    gone = [weakref.ref(model), *(weakref.ref(p) for p in model.parameters())]
    del model
    gc.collect()
    assert [reference() for reference in gone] == [None] * 5
    assert [repr(monitor), monitor.scalars(), str(monitor.diagnose())] == open_answers
    assert (len(monitor.history), monitor.weight_rms()[1]) == (48, ["0.weight", "1.weight"])
    with pytest.raises(MonitorError, match="this monitor was closed"):
        monitor.step()
    monitor.close()


@pytest.mark.parametrize("taken", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_monitor_is_not_copied(taken):
    """It is tied to its model; the message says what to keep."""
    with pytest.raises(MonitorError, match=r"cannot be copied or pickled.*Keep monitor\.history"):
        taken(fit(mlp(1), steps=2))


@pytest.mark.parametrize("options", [{"every": 0}, {"every": 1.5}, {"every": True}, {"keep": 0}, *UPDATES])
def test_counts_that_are_none_are_refused(options):
    """The message names the option."""
    ((name, value),) = options.items()
    with pytest.raises(InputError, match=rf"{name} must be .*at least 1, but it is {value!r}"):
        GradientMonitor(mlp(1), **options)


def test_counts_are_whole_numbers_of_any_kind():
    """As NumPy's, of which a configuration or a sweep may be made."""
    model, counts = mlp(1), {name: np.int64(2) for name in ("every", "keep", "update_every")}
    with GradientMonitor(model, **counts) as monitor:
        for _ in range(9):
            backward(model)
            monitor.step()
    assert sorted(set(monitor.history.step)) == [7, 9]


def test_step_before_backward_and_questions_before_step_are_refused():
    """Each says what to call first; a refused step leaves the monitor usable."""
    model = mlp(1)
    with GradientMonitor(model) as monitor:
        with pytest.raises(MonitorError, match=r"the \.grad of all 4 parameters is None"):
            monitor.step()
        for ask in (monitor.diagnose, monitor.heat_map, monitor.norm_curves):
            with pytest.raises(MonitorError, match=r"nothing was measured yet\. Call step\(\)"):
                ask()
        backward(model)
        monitor.step()
        assert monitor.history.step.tolist() == [1] * 4


def test_parameters_that_exchange_their_shapes_are_named():
    """Which no call of torch would notice, since together they fill the same rows."""
    model = nn.ParameterList([torch.zeros(4, 512), torch.zeros(6, 512)])
    with GradientMonitor(model) as monitor:
        for shapes in ([(4, 512), (6, 512)], [(6, 512), (4, 512)]):
            for p, shape in zip(model, shapes, strict=True):
                p.grad, p.data = None, torch.randn(shape)
                p.grad = torch.randn(shape)
            if shapes[0] == (4, 512):
                monitor.step()
        with pytest.raises(MonitorError, match=r"but 0 had shape \(4, 512\) .* and has \(6, 512\) now"):
            monitor.step()


def test_large_weights_are_finite_and_their_norm_is_known():
    """Where the squares of single precision overflow; on a device it is not known then how far they moved."""
    for size in (3, 300):
        model = nn.Linear(size, size)
        nn.init.constant_(model.weight, 1e20)
        with GradientMonitor(model) as monitor:
            for step in range(3):
                for p in model.parameters():
                    p.grad = torch.full_like(p, float("nan") if step == 2 else 1.0)
                if step == 2:
                    nn.init.ones_(model.weight)
                monitor.step()
        rows = monitor.history.query("parameter == 'weight'")
        assert rows.weight_norm.tolist() == pytest.approx([size * 1e20, size * 1e20, size])
        ratios = [np.nan, 0, 1]
        assert rows.update_ratio.tolist() == pytest.approx(ratios, nan_ok=True)
        assert "The parameters were still finite" in str(monitor.diagnose())


def test_of_a_weight_that_became_infinite_it_is_not_known_how_far_it_moved():
    """The norm says what became of it; the ratio is no number, then and at the next step."""
    model = nn.Linear(2, 1, bias=False)
    with GradientMonitor(model) as monitor:
        for step in range(4):
            if step == 2:
                nn.init.constant_(model.weight, float("inf"))
            model.weight.grad = torch.ones(1, 2)
            monitor.step()
    assert monitor.history.update_ratio.tolist() == pytest.approx([np.nan, 0, np.nan, np.nan], nan_ok=True)
    assert monitor.history.weight_norm.tolist()[2:] == [np.inf, np.inf]


@pytest.mark.parametrize("place", [0, 1])
def test_parameters_that_change_their_precision_later_are_read_in_it(place):
    """All of them, or one that is not the first: in double precision, what single precision cannot hold."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    with GradientMonitor(model, update_every=None) as monitor:
        for step in range(4):
            if step == 2:
                (model[1] if place else model).double()
            for p in model.parameters():
                p.grad = torch.full_like(p, 1e100 if p.dtype == torch.float64 else 1.0)
            monitor.step()
    rows = monitor.history.query("parameter == '1.bias'")
    assert rows.norm.tolist() == pytest.approx([2**0.5] * 2 + [2**0.5 * 1e100] * 2)
    assert not rows.nonfinite.any()


@pytest.mark.parametrize("step_of_change", [3, 50])
def test_a_part_that_changes_its_precision_at_any_step_is_read_in_it_at_once(step_of_change):
    """A head in double precision whose gradients single precision would call infinite; and no unit is dead for that."""
    model = nn.Sequential(nn.Linear(2, 20), nn.Linear(20, 2))
    with GradientMonitor(model) as monitor:
        for step in range(step_of_change + 30):
            if step == step_of_change:
                model[1].double()
            for p in model.parameters():
                p.grad = torch.full_like(p, 1e100 if p.dtype == torch.float64 else 2.0)
                p.grad[torch.arange(len(p)) % 5 != (step if step < 20 else step // 5) % 5] = 0
            monitor.step()
            norms = [(p.grad.abs().double() / 1e50).norm().item() * 1e50 for p in model.parameters()]
            assert monitor.history.norm.tolist()[-4:] == pytest.approx(norms, rel=1e-6)
            assert not {"dead", "non-finite"} & {*monitor.diagnose().kinds}


def test_what_was_measured_last_goes_to_a_logger():
    """By measure and parameter, in plain numbers; what has no number is left out, and what is not finite is not."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1, bias=False))
    with GradientMonitor(model) as monitor:
        with pytest.raises(MonitorError, match="nothing was measured yet"):
            monitor.scalars()
        model(torch.ones(3, 2)).sum().backward()
        model[0].bias.grad = None
        monitor.step()
        found = monitor.scalars()
        norms = [p.grad.norm().item() for p in (model[0].weight, model[1].weight)]
        assert {name for name in found if name.startswith("gradient_norm/")} == {
            "gradient_norm/total",
            "gradient_norm/0.weight",
            "gradient_norm/1.weight",
        }
        assert found["gradient_norm/total"] == pytest.approx(np.hypot(*norms), rel=1e-6)
        assert found["gradient_max/1.weight"] == pytest.approx(model[1].weight.grad.abs().max().item(), rel=1e-6)
        assert found["gradient_nonfinite/total"] == 0
        assert not any(name.startswith("update_ratio") for name in found)
        with torch.no_grad():
            model[1].weight.mul_(1.5)
        model[0].weight.grad.fill_(torch.nan)
        monitor.step()
        found = monitor.scalars()
    assert {type(value) for value in found.values()} == {float}
    assert np.isnan(found["gradient_norm/0.weight"])
    assert np.isnan(found["gradient_norm/total"])
    assert found["gradient_nonfinite/total"] == 1
    assert found["update_ratio/1.weight"] == pytest.approx(0.5, rel=1e-6)


def test_parameters_that_were_all_replaced_are_not_blamed_on_the_order_of_calls():
    """As by ``load_state_dict(assign=True)``: the gradients are there, of others."""
    model = nn.Linear(4, 2)
    with GradientMonitor(model) as monitor:
        model.load_state_dict({name: p.clone() for name, p in model.state_dict().items()}, assign=True)
        model(torch.randn(3, 4)).sum().backward()
        with pytest.raises(MonitorError, match=r"another one now, .*load_state_dict\(assign=True\)"):
            monitor.step()


def test_an_optimizer_inside_of_backward_is_named_where_no_gradient_is_left():
    """Its hooks, and not those of the monitor."""
    model = nn.Linear(4, 2)
    with GradientMonitor(model) as monitor:
        model(torch.randn(3, 4)).sum().backward()
        monitor.step()
        model.zero_grad()
        with pytest.raises(MonitorError, match=r"is None\. Call this after loss\.backward\(\)"):
            monitor.step()
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
        model(torch.randn(3, 4)).sum().backward()
        with pytest.raises(MonitorError, match=r"is None\. Hooks run on parameters inside backward\(\)"):
            monitor.step()


def test_parameters_without_numbers_are_refused():
    """With what to do, by all that look at gradients."""
    model = nn.Linear(4, 2, device="meta")
    model(torch.ones(3, 4, device="meta")).sum().backward()
    for look in (GradientMonitor, log_gradient_stats, compute_grad_norm):
        with pytest.raises(InputError, match=r"weight is on the meta device.*Move the model"):
            look(model)


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_the_total_norm_is_in_range_where_its_square_is_not(size):
    """In double precision: the number for a logger, and that of the curves."""
    model = nn.Linear(3, 1).double()
    with GradientMonitor(model) as monitor:
        for p in model.parameters():
            p.grad = torch.full_like(p, size)
        monitor.step()
    assert monitor.scalars()["gradient_norm/total"] == pytest.approx(2 * size, rel=1e-12, abs=0)


def test_names_are_those_of_the_model_that_was_compiled():
    """torch.compile wraps a model, and puts _orig_mod. before each name."""
    layer = nn.Linear(2, 1)
    compiled = torch.compile(nn.Sequential(layer, torch.compile(nn.Linear(1, 1), backend="eager")), backend="eager")
    compiled(torch.ones(3, 2)).sum().backward()
    with GradientMonitor(compiled) as monitor:
        monitor.step()
    assert list(monitor.history.parameter) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    layer.weight.grad.fill_(torch.nan)
    with pytest.raises(NonFiniteError, match=r"that of 0\.weight"):
        clip_by_global_norm(compiled, 1.0)
