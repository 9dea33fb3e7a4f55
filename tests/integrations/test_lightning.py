"""The callback in a Trainer of Lightning."""

import csv

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.errors import InputError
from course_lib.integrations import lightning_callback
from course_lib.monitoring import GradientMonitor

pytestmark = pytest.mark.filterwarnings("ignore")  # of workers, of logging, of torch


@pytest.fixture(scope="module")
def pl():
    """Import Lightning when it is needed: that takes seconds."""
    return pytest.importorskip("pytorch_lightning")


def make_module(pl):
    """Make a small regression."""

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

        def training_step(self, batch, _):
            x, y = batch
            return ((self.net(x) - y) ** 2).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    return Module()


def batches(n=6):
    """Return a loader of the same batches each time."""
    x = torch.randn(4 * n, 3, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=4)


def fit(pl, callback, folder, *, epochs=1, path=None, **options):
    """Train, and return the trainer."""
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu", "log_every_n_steps": 1}
    logger = pl.loggers.CSVLogger(folder, name="", version="run")
    trainer = pl.Trainer(
        callbacks=[callback], logger=logger, max_epochs=epochs, default_root_dir=folder, **(quiet | options)
    )
    trainer.fit(make_module(pl), batches(), ckpt_path=path)
    return trainer


def by_hand(pl, accumulate):
    """Train without Lightning, under a monitor."""
    module = make_module(pl)
    optimizer = module.configure_optimizers()
    with GradientMonitor(module) as monitor:
        for i, batch in enumerate(batches()):
            (module.training_step(batch, i) / accumulate).backward()
            if (i + 1) % accumulate == 0:
                monitor.step()
                optimizer.step()
                optimizer.zero_grad()
    return monitor


@pytest.mark.parametrize("accumulate", [1, 2])
def test_it_measures_what_a_monitor_in_a_loop_does(pl, tmp_path, accumulate):
    """Accumulated, before clipping; and the trainer's own logger has the numbers, under its steps."""
    callback = lightning_callback()
    fit(pl, callback, tmp_path, accumulate_grad_batches=accumulate, gradient_clip_val=1e9)
    expected = by_hand(pl, accumulate).history
    assert callback.monitor.history.step.tolist() == expected.step.tolist()
    np.testing.assert_allclose(callback.monitor.history.norm, expected.norm, rtol=1e-5)
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["gradient_norm/net.0.weight"]]
    weights = expected[expected.parameter == "net.0.weight"]
    assert [int(row["step"]) for row in rows] == weights.step.tolist()
    assert [float(row["gradient_norm/net.0.weight"]) for row in rows] == pytest.approx(weights.norm.tolist(), rel=1e-4)
    assert callback.monitor.diagnose().healthy


def test_gradients_are_those_before_clipping(pl, tmp_path):
    """Clipping to nearly nothing does not hide what they were."""
    callback = lightning_callback()
    fit(pl, callback, tmp_path, gradient_clip_val=1e-6, max_steps=1)
    assert callback.monitor.scalars()["gradient_norm/total"] > 0.01


def test_a_resumed_training_goes_on_counting(pl, tmp_path):
    """Under the trainer's own number of the step."""
    trainer = fit(pl, lightning_callback(), tmp_path / "a")
    trainer.save_checkpoint(tmp_path / "last.ckpt")
    rows = []
    callback = lightning_callback(every=3, log_to=lambda scalars, step: rows.append(step))
    fit(pl, callback, tmp_path / "b", epochs=2, path=tmp_path / "last.ckpt")
    assert rows == callback.monitor.history.step.unique().tolist() == [7, 10]


def test_a_training_that_breaks_can_be_read(pl, tmp_path):
    """The error is the trainer's; what was measured before is there."""
    callback = lightning_callback()

    class Breaks(pl.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step == 3:
                raise RuntimeError("a worker died")

    with pytest.raises(RuntimeError, match="a worker died"):
        pl.Trainer(
            callbacks=[callback, Breaks()], max_epochs=1, logger=False, accelerator="cpu", default_root_dir=tmp_path,
            enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False,
        ).fit(make_module(pl), batches())  # fmt: skip
    assert callback.monitor.history.step.max() == 3


def test_a_wrong_option_is_refused_when_the_callback_is_made():
    """Not when the training has begun."""
    with pytest.raises(InputError, match="every must be"):
        lightning_callback(every=0)
