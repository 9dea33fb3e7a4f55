"""The memory of a step over its operations: each storage from where it is made to where it is freed."""

import gc
import weakref
from functools import partial

import pytest
import torch
from torch import nn

from course_lib.errors import InputError
from course_lib.instrument import peak_bytes
from course_lib.profiling import memory_timeline, saved_activations

KB = 4000  # a thousand float32


def test_each_operation_adds_what_it_makes_and_what_nobody_holds_is_gone():
    """In a chain two results are alive at once, with what was there before."""
    x = torch.ones(1000)
    timeline = memory_timeline(lambda: x.mul(2).add(1).exp())
    assert timeline.operations == ("mul", "add", "exp")
    assert timeline.live_bytes == (KB, 2 * KB, 3 * KB, 3 * KB)
    assert (timeline.peak_bytes, timeline.peak_at) == (3 * KB, 2)


def test_what_was_there_before_counts_from_the_beginning():
    """Also if an operation reads it late; and not any more once it is freed."""
    held = [torch.ones(5000)]
    x = torch.ones(1000)

    def step():
        y = x * 2
        y += held.pop().sum()
        return y.exp()

    timeline = memory_timeline(step)
    assert timeline.live_bytes == (6 * KB, 7 * KB, 7 * KB + 4, 2 * KB + 4, 3 * KB + 4 - 4)


def test_views_and_writes_in_place_take_nothing():
    """A storage counts once, whoever looks at it."""
    x = torch.ones(10, 100)
    timeline = memory_timeline(lambda: x.t().reshape(10, 100).mul_(2).view(-1))
    assert timeline.live_bytes[-1] == 2 * KB
    assert timeline.peak_bytes == 2 * KB


def test_the_peak_names_who_made_what():
    """By module forward, and as the backward pass; parameters and the batch were there before."""
    model = nn.Sequential(nn.Linear(100, 50, bias=False), nn.Sigmoid(), nn.Linear(50, 100, bias=False))
    x = torch.ones(10, 100)
    timeline = memory_timeline(lambda: model(x).sum().backward())
    assert set(timeline.places) == {"0", "1", "2", "(outside modules)", "(backward pass)"}
    assert timeline.places[timeline.operations.index("sigmoid")] == "1"
    place = {(a.place, a.op, a.shape): a.bytes for a in timeline.alive_at_peak}
    assert place["(there before)", "", (50, 100)] == 5 * KB
    assert place["(backward pass)", "mm", (100, 50)] == 5 * KB
    assert sum(a.bytes for a in timeline.alive_at_peak) == timeline.peak_bytes
    assert sum(timeline.by_place().values()) == timeline.peak_bytes
    sizes = [a.bytes for a in timeline.alive_at_peak]
    assert sizes == sorted(sizes, reverse=True)


