"""Profiling restores what its runs change, also where nobody has passed it in."""

import copy
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.checkpoint import checkpoint

from course_lib.profiling import count_flops, profile_step, saved_activations

SHORT = {"budget_seconds": 0.01, "warmup": 1}


def same_state(module, before):
    """Say whether a module's parameters and buffers are what they were."""
    return all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_modules_inside_a_loss_function_keep_their_buffers():
    """The function is no module, so they are found when they are called."""
    model, norm, x = nn.Linear(4, 4), nn.BatchNorm1d(4), torch.randn(3, 4)
    before = copy.deepcopy(norm.state_dict())
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    profile_step(model, lambda out, y: F.mse_loss(norm(out), y), steps, (x, x), **SHORT)
    assert same_state(norm, before)
    assert norm.weight.grad is None


def test_a_model_wrapped_in_a_function_keeps_its_buffers():
    """Its weights are the optimizer's."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), torch.randn(3, 4)
    before = copy.deepcopy(model.state_dict())
    profile_step(lambda x: model(x), F.mse_loss, torch.optim.AdamW(model.parameters()), (x, x), **SHORT)
    assert same_state(model, before)


def test_a_forward_pass_that_is_looked_at_moves_no_statistics():
    """Batch norm's averages and its count."""
    norm = nn.BatchNorm1d(4)
    before = copy.deepcopy(norm.state_dict())
    saved_activations(lambda: norm(torch.randn(3, 4)).sum())
    assert same_state(norm, before)


def test_what_the_optimizer_has_beside_the_model_is_as_it_was():
    """A weight that the loss does not get to, and its gradient, where steps move it without a learning rate."""

    class Restless(torch.optim.SGD):
        def step(self):
            for p in self.param_groups[0]["params"]:
                p.detach().add_(1)

    model, beside = nn.Linear(4, 2), nn.Parameter(torch.ones(2))
    beside.grad = grad = torch.ones(2)
    profile_step(model, torch.sum, Restless([*model.parameters(), beside], lr=0.1), torch.ones(3, 4), **SHORT)
    assert beside.tolist() == [1, 1]
    assert beside.grad is grad
    assert grad.tolist() == [1, 1]


def test_an_expanded_buffer_is_no_obstacle():
    """A mask that is one row repeated."""

    class Masked(nn.Linear):
        def __init__(self):
            super().__init__(4, 4)
            self.register_buffer("mask", torch.ones(1, 4).expand(3, 4))

        def forward(self, x):
            return super().forward(x * self.mask)

    model = Masked()
    profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(3, 4), **SHORT)
    assert model.mask.stride() == (0, 1)


