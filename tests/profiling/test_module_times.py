"""The rows of a profile: one for each module, by a name of its own, in steps that are alike."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - everybody's name for it
from torch.utils.checkpoint import checkpoint

from course_lib.errors import InputError
from course_lib.profiling import profile_step, saved_activations

SHORT = {"budget_seconds": 0.01, "warmup": 1}


def profiled(model, loss_fn=torch.sum, batch=None):
    """Return the profile's modules."""
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    return profile_step(model, loss_fn, steps, torch.ones(3, 4) if batch is None else batch, **SHORT).modules


class Routes(nn.Module):
    """Two layers, of which each call takes one."""

    def __init__(self, choose):
        super().__init__()
        self.ways = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.choose = choose

    def forward(self, x):
        """Take one."""
        return self.ways[self.choose()](x)


def test_a_model_that_routes_at_random_takes_the_same_way_in_each_step():
    """All steps draw the same random numbers, those that come next."""
    model = Routes(lambda: int(torch.rand(()) < 0.5))
    state = torch.get_rng_state()
    way = model.choose()
    torch.set_rng_state(state)
    found = profiled(model)
    assert set(found) == {"Routes", f"ways.{way}", "(outside modules)"}
    assert found[f"ways.{way}"].calls == 1


def test_a_module_that_some_steps_do_not_call_is_listed():
    """A model that takes turns calls each layer in half of the steps; one that stopped being called has 0 calls."""
    turns = []

    def takes_turns():
        turns.append(None)
        return len(turns) % 2

    assert {"ways.0", "ways.1"} < set(profiled(Routes(takes_turns)))
    watched = []

    def only_in_the_first_watched_step():
        watched.extend([None] if nn.modules.module._global_forward_hooks else [])
        return int(len(watched) != 1)

    found = profiled(Routes(only_in_the_first_watched_step))
    assert (found["ways.1"].calls, found["ways.1"].kind) == (1, "Linear")
    assert (found["ways.0"].calls, found["ways.0"].kind) == (0, "Linear")


def test_a_teacher_beside_a_student_has_names_of_its_own():
    """Two models of one class are two rows, and so are the layers that have the same place in them."""
    student = nn.Sequential(nn.Linear(4, 4))
    teacher = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 4)).requires_grad_(False)
    x = torch.ones(3, 4)
    found = profiled(student, lambda out, x: F.mse_loss(out, teacher(x)), (x, x))
    names = ["Sequential", "0", "Sequential#2", "Sequential#2.0", "Sequential#2.1"]
    assert list(found) == [*names, "(outside modules)"]
    assert all(found[name].calls == 1 for name in names)


def test_layers_called_one_by_one_have_names_of_their_own():
    """As in a function that calls them; what each saved is under its name."""
    first, second, third = nn.Linear(4, 4), nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 2))
    found = saved_activations(lambda: third(second(first(torch.ones(3, 4)))).sum())
    assert found.by_module() == {"Linear": 48, "Linear#2": 48, "0": 48}


def test_a_module_of_another_class_with_the_same_parts():
    """Its own name is free, so that its parts begin with it."""

    class Other(nn.Sequential):
        pass

    one, other = nn.Sequential(nn.Linear(4, 4)), Other(nn.Linear(4, 4))
    assert list(saved_activations(lambda: other(one(torch.ones(3, 4))).sum()).by_module()) == ["0", "Other.0"]


def test_inside_an_older_checkpoint_there_is_no_backward_time():
    """As documented: its nodes are not in the graph of the loss; the time is that of the module around it."""

    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.inner = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            return checkpoint(self.inner, self.first(x), use_reentrant=True)

    found = profiled(Checkpointed())
    assert found["inner"].backward_seconds == 0
    assert found["Checkpointed"].backward_seconds > found["first"].backward_seconds > 0


@pytest.mark.parametrize(
    ("model", "loss_fn", "message"),
    [
        (None, torch.sum, "model must be a module or a function, but got a NoneType"),
        (nn.Linear(4, 2), "mse", "loss_fn must be a module or a function, but got a str"),
        (nn.Linear(4, 2), None, r"the loss must be one number, but its shape is \(3, 2\)"),
        (nn.Linear, torch.sum, r"model must be a module or a function, but got the class Linear\. Add \(\)\."),
        (nn.Linear(4, 2), nn.MSELoss, r"loss_fn must be a module or a function, but got the class MSELoss\. Add"),
        (nn.Linear(4, 2), nn.LazyLinear(1), "loss_fn must know the shapes of its parameters, but got a LazyLinear"),
        (nn.LazyLinear(2), torch.sum, "must know the shapes of its parameters, but got a LazyLinear with lazy ones"),
        (nn.Linear(4, 2), lambda out: out.sum() * 1j, r"its dtype is torch\.complex64\. Take its \.real or \.abs\(\)"),
    ],
)
def test_a_model_or_loss_that_cannot_be_profiled_is_refused(model, loss_fn, message):
    """Nothing, a class, a model without shapes, a complex loss."""
    parameters = (model if isinstance(model, nn.Module) else nn.Linear(4, 2)).parameters()
    with pytest.raises(InputError, match=message):
        profile_step(model, loss_fn, torch.optim.SGD(parameters, lr=0.1), torch.ones(3, 4), **SHORT)
