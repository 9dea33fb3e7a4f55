"""Many epochs and their history."""

import copy
import math
import pickle
import sys

import pytest
import torch
from torch import nn

from course_lib.errors import InputError, MissingExtraError, TrainingError
from course_lib.training import TrainingHistory, accuracy, fit, train_epoch, validate
from course_lib.training.progress import open_epochs_bar


def test_the_history_is_that_of_the_epochs(problem):
    """Losses, metrics and learning rates of epochs run one by one, with a scheduler."""
    model, loader, _, _ = problem()
    twin, criterion, options = copy.deepcopy(model), nn.CrossEntropyLoss(), {"metrics": {"accuracy": accuracy}}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    halving = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    history = fit(
        model, loader, criterion, optimizer, "cpu",
        epochs=3, val_loader=loader, scheduler=halving, progress=False, **options,
    )  # fmt: skip
    other = torch.optim.SGD(twin.parameters(), lr=0.4)
    train, val = [], []
    for _ in range(3):
        train.append(train_epoch(twin, loader, criterion, other, "cpu", **options))
        val.append(validate(twin, loader, criterion, "cpu", **options))
        other.param_groups[0]["lr"] /= 2
    assert history == TrainingHistory(
        tuple(train),
        tuple(val),
        {"accuracy": tuple(t.metrics["accuracy"] for t in train)},
        {"accuracy": tuple(v.metrics["accuracy"] for v in val)},
        (0.4, 0.2, 0.1),
        skipped_steps=(0, 0, 0),
    )
    assert len(history.seconds) == len(history) == 3


def test_a_plateau_is_told_the_loss(problem):
    """A loss that cannot fall any more cuts the rate."""
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=0.1)
    history = fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=4, scheduler=plateau, progress=False)
    assert history.learning_rate[0] > history.learning_rate[-1]


class Told:
    """A scheduler that writes down what it is told."""

    def __init__(self):
        self.losses = []

    def step(self, metrics):
        """Change nothing."""
        self.losses.append(metrics)


def test_a_scheduler_is_told_the_loss_of_the_validation(problem):
    """Where there is one; else that of the training."""
    model, loader, x, y = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for val_loader in ([(x, y)], None):
        told = Told()
        history = fit(
            model, loader, nn.CrossEntropyLoss(), optimizer, "cpu",
            epochs=2, val_loader=val_loader, scheduler=told, progress=False,
        )  # fmt: skip
        assert told.losses == list(history.val_loss if val_loader else history.train_loss)


def test_a_scheduler_of_steps_is_moved_by_the_optimizer(problem):
    """As the message about it says."""
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=2 * len(loader))
    optimizer.register_step_post_hook(lambda *_: falling.step())
    history = fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=2, progress=False)
    assert history.learning_rate == pytest.approx((0.05, 0.0))


def test_training_in_stages_is_planned_for_all_of_them(problem):
    """For more epochs than there are now, and not as many as there are steps."""
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    stages = [
        fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=2, scheduler=schedule, progress=False)
        for _ in range(2)
    ]
    cosine = [0.05 * (1 + math.cos(math.pi * epoch / 4)) for epoch in range(4)]
    assert [rate for stage in stages for rate in stage.learning_rate] == pytest.approx(cosine)


