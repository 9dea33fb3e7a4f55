"""Epochs against loops and formulas written out by hand."""

import copy
import gc
import weakref
from collections import UserDict
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it
from torch.utils.data import DataLoader, TensorDataset

from course_lib import autograd
from course_lib.clipping import clip_by_global_norm
from course_lib.errors import InputError, TrainingError
from course_lib.training import ArrayLoader, accuracy, train_epoch, validate
from course_lib.training.framework import AutogradFramework, TorchFramework


def sgd(model, lr=0.1, **options):
    return torch.optim.SGD(model.parameters(), lr=lr, **options)


def parameters(model):
    return [p.detach().clone() for p in model.parameters()]


def same(left, right):
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


def test_an_epoch_is_the_loop_people_write(problem):
    """Bit for bit the parameters of the plain loop, with momentum, dropout and a smaller last batch."""
    model, loader, _, _ = problem(layers=(nn.Dropout(0.3),))
    plain, criterion = copy.deepcopy(model), nn.CrossEntropyLoss()
    torch.manual_seed(1)
    train_epoch(model, loader, criterion, sgd(model, momentum=0.9), "cpu")
    optimizer = sgd(plain, momentum=0.9)
    torch.manual_seed(1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(plain(x), y).backward()
        optimizer.step()
    assert same(parameters(model), parameters(plain))


def test_the_training_loss_is_the_mean_of_the_losses_on_the_way(problem):
    """Each batch at the parameters before its step, weighted by its samples."""
    model, loader, _, _ = problem()
    plain, criterion = copy.deepcopy(model), nn.CrossEntropyLoss()
    came = train_epoch(model, loader, criterion, sgd(model), "cpu")
    optimizer, total = sgd(plain), 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(plain(x), y)
        total += loss.item() * len(x)
        loss.backward()
        optimizer.step()
    assert came == pytest.approx(total / 10, rel=1e-14)
    assert (came.samples, came.batches) == (10, 3)


CRITERIA = {
    "mean": (nn.CrossEntropyLoss(), {}),
    "sum": (nn.CrossEntropyLoss(reduction="sum"), {}),
    "a function": (F.cross_entropy, {}),
    "a function that ignores": (F.cross_entropy, {}),
    "a bound function that ignores": (partial(F.cross_entropy, weight=torch.arange(1.0, 5.0).double()), {}),
    "weights that only multiply": (partial(F.multi_margin_loss, weight=torch.arange(1.0, 5.0).double()), {}),
    "a bound sum": (partial(F.cross_entropy, reduction="sum"), {}),
    "a sum that says nothing": (lambda z, y: F.cross_entropy(z, y, reduction="sum"), {"reduction": "sum"}),
    "weights": (nn.CrossEntropyLoss(weight=torch.tensor([0.1, 1.0, 2.0, 5.0], dtype=torch.float64)), {}),
    "weights and no class to ignore": (
        partial(
            lambda z, y, weight, ignore_index: F.cross_entropy(z, y, weight),
            weight=torch.arange(1.0, 5.0).double(),
            ignore_index=None,
        ),
        {},
    ),
    "bound weights": (partial(F.cross_entropy, weight=torch.tensor([1.0, 9.0, 2.0, 5.0], dtype=torch.float64)), {}),
    "ignored": (nn.CrossEntropyLoss(ignore_index=1), {}),
    "ignored and counted": (
        lambda z, y: F.cross_entropy(z, y, ignore_index=2),
        {"count": lambda y: (y != 2).sum()},
    ),
    "weights, ignored, smoothed": (
        nn.CrossEntropyLoss(
            torch.tensor([0.1, 1.0, 2.0, 5.0], dtype=torch.float64), ignore_index=0, label_smoothing=0.2
        ),
        {},
    ),
}


# A batch in which every sample is ignored has no mean, so those that ignore some get larger ones.
@pytest.mark.parametrize(
    ("name", "batch_size"),
    [(name, size) for name in CRITERIA for size in (1, 3, 4, 10) if size > 3 or "ignore" not in name],
)
def test_the_mean_is_that_of_the_whole_set_as_one_batch(problem, name, batch_size):
    """However it is cut, and however the criterion reduces; a sum is divided by what it adds up."""
    criterion, options = CRITERIA[name]
    model, loader, x, y = problem(n=40, batch_size=batch_size)
    if "that ignores" in name:
        y[::3] = -100  # what torch ignores by itself; the loader sees the same tensor
    whole = criterion(model(x), y).item() / (40 if "sum" in name else 1)
    assert validate(model, loader, criterion, "cpu", **options) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("accumulate", [2, 3, 100])
def test_accumulated_steps_are_those_of_the_large_batches(problem, name, accumulate):
    """Batches of 7, 7, 7, 7, 2: the last group is smaller, and so is its last member."""
    criterion, options = CRITERIA[name]
    model, loader, _, y = problem(n=30, batch_size=7)
    if "that ignores" in name:
        y[::3] = -100
    large, rate = copy.deepcopy(model), 0.01
    loss = train_epoch(model, loader, criterion, sgd(model, rate), "cpu", accumulate=accumulate, **options)
    joined = DataLoader(loader.dataset, batch_size=7 * accumulate)
    one = train_epoch(large, joined, criterion, sgd(large, rate), "cpu", **options)
    assert loss == pytest.approx(one, rel=1e-12)
    for came, right in zip(parameters(model), parameters(large), strict=True):
        assert torch.allclose(came, right, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("accumulate", [1, 4])
@pytest.mark.parametrize(
    "options",
    [{}, {"reduction": "sum"}, {"ignore_index": 1}, {"weight": [0.1, 1.0, 2.0, 5.0]}],
    ids=lambda options: "-".join(options) or "defaults",
)
def test_the_small_engines_criterion_is_understood_as_torchs(problem, options, accumulate):
    """The same epoch, with targets of which some are ignored in any case."""
    model, loader, _, y = problem(n=30, batch_size=7)
    y[::3] = options.get("ignore_index", -100)
    mini = autograd.nn.Sequential(autograd.nn.Linear(3, 5), autograd.nn.Tanh(), autograd.nn.Linear(5, 4))
    for ours, theirs in zip(mini.parameters(), model.parameters(), strict=True):
        ours.data = autograd.tensor(theirs.detach().numpy().copy())
    came = []
    for library, net in ((torch, model), (autograd, mini)):
        weight = {"weight": library.tensor(options["weight"], dtype=library.float64)} if "weight" in options else {}
        criterion = library.nn.CrossEntropyLoss(**{**options, **weight})
        optimizer = library.optim.SGD(net.parameters(), lr=0.01)
        came.append(train_epoch(net, loader, criterion, optimizer, "cpu", accumulate=accumulate))
        came.append(validate(net, loader, criterion, "cpu"))
    assert came[2:] == pytest.approx(came[:2], rel=1e-12)


def test_a_divergence_by_the_batch_is_a_mean():
    """Of samples, as torch calls it."""
    torch.manual_seed(0)
    logs, y = torch.randn(10, 3).log_softmax(1), torch.randn(10, 3).softmax(1)
    criterion = nn.KLDivLoss(reduction="batchmean")
    whole = criterion(logs, y).item()
    batches = [(logs[:7], y[:7]), (logs[7:], y[7:])]
    assert validate(nn.Identity(), batches, criterion, "cpu") == pytest.approx(whole, rel=1e-6)


def test_probabilities_count_as_samples_whatever_the_weights_of_the_classes():
    """torch divides by the number of rows there, also where the first class has no weight."""
    torch.manual_seed(0)
    z, y = torch.randn(10, 3), torch.randn(10, 3).softmax(1)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([0.0, 1.0, 5.0]))
    whole = criterion(z, y).item()
    batches = [(z[:7], y[:7]), (z[7:], y[7:])]
    assert validate(nn.Identity(), batches, criterion, "cpu") == pytest.approx(whole, rel=1e-6)


class Numbered:
    """A loader that is asked for one batch after the other."""

    def __init__(self, *batches):
        self.batches = batches

    def __getitem__(self, i):
        return self.batches[i]


def test_a_loader_may_number_its_batches():
    """A loop asks such a one for 0, 1, 2, until there are no more."""
    model, x, y = nn.Linear(2, 1), torch.ones(4, 2), torch.zeros(4, 1)
    assert validate(model, Numbered((x, y), (x, y)), nn.MSELoss(), "cpu").batches == 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("library", [torch, autograd])
def test_classes_in_a_byte_all_count(library, weighted):
    """There, -100 would be class 156, and an index a mask."""
    z, y = np.random.default_rng(0).normal(size=(5, 200)), np.array([156, 1, 156, 199, 0])
    weight = library.tensor(np.linspace(1.0, 3.0, 200)) if weighted else None
    criterion, model = library.nn.CrossEntropyLoss(weight=weight), library.nn.Flatten()
    batches = [(z[rows], y[rows].astype(np.uint8)) for rows in (slice(2), slice(2, None))]
    whole = float(criterion(library.tensor(z), library.tensor(y)))
    assert validate(model, batches, criterion, "cpu") == pytest.approx(whole, rel=1e-12)


class Boxes(nn.Module):
    """Takes several images as several arguments."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 4)

    def forward(self, *images):  # noqa: D102
        return [self.layer(image) for image in images]


def test_a_list_of_dicts_has_one_for_each_sample():
    """As where objects are detected: the first image has five boxes, the second one."""
    model, targets = Boxes(), [{"boxes": torch.ones(n, 4)} for n in (5, 1)]

    def criterion(outputs, targets):
        return torch.stack([(z - t["boxes"]).square().mean() for z, t in zip(outputs, targets, strict=True)]).mean()

    loss = train_epoch(model, [([torch.ones(2)] * 2, targets)], criterion, sgd(model), "cpu")
    assert loss.samples == 2


def test_steps_in_which_nothing_counts_have_no_gradient():
    """Two batches whose loss is 0 by itself, and whose mean is over nothing; then one that counts."""
    model = nn.Linear(3, 1)
    twin = copy.deepcopy(model)
    x, y = torch.ones(4, 3), torch.ones(4, 1)
    masked = lambda z, y: ((z - y).square() * (y > 0)).sum() / (y > 0).sum().clamp(min=1)  # noqa: E731 - one use
    options = {"accumulate": 2, "count": lambda y: (y > 0).sum()}
    loss = train_epoch(model, [(x, -y), (x, -y), (x, y)], masked, sgd(model), "cpu", **options)
    assert loss == pytest.approx(train_epoch(twin, [(x, y)], nn.MSELoss(), sgd(twin), "cpu"))
    assert same(parameters(model), parameters(twin))


def test_lazy_layers_train_from_the_first_batch():
    """Their averages are not there before it, and are kept like others after it."""
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d(), nn.LazyLinear(1))
    x, y = torch.randn(4, 2), torch.zeros(4, 1)
    train_epoch(model, [(x, y)] * 3, nn.MSELoss(), sgd(model), "cpu")
    assert int(model[1].num_batches_tracked) == 3
    before = model[1].running_mean.clone()
    with pytest.raises(TrainingError, match="Its inputs hold NaN"):
        train_epoch(model, [(x * torch.nan, y)], nn.MSELoss(), sgd(model), "cpu")
    assert torch.equal(model[1].running_mean, before)


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8), accumulate=st.integers(1, 9))
def test_accumulation_equals_the_large_batch_for_any_sizes(sizes, accumulate):
    """In both frameworks, against the gradient of the joined batch in NumPy."""
    rng = np.random.default_rng(len(sizes))
    batches = [(rng.normal(size=(n, 2)), rng.normal(size=(n, 1))) for n in sizes]
    start = rng.normal(size=(1, 2))
    w = start.copy()
    for i in range(0, len(batches), accumulate):
        x, y = (np.concatenate(part) for part in zip(*batches[i : i + accumulate], strict=True))
        w -= 0.05 * 2 * ((x @ w.T - y).T @ x) / len(x)
    for library, criterion in ((torch, nn.MSELoss()), (autograd, autograd.nn.MSELoss())):
        model = library.nn.Linear(2, 1, bias=False)
        model.weight = library.nn.Parameter(library.tensor(start))
        optimizer = library.optim.SGD(model.parameters(), lr=0.05)
        train_epoch(model, batches, criterion, optimizer, "cpu", accumulate=accumulate)
        assert np.allclose(model.weight.detach().numpy(), w, rtol=1e-12)


def test_both_frameworks_train_alike(problem):
    """The same weights and batches give the same losses and weights, momentum and the DataLoader included."""
    model, loader, _, _ = problem()
    mini = autograd.nn.Sequential(autograd.nn.Linear(3, 5), autograd.nn.Tanh(), autograd.nn.Linear(5, 4))
    for ours, theirs in zip(mini.parameters(), model.parameters(), strict=True):
        ours.data = autograd.tensor(theirs.detach().numpy().copy())
    optimizer = autograd.optim.AdamW(mini.parameters(), lr=0.05)
    one = train_epoch(model, loader, nn.CrossEntropyLoss(), torch.optim.AdamW(model.parameters(), lr=0.05), "cpu")
    two = train_epoch(mini, loader, autograd.nn.CrossEntropyLoss(), optimizer, "cpu")
    assert one == pytest.approx(two, rel=1e-12)
    for ours, theirs in zip(mini.parameters(), model.parameters(), strict=True):
        assert np.allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)
    options = {"metrics": {"accuracy": accuracy}}
    one = validate(model, loader, nn.CrossEntropyLoss(), "cpu", **options)
    assert one == pytest.approx(validate(mini, loader, autograd.nn.CrossEntropyLoss(), "cpu", **options), rel=1e-9)


def test_validation_changes_nothing(problem):
    """Parameters, running statistics and gradients stay; dropout is off."""
    model, loader, x, y = problem(layers=(nn.BatchNorm1d(5), nn.Dropout(0.5)))
    before = copy.deepcopy(model.state_dict())
    first = validate(model, loader, nn.CrossEntropyLoss(), "cpu")
    assert first == validate(model, loader, nn.CrossEntropyLoss(), "cpu")
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert first == pytest.approx(F.cross_entropy(model.eval()(x), y).item(), rel=1e-12)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_each_module_gets_its_own_mode_back(problem, training, frozen, raises):
    """After validation and after training, also when the criterion raises; in between only what was frozen differs."""
    model, loader, _, _ = problem(layers=(nn.BatchNorm1d(5), nn.Dropout(0.5)))
    model.train(training)
    model[2].train(not frozen)
    before, seen = [module.training for module in model.modules()], set()

    def criterion(z, y):
        seen.add(tuple(module.training for module in model.modules()))
        if raises:
            raise KeyError("mine")
        return F.cross_entropy(z, y)

    def run(epoch, *args):
        seen.clear()
        if raises:
            with pytest.raises(KeyError, match="mine"):
                epoch(model, loader, criterion, *args)
        else:
            epoch(model, loader, criterion, *args)
        assert [module.training for module in model.modules()] == before
        as_they_were = tuple(before) if training else (True,) * len(before)
        return seen == {as_they_were if epoch is train_epoch else (False,) * len(before)}

    assert run(train_epoch, sgd(model), "cpu")
    assert run(validate, "cpu")


@pytest.mark.parametrize("sync_every", [1, 1000])
@pytest.mark.parametrize("epoch", [train_epoch, validate])
def test_no_graph_outlives_its_batch(problem, epoch, sync_every):
    """Of all the losses of an epoch, none is alive with its graph when the next batch is computed."""
    model, loader, _, _ = problem(n=40)
    graphs, alive = [], []

    class Marked(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.mark = Mark()
            if z.requires_grad:
                graphs.append(weakref.ref(ctx.mark))
            return z.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    def criterion(z, y):
        gc.collect()
        alive.append(sum(graph() is not None for graph in graphs))
        return F.cross_entropy(Marked.apply(z), y)

    optimizer = [sgd(model)] if epoch is train_epoch else []
    gc.freeze()  # so that each collection looks at the epoch's own objects alone
    try:
        epoch(model, loader, criterion, *optimizer, "cpu", sync_every=sync_every)
    finally:
        gc.unfreeze()
    assert (len(graphs), set(alive)) == (10 if epoch is train_epoch else 0, {0})


def test_metrics_are_means_over_samples(problem):
    """The last batch is smaller, and counts less."""
    model, loader, x, y = problem(n=10, batch_size=8)
    right = (model(x).argmax(1) == y).double().mean().item()
    came = validate(model, loader, nn.CrossEntropyLoss(), "cpu", metrics={"accuracy": accuracy, "one": lambda z, y: 1})
    assert came.metrics == {"accuracy": pytest.approx(right), "one": 1.0}


def test_metrics_weigh_batches_by_their_samples_where_the_loss_does_not(problem):
    """Of the first eight samples one counts for the loss, of the last two both do."""
    model, loader, _, y = problem(n=10, batch_size=8)
    y[1:8] = -100
    options = {"metrics": {"rows": lambda z, y: len(y)}}
    assert validate(model, loader, nn.CrossEntropyLoss(), "cpu", **options).metrics == {"rows": (8 * 8 + 2 * 2) / 10}


def test_a_metric_may_use_numpy_while_the_model_trains(problem):
    """It gets outputs without their graph."""
    model, loader, _, _ = problem()
    options = {"metrics": {"accuracy": lambda z, y: accuracy(z.numpy(), y.numpy())}}
    came = train_epoch(model, loader, nn.CrossEntropyLoss(), sgd(model, lr=0.0), "cpu", **options)
    assert came.metrics == validate(model, loader, nn.CrossEntropyLoss(), "cpu", metrics={"accuracy": accuracy}).metrics


@pytest.mark.parametrize("sync_every", [1, 3, 1000])
def test_metrics_may_be_numbers_or_tensors_by_turns(problem, sync_every):
    """Read together, in the precision that a float has."""
    model, loader, _, _ = problem(n=8, batch_size=2)
    values = iter([torch.tensor(0.5), 0.1, np.float32(0.25), torch.tensor(1)])
    options = {"metrics": {"mixed": lambda z, y: next(values)}, "sync_every": sync_every}
    came = validate(model, loader, nn.CrossEntropyLoss(), "cpu", **options)
    assert came.metrics == {"mixed": pytest.approx((0.5 + 0.1 + 0.25 + 1) / 4, rel=1e-15)}


def test_a_function_sees_complete_gradients_before_each_step(problem):
    """Twice an epoch when three batches are accumulated by two; what it changes is what the step uses."""
    model, loader, x, y = problem()
    before, norms = parameters(model), []

    def halt(model):
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.0).item())

    train_epoch(model, loader, nn.CrossEntropyLoss(), sgd(model), "cpu", accumulate=2, before_step=halt)
    assert same(before, parameters(model))
    loss = F.cross_entropy(model(x[:8]), y[:8])
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    assert len(norms) == 2
    assert norms[0] == pytest.approx(torch.cat([g.flatten() for g in gradients]).norm().item())


class Mark:
    """Lives as long as the node that holds it."""


class Pair(NamedTuple):
    """Two inputs that belong together."""

    left: Any
    right: Any


class Packed(nn.Module):
    """Takes two inputs in one."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, pair):  # noqa: D102
        return self.layer(pair.left) + pair.right


def test_a_named_tuple_is_one_input_and_its_arrays_become_tensors():
    """Whatever their strides, and also where they cannot be written to."""
    left, right = np.ones((4, 2), np.float32)[::-1], np.broadcast_to(np.float32(2), (4, 1))
    model = Packed()
    loss = validate(model, [(Pair(left, right), right)], nn.MSELoss(), "cpu")
    assert loss == pytest.approx((model.layer(torch.ones(4, 2)) + 2 - 2).square().mean().item())


class Named(nn.Module):
    """Takes two inputs by name."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, left, right):  # noqa: D102
        return self.layer(left) + right


class Encoding(UserDict):
    """Moves by itself, as what a tokenizer returns."""

    def to(self, device, **_):
        """Make tensors there."""
        self.data = {name: torch.as_tensor(value, device=device) for name, value in self.data.items()}
        return self


@pytest.mark.parametrize("container", [dict, UserDict, Encoding, tuple, list])
def test_several_inputs_go_to_the_model_as_they_come(container):
    """By name, or in order."""
    left, right = torch.ones(4, 2), torch.zeros(4, 1)
    named = issubclass(container, (dict, UserDict))
    inputs = container(right=right.numpy(), left=left.numpy()) if named else container([left, right])
    model = Named()
    loss = validate(model, [(inputs, torch.zeros(4, 1))], nn.MSELoss(), "cpu")
    assert loss == pytest.approx(model.layer(left).square().mean().item())


def test_what_moves_by_itself_stays_what_it_is():
    """A model may ask an encoding for more than its entries."""
    (moved,) = TorchFramework().move((Encoding(left=np.ones(2)),), torch.device("meta"))
    assert isinstance(moved, Encoding)
    assert moved["left"].is_meta


def test_losses_on_an_accelerator_are_read_seldom(problem, monkeypatch):
    """Twenty batches, read every eight: three reads, and the same mean."""
    model, loader, _, _ = problem(n=40, batch_size=2)
    whole = validate(model, loader, nn.CrossEntropyLoss(), "cpu")
    reads, stack = [], torch.stack
    monkeypatch.setattr(torch, "stack", lambda tensors, dim=0: reads.append(len(tensors)) or stack(tensors, dim))
    identity = DataLoader(
        loader.dataset, batch_size=2, collate_fn=lambda rows: tuple(map(stack, zip(*rows, strict=True)))
    )
    seldom = validate(model, identity, nn.CrossEntropyLoss(), "cpu", sync_every=8)
    assert seldom == pytest.approx(whole, rel=1e-14)
    assert reads == [8, 8, 2, 8, 8, 2, 4, 4, 2]  # losses, weights, and both together


def test_nothing_falls_back_to_the_host_before_it_is_read():
    """On the meta device no value can be read: the loop runs up to the one place where it must."""
    model = nn.Linear(3, 4, device="meta")
    batches = [(torch.empty(5, 3), torch.empty(5, dtype=torch.long))] * 3
    with pytest.raises(InputError, match="must hold numbers, but 'meta' has none"):
        train_epoch(model, batches, nn.CrossEntropyLoss(weight=torch.empty(4, device="meta")), sgd(model), "meta")
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("n", [5, 8])
def test_array_loader_goes_through_all_once(n):
    """Each pass in another order, a new loader in the same."""
    loader = ArrayLoader(np.arange(n), np.arange(n) * 2, batch_size=3, shuffle=True, seed=4)
    passes = [[tuple(map(tuple, batch)) for batch in loader] for _ in range(2)]
    for one in passes:
        assert sorted(np.concatenate([x for x, _ in one])) == list(range(n))
        assert all(y == tuple(2 * i for i in x) for x, y in one)
    assert passes[0] != passes[1]
    near = ArrayLoader(np.arange(n), np.arange(n) * 2, batch_size=3, shuffle=True, seed=5)
    assert [tuple(map(tuple, batch)) for batch in near] != passes[1]
    again = ArrayLoader(np.arange(n), np.arange(n) * 2, batch_size=3, shuffle=True, seed=4)
    assert [tuple(map(tuple, batch)) for batch in again] == passes[0]
    assert len(TensorDataset(torch.arange(n))) == sum(map(len, (x for x, _ in passes[0])))


@pytest.mark.parametrize(
    ("outputs", "targets", "right"),
    [
        ([[1.0, 2.0], [3.0, 0.0], [0.0, 1.0]], [1, 1, 1], 2 / 3),
        ([0.5, -1.0, 2.0, -3.0], [1, 0, 0, 0], 3 / 4),
        ([[0.5], [-1.0]], [[1], [1]], 1 / 2),
        ([[[1.0, 0.0], [0.0, 1.0]]], [[0, 0]], 1 / 2),
    ],
)
def test_accuracy(outputs, targets, right):
    """Classes, yes and no, and a class at each place: the same in NumPy, torch and course_lib.autograd."""
    assert accuracy(np.array(outputs), np.array(targets)) == pytest.approx(right)
    for library in (torch, autograd):
        assert float(accuracy(library.tensor(outputs), library.tensor(targets))) == pytest.approx(right)


def test_accuracy_leaves_ignored_targets_out():
    """Those of -100, which count neither as wrong nor as targets; without a sign there are none."""
    outputs, targets = [[5.0, 0.0], [0.0, 5.0], [5.0, 0.0], [5.0, 0.0]], [0, 0, -100, -100]
    assert accuracy(np.array(outputs), np.array(targets)) == 1 / 2
    for library in (torch, autograd):
        assert float(accuracy(library.tensor(outputs), library.tensor(targets))) == 1 / 2
    many, last = np.eye(157, dtype=np.float32), np.arange(157, dtype=np.uint8)
    assert float(accuracy(torch.from_numpy(many[-2:]), torch.from_numpy(last[[-2, 0]]))) == 1 / 2
    assert float(accuracy(torch.from_numpy(many[-2:]), torch.from_numpy(last[[0, -1]]))) == 1 / 2


def test_under_autocast_each_step_computes_with_the_weights_of_the_step_before():
    """Autocast keeps its converted weights for as long as it lasts, which is the whole epoch here."""
    torch.manual_seed(0)
    x, model = torch.randn(256, 4), nn.Linear(4, 1)
    data = DataLoader(TensorDataset(x, x @ torch.tensor([[1.0], [-2.0], [3.0], [4.0]])), batch_size=32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(5):
            train_epoch(model, data, nn.MSELoss(), optimizer, "cpu")
        inside = validate(model, data, nn.MSELoss(), "cpu")
        with torch.no_grad():
            model.weight.zero_()
            model.bias.zero_()
        zeroed = validate(model, data, nn.MSELoss(), "cpu")
    assert inside < 0.05
    assert zeroed == pytest.approx(validate(model, data, nn.MSELoss(), "cpu"), rel=0.05)


def test_sequences_of_several_lengths_go_to_the_device_as_one():
    """A packed sequence is a named tuple, one of whose fields belongs to the CPU."""
    packed = nn.utils.rnn.pack_sequence([torch.randn(3, 4), torch.randn(2, 4)])
    moved = TorchFramework().move({"inputs": [packed]}, torch.device("meta"))["inputs"][0]
    assert (moved.data.device.type, moved.batch_sizes.device.type) == ("meta", "cpu")

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(4, 2)

        def forward(self, sequences):
            return self.rnn(sequences)[1][0]

    model = Last()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert train_epoch(model, [(packed, torch.zeros(2, 2))], nn.MSELoss(), optimizer, "cpu").samples == 2


@pytest.mark.parametrize(
    ("source", "target", "waits"), [("cpu", "cuda:0", False), ("cuda:0", "cpu", True), ("cpu", "mps", True)]
)
def test_a_copy_waits_unless_it_is_in_order_with_what_uses_it(monkeypatch, source, target, waits):
    """Of the devices only the names are needed."""
    asked = []
    monkeypatch.setattr(torch.Tensor, "to", lambda tensor, device, non_blocking: asked.append(non_blocking))
    monkeypatch.setattr(torch.Tensor, "device", torch.device(source))
    TorchFramework().move(torch.ones(2), torch.device(target))
    assert asked == [not waits]


def test_what_waits_to_be_read_keeps_no_graph_and_no_memory_of_others():
    """A metric of an output in a dict has a graph; a loss may lie where the next one will be written."""
    torch.manual_seed(0)
    model, kept, alive = nn.Linear(2, 1), [], []

    class Named(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            return {"y": self.inner(x)}

    static = torch.zeros(())

    def criterion(outputs, targets):
        loss = (outputs["y"] - targets).square().mean()
        with torch.no_grad():
            static.copy_(loss.detach())  # one place for all losses, as in a CUDA graph
        return SameMemory.apply(loss)

    class SameMemory(torch.autograd.Function):
        @staticmethod
        def forward(ctx, loss):
            return static.view(())

        @staticmethod
        def backward(ctx, g):
            return g

    def error(outputs, targets):
        gc.collect()
        alive.append(sum(ref() is not None for ref in kept))
        return Noted.apply((outputs["y"] - targets).abs().mean())

    class Noted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            ctx.mark = Mark()
            kept.append(weakref.ref(ctx.mark))
            return value.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    batches = [(torch.full((4, 2), float(i)), torch.zeros(4, 1)) for i in range(1, 4)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    right = [criterion({"y": model(x)}, y).item() for x, y in batches]
    options = {"metrics": {"error": error}, "count": len, "reduction": "mean", "sync_every": 1000}
    loss = train_epoch(Named(), batches, criterion, optimizer, "cpu", **options)
    assert loss == pytest.approx(sum(right) / 3)
    assert alive == [0, 0, 0]


@pytest.mark.parametrize("order", [">", "<"])
def test_arrays_of_either_byte_order_become_tensors(order):
    """As files of digits and of measurements hold them."""
    torch.manual_seed(0)
    model, x, y = nn.Linear(3, 2), np.arange(12).reshape(4, 3) / 12, np.array([0, 1, 1, 0])
    ours = validate(model, [(x.astype(f"{order}f4"), y.astype(f"{order}i8"))], nn.CrossEntropyLoss(), "cpu")
    assert ours == validate(model, [(x.astype("f4"), y)], nn.CrossEntropyLoss(), "cpu")
    mini = autograd.nn.Linear(3, 2)
    theirs = validate(mini, [(x.astype(f"{order}f4"), y.astype(f"{order}i8"))], autograd.nn.CrossEntropyLoss(), "cpu")
    assert theirs == validate(mini, [(x.astype("f4"), y)], autograd.nn.CrossEntropyLoss(), "cpu")


@pytest.mark.parametrize("library", [torch, autograd])
@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_that_no_optimizer_clears_do_not_pile_up(library, frozen):
    """Below a head that is trained alone: clipped by the norm of all, its steps would get smaller and smaller."""
    body, head = library.nn.Linear(3, 3), library.nn.Linear(3, 2)
    model, norms = library.nn.Sequential(body, head), []
    batch = np.ones((4, 3), np.float32), np.ones((4, 2), np.float32)
    library.nn.MSELoss()(model(library.tensor(batch[0])), library.tensor(batch[1])).backward()
    if frozen:
        for p in body.parameters():
            p.requires_grad_(False)
    optimizer = library.optim.SGD(head.parameters(), lr=0.0)

    def norm_of_all(model):
        norms.append(float(clip_by_global_norm(model, float("inf"))))

    train_epoch(model, [batch] * 3, library.nn.MSELoss(), optimizer, "cpu", before_step=norm_of_all)
    assert norms[0] == norms[1] == norms[2]
    assert all((p.grad is None) == frozen for p in body.parameters())


@pytest.mark.parametrize(("logit", "right"), [(-0.25, 0), (0.25, 1)])
def test_accuracy_of_a_single_logit_turns_at_zero(logit, right):
    """Its sign answers, however small it is."""
    assert accuracy(np.array([logit]), np.array([right])) == 1
    assert accuracy(np.array([logit]), np.array([1 - right])) == 0


def test_the_small_engine_makes_tensors_of_arrays_and_leaves_all_else_alone():
    """A tensor is the same one, with its graph; text and numbers are the model's business."""
    x = autograd.tensor([1.0], requires_grad=True) * 2
    tensor, text, number, array = AutogradFramework().move((x, "twice", 3, np.ones(2)), None)
    assert tensor is x
    assert (text, number) == ("twice", 3)
    assert isinstance(array, autograd.Tensor)
