"""Runs that are killed go on where they were, to the last bit."""

import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.training import ArrayLoader, fit, run_processes
from tests.training import killed_run


def begin(*arguments):
    """Start the script."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, killed_run.__file__, *map(str, arguments)], **pipes)


@pytest.mark.parametrize(("kill_at", "orders"), [("epoch", "own"), ("write", "global"), ("epoch", "arrays")])
def test_a_killed_run_ends_as_one_that_was_not(tmp_path, kill_at, orders):
    """Killed within an epoch, or while it writes; begun again with other seeds, which do not matter."""
    file, result = tmp_path / "run.pt", tmp_path / "result.pt"
    with begin(file, kill_at, orders, result) as process:
        assert process.stdout.readline() == b"here\n"
        process.kill()
        assert process.wait() == -9
    assert not result.exists()
    whole = tmp_path / "whole.pt"
    # In processes of their own, both: a loader's workers are forked, and here JAX may have threads, which must not be.
    for arguments in ((file, "", orders, result), (tmp_path / "other.pt", "never", orders, whole)):
        with begin(*arguments) as process:
            assert process.wait() == 0
    found, expected = (torch.load(each, weights_only=False) for each in (result, whole))
    history = expected["history"]
    assert found["history"] == history
    assert len(history) == len(history.seconds) == killed_run.EPOCHS
    assert len(set(history.learning_rate)) > 1
    for name, value in expected["model"].items():
        assert torch.equal(found["model"][name], value), name


def small_run(
    path, *, layers=(3, 4), optimizer=torch.optim.Adam, schedule=None, epochs=2, dtype=torch.float32, **options
):
    """Fit a small model, kept in a file."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(3, n) for n in layers[:1]), nn.Linear(layers[0], layers[1])).to(dtype)
    chosen = optimizer(model.parameters(), lr=0.1)
    options |= {"scheduler": schedule(chosen)} if schedule else {}
    loader = ArrayLoader(torch.ones(6, 3, dtype=dtype).numpy(), torch.zeros(6, dtype=torch.int64).numpy(), batch_size=3)
    return fit(
        model, loader, nn.CrossEntropyLoss(), chosen, "cpu", epochs=epochs, checkpoint=path, progress=False, **options
    )


def halve(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)


def test_a_run_goes_on_for_more_epochs_and_is_not_trained_twice(tmp_path):
    """As many as there are more of; where there are none, the history is that of the file."""
    path = tmp_path / "run.pt"
    longer = small_run(tmp_path / "other.pt", epochs=3, schedule=halve)
    first = small_run(path, epochs=2, schedule=halve)
    assert small_run(path, epochs=2, schedule=halve) == first
    assert small_run(str(path), epochs=3, schedule=halve) == longer
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.pt", "run.pt"]