class Together:
    """Two optimizers as one, which has the parameters of both."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers
        self.param_groups = [group for one in optimizers for group in one.param_groups]

    def zero_grad(self):
        """Forget the gradients of both."""
        for one in self.optimizers:
            one.zero_grad()

    def step(self):
        """Step with both."""
        for one in self.optimizers:
            one.step()


def test_a_scheduler_may_be_of_one_part_of_the_optimizer(problem):
    """It shares parameters with it; the rate of the history is that of the first group."""
    model, loader, _, _ = problem()
    body = torch.optim.SGD(model[0].parameters(), lr=0.1)
    head = torch.optim.SGD(model[2].parameters(), lr=0.4)
    halving = torch.optim.lr_scheduler.StepLR(body, 1, 0.5)
    history = fit(
        model, loader, nn.CrossEntropyLoss(), Together(body, head), "cpu",
        epochs=2, scheduler=halving, progress=False,
    )  # fmt: skip
    assert history.learning_rate == (0.1, 0.05)


def test_the_bar_shows_the_losses(problem, capsys):
    """On stderr, and nothing on stdout."""
    pytest.importorskip("tqdm")
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=2, val_loader=loader)
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch 2/2: 100%" in err
    assert "6/6" in err
    assert f"train={history.train_loss[-1]:.4g}, val={history.val_loss[-1]:.4g}" in err


def test_the_bar_counts_the_batches_that_are_done():
    """Not the one that is being worked on."""
    pytest.importorskip("tqdm")
    with open_epochs_bar(1, "ab", progress=True) as bar:
        assert [bar.bar.n for _ in bar.track("ab", 0)] == [0, 1]
        assert bar.bar.n == 2


def test_a_bar_needs_no_length(capsys):
    """A stream of batches has none; the bar counts."""
    pytest.importorskip("tqdm")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([(torch.ones(3), torch.ones(1))] * 4)

    model = nn.Linear(3, 1)
    optimizer, loader = torch.optim.SGD(model.parameters(), lr=0.1), torch.utils.data.DataLoader(Stream(), batch_size=2)
    fit(model, loader, nn.MSELoss(), optimizer, "cpu", epochs=3)
    assert "epoch 3/3: : 6batch" in capsys.readouterr().err


def test_a_missing_bar_names_its_extra(problem, monkeypatch):
    """Training without it goes on."""
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(MissingExtraError, match="the-backward-pass\\[torch\\]"):
        fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=1)
    assert fit(model, loader, nn.CrossEntropyLoss(), optimizer, "cpu", epochs=1, progress=False)


def test_the_best_epoch_goes_by_validation():
    """Or, without it, by training."""
    assert TrainingHistory(train_loss=(3.0, 2.0, 1.0), val_loss=(3.0, 2.0, 2.5)).best_epoch == 1
    assert TrainingHistory(train_loss=(3.0, 2.0, 1.0)).best_epoch == 2


def test_a_loss_that_is_no_number_is_never_the_best():
    """Whatever stands before or after it."""
    assert TrainingHistory(train_loss=(float("nan"), 2.0, 1.0, 1.0)).best_epoch == 2
    assert TrainingHistory(train_loss=(1.0,), val_loss=(float("nan"),)).best_epoch == 0


@pytest.mark.parametrize("where", ["criterion", "before_step"])
def test_ctrl_c_leaves_the_model_as_it_was(problem, where):
    """In the second batch: every module in its own mode, gradients recorded again, averages of whole steps alone."""
    model, loader, _, _ = problem(layers=[nn.BatchNorm1d(5), nn.Dropout()])
    model[3].eval()
    modes = [module.training for module in model.modules()]
    calls = []

    def pressed(*_):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return nn.functional.cross_entropy(*_) if where == "criterion" else None

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    options = {"before_step": pressed} if where == "before_step" else {}
    with pytest.raises(KeyboardInterrupt):
        fit(
            model, loader, pressed if where == "criterion" else nn.CrossEntropyLoss(), optimizer, "cpu",
            epochs=2, val_loader=loader, progress=False, **options,
        )  # fmt: skip
    assert [module.training for module in model.modules()] == modes
    assert torch.is_grad_enabled()
    assert int(model[2].num_batches_tracked) == (1 if where == "criterion" else 2)


@pytest.mark.parametrize("in_validation", [False, True])
def test_what_stops_a_run_leaves_its_history(problem, in_validation):
    """Of the epochs that were completed with all that belongs to them; the note says where it is."""
    model, loader, _, _ = problem()
    twin = copy.deepcopy(model)
    batches = []

    class Interrupted:
        def __iter__(self):
            for batch in loader:
                batches.append(1)
                if len(batches) == 8:
                    raise KeyboardInterrupt
                yield batch

    loaders = {True: (loader, Interrupted()), False: (Interrupted(), loader)}[in_validation]
    options = {"metrics": {"accuracy": accuracy}, "progress": False}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(model, loaders[0], nn.CrossEntropyLoss(), optimizer, "cpu", epochs=5, val_loader=loaders[1], **options)
    other = torch.optim.SGD(twin.parameters(), lr=0.1)
    right = fit(twin, loader, nn.CrossEntropyLoss(), other, "cpu", epochs=2, val_loader=loader, **options)
    assert caught.value.history == right
    assert caught.value.__notes__ == ["The history of the 2 epochs before is in this error's attribute history."]


def test_what_stops_the_first_epoch_leaves_an_empty_history(problem):
    """And no note about it."""
    model, loader, _, _ = problem()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(InputError, match="the class MSELoss") as caught:
        fit(model, loader, nn.MSELoss, optimizer, "cpu", epochs=2, progress=False)
    assert caught.value.history == TrainingHistory()
    assert not hasattr(caught.value, "__notes__")


def test_the_plot_draws_what_is_there():
    """Training alone, both, or a metric; an unknown one is refused."""
    history = TrainingHistory((2.0, 1.0), (2.5, 1.5), {"accuracy": (0.1, 0.2)}, {"accuracy": (0.3, 0.4)})
    assert "validation: from 2.5 to 1.5" in repr(history.plot(y_scale="log"))
    assert "Accuracy over 2 epochs. training: from 0.1 to 0.2" in repr(history.plot("accuracy"))
    assert "validation" not in repr(TrainingHistory((2.0, 1.0)).plot())
    assert history.plot()._repr_html_().startswith('<figure class="bp-figure"')
    with pytest.raises(InputError, match="must have 'auc', but it has loss, accuracy"):
        history.plot("auc")


def test_an_epochs_loss_is_a_float_that_travels(problem):
    """It can be compared, formatted, pickled and copied."""
    model, loader, _, _ = problem()
    loss = validate(model, loader, nn.CrossEntropyLoss(), "cpu", metrics={"accuracy": accuracy})
    again = pickle.loads(pickle.dumps(copy.deepcopy(loss)))
    assert (again, again.samples, again.batches, again.metrics) == (loss, 10, 3, loss.metrics)
    assert f"{loss:.2f}" == f"{float(loss):.2f}"


def test_a_run_that_stops_names_its_epoch(problem):
    """The second, counted from 0."""
    model, _, x, y = problem()
    epochs = iter([[(x, y)], [(x * torch.nan, y)]])

    class Loader:
        def __iter__(self):
            return iter(next(epochs))

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(TrainingError, match="train, epoch 1, batch 0 "):
        fit(model, Loader(), nn.CrossEntropyLoss(), optimizer, "cpu", epochs=2, progress=False)


def test_a_distributed_sampler_shuffles_anew_in_each_epoch():
    """The sampler is told each epoch, so that no two epochs go through its share in the same order."""
    data = torch.utils.data.TensorDataset(torch.arange(16.0)[:, None], torch.zeros(16, 1))
    sampler = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, seed=1)
    loader = torch.utils.data.DataLoader(data, batch_size=8, sampler=sampler)
    model, seen, expected = nn.Linear(1, 1), [], []
    handle = model.register_forward_pre_hook(lambda _, args: seen.append(args[0].ravel().tolist()))
    fit(model, loader, nn.MSELoss(), torch.optim.SGD(model.parameters(), lr=0.0), "cpu", epochs=3, progress=False)
    handle.remove()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        expected += [x.ravel().tolist() for x, _ in loader]
    assert seen == expected
    assert seen[0] != seen[1]


def test_what_draws_whole_batches_is_told_each_epoch_as_well():
    """A sampler of batches, in a loader that has no other, and a loader that draws by itself."""
    told = []

    class Batches(list):
        def set_epoch(self, epoch):
            told.append(epoch)

    data = torch.utils.data.TensorDataset(torch.ones(4, 1), torch.zeros(4, 1))
    loader = torch.utils.data.DataLoader(data, batch_sampler=Batches([[0, 1], [2, 3]]))
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(model, loader, nn.MSELoss(), optimizer, "cpu", epochs=2, progress=False)
    assert told == [0, 1]
    fit(
        model,
        Batches([(torch.ones(4, 1), torch.zeros(4, 1))]),
        nn.MSELoss(),
        optimizer,
        "cpu",
        epochs=2,
        progress=False,
    )
    assert told == [0, 1] * 2