def test_at_the_end_of_the_forward_pass_there_is_what_is_saved():
    """Three counts agree: this one, the inventory of activations, and the peak."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(30, 30), nn.Tanh()) for _ in range(4)))
    x = torch.ones(20, 30)
    kept = []

    def forward():
        kept.append(model(x).sum())
        return kept[0]

    timeline = memory_timeline(forward)
    before = timeline.live_bytes[0]
    saved = saved_activations(lambda: model(x).sum())
    made = saved.total_bytes - x.nbytes  # the first layer saves the batch, which was there
    assert timeline.live_bytes[-1] - before == made + 4
    assert peak_bytes(lambda: model(x).sum()) == memory_timeline(lambda: model(x).sum()).peak_bytes


def test_a_storage_that_is_resized_counts_with_its_new_size():
    """Grown by resize_, or by a result that is written to it."""
    x, out = torch.ones(1000), torch.empty(0)
    grown = memory_timeline(lambda: torch.empty(0).resize_(1000).zero_().resize_(3000).zero_())
    assert grown.live_bytes == (0, 0, KB, KB, 3 * KB, 3 * KB)
    assert memory_timeline(lambda: torch.add(x, x, out=out)).live_bytes == (KB, 2 * KB)


def test_a_storage_that_is_resized_between_operations_counts_so_from_the_next():
    """No operation says it."""
    x = torch.ones(1000)

    def step():
        y = x * 1
        y.untyped_storage().resize_(2 * KB)
        return y.zero_()

    assert memory_timeline(step).live_bytes == (KB, 2 * KB, 3 * KB)


def test_what_a_step_makes_of_python_numbers_was_not_there_before():
    """A batch that is made in the step."""
    timeline = memory_timeline(lambda: torch.tensor([1.0] * 1000).exp())
    assert timeline.live_bytes == (0, KB, 2 * KB)
    assert timeline.by_place() == {"(outside modules)": 2 * KB}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_counts():
    """It has no shape, but numbers."""
    timeline = memory_timeline(lambda: torch.nested.nested_tensor([torch.ones(3), torch.ones(5)]).mul(2))
    assert timeline.live_bytes[-1] == 2 * 8 * 4
    assert timeline.alive_at_peak[0].shape == (8,)


def test_an_operation_on_functions_counts_as_one():
    """Such as cond, which torch lets only some modes see."""
    x = torch.ones(1000)
    timeline = memory_timeline(lambda: torch.cond(torch.tensor(True), torch.exp, torch.sin, (x,)))
    assert timeline.operations[-1] == "cond"
    assert timeline.peak_bytes == 2 * KB + 1


def test_what_lives_on_is_let_alone():
    """Nothing is attached to a parameter any more: thousands of looks leave none of their lists behind."""
    x = torch.ones(1000)
    memory_timeline(lambda: x + 1)
    gc.collect()
    assert weakref.getweakrefcount(x.untyped_storage()) == 0


def test_it_prints_the_largest_and_where_the_peak_is():
    """A table, and a line below it."""
    x = torch.ones(1024)
    held = []
    timeline = memory_timeline(lambda: held.append(x.exp()))
    assert repr(timeline).splitlines() == [
        "made in            by   shape    dtype        size",
        "(there before)          (1024,)  float32  4.00 KiB",
        "(outside modules)  exp  (1024,)  float32  4.00 KiB",
        "8.00 KiB alive after exp in (outside modules), operation 1 of 1",
    ]
    early = memory_timeline(lambda: x.mul(2).add(1).exp())
    assert repr(early).endswith("12.0 KiB alive after add in (outside modules), operation 2 of 3")
    beside = memory_timeline(lambda: held.extend([torch.empty(0), torch.ones(3)]))
    assert [a.bytes for a in beside.alive_at_peak] == [12]  # what has no entries takes nothing
    many = memory_timeline(lambda: held.extend([torch.ones(3) for _ in range(20)]))
    assert repr(many).splitlines()[13] == "and 8 smaller"
    assert repr(memory_timeline(lambda: None)).endswith("0 B alive at the start, operation 0 of 0")


def training_step(depth=3, make_optimizer=torch.optim.AdamW, **zero):
    """Return a model, its optimizer, the loss of a batch, and a step of training that was done once."""
    model = nn.Sequential(*(nn.Sequential(nn.Linear(30, 30), nn.Tanh()) for _ in range(depth)))
    optimizer, x = make_optimizer(model.parameters(), lr=0.1), torch.ones(20, 30)

    def loss():
        return model(x).square().mean()

    def step():
        optimizer.zero_grad(**zero)
        loss().backward()
        optimizer.step()

    step()
    return model, optimizer, loss, step


def test_kinds_add_up_to_what_is_alive():
    """Whatever happens in the step, nothing counts twice and nothing is left out."""
    _, optimizer, _, step = training_step()
    timeline = memory_timeline(step, optimizer=optimizer)
    assert list(timeline.by_kind) == ["parameters", "optimizer state", "gradients", "activations", "temporary"]
    assert tuple(map(sum, zip(*timeline.by_kind.values(), strict=True))) == timeline.live_bytes


def test_each_kind_has_the_size_that_follows_from_the_model():
    """Parameters with the batch, two moments and a count, gradients after the backward pass, activations before it."""
    model, optimizer, loss, step = training_step()
    timeline = memory_timeline(step, optimizer=optimizer)
    own, count = sum(p.nbytes for p in model.parameters()), len(list(model.parameters()))
    batch = 20 * 30 * 4
    kinds = timeline.by_kind
    assert set(kinds["parameters"]) == {own + batch}
    assert set(kinds["optimizer state"]) == {2 * own + 4 * count}
    assert (kinds["gradients"][0], kinds["gradients"][-1]) == (0, own)
    turn = timeline.places.index("(backward pass)")
    assert kinds["activations"][turn] == saved_activations(loss).total_bytes - batch + 8  # loss, and seed
    assert kinds["temporary"][turn] == kinds["gradients"][turn] == 0
    assert kinds["activations"][-1] == 0


def test_what_the_forward_pass_frees_is_temporary():
    """Of a product, a sum and an exponential, only the last is saved, and waits for the backward pass."""
    w = torch.ones(1000, requires_grad=True)
    kinds = memory_timeline(lambda: w.mul(2).add(1).exp().sum().backward(), optimizer=torch.optim.SGD([w])).by_kind
    assert kinds["temporary"][:4] == (0, KB, 2 * KB, KB)
    assert kinds["activations"][:4] == (0, 0, 0, KB)


def test_an_optimizer_that_keeps_nothing_has_no_state():
    """And the temporary arrays of AdamW's update are not state, though they come after the backward pass."""
    _, optimizer, _, step = training_step(make_optimizer=torch.optim.SGD)
    assert max(memory_timeline(step, optimizer=optimizer).by_kind["optimizer state"]) == 0
    _, optimizer, _, step = training_step()
    kinds = memory_timeline(step, optimizer=optimizer).by_kind
    assert max(kinds["temporary"][-40:]) > 0
    assert len(set(kinds["optimizer state"])) == 1


