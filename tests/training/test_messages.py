"""Bad input: what came, what must hold, what to do; and the model as it was."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import autograd
from course_lib.errors import InputError, TrainingError
from course_lib.training import ArrayLoader, TrainingHistory, accuracy, fit, make_jax_step, train_epoch, validate

X, Y = torch.ones(4, 3), torch.ones(4, 1)
BATCH = (X, Y)


def train(model=None, loader=(BATCH, BATCH), criterion=None, optimizer=None, device="cpu", **options):
    model = nn.Linear(3, 1) if model is None else model
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.1)
    return train_epoch(model, loader, criterion or nn.MSELoss(), optimizer, device, **options)


class Cut(nn.Module):
    """Forgets its graph."""

    def __init__(self, shift=0.0):
        super().__init__()
        self.layer, self.shift = nn.Linear(3, 1), shift

    def forward(self, x):  # noqa: D102
        return self.layer(x).detach() + self.shift


class Penalized(nn.Module):
    """Wraps another loss."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, outputs, targets):  # noqa: D102
        return self.inner(outputs, targets) + 0.01 * outputs.square().mean()


def frozen():
    return nn.Linear(3, 1).requires_grad_(False)


LINE = nn.Linear(3, 1)
MINI = autograd.nn.Linear(3, 1)
SGD = torch.optim.SGD(nn.Linear(3, 1).parameters(), lr=0.1)
CASES = {
    "empty loader": ({"loader": []}, InputError, "must yield at least one batch, but yielded none"),
    "spent generator": ({"loader": iter(())}, InputError, "a generator that has been used up"),
    "vector": ({"criterion": nn.MSELoss(reduction="none")}, InputError, "reduction is 'none'; use reduction='mean'"),
    "unspoken vector": (
        {"criterion": lambda z, y: (z - y) ** 2},
        InputError,
        r"batch 0 .*returned shape \(4, 1\); use",
    ),
    "float": ({"criterion": lambda z, y: (z - y).square().mean().item()}, TrainingError, "returned a float; remove"),
    "class": ({"criterion": nn.MSELoss}, InputError, r"got the class MSELoss; add \(\)"),
    "no function": ({"criterion": 0.5}, InputError, "got a float; use one such as"),
    "no cuda": ({"device": "cuda"}, InputError, "but got 'cuda': .*Pass device='cpu'"),
    "no device": ({"device": "gpu"}, InputError, "but got 'gpu'"),
    "elsewhere": ({"device": "meta"}, InputError, r"parameters are on cpu. Call model.to\('meta'\)"),
    "frozen": ({"model": frozen(), "optimizer": SGD}, InputError, "but all of its 2 are frozen; call requires_grad_"),
    "no parameters": ({"model": nn.ReLU(), "optimizer": SGD}, InputError, "it has none at all"),
    "another's optimizer": ({"optimizer": SGD}, InputError, "but it holds none; make it from this model's"),
    "no optimizer": ({"optimizer": "sgd"}, InputError, "got a str; for optax, use make_jax_step"),
    "no model": ({"model": print, "optimizer": SGD}, InputError, "wrap a function in a Module"),
    "cut": ({"model": Cut()}, TrainingError, "batch 0 .*does not require grad; is the loop inside"),
    "cut, then joined": (
        {"model": Cut(nn.Parameter(torch.zeros(1))), "optimizer": None},
        TrainingError,
        "all their gradients are None",
    ),
    "no pair": ({"loader": [X]}, InputError, r"batch 0 .*pair \(inputs, targets\), but got a Tensor"),
    "three": ({"loader": [(X, X, Y)]}, InputError, "but got a tuple of 3"),
    "single samples": ({"loader": [(X[0], Y[0, 0])]}, InputError, "got a single number; does the loader give single"),
    "labels as text": ({"loader": [(X, "cat")]}, InputError, "but got str"),
    "empty batch": ({"loader": [BATCH, (X[:0], Y[:0])]}, InputError, "batch 1 .*targets are empty"),
    "nothing counts": (
        {
            "model": nn.Linear(3, 2),
            "criterion": nn.CrossEntropyLoss(),
            "loader": [(X, torch.ones(4, dtype=torch.long)), (X, torch.full((4,), -100))],
        },
        TrainingError,
        "batch 1 .*is nan. None of its targets counts",
    ),
    "nothing counts in a sum": (
        {
            "model": nn.Linear(3, 2),
            "criterion": nn.CrossEntropyLoss(reduction="sum"),
            "loader": [(X, torch.full((4,), -100))] * 2,
        },
        TrainingError,
        "train: the loss must be the mean over some targets, but none of them counts; look at ignore_index",
    ),
    "count of nothing": ({"count": lambda y: 0, "accumulate": 2}, TrainingError, "but none of them counts; look at"),
    "count": ({"count": 3}, InputError, "count must be a function of the targets, but got 3; pass count=len"),
    "count of None": ({"count": lambda y: None}, InputError, "must return one number for a batch, but got a NoneType"),
    "count of rows": (
        {"count": lambda y: y},
        InputError,
        r"must return one number for a batch, but got a Tensor of shape \(4, 1\); end it with \.sum\(\)",
    ),
    "count of NaN": (
        {"count": lambda y: math.nan},
        InputError,
        "batch 0 .*the mean loss divides by must be finite and not negative, but it is nan; look at count",
    ),
    "infinite count": ({"count": lambda y: math.inf}, InputError, "batch 0 .*must be finite .*, but it is inf; look"),
    "negative count": ({"count": lambda y: -y.sum()}, InputError, "batch 0 .*not negative, but it is -4; look at"),
    "weights inside": (
        {"criterion": Penalized(nn.CrossEntropyLoss(torch.ones(2)))},
        InputError,
        "must be known, but inside this Penalized a CrossEntropyLoss weights .*; pass count=, a .* or count=len if",
    ),
    "a class left out inside": (
        {"criterion": Penalized(nn.NLLLoss(ignore_index=0))},
        InputError,
        "inside this Penalized a NLLLoss weights or ignores some targets; pass count=",
    ),
    "accumulate": ({"accumulate": 0}, InputError, "accumulate must be a positive integer, but got 0"),
    "threshold": ({"before_step": 1.0}, InputError, "a function of the model, but got 1.0; to clip, pass"),
    "sync_every": ({"sync_every": 0.5}, InputError, "sync_every must be a positive integer, but got 0.5"),
    "reduction": ({"reduction": "none"}, InputError, "its reduction is 'none'"),
    "metric": (
        {"metrics": {"gap": lambda z, y: z - y}},
        InputError,
        r"batch 0 .*'gap' has shape \(4, 1\); end it with",
    ),
    "metric without a name": (
        {"metrics": [accuracy]},
        InputError,
        "metrics must be a dict from names to functions, but",
    ),
    "metric named loss": (
        {"metrics": {"loss": accuracy}},
        InputError,
        "a string other than 'loss', which the criterion",
    ),
    "metric named 1": ({"metrics": {1: accuracy}}, InputError, "must be a string .*, but got 1; choose another"),
    "metric of None": ({"metrics": {"m": lambda z, y: None}}, InputError, "batch 0 .*'m' is a NoneType; end it"),
    "metric of text": ({"metrics": {"m": lambda z, y: "0.5"}}, InputError, "one number .*'m' is a str; end it"),
    "class of models": ({"model": nn.Linear, "optimizer": SGD}, InputError, r"got the class Linear; .* with \(\)"),
    "the engine's criterion": (
        {"criterion": autograd.nn.MSELoss()},
        InputError,
        "the model is from torch and MSELoss from course_lib.autograd; import both from torch",
    ),
    "the engine's function": (
        {"criterion": partial(autograd.mse_loss, reduction="sum")},
        InputError,
        "the model is from torch and mse_loss from course_lib.autograd",
    ),
    "torch's criterion": (
        {"model": MINI, "optimizer": autograd.optim.SGD(MINI.parameters(), lr=0.1)},
        InputError,
        "the model is from course_lib.autograd and MSELoss from torch; import both from course_lib.autograd",
    ),
    "a heir of torch's criterion": (
        {
            "model": MINI,
            "optimizer": autograd.optim.SGD(MINI.parameters(), lr=0.1),
            "criterion": type("Mine", (nn.MSELoss,), {"__module__": "mine"})(),
        },
        InputError,
        "the model is from course_lib.autograd and Mine from torch; import both from course_lib.autograd",
    ),
    "cut in the second batch of a step": (
        {"model": Cut(nn.Parameter(torch.zeros(1))), "optimizer": None, "accumulate": 2},
        TrainingError,
        "batch 0 .*all their gradients are None",
    ),
    "no loader": ({"loader": 4}, InputError, "yield batches .*but got 4; pass a DataLoader"),
    "complex": (
        {"criterion": lambda z, y: (z * 1j - y).mean()},
        InputError,
        "batch 0 .*must be real, .*but it is torch.complex64",
    ),
    "closure": (
        {"model": LINE, "optimizer": torch.optim.LBFGS(LINE.parameters())},
        InputError,
        r"LBFGS asks for the loss several times a step; use another",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_trained_is_refused(name):
    """With its own words, and every module in the mode it was in."""
    options, error, message = CASES[name]
    model = options.get("model")
    if "optimizer" in options and options["optimizer"] is None:
        options = {**options, "optimizer": torch.optim.SGD(model.layer.parameters(), lr=0.1)}
    if isinstance(model, nn.Module):
        model.eval()
    with pytest.raises(error, match=message):
        train(**options)
    assert not isinstance(model, nn.Module) or not any(module.training for module in model.modules())


@pytest.mark.parametrize("name", ["empty loader", "vector", "unspoken vector", "no cuda", "no pair", "empty batch"])
def test_validation_refuses_the_same(name):
    """As far as it applies."""
    options, error, message = CASES[name]
    with pytest.raises(error, match=message):
        validate(
            nn.Linear(3, 1),
            options.get("loader", [BATCH]),
            options.get("criterion", nn.MSELoss()),
            options.get("device", "cpu"),
        )


def spoiled(part, value):
    x, y = X.clone(), Y.clone()
    (x if part == "inputs" else y)[1, 0] = value
    return [BATCH, BATCH, (x, y), BATCH]


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("part", ["inputs", "targets"])
def test_bad_data_are_found_before_they_do_harm(part, value):
    """Epoch, batch and part are named; the model has taken the two steps before, and no more."""
    model, two = nn.Linear(3, 1), nn.Linear(3, 1)
    two.load_state_dict(model.state_dict())
    train(two)
    with pytest.raises(TrainingError, match=rf"train, epoch 7, batch 2 .*(nan|inf)\. Its {part} hold NaN"):
        train(model, spoiled(part, value), epoch=7)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), two.parameters(), strict=True))
    with pytest.raises(TrainingError, match=f"validate, batch 2 .*Its {part} hold NaN"):
        validate(model, spoiled(part, value), nn.MSELoss(), "cpu")


