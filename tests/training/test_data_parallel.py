"""An epoch in two processes that DDP joins."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_lib.training import run_processes, train_epoch

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
