"""The callback in the Trainer of transformers, with a small model that is made here."""

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.errors import InputError
from course_lib.integrations import huggingface_callback

pytestmark = [pytest.mark.more, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def transformers():
    """Import it when it is needed: that takes seconds."""
    pytest.importorskip("accelerate")
    return pytest.importorskip("transformers")


class Model(nn.Module):
    """A regression that returns its loss, as the trainer asks for."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, x, labels):
        """Return the loss and the output."""
        out = self.net(x)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}


def data(n=24):
    """Return rows of a data set."""
    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(1))
    return [{"x": row, "labels": row.sum(0, keepdim=True)} for row in x]


def train(transformers, callbacks, folder, *, resume=None, **options):
    """Train a new model."""
    quiet = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no", "use_cpu": True, "seed": 0}
    usual = {"per_device_train_batch_size": 4, "num_train_epochs": 1, "max_grad_norm": 0.0}
    args = transformers.TrainingArguments(str(folder), **(quiet | usual | options))
    trainer = transformers.Trainer(Model(), args, train_dataset=data(), callbacks=callbacks)
    trainer.train(resume_from_checkpoint=resume)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_each_step_of_the_optimizer_is_measured(transformers, tmp_path, accumulate):
    """Once, with accumulated gradients, under the trainer's number of the step."""
    rows, norms = [], []

    class Own(transformers.TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **_):
            norms.append(np.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters())))

    callback = huggingface_callback(log_to=lambda scalars, step: rows.append((step, scalars["gradient_norm/total"])))
    train(transformers, [callback, Own()], tmp_path, gradient_accumulation_steps=accumulate)
    assert [step for step, _ in rows] == list(range(1, 6 // accumulate + 1))
    assert [norm for _, norm in rows] == pytest.approx(norms, rel=1e-5)
    assert set(callback.monitor.history.parameter) == {"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}
    assert callback.monitor.diagnose().healthy


def test_a_resumed_training_goes_on_counting(transformers, tmp_path):
    """From the checkpoint's step."""
    train(transformers, [huggingface_callback()], tmp_path, save_strategy="steps", save_steps=4)
    callback = huggingface_callback()
    train(transformers, [callback], tmp_path, resume=str(tmp_path / "checkpoint-4"))
    assert callback.monitor.history.step.unique().tolist() == [5, 6]


def test_a_wrong_option_is_refused_when_the_callback_is_made():
    """Not when the training has begun."""
    with pytest.raises(InputError, match="every must be"):
        huggingface_callback(every=0)
