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
        "made in             by    shape    dtype      size",
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


def test_what_cannot_run_is_refused():
    """In words; an error of the step is passed on, and nothing goes on watching."""
    with pytest.raises(InputError, match=r"step must be a function .* got a Tensor"):
        memory_timeline(torch.ones(3).sum())
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
