"""What batched reading of gradients does with tensors that are freed, empty, long, sparse, recorded or turned."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.errors import MonitorError
from course_lib.monitoring import GradientMonitor, compute_grad_norm
from course_lib.monitoring.reading.read_torch_gradients import TorchReader
from tests.monitoring.zoo import backward, mlp


@pytest.mark.parametrize("freed", ["gradient", "parameter"])
def test_what_is_not_in_memory_is_refused(freed):
    """And not read: torch's own kernels end the process."""
    model = mlp(1)
    backward(model)
    with GradientMonitor(model) as monitor:
        monitor.step()
        tensor = model[0].weight.grad if freed == "gradient" else model[0].weight.data
        tensor.untyped_storage().resize_(0)
        with pytest.raises(MonitorError, match=r"must be in memory, but the storage of one was freed"):
            monitor.step()


def test_what_has_no_elements_has_no_address_and_is_read():
    """Beside a gradient that is None, which has neither."""
    model = nn.ParameterList([torch.zeros(0), torch.zeros(2), torch.zeros(0, 3)])
    model[1].grad, model[2].grad = torch.tensor([3.0, 4.0]), torch.zeros(0, 3)
    measures = TorchReader(list(model)).measure(1).measures
    np.testing.assert_allclose(measures.norm, [np.nan, 5, 0], rtol=1e-6)


@pytest.mark.parametrize("size", [100_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("spread", [0, 1e-6])
def test_rounding_does_not_add_up(size, spread):
    """Of numbers that are nearly the same, the deviation is what is left of two large sums."""
    p = nn.Parameter(torch.zeros(size))
    p.grad = 0.1 + 0.1 * spread * torch.randn(size, generator=torch.Generator().manual_seed(0))
    found = TorchReader([p]).measure().measures.std.item()
    assert found == pytest.approx(p.grad.double().std().item() if spread else 0, rel=0.02, abs=1e-8)


class Dense(TorchDispatchMode):
    """Notes the size of the largest dense tensor that is made."""

    def __init__(self):
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Make a call, and look at what it makes."""
        made = function(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.layout is torch.strided:
            self.largest = max(self.largest, made.numel())
        return made


@pytest.mark.parametrize("measure", ["monitor", "norm"])
def test_of_a_sparse_gradient_only_what_is_there_is_read(measure):
    """Of a thousand rows, a batch has five: a dense copy would take more than the step itself."""
    model = nn.EmbeddingBag(1000, 8, sparse=True, mode="sum")
    with GradientMonitor(model, update_every=None) as monitor:
        read = monitor.step if measure == "monitor" else lambda: compute_grad_norm(model)
        for _ in range(3):
            model.zero_grad()
            model(torch.randint(1000, (1, 5))).square().sum().backward()
            with Dense() as made:
                read()
            assert 0 < made.largest <= 5 * 8


def test_gradients_that_can_be_differentiated_are_read():
    """Nothing that is done to read them is recorded."""
    model = nn.ParameterList([torch.ones(3), torch.ones(3, dtype=torch.bfloat16), torch.ones(2, 3).T])
    loss = model[0].prod() + model[1].float().exp().sum() + (model[2] ** 3).sum()
    for p, g in zip(model, torch.autograd.grad(loss, list(model), create_graph=True), strict=True):
        p.grad = g
    reader = TorchReader(list(model))
    norms = reader.measure(1, weights=True).measures.norm
    assert norms.tolist() == pytest.approx([p.grad.float().norm().item() for p in model])
    assert not any(stack.kept.requires_grad for stack in reader._batches[0].stacks)


@pytest.mark.parametrize(
    ("shape", "order"), [((5, 3, 4, 2), torch.channels_last), ((5, 3, 2, 4, 2), torch.channels_last_3d)]
)
def test_channels_that_lie_last_are_read_as_others(shape, order):
    """And compared with themselves, also in the step in which a model is turned."""
    p = nn.Parameter(torch.randn(shape))
    p.grad = torch.randn(shape).to(memory_format=order)
    reader, ratios, expected = TorchReader([p]), [], []
    for turned in (torch.contiguous_format, order, order, torch.contiguous_format, torch.contiguous_format):
        before, p.data = p.data.clone(), (p.data + torch.randn(shape)).contiguous(memory_format=turned)
        measures = reader.measure(1, weights=True).measures
        ratios.append(measures.update_ratio.item())
        expected.append(((p.data - before).norm() / before.norm()).item())
        assert measures.weight_norm.item() == pytest.approx(p.data.double().norm().item())
        wanted = [p.grad.double().norm().item(), p.grad.mean().item(), p.grad.std().item(), p.grad.abs().max().item()]
        found = [getattr(measures, name).item() for name in ("norm", "mean", "std", "largest")]
        assert found == pytest.approx(wanted, rel=1e-5, abs=1e-7)  # a mean near 0 has no digits
    assert ratios == pytest.approx([np.nan, *expected[1:]], rel=1e-5, nan_ok=True)


class Full(TorchDispatchMode):
    """A device whose memory is full once a tensor is stacked."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Make a call, unless there is no room for its result."""
        if function.overloadpacket is torch.ops.aten.stack:
            raise torch.OutOfMemoryError("out of memory")
        return function(*args, **(kwargs or {}))


def test_memory_that_has_run_out_is_no_tensor_of_another_kind():
    """It is torch's to say, and not a reason to measure more slowly in each step from now on."""
    parameters = [nn.Parameter(torch.zeros(3)) for _ in range(3)]
    for p in parameters:
        p.grad = torch.ones(3)
    with Full(), pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        TorchReader(parameters).measure()
