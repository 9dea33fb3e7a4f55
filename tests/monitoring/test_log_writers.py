"""One line logs a monitor's numbers: each logger is the real one, offline, and is read back."""

import json
import math
import struct

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from course_lib import autograd
from course_lib.errors import InputError, MonitorError
from course_lib.monitoring import GradientMonitor, JaxGradientMonitor


def watch(steps=6, **options):
    """Train a small network under a monitor, and return the monitor."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with GradientMonitor(model, **options) as monitor:
        for _ in range(steps):
            optimizer.zero_grad()
            model(torch.randn(8, 3)).square().mean().backward()
            monitor.step()
            optimizer.step()
    return monitor


def column(monitor, measure="norm", parameter="0.weight"):
    """Return a measure of one parameter by step."""
    frame = monitor.history
    return frame[frame.parameter == parameter].set_index("step")[measure]


def test_a_function_gets_each_measured_step():
    """With the numbers of ``scalars``, at once, counted on from where a run began."""
    rows = []
    monitor = watch(7, every=3, start=100, log_to=lambda scalars, step: rows.append((step, scalars)))
    assert [step for step, _ in rows] == column(monitor).index.tolist() == [101, 104, 107]
    assert rows[-1][1] == monitor.scalars()
    assert str(monitor.diagnose()).startswith("healthy: in steps 101 to 107,")


def test_the_monitor_of_jax_logs_as_well():
    """The same names."""
    rows = []
    monitor = JaxGradientMonitor({"w": jnp.ones(2)}, log_to=lambda scalars, step: rows.append((step, scalars)))
    monitor.step({"w": jnp.array([3.0, 4.0])})
    assert rows == [(1, {**rows[0][1], "gradient_norm/total": 5.0, "gradient_norm/w": 5.0})]


def test_tensorboard(tmp_path):
    """Scalars and histograms, read from the file that its dashboard reads."""
    with SummaryWriter(tmp_path) as writer:
        monitor = watch(6, log_to=writer, histogram_every=5)
    seen = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0, "histograms": 0}).Reload()
    found = seen.Scalars("gradient_norm/0.weight")
    assert [event.step for event in found] == [1, 2, 3, 4, 5, 6]
    assert [event.value for event in found] == pytest.approx(column(monitor).tolist())
    histograms = seen.Histograms("gradient/0.weight")
    assert [event.step for event in histograms] == [1, 6]
    shown = histograms[-1].histogram_value
    counts, edges = monitor.histogram("0.weight")
    assert shown.num == counts.sum() == 12
    assert list(shown.bucket) == counts.tolist()
    assert list(shown.bucket_limit) == edges[1:].tolist()


def wandb_records(path):
    """Yield the records of wandb's file: LevelDB's log, in blocks of 32 KiB, each piece with a head of 7 bytes."""
    data, at, record = path.read_bytes(), 7, b""
    while at < len(data):
        if (left := -at % 32768) and left < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield record
            record = b""


@pytest.fixture
def wandb_rows(tmp_path, monkeypatch):
    """Return wandb, offline, and a function that reads a finished run's rows."""
    wandb = pytest.importorskip("wandb")
    from wandb.proto import wandb_internal_pb2

    for name, value in {"MODE": "offline", "SILENT": "true", "DIR": str(tmp_path)}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)

    def rows():
        wandb.teardown()  # its service writes the file out
        (path,) = tmp_path.glob("**/*.wandb")
        read = map(wandb_internal_pb2.Record.FromString, wandb_records(path))
        return [
            {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            for record in read
            if record.WhichOneof("record_type") == "history"
        ]

    yield wandb, rows
    wandb.teardown()


def test_wandb_with_a_loop_that_logs(wandb_rows):
    """One row a step holds the loop's loss and the monitor's numbers, and none of either is lost."""
    wandb, rows = wandb_rows
    with wandb.init(project="p", settings=wandb.Settings(console="off")) as run:
        monitor = GradientMonitor(nn.Linear(3, 1), log_to=run, histogram_every=2)
        for step in range(4):
            monitor._model(torch.randn(8, 3)).square().mean().backward()
            monitor.step()
            run.log({"loss": float(step)}, step=step)
            run.log({"accuracy": float(step)}, step=step)
    found = [row for row in rows() if "loss" in row]
    assert [row["loss"] for row in found] == [row["accuracy"] for row in found] == [0, 1, 2, 3]
    assert [row["gradient_step"] for row in rows() if "gradient_step" in row] == [1, 2, 3, 4]
    norms = [row["gradient_norm/weight"] for row in rows() if "gradient_norm/weight" in row]
    assert norms == pytest.approx(column(monitor, parameter="weight").tolist())
    key = "gradient/weight/values"
    assert [sum(row[key]) for row in rows() if key in row] == [3, 3]


def test_wandb_alone_by_its_module(wandb_rows):
    """Where nothing else is logged, each step is a row all the same."""
    wandb, rows = wandb_rows
    with pytest.raises(MonitorError, match=r"wandb\.init"):
        watch(1, log_to=wandb)
    with wandb.init(project="p", settings=wandb.Settings(console="off")):
        monitor = watch(4, log_to=wandb)
    found = [row["gradient_norm/0.weight"] for row in rows() if "gradient_norm/0.weight" in row]
    assert found == pytest.approx(column(monitor).tolist())


@pytest.mark.more  # it makes a database first
@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated")  # SQLAlchemy of MLflow
def test_mlflow(tmp_path):
    """Its fluent module, with a store in a folder; a name that it refuses is written otherwise."""
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    with mlflow.start_run() as run:
        monitor = watch(4, log_to=mlflow)
        JaxGradientMonitor({"linear~0": jnp.ones(2)}, log_to=mlflow).step({"linear~0": jnp.ones(2)})
    client = mlflow.MlflowClient()
    found = client.get_metric_history(run.info.run_id, "gradient_norm/0.weight")
    assert [metric.step for metric in found] == [1, 2, 3, 4]
    assert [metric.value for metric in found] == pytest.approx(column(monitor).tolist())
    assert client.get_metric_history(run.info.run_id, "gradient_norm/linear_0")[0].value == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("target", ["runs/", 3, SummaryWriter])
def test_another_target_is_refused(target):
    """When the monitor is made, not at its first step."""
    with pytest.raises(InputError, match=r"^log_to must be .*SummaryWriter"):
        GradientMonitor(nn.Linear(1, 1), log_to=target)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_histogram_is_numpys(dtype):
    """Over the same edges, whatever the precision."""
    model = nn.Linear(40, 50, bias=False, dtype=dtype)
    model.weight.grad = (torch.randn(50, 40) * 10.0 ** torch.randint(-6, 3, (50, 40))).to(dtype)
    with GradientMonitor(model, histogram_every=1) as monitor:
        monitor.step()
    counts, edges = monitor.histogram("weight")
    values = model.weight.grad.double().numpy()
    assert counts.tolist() == np.histogram(values, edges)[0].tolist()
    assert counts.sum() == 2000


def test_what_a_histogram_does_with_extremes():
    """An infinity lies in the last bin, NaN in none, and 0 in the middle; a missing gradient has no elements."""
    model = nn.ParameterDict({"a": nn.Parameter(torch.ones(5)), "b": nn.Parameter(torch.ones(2))})
    model["a"].grad = torch.tensor([math.nan, math.inf, 0.0, 1e-30, -1.5])
    with GradientMonitor(model, histogram_every=1) as monitor:
        monitor.step()
    counts, edges = monitor.histogram("a")
    where = np.flatnonzero(counts)
    assert counts[where].tolist() == [1, 2, 1]
    assert [(edges[i], edges[i + 1]) for i in where] == [(-2, -1), (-(2.0**-64), 2.0**-64), (2.0**31, 2.0**32)]
    assert monitor.histogram("b").counts.sum() == 0


def test_histograms_of_the_engine_and_their_map():
    """A row for each power of two that occurs, a column for each step that was counted."""
    autograd.manual_seed(0)
    model = autograd.nn.Linear(8, 8)
    with GradientMonitor(model, every=2, histogram_every=2) as monitor:
        for step in range(9):
            (model(autograd.randn(4, 8)) ** 2).mean().backward()
            monitor.step()
            if step == 8:
                values = model.weight.grad.numpy()
    assert monitor.histogram("weight").counts.sum() == 64
    figure = monitor.histogram_map("weight")
    assert list(figure.columns) == [1, 5, 9]
    (shares,) = figure.maps.values()
    np.testing.assert_allclose(shares.sum(axis=0), 1)
    row = list(figure.rows).index("2^-3")
    assert shares[row, -1] == pytest.approx(((np.abs(values) >= 0.125) & (np.abs(values) < 0.25)).mean())


def test_histograms_are_off_unless_asked_for():
    """And say how to have them."""
    monitor = watch(2)
    with pytest.raises(MonitorError, match="histogram_every=10"):
        monitor.histogram("0.weight")
    with pytest.raises(InputError, match=r"no parameter 'weight'"):
        watch(2, histogram_every=1).histogram("weight")
    with pytest.raises(InputError, match="histogram_every must be a whole number"):
        watch(2, histogram_every=0)
