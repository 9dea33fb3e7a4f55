"""What the monitor costs, and what it leaves alone."""

import math
import random
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.errors import MonitorError
from course_lib.monitoring import GradientMonitor
from course_lib.monitoring.reading.read_torch_gradients import TorchReader
from tests.monitoring.zoo import backward, mlp, vectors


class Transfers(TorchDispatchMode):
    """Counts what would wait for a device: numbers read one by one, and copies that leave the device."""

    def __init__(self):
        super().__init__()
        self.count, self.operations = 0, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Count a call, and make it."""
        self.operations += 1
        self.count += "_local_scalar_dense" in str(function)
        return function(*args, **(kwargs or {}))


class Reads(TorchFunctionMode):
    """Lists the calls that bring numbers to the host, such as ``.to()`` and ``.item()``."""

    NAMES = frozenset({"to", "cpu", "tolist", "item", "__bool__", "__float__", "__int__", "__index__"})

    def __init__(self):
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        """Note a call, and make it."""
        if function.__name__ in self.NAMES:
            self.seen.append(function.__name__)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30, float("inf")], ids=["ordinary", "tiny", "huge", "infinite"])
def test_a_step_reads_the_device_once(scale):
    """Whatever the gradients are, from the second step on, and also when updates are measured."""
    torch.manual_seed(0)
    model = mlp(4)
    with GradientMonitor(model) as monitor:
        for step in range(25):
            backward(model, scale)
            with Reads() as reads, Transfers() as counted:
                monitor.step()
            if step:
                assert reads.seen == ["to"]
                assert counted.count == 0


def test_one_step_at_most_is_read_twice():
    """Where a gradient is now and then so small that its square vanishes."""
    model, twice = nn.Linear(2, 2), 0
    with GradientMonitor(model) as monitor:
        for step in range(60):
            model.weight.grad = torch.tensor([[1.0, -1.0], [0.5, 1.0]])
            model.bias.grad = torch.tensor([1.0, -0.5]) * (1e-25 if step % 2 else 1)
            with Reads() as reads:
                monitor.step()
            twice += len(reads.seen) == 2
    assert twice == 1


def test_a_step_asks_for_few_operations_however_many_parameters():
    """Twice the layers of the same shapes, the same number of kernels."""
    counts = []
    for depth in (10, 20):
        model = mlp(depth, nn.Tanh, gain=1.0)
        with GradientMonitor(model, update_every=None) as monitor:
            for _ in range(3):
                backward(model)
                with Transfers() as counted:
                    monitor.step()
        counts.append(counted.operations)
    assert counts[0] == counts[1] <= 55  # some ten for each of the four shapes


def test_gradients_are_free_to_go():
    """What was measured is kept, the gradients are not: ``zero_grad()`` gives their memory back."""
    model = mlp(4)
    with GradientMonitor(model) as monitor:
        for _ in range(3):
            backward(model)
            monitor.step()
        gradients = [weakref.ref(p.grad) for p in model.parameters()]
        model.zero_grad()
        assert all(gradient() is None for gradient in gradients)


@pytest.mark.parametrize("update_every", [None, 1])
@pytest.mark.parametrize("shape", [(3,), (64, 45), (64, 64), (60, 110), (200, 200)])
def test_the_history_holds_what_the_docstring_says(shape, update_every):
    """At most 200 bytes a parameter and step, of what was read and of what was worked out of it."""
    model, count = nn.ParameterList([torch.ones(shape) for _ in range(30)]), 30
    with GradientMonitor(model, update_every=update_every) as monitor:
        for step in range(3):
            for p in model:
                p.grad = torch.ones(shape) * (1 + step)
            monitor.step()
        reading = monitor._history.records[-1].reading
        worked_out = vars(reading.measures).values()
        (part,) = reading.compute.args[0]
        kept = part.numbers.nbytes + sum(measure.nbytes for measure in worked_out)
        assert kept + 36 * count <= 200 * count  # 36 for the number of one that is absent, if all are


def test_nothing_is_attached_before_the_first_step_and_after_close():
    """No hook on a module, at most one on one parameter, and none in the end."""
    model = mlp()
    hooks = lambda: [  # noqa: E731
        *(h for m in model.modules() for h in (*m._forward_hooks, *m._backward_hooks, *m._forward_pre_hooks)),
        *(h for p in model.parameters() for h in p._backward_hooks or {}),
    ]
    monitor = GradientMonitor(model)
    assert hooks() == []
    backward(model)
    monitor.step()
    assert len(hooks()) == 1
    monitor.close()
    monitor.close()
    assert hooks() == []
    assert monitor.diagnose().healthy
    with pytest.raises(MonitorError, match="this monitor was closed"):
        monitor.step()


def test_training_is_the_same_to_the_last_bit_and_draws_no_number():
    """With dropout, with and without a monitor: the same weights, and the same state of every generator."""

    def trained(watched):
        torch.manual_seed(0), random.seed(0), np.random.seed(0)
        model = nn.Sequential(nn.Linear(24, 30), nn.Dropout(0.3), nn.ReLU(), nn.Linear(30, 4))
        optimizer = torch.optim.AdamW(model.parameters())
        monitor = GradientMonitor(model) if watched else None
        for step in range(15):
            optimizer.zero_grad()
            x, y = vectors(step)
            nn.functional.cross_entropy(model(x), y).backward()
            if monitor:
                monitor.step()
            optimizer.step()
        state = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
        return [p.detach().clone() for p in model.parameters()], state

    (plain, state), (watched, other) = trained(False), trained(True)
    assert all(torch.equal(p, q) for p, q in zip(plain, watched, strict=True))
    assert torch.equal(state[0], other[0])
    assert state[1:] == other[1:]


def test_nothing_falls_back_to_the_host_on_another_device():
    """On the meta device, which has no numbers, a reading gets as far as its one transfer."""
    model = mlp(2).to("meta")
    for p in model.parameters():
        p.grad = torch.empty_like(p)
    reader = TorchReader(list(model.parameters()))
    reader.keep_weights()
    with pytest.raises(NotImplementedError, match=r"Cannot copy out of meta tensor"):
        reader.measure(1, weights=True)


@pytest.mark.parametrize(
    ("gradient", "scaled"),
    [
        ([1.0, 0.0], False),
        ([0.0, 0.0], False),  # nothing to worry about
        ([1e-17, 1e-17], True),  # squares that are about to vanish
        ([1e-30, 1e-30], True),
        ([1e18, 1e18], True),  # squares that are about to overflow
        ([3e38, 1.0], True),
        ([math.nan, 1.0], False),  # nothing more precise can be said about these
        ([-math.inf, 1.0], False),
    ],
)
def test_squares_out_of_range_are_noticed(gradient, scaled):
    """And measured at once, divided by the largest."""
    model = nn.ParameterList([torch.zeros(2), torch.zeros(3)])
    model[0].grad, model[1].grad = torch.tensor(gradient), torch.ones(3)
    reader = TorchReader(list(model))
    norms = reader.measure().measures.norm
    assert reader._batches[0].care.scaled is scaled
    assert norms == pytest.approx([np.linalg.norm(np.float32(gradient).astype(float)), 3**0.5], nan_ok=True)


def test_what_is_infinite_once_costs_nothing_later():
    """As the first steps with a GradScaler are: a large tensor, which is not copied, is read on in single precision."""
    model = nn.Linear(300, 300)
    with GradientMonitor(model, update_every=None) as monitor:
        for step in range(8):
            for p in model.parameters():
                p.grad = torch.where(torch.arange(p.numel()) % 3 == 0, -0.5, 0.5).view_as(p)
                if step == 3 and p.ndim == 2:
                    p.grad[5, 7] = float("inf")
            with Reads() as reads:
                monitor.step()
            assert reads.seen == ["to"]
        assert not monitor._reader._batches[0].care.scaled
    flagged = monitor.history.query("nonfinite")
    assert list(zip(flagged.step, flagged.parameter, strict=True)) == [(4, "weight")]
    rest = monitor.history.query("step == 4 and parameter == 'bias'")
    assert rest.norm.item() == pytest.approx(0.5 * 300**0.5)


@pytest.mark.parametrize("zero", [None, False])
def test_sparse_gradients_can_be_watched_for_zeroing(zero):
    """Where there are no others: an embedding alone, trained without zeroing, and with zeros in place."""
    model = nn.Embedding(10, 4, sparse=True)
    optimizer = torch.optim.SparseAdam(model.parameters())
    with GradientMonitor(model) as monitor:
        for step in range(12):
            if zero is False:
                optimizer.zero_grad(set_to_none=False)
            model(torch.tensor([step % 3])).square().sum().backward()
            monitor.step()
            optimizer.step()
    assert ("not zeroed" in str(monitor.diagnose())) is (zero is None)