@pytest.mark.parametrize("late", [False, True])
def test_gradients_are_known_when_the_step_drops_them(late):
    """At its end, or if they were there before and are only filled with zeros."""
    model, optimizer, loss, step = training_step(set_to_none=False)

    def backward_first():
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()

    if late:
        optimizer.zero_grad()
    kinds = memory_timeline(backward_first if late else step, optimizer=optimizer).by_kind
    own = sum(p.nbytes for p in model.parameters())
    assert max(kinds["gradients"]) == own
    assert kinds["gradients"][0] == (0 if late else own)


def test_the_first_step_makes_the_state():
    """From the moment it is made, it is no temporary array."""
    model, x = nn.Linear(30, 30), torch.ones(20, 30)
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        model(x).sum().backward()
        optimizer.step()

    state = memory_timeline(step, optimizer=optimizer).by_kind["optimizer state"]
    assert (state[0], state[-1]) == (0, 2 * sum(p.nbytes for p in model.parameters()) + 8)


def test_a_frozen_parameter_is_a_parameter():
    """The optimizer does not have it, or has it without a gradient."""
    model, x = nn.Sequential(nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 30)), torch.ones(20, 30)
    for known in (model.parameters(), model[2].parameters()):
        model[0].requires_grad_(False)
        optimizer = torch.optim.SGD(known)
        kinds = memory_timeline(lambda: model(x).sum().backward(), optimizer=optimizer).by_kind
        assert kinds["parameters"][-1] == sum(p.nbytes for p in model.parameters()) + x.nbytes


def test_a_timeline_leaves_no_hook():
    """Also when the step raises."""
    model, optimizer, _, step = training_step()
    memory_timeline(step, optimizer=optimizer)
    with pytest.raises(ZeroDivisionError):
        memory_timeline(lambda: 1 / 0, optimizer=optimizer)
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


def test_without_an_optimizer_there_are_no_kinds():
    """Nothing tells a gradient from a temporary array."""
    assert memory_timeline(lambda: torch.ones(3)).by_kind == {}


def test_what_cannot_run_is_refused():
    """In words; an error of the step is passed on, and nothing goes on watching."""
    with pytest.raises(InputError, match=r"step must be a function .* got a Tensor"):
        memory_timeline(torch.ones(3).sum())
    with pytest.raises(InputError, match=r"optimizer must be an optimizer of torch, but got a Linear\. Pass"):
        memory_timeline(lambda: None, optimizer=nn.Linear(2, 3))
    with pytest.raises(ZeroDivisionError):
        memory_timeline(lambda: 1 / 0)
    assert not torch._C._len_torch_dispatch_stack()


def test_a_compiled_optimizer_is_seen():
    """Its moments and temporaries are as large as those of one that is not."""
    peaks = []
    for wrap in (lambda step: step, partial(torch.compile, backend="eager")):
        model, x = torch.nn.Linear(64, 64), torch.ones(8, 64)
        optimizer = torch.optim.AdamW(model.parameters())
        update = wrap(optimizer.step)

        def step(model=model, x=x, update=update):
            model(x).sum().backward()
            update()

        peaks.append(memory_timeline(step).peak_bytes)
    assert peaks[0] == peaks[1] > 6 * 4 * 64 * 64