def test_what_changes_beside_the_optimizer_is_kept_where_it_is_named(tmp_path):
    """A schedule that moves on with each step, and averaged weights; a schedule that is not named is asked for."""

    def train(path, epochs, *, named=True):
        torch.manual_seed(0)
        model = nn.Linear(3, 4)
        averaged, adam = torch.optim.swa_utils.AveragedModel(model), torch.optim.Adam(model.parameters(), lr=0.1)
        schedule = torch.optim.lr_scheduler.ExponentialLR(adam, 0.9)
        adam.register_step_post_hook(lambda *_: (schedule.step(), averaged.update_parameters(model)))
        batch, options = (torch.ones(2, 3), torch.zeros(2).long()), {"epochs": epochs, "progress": False}
        options |= {"keep": {"schedule": schedule, "averaged": averaged}} if named else {}
        history = fit(model, [batch] * 3, nn.CrossEntropyLoss(), adam, "cpu", checkpoint=tmp_path / path, **options)
        return history, averaged.state_dict(), schedule.last_epoch

    train("run.pt", 1)
    (history, averaged, steps), whole = train("run.pt", 3), train("whole.pt", 3)
    assert (history, steps) == (whole[0], whole[2]) == (history, 9)
    assert all(map(torch.equal, averaged.values(), whole[1].values()))
    with pytest.raises(InputError, match=r'a scheduler that fit was not given; .*keep=\{"schedule": scheduler\}'):
        train("other.pt", 1, named=False)
    with pytest.raises(InputError, match=r"'scaler' is kept already"):
        small_run(tmp_path / "other.pt", keep={"scaler": nn.Linear(1, 1)})


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"layers": (3, 5)}, r"of this model, .*1\.weight is \(4, 3\) float32 there, and \(5, 3\) float32 now"),
        ({"dtype": torch.float64}, r"0\.weight is \(3, 3\) float32 there, and \(3, 3\) float64 now; .*and 1 more"),
        ({"optimizer": torch.optim.SGD}, r"of this optimizer, .*it has a Adam where there is a SGD now"),
        ({"schedule": halve}, r"of this scheduler, .*it has none where there is a StepLR now"),
        ({"scaler": torch.amp.GradScaler("cpu")}, r"of this scaler"),
        ({"val_loader": [(torch.ones(1, 3), torch.zeros(1).long())]}, r"of this loaders|loader for validation"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_stays(tmp_path, other, words):
    """Before anything is loaded from it; the message says what differs."""
    path = tmp_path / "run.pt"
    small_run(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=words):
        small_run(path, **other)
    assert path.read_bytes() == before


class Hostile:
    """What runs code when it is unpickled."""

    def __reduce__(self):
        return print, ("it ran",)


def test_what_is_no_checkpoint_is_refused_and_nothing_in_it_runs(tmp_path, capsys):
    """A file cut short, one with code in it, and one of something else; and a folder that is not there."""
    path = tmp_path / "run.pt"
    small_run(path)
    path.write_bytes(path.read_bytes()[:-100])
    for write in (lambda: None, lambda: torch.save(Hostile(), path)):
        write()
        with pytest.raises(
            InputError,
            match=r"a file that fit wrote, .*cannot be read as one \(\w+Error\)\. Delete it",
        ):
            small_run(path)
    torch.save({"weight": torch.ones(1)}, path)
    with pytest.raises(InputError, match=r"holds something else; name another"):
        small_run(path)
    assert "it ran" not in capsys.readouterr().out
    with pytest.raises(InputError, match=r"can be written, .*Make its folder"):
        small_run(tmp_path / "missing" / "run.pt")


def test_what_could_not_be_read_back_is_refused_before_the_first_epoch(tmp_path):
    """A state with a function or an object in it, and a model that is not torch's."""

    class Own:
        step, load_state_dict = (lambda self, *_: None,) * 2

        def __init__(self, what):
            self.what = what

        def state_dict(self):
            return vars(self)

    for what in (lambda: None), tmp_path:
        with pytest.raises(InputError, match=r"of the model and optimizer and scheduler must be tensors and plain"):
            small_run(tmp_path / "run.pt", scheduler=Own(what), metrics={"never": lambda *_: 1 / 0})
        assert not list(tmp_path.iterdir())
    ours = autograd.nn.Linear(1, 1)
    sgd = autograd.optim.SGD(ours.parameters(), lr=0.1)
    with pytest.raises(InputError, match=r"needs a torch model"):
        fit(ours, [1], autograd.nn.MSELoss(), sgd, "cpu", epochs=1, checkpoint=tmp_path / "run.pt")


def test_a_full_disk_costs_no_epoch(tmp_path, monkeypatch):
    """It is warned of, the last checkpoint stays, and training goes on."""
    path, save, saved = tmp_path / "run.pt", torch.save, []

    def full(state, file):
        saved.append(save(state, file))
        if len(saved) == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.warns(UserWarning, match=r"after 2 epochs could not be written .*No space left.*Training goes on"):
        assert len(small_run(path, epochs=2)) == 2
    assert len(torch.load(path, weights_only=True)["epochs"]) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_processes_of_ddp_keep_one_checkpoint_and_their_own_random_numbers(tmp_path):
    """Dropout differs between them, before as after; as many must go on as there were."""
    path = tmp_path / "run.pt"

    def train(seed, path, *, epochs=3, group=None):
        torch.manual_seed(seed)
        layers = nn.Sequential(nn.Linear(3, 8), nn.Dropout(), nn.Linear(8, 4))
        model = DistributedDataParallel(layers, process_group=group)
        loader = ArrayLoader(torch.ones(6, 3).numpy(), torch.zeros(6).long().numpy(), batch_size=3)
        adam = torch.optim.Adam(model.parameters(), lr=0.1)
        history = fit(model, loader, nn.CrossEntropyLoss(), adam, "cpu", epochs=epochs, checkpoint=path, progress=False)
        return history, [p.detach() for p in model.parameters()], torch.rand(1).item()

    def uninterrupted(rank):
        train(rank, path, epochs=2)
        return train(rank, tmp_path / "whole.pt")

    def resumed(rank):
        alone = [torch.distributed.new_group([each]) for each in range(2)][rank]
        with pytest.raises(InputError, match=r"they were 2, and are 1 now"):
            train(0, path, group=alone)
        return train(rank + 10, path)

    found = list(zip(run_processes(uninterrupted), run_processes(resumed), strict=True))
    for (history, parameters, drawn), again in found:
        assert (history, drawn) == (again[0], again[2])
        assert all(map(torch.equal, parameters, again[1]))
    assert found[0][0][2] != found[1][0][2]