def test_a_graph_recorded_before_can_be_walked_afterwards():
    """It has saved weights, which have been written to and put back since."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), torch.ones(3, 4)
    loss = model(x).sum()
    expected = torch.autograd.grad(loss, model[0].weight, retain_graph=True)[0]
    profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), x, **SHORT)
    loss.backward()
    assert torch.equal(model[0].weight.grad, expected)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("compiled", [torch.jit.script, lambda model: torch.jit.trace(model, torch.ones(3, 4))])
def test_a_scripted_model_is_profiled_and_put_back(compiled):
    """Its dicts of parameters only look like dicts."""
    model = compiled(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train())
    before = copy.deepcopy(model.state_dict())
    found = profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(3, 4), **SHORT)
    assert found.steps >= 6
    assert same_state(model, before)


def test_what_is_frozen_in_the_forward_pass_is_trained_again_afterwards():
    """A model may freeze a layer when it is called."""

    class Freezes(nn.Sequential):
        def forward(self, x):
            self[0].requires_grad_(False)
            return super().forward(x)

    model = Freezes(nn.Linear(4, 4), nn.Linear(4, 2))
    profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(3, 4), **SHORT)
    assert all(p.requires_grad for p in model.parameters())


def test_a_buffer_that_remembers_the_last_result_leaves_its_graph():
    """A state that each step writes in place, gradient and all."""

    class Remembers(nn.Linear):
        def __init__(self):
            super().__init__(4, 4)
            self.register_buffer("state", torch.zeros(3, 4))

        def forward(self, x):
            out = super().forward(x + self.state.detach_())
            self.state.copy_(out)
            return out

    model = Remembers()
    profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(3, 4), **SHORT)
    assert not model.state.requires_grad
    assert not model.state.any()


def test_lists_and_dicts_in_an_optimizers_state_are_put_back():
    """With the tensors in them, at any depth."""

    class Remembers(torch.optim.SGD):
        steps = 0

        def step(self):
            self.steps += 1
            self.param_groups[0].setdefault("rates", [self.param_groups[0]["lr"]]).append(0.1)
            for p in self.param_groups[0]["params"]:
                state = self.state[p]
                state.setdefault("seen", []).append(p.grad)
                state.setdefault("deep", {"sums": [torch.zeros(())]})["sums"][0] += 1
            super().step()

    model, x = nn.Linear(4, 2), torch.ones(3, 4)
    steps = Remembers(model.parameters(), lr=0.1)
    model(x).sum().backward()
    steps.step()
    profile_step(model, torch.sum, steps, x, **SHORT)
    assert (steps.steps, steps.param_groups[0]["rates"]) == (1, [0.1, 0.1])
    for state in steps.state.values():
        assert len(state["seen"]) == 1
        assert state["deep"]["sums"] == [1]


@pytest.mark.parametrize("fails", [False, True])
def test_what_hooks_on_a_step_change_is_not_changed(fails):
    """An average of the weights, a count for every optimizer; all are back afterwards, also if the loss is refused."""
    model, x, ran = nn.Linear(4, 2), torch.ones(3, 4), []
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    steps.register_step_pre_hook(lambda *_: ran.append("before"))
    steps.register_step_post_hook(lambda *_: average.update_parameters(model))
    everywhere = [
        register(lambda *_, when=when: ran.append(f"{when} all"))
        for when, register in {
            "before": register_optimizer_step_pre_hook,
            "after": register_optimizer_step_post_hook,
        }.items()
    ]
    try:
        with pytest.raises(ValueError, match="shape") if fails else nullcontext():
            profile_step(model, torch.square if fails else torch.sum, steps, x, **SHORT)
        assert not ran
        assert average.n_averaged == 0
        steps.step()
        assert ran == ["before all", "before", "after all"]
        assert average.n_averaged == 1
    finally:
        for hook in everywhere:
            hook.remove()


def test_an_optimizer_that_steps_inside_the_backward_pass_does_not():
    """Its hooks are on the weights of the model, and on those that only the loss knows; they are back afterwards."""
    model, head, x = nn.Linear(4, 4), nn.Linear(4, 2), torch.ones(3, 4)
    inside = torch.optim.AdamW(head.parameters())
    head.weight.register_post_accumulate_grad_hook(lambda _: inside.step())
    model.bias.register_post_accumulate_grad_hook(lambda _: inside.step())
    steps, before = torch.optim.SGD(model.parameters(), lr=0.1), copy.deepcopy(head.state_dict())
    profile_step(model, lambda out: head(out).sum(), steps, x, **SHORT)
    assert same_state(head, before)
    assert not inside.state
    head(model(x)).sum().backward()
    assert inside.state[head.weight]["step"] == 2


def test_a_model_is_compiled_once():
    """Not again for the step in which modules are looked for, nor for those in which they are watched."""
    graphs = []

    def compiler(graph, inputs):
        graphs.append(graph)
        return graph.forward

    model = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), backend=compiler)
    profile_step(model, torch.sum, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(3, 4), **SHORT)
    assert len(graphs) == 1


def test_what_nobody_writes_to_may_be_read_only(tmp_path):
    """A buffer that is mapped from a file can be looked at, and not written back."""
    np.save(tmp_path / "table.npy", np.ones((4, 4), np.float32))
    model = nn.Linear(4, 4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        model.register_buffer("table", torch.from_numpy(np.load(tmp_path / "table.npy", mmap_mode="r")))
    assert count_flops(lambda: model(model.table).sum()).forward == 2 * 4 * 4 * 4


def test_a_checkpointed_norm_is_what_it_was():
    """Looking at what its region saved runs it again, several times."""
    region = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    saved_activations(lambda: checkpoint(region, torch.randn(8, 4), use_reentrant=False).sum())
    assert region[1].num_batches_tracked == 0
    assert not region[1].running_mean.any()
