"""An epoch in two processes that DDP joins."""

import pytest
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from course_lib.clipping import clip_by_global_norm
from course_lib.monitoring import GradientMonitor
from course_lib.training import accuracy, fit, run_processes, train_epoch, validate

ROWS = 48


def line():
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def test_accumulated_steps_exchange_gradients_once_each_and_are_those_of_one_process():
    """Eight batches, four to a step: two exchanges, not eight; and the weights of a process that sees all rows."""
    x = torch.randn(ROWS, 3, generator=torch.Generator().manual_seed(1))
    y = x.sum(1, keepdim=True)

    def batches(x, y, size):
        return list(zip(x.split(size), y.split(size), strict=True))

    def work(rank):
        model, exchanges = DistributedDataParallel(line()), []

        def count(_, bucket):
            exchanges.append(bucket.buffer().numel())
            return torch.distributed.all_reduce(bucket.buffer().div_(2), async_op=True).get_future().then(last)

        def last(future):
            return future.value()[0]

        model.register_comm_hook(None, count)
        mine = [each[rank::2] for each in (x, y)]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        train_epoch(model, batches(*mine, 3), nn.MSELoss(), optimizer, "cpu", accumulate=4)
        return len(exchanges), [p.detach() for p in model.module.parameters()]

    alone = line()
    train_epoch(alone, batches(x, y, 24), nn.MSELoss(), torch.optim.SGD(alone.parameters(), lr=0.1), "cpu")
    for exchanges, parameters in run_processes(work):
        assert exchanges == 2
        torch.testing.assert_close(parameters, [p.detach() for p in alone.parameters()])


def measured(model, parts):
    """Fit with a rate of 0 on parts of twelve rows; return the history, and how many sums went over all processes."""
    x = torch.randn(12, 3, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([0, 1, -100, 1, 0, -100, 1, 1, 0, -100, 1, 0])
    batches, exchanges = [(x[part], y[part]) for part in parts], []
    criterion, optimizer = nn.CrossEntropyLoss(torch.tensor([1.0, 3.0])), torch.optim.SGD(model.parameters(), lr=0.0)
    metrics = {"accuracy": accuracy, "size": lambda _, y: len(y)}
    with pytest.MonkeyPatch.context() as patch:
        reduce = torch.distributed.all_reduce
        patch.setattr(
            torch.distributed, "all_reduce", lambda *args, **by: exchanges.append(args) or reduce(*args, **by)
        )
        options = {"epochs": 2, "val_loader": batches, "metrics": metrics, "progress": False}
        history = fit(model, batches, criterion, optimizer, "cpu", **options)
    last = validate(model, batches, criterion, "cpu")
    return history, (last.samples, last.batches), len(exchanges)


def test_losses_are_those_of_all_processes_whatever_each_has():
    """Of 3 and of 9 rows, some ignored: one exchange an epoch, and one number in both processes, to the last bit."""
    rows = [slice(0, 3), slice(3, 12)]

    def classifier():
        torch.manual_seed(0)
        return nn.Linear(3, 2)

    def work(rank):
        sharded = fully_shard(classifier(), mesh=init_device_mesh("cpu", (2,)))
        return [
            measured(model, [rows[rank]]) for model in (DistributedDataParallel(classifier()), sharded, classifier())
        ]

    (history, *counts, _), one, other = measured(classifier(), rows), *run_processes(work)
    assert one[:2] == other[:2]
    for found, *seen, exchanges in one[:2]:
        for name in "train_loss", "val_loss":
            assert getattr(found, name) == pytest.approx(getattr(history, name))
        for name in "accuracy", "size":
            assert found.val_metrics[name] == pytest.approx(history.val_metrics[name])
        assert (seen, exchanges) == (counts, 2 * 2)
    assert one[2][0] != other[2][0], "a model that is not wrapped trains alone"
    assert one[2][2] == 0


def test_an_overflow_in_one_process_leaves_the_step_out_in_both():
    """FSDP2 gives each a part of the gradients: what is called before a step is called in both or in neither."""

    def work(rank):
        torch.manual_seed(0)
        model, norms = fully_shard(nn.Linear(3, 2), mesh=init_device_mesh("cpu", (2,))), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        monitor = GradientMonitor(model)

        def before_step(model):
            monitor.step()
            norms.append(clip_by_global_norm(model, 0.1).item())

        weights = [torch.ones(2), torch.tensor([1.0, 1e38]), torch.ones(2)]  # the second row's overflow is rank 1's
        batches = [(torch.ones(2, 3), weight.expand(2, 2)) for weight in weights]
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
        loss = train_epoch(
            model, batches, lambda z, w: (z * w).mean(), optimizer, "cpu", before_step=before_step, scaler=scaler
        )
        return loss.skipped, norms, scaler.get_scale(), model.weight.full_tensor(), monitor.diagnose().kinds

    (skipped, norms, scale, weight, kinds), other = run_processes(work)
    assert (skipped, norms, scale, kinds) == (other[0], other[1], other[2], other[4])
    assert (skipped, len(norms), scale, kinds) == (1, 2, 2.0**9, ("healthy",))
    assert torch.equal(weight, other[3])