class Both(nn.Module):
    """Takes two inputs."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, a, b):  # noqa: D102
        return self.layer(a + b.real)


@pytest.mark.parametrize("wrap", [lambda a, b: (a, b), lambda a, b: {"a": a, "b": b}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_bad_data_are_found_in_each_of_several_inputs(wrap, dtype):
    """The second holds NaN, so the inputs are not all finite, whatever the first is like."""
    inputs = wrap(X, torch.full((4, 3), math.nan).to(dtype))
    with pytest.raises(TrainingError, match=r"batch 1 .*it is nan\. Its inputs hold NaN"):
        train(Both(), [(wrap(X, X), Y), (inputs, Y)])


def test_bad_data_are_found_in_packed_sequences():
    """Which are one to be moved, and several tensors to be looked at."""
    packed = nn.utils.rnn.pack_sequence([torch.full((3, 2), math.nan), torch.ones(2, 2)])
    with pytest.raises(TrainingError, match="Its inputs hold NaN"):
        validate(nn.GRU(2, 1), [(packed, torch.ones(2, 1))], lambda z, y: z[1].mean() + y.mean(), "cpu")


@pytest.mark.parametrize("library", [torch, autograd])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_running_averages_are_those_before_the_bad_batch(library, accumulate):
    """One NaN in them would stay for ever; the two good batches before it are in."""
    make = library.nn.Sequential, library.nn.Linear, library.nn.BatchNorm1d
    library.manual_seed(0)
    model = make[0](make[1](3, 1), make[2](1))
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    good = (rows, rows[:, :1])
    seen = make[2](1)
    bad = rows.copy()
    bad[1, 0] = np.nan
    optimizer = library.optim.SGD(model.parameters(), lr=0.0)
    for _ in range(2):
        seen(model[0](library.tensor(rows)))
    with pytest.raises(TrainingError, match=r"batch 2 .*Its inputs hold NaN"):
        train_epoch(model, [good, good, (bad, good[1])], library.nn.MSELoss(), optimizer, "cpu", accumulate=accumulate)
    assert int(model[1].num_batches_tracked) == 2
    assert np.array_equal(model[1].running_mean.numpy(), seen.running_mean.numpy())
    assert np.array_equal(model[1].running_var.numpy(), seen.running_var.numpy())


def test_bad_data_that_are_read_late_are_named_all_the_same():
    """As on a GPU: the batch is known, and what it has done."""
    with pytest.raises(TrainingError, match=r"batch 2 .*The parameter 'weight' holds NaN .*sync_every=1"):
        train(loader=spoiled("inputs", math.nan), sync_every=1000)


def test_a_run_that_diverges_says_so():
    """The data are finite, the parameters too large."""
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e18)
    with pytest.raises(TrainingError, match=r"epoch \d, batch \d .*(forward pass or|The parameter)"):
        fit(model, [BATCH] * 3, nn.MSELoss(), optimizer, "cpu", epochs=3, progress=False)


@pytest.mark.parametrize("message", ["course_lib.autograd computes on the CPU only, but got device='cuda'"])
def test_the_small_engine_has_one_device(message):
    """It says so."""
    model = autograd.nn.Linear(3, 1)
    with pytest.raises(InputError, match=message):
        train_epoch(model, [BATCH], autograd.nn.MSELoss(), autograd.optim.SGD(model.parameters()), "cuda")


def test_the_small_engine_finds_bad_data_too():
    """The same words, and the same mode."""
    model = autograd.nn.Linear(3, 1).eval()
    optimizer = autograd.optim.SGD(model.parameters())
    with pytest.raises(TrainingError, match=r"batch 2 .*Its targets hold NaN"):
        train_epoch(model, spoiled("targets", math.nan), autograd.nn.MSELoss(), optimizer, "cpu")
    assert not model.training


def fit_line(train_loader=(BATCH,), **options):
    def refuse(*_):
        raise AssertionError("it has begun")

    fit(LINE, train_loader, refuse, own(), "cpu", epochs=2, **options)


def own():
    return torch.optim.SGD(LINE.parameters(), lr=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fit(nn.Linear(3, 1), [BATCH], nn.MSELoss(), SGD, "cpu", epochs=0), "epochs must be a positive"),
        (lambda: ArrayLoader(batch_size=2), "got shapes none"),
        (lambda: ArrayLoader(np.ones(3), np.ones(4), batch_size=2), r"got shapes \(3,\), \(4,\)"),
        (lambda: ArrayLoader(np.ones(3), batch_size=0), "batch_size must be a positive integer, but got 0"),
        (lambda: ArrayLoader(np.ones(3), batch_size=True), "batch_size must be a positive integer, but got True"),
        (lambda: ArrayLoader(np.ones(3), batch_size=2, seed=-1), "seed must be an integer of 0 or more, but got -1"),
        (lambda: ArrayLoader([[1.0], [2.0, 3.0]], batch_size=2), r"place 0, a list \(setting an array .*pad rows"),
        (
            lambda: ArrayLoader(np.ones(3), X.clone().requires_grad_(), batch_size=2),
            r"at place 1, a Tensor .*Detach tensors",
        ),
        (lambda: ArrayLoader(X.bfloat16(), batch_size=2), r"at place 0, a Tensor .*dtype that NumPy has"),
        (lambda: fit_line(train_loader=None), "must yield batches when a loop goes over it, but got None"),
        (lambda: fit_line(train_loader=5), "the loader must yield batches .* but got 5"),
        (lambda: fit_line(val_loader=5), "the loader must yield batches .* but got 5"),
        (lambda: fit_line(scheduler=torch.optim.lr_scheduler.StepLR), r"a step\(\) .*, but got <class .*StepLR'>"),
        (
            lambda: fit_line(scheduler=torch.optim.lr_scheduler.StepLR(SGD, 1)),
            "the rate of this optimizer, but this StepLR was made from another; make it anew",
        ),
        (
            lambda: fit_line(
                [BATCH] * 5,
                accumulate=2,
                scheduler=torch.optim.lr_scheduler.OneCycleLR(own(), 0.1, epochs=2, steps_per_epoch=3),
            ),
            r"planned in epochs, .*this OneCycleLR is planned for 6 steps, as many as 2 epochs have; plan it for 2, or",
        ),
        (
            lambda: fit_line([BATCH] * 2, scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(own(), T_max=4)),
            r"this CosineAnnealingLR is planned for 4 steps, .*; plan it for 2, .*register_step_post_hook",
        ),
        (
            lambda: fit(LINE, [BATCH], nn.MSELoss(), SGD, "cpu", epochs=1, scheduler=SGD),
            r"the scheduler must have a step\(\) that changes the rate, but .*SGD",
        ),
        (lambda: TrainingHistory().best_epoch, "must have an epoch to name the best one, but it is empty"),
        (
            lambda: fit(nn.Linear(3, 1), [BATCH], nn.MSELoss(), SGD, "cpu", epochs=1, scheduler=0.5),
            r"must have a step\(\) .*, but got 0.5",
        ),
        (lambda: accuracy(np.ones((3, 1)), np.ones((3, 2))), r"shapes are \(3, 1\) and \(3, 2\). Squeeze"),
        (lambda: accuracy(np.ones((3, 1)), np.ones(3)), r"shapes are \(3, 1\) and \(3,\). Squeeze"),
        (lambda: accuracy(torch.ones(3, 1, 2), torch.ones(3, 2)), r"shapes are \(3, 1, 2\) and \(3, 2\). Squeeze"),
        (lambda: accuracy((X, X), Y), r"the outputs are a tuple. Pick the one to measure: .*z\[\"logits\"\]"),
        (lambda: accuracy(X, [1, 0, 1, 1]), "the targets are a list. Pick"),
        (
            lambda: make_jax_step(lambda w: w, torch.optim.SGD),
            "must be an optax.GradientTransformation, but got a type",
        ),
    ],
)
def test_other_arguments(make, message):
    """Each its own message."""
    with pytest.raises(InputError, match=message):
        make()


def test_bad_data_of_the_batch_that_is_at_hand_are_named_among_several_that_are_read():
    """It is the last of the three that are read together."""
    bad = X.clone()
    bad[1, 0] = math.nan
    with pytest.raises(TrainingError, match=r"batch 2 .*Its inputs hold NaN"):
        train(loader=[BATCH, BATCH, (bad, Y), BATCH], sync_every=3)


def test_an_optimizer_inside_of_backward_is_named_where_no_gradient_is_left():
    """And not the loss, which depends on the parameters."""
    model = nn.Linear(3, 1)
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    with pytest.raises(TrainingError, match=r"gradients are None: Hooks run"):
        train_epoch(model, [(X, Y)], nn.MSELoss(), torch.optim.SGD(model.parameters()), "cpu")
