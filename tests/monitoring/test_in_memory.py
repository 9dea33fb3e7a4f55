"""What the compiled loops could do wrong that kernels of torch cannot, and when there are none."""

import gc
import sys
import weakref

import numba
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.errors import MonitorError
from course_lib.monitoring import GradientMonitor, compute_grad_norm
from course_lib.monitoring.readers import TorchReader
from course_lib.monitoring.readers.in_memory import InMemory
from course_lib.monitoring.readers.loops import loops
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
    np.testing.assert_array_equal(measures.norm, [np.nan, 5, 0])


def test_a_step_calls_nothing_of_numpy():
    """Nor a kernel of torch, which ``test_cost.py`` counts; nor to read the parameters, from the second time on."""
    model, called = mlp(4), []
    backward(model)
    reader = TorchReader(list(model.parameters()))
    reader.measure(1, weights=True)

    def note(frame, event, function):
        name = frame.f_code.co_filename if event == "call" else getattr(function, "__module__", None) or ""
        if "numpy" in name and event in ("call", "c_call"):
            called.append(f"{name} {frame.f_code.co_name} {function}")

    sys.setprofile(note)
    try:
        for step in range(2, 6):
            reader.measure(step, weights=step % 2 == 0)
            reader.keep_weights()
    finally:
        sys.setprofile(None)
    assert called == []


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


def test_the_code_stays_as_long_as_the_loops(monkeypatch):
    """Numba frees none so far, but its object is what owns it, and a function of ctypes holds an address."""
    compile_it, made = numba.cfunc, []

    def watched(*args, **kwargs):
        def compiled(function):
            result = compile_it(*args, **kwargs)(function)
            made.append(weakref.ref(result))
            return result

        return compiled

    monkeypatch.setattr(numba, "cfunc", watched)
    both = loops.__wrapped__()
    gc.collect()
    assert [owner() is not None for owner in made] == [True, True]
    del both
    gc.collect()
    assert [owner() for owner in made] == [None, None]


@pytest.mark.parametrize("missing", ["numba", "its compiler", "leave to compile"])
def test_without_numba_there_are_no_loops(monkeypatch, missing):
    """Where it is not installed, or knows no new NumPy; where its library does not load; where it is told not to."""

    def import_module(_):
        raise OSError("Could not find/load shared object file 'libllvmlite.so'")

    if missing == "numba":
        monkeypatch.setitem(sys.modules, "numba", None)
    elif missing == "its compiler":
        monkeypatch.setattr("course_lib.monitoring.readers.loops.import_module", import_module)
    else:
        monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert loops.__wrapped__() is None


def test_gradients_that_can_be_differentiated_are_read_without_no_grad():
    """Nothing that autograd would record is called, not even where a copy is read."""
    model = nn.ParameterList([torch.ones(3), torch.ones(3, dtype=torch.bfloat16), torch.ones(2, 3).T])
    loss = model[0].prod() + model[1].float().exp().sum() + (model[2] ** 3).sum()
    for p, g in zip(model, torch.autograd.grad(loss, list(model), create_graph=True), strict=True):
        p.grad = g
    reader = TorchReader(list(model))
    (group,) = reader.groups
    assert isinstance(group, InMemory)
    norms = reader.measure(1, weights=True).measures.norm
    assert norms.tolist() == pytest.approx([p.grad.float().norm().item() for p in model])
    read = group.readable([p.grad for p in model])
    assert [t.requires_grad for t in read] == [True, False, False]  # the gradient itself, and two copies


@pytest.mark.parametrize(
    ("shape", "order"), [((5, 3, 4, 2), torch.channels_last), ((5, 3, 2, 4, 2), torch.channels_last_3d)]
)
def test_channels_that_lie_last_are_read_where_they_lie(shape, order):
    """And compared with themselves; only in the step in which a model is turned, two orders do not go together."""
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
        assert found == pytest.approx(wanted, rel=1e-5)
    assert ratios == pytest.approx([np.nan, np.nan, expected[2], np.nan, expected[4]], rel=1e-5, nan_ok=True)
    (group,) = reader.groups
    p.data = p.data.to(memory_format=order)
    assert group.readable([p.grad, p])[0] is p.grad
    assert group.readable([p.grad, p])[1] is p
