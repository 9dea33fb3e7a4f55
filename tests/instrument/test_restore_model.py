"""Counting runs a model, and leaves it as it was."""

import copy
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

from course_lib.instrument import count_flops, peak_bytes
from course_lib.instrument.module_calls import OUTSIDE_MODULES, track_module_calls
from course_lib.instrument.restore_model import snapshot_tensor


def same_state(module, before):
    """Say whether a module's parameters and buffers are what they were."""
    return all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_counting_moves_no_statistics():
    """Batch norm's averages and count, and the vector that spectral norm refines, also if the count fails."""
    model = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)), nn.BatchNorm1d(4))
    before = copy.deepcopy(model.state_dict())
    count_flops(lambda: model(torch.randn(3, 4)).sum())
    with pytest.raises(ValueError, match="must return the loss"):
        count_flops(lambda: model(torch.randn(3, 4)).tolist())
    assert same_state(model, before)
    assert not nn.modules.module._global_forward_pre_hooks


def test_counting_does_not_train_a_model_that_steps_in_its_backward_pass():
    """The optimizer's hooks are not run, and are there again afterwards."""
    layer = nn.Linear(4, 4)
    seen = []
    for p in layer.parameters():
        p.register_post_accumulate_grad_hook(seen.append)
    count_flops(lambda: layer(torch.ones(2, 4)).sum())
    assert not seen
    layer(torch.ones(2, 4)).sum().backward()
    assert len(seen) == 2


def test_a_leaf_of_no_module_keeps_its_gradient():
    """The same object with the same values; what has none gets none."""
    w, v = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    w.grad = grad = torch.full((3,), 7.0)
    count_flops(lambda: w @ v)
    assert w.grad is grad
    assert grad.tolist() == [7, 7, 7]
    assert v.grad is None


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_backward_pass_inside_the_forward_pass_leaves_no_gradients(reentrant):
    """Nor does a checkpoint of the older kind, whose leaves are not in the graph of the loss."""
    layer, x = nn.Linear(4, 4), torch.ones(2, 4, requires_grad=True)
    layer.weight.grad = grad = torch.ones(4, 4)

    def forward():
        layer(x).sum().backward()
        return checkpoint(layer, x, use_reentrant=reentrant).sum()

    count_flops(forward)
    assert layer.weight.grad is grad
    assert torch.equal(grad, torch.ones(4, 4))
    assert layer.bias.grad is None


def test_what_a_functional_call_swaps_in_is_swapped_out_again():
    """A module that runs with other buffers for a while has its own afterwards, also under vmap."""
    norm = nn.BatchNorm1d(4)
    own, others = dict(norm._buffers), {name: b.clone() for name, b in norm.named_buffers()}
    stacked = {name: torch.stack([b, b]) for name, b in others.items()}
    x = torch.randn(3, 4)
    count_flops(lambda: torch.func.functional_call(norm, others, (x,)).sum())
    count_flops(lambda: torch.func.vmap(lambda b: torch.func.functional_call(norm.eval(), b, (x,)))(stacked).sum())
    assert all(norm._buffers[name] is buffer for name, buffer in own.items())
    assert others["num_batches_tracked"] == norm.num_batches_tracked == 0


def test_weights_that_were_computed_are_swapped_in_without_a_warning():
    """They are no leaves, and have no gradient to be kept."""
    layer = nn.Linear(4, 4, bias=False)
    found = count_flops(lambda: torch.func.functional_call(layer, {"weight": layer.weight * 2}, torch.ones(2, 4)).sum())
    assert found.forward == 2 * 2 * 4 * 4
    assert layer.weight.grad is None


def test_a_fake_forward_pass_keeps_real_buffers():
    """What is kept of them is real too, though a mode that makes fake tensors is on."""
    norm = nn.BatchNorm1d(4)

    def forward():
        with FakeTensorMode(allow_non_fake_inputs=True):
            norm(torch.randn(3, 4))
        return norm(torch.ones(3, 4)).sum()

    count_flops(forward)
    assert norm.running_mean.tolist() == [0, 0, 0, 0]
    assert norm.num_batches_tracked == 0


def test_a_model_without_memory_is_counted():
    """On the meta device its buffers have no values to be kept, and their copies stay there."""
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5)).to("meta")
    assert count_flops(lambda: model(torch.ones(3, 4, device="meta")).sum()).forward == 2 * 3 * 4 * 5


def test_a_lazy_model_is_counted_in_its_first_call():
    """Its parameters and buffers have no values yet that could be kept."""
    model = nn.Sequential(nn.LazyLinear(5), nn.LazyBatchNorm1d())
    assert count_flops(lambda: model(torch.ones(3, 4)).sum()).forward == 2 * 3 * 4 * 5


def test_a_module_made_in_inference_mode_is_put_back_too():
    """Its tensors count no changes."""
    with torch.inference_mode():
        teacher = nn.BatchNorm1d(4)

    @torch.inference_mode()
    def forward():
        return teacher(torch.ones(3, 4)).sum()

    count_flops(forward)
    assert teacher.num_batches_tracked == 0


def test_restored_values_are_as_if_never_written():
    """An expanded tensor's too, to which torch writes nothing as a whole; and the count of changes goes back."""
    base = torch.zeros(1, 3)
    mask = base.expand(2, 3)
    undo, version = snapshot_tensor(mask), mask._version
    base += 1
    assert mask._version == version + 1
    undo()
    assert mask.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert mask._version == version


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("look", [count_flops, peak_bytes])
def test_what_is_compiled_runs_compiled_again_afterwards(look, warm):
    """Where it was called before as where it was not; meanwhile it runs as it is written."""
    runs, w = [], torch.ones(4, 4, requires_grad=True)

    def compiler(graph, inputs):
        return lambda *args: runs.append(None) or graph(*args)

    compiled = torch.compile(lambda x: (x @ w).sum(), backend=compiler)
    if warm:
        compiled(torch.ones(3, 4))
    before = len(runs)
    look(lambda: compiled(torch.ones(3, 4)))
    assert len(runs) == before
    compiled(torch.ones(3, 4))
    assert len(runs) == before + 1


def test_threads_that_count_at_once_leave_everything_switched_as_it_was():
    """The fast path of Transformers and the filters of warnings; and each counts its own work."""
    x, interval, found = torch.ones(2, 4), sys.getswitchinterval(), []
    layers = [nn.Linear(4, 4) for _ in range(4)]
    filters = list(warnings.filters)

    def count(layer):
        found.extend(count_flops(lambda: layer(x).sum()).forward for _ in range(5))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(layers)) as pool:
            list(pool.map(count, layers))
        assert torch.backends.mha.get_fastpath_enabled()
    finally:
        sys.setswitchinterval(interval)
        torch.backends.mha.set_fastpath_enabled(True)
    assert warnings.filters == filters
    assert found == [2 * 2 * 4 * 4] * 20


class Fails(torch.nn.Module):
    """Raises."""

    def forward(self, x):  # noqa: D102
        raise ValueError("not today")


def test_a_call_that_failed_is_over():
    """Whoever catches the error goes on outside of the module."""
    with track_module_calls() as now:
        with pytest.raises(ValueError, match="not today"):
            Fails()(torch.ones(1))
        assert now.innermost == OUTSIDE_MODULES
