"""Advice: what a step spends its time on is told apart by what the profiler has recorded, and said in words."""

from time import sleep

import pytest
import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader

from course_lib.errors import InputError, ProfilingError
from course_lib.profiling import advice as advising
from course_lib.profiling import advise, trace
from course_lib.profiling.advice import Advice, Bottleneck
from course_lib.profiling.event_analysis import StepBreakdown


def test_what_a_step_of_the_real_thing_leaves():
    """Shares add up to 1; a loader's wait, a product and its backward pass are all seen."""
    weight = torch.randn(300, 300, requires_grad=True)
    batches = iter(DataLoader(torch.randn(700, 300), batch_size=100))
    advice = advise(lambda: (next(batches) @ weight).sum().backward())
    assert sum(found.share for found in advice.bottlenecks) == pytest.approx(1)
    assert [found.share for found in advice.bottlenecks] == sorted((f.share for f in advice.bottlenecks), reverse=True)
    seen = {found.kind: found.evidence for found in advice.bottlenecks}
    assert seen["data"].endswith("a step in enumerate(DataLoader)")
    assert "mm in MmBackward0 (1 x " in seen["products"]
    assert advice.steps == 5
    assert advice.device == "cpu"


class Slow(torch.autograd.Function):
    """Hands on what it gets; stands for a function that computes in NumPy."""

    @staticmethod
    def forward(ctx, x):
        """Wait."""
        sleep(0.02)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        """Wait."""
        sleep(0.02)
        return g


@pytest.mark.parametrize(
    ("step", "evidence"),
    [
        (lambda: (torch.ones(2), sleep(0.02), torch.zeros(2)), "before zeros (1 x "),
        (lambda: sleep(0.02), "throughout (1 x "),
        (lambda: Slow.apply(torch.ones(2, requires_grad=True)).sum().backward(), "in SlowBackward (1 x "),
    ],
)
def test_what_torch_does_not_record_is_no_small_call(step, evidence):
    """What runs long between two operations is Python, NumPy, JAX or another thread, and is told by where it runs."""
    found = advise(step, warmup=1, steps=3).bottlenecks[0]
    assert found.kind == "outside"
    assert evidence in found.evidence


def test_a_label_is_no_operation():
    """Whatever its name: what is inside has its own, and Python that runs in it is named by the label."""

    def step():
        with record_function("data::augment"):
            sleep(0.02)
        with record_function("Backward"):
            torch.ones(300, 300) @ torch.ones(300, 300)

    evidence = {found.kind: found.evidence for found in advise(step, warmup=1, steps=3).bottlenecks}
    assert evidence["outside"].startswith("in data::augment (1 x ")
    assert evidence["products"].startswith("mm in matmul (1 x ")


def test_what_is_compiled_already_is_not_told_to_compile():
    """Whatever the step waits for; what is not compiled is."""
    plain, x = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64)), torch.randn(256, 64)
    compiled = torch.compile(plain, backend="aot_eager")

    def remedies(model):
        return " ".join(found.remedy for found in advise(lambda: model(x).sum().backward(), steps=2).bottlenecks)

    assert "torch.compile" not in remedies(compiled)
    assert "graph breaks" in remedies(compiled)
    assert "torch.compile" in remedies(plain)


def test_an_exchange_between_processes_is_communication():
    """Recorded of gloo itself, in a group of one."""
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=torch.distributed.HashStore())
    try:
        x = torch.ones(20_000_000)  # long beside what else the machine does
        found = advise(lambda: torch.distributed.all_reduce(x), steps=3).bottlenecks
    finally:
        torch.distributed.destroy_process_group()
    evidence = {bottleneck.kind: bottleneck.evidence for bottleneck in found}
    assert "allreduce_ (1 x " in evidence["communication"]


def test_steps_are_run_as_often_as_said():
    """Two to warm up and five to record, if nobody asks for others."""
    runs = []
    advise(lambda: runs.append(1))
    assert len(runs) == 7
    assert advise(lambda: runs.append(1), warmup=1, steps=2).steps == 2
    assert len(runs) == 10


def test_it_says_what_was_seen_and_what_to_try():
    """Largest share first, what it can gain at most, and nothing of what is not worth mending."""
    found = (
        Bottleneck("calls", 0.75, "900 operations a step, 890 of them under 10 µs", "whole batches"),
        Bottleneck("products", 0.2, "mm (2 x 40.0 µs)", "fewer FLOPs"),
        Bottleneck("copies", 0.05, "cat (1 x 20.0 µs)", "a layout that fits"),
    )
    assert repr(Advice(found, 0.0004, 5, "cpu")).splitlines() == [
        "400 µs a step on cpu, 5 recorded:",
        " 75%  small calls, and the time between operations",
        "      seen: 900 operations a step, 890 of them under 10 µs",
        "       try: whole batches",
        "      gain: at most 4.0 times as fast",
        " 20%  products and factors of matrices",
        "      seen: mm (2 x 40.0 µs)",
        "       try: fewer FLOPs",
        "      gain: at most 1.2 times as fast",
    ]
    assert max(map(len, repr(advise(lambda: torch.ones(300, 300) @ torch.ones(300, 300))).splitlines())) <= 76


def test_a_step_without_an_operation_is_not_blamed_on_calls():
    """There is none that could be called less often; there is something to say of it, and no gain is promised."""
    advice = advise(lambda: None, steps=1)
    assert [(found.kind, found.evidence) for found in advice.bottlenecks] == [
        ("outside", "no operation of torch was recorded")
    ]
    assert "gain" not in repr(advice)
    assert "gain" not in repr(
        Advice((Bottleneck("outside", 0.995, "throughout (1 x 1.00 s)", "cProfile"),), 1.0, 1, "cpu")
    )


def test_what_cannot_be_recorded_is_refused(tmp_path):
    """In words, and an error of the step is passed on."""
    with pytest.raises(InputError, match=r"step must be a function .* got a Tensor"):
        advise(torch.ones(3).sum())
    with pytest.raises(InputError, match=r"steps must be .*at least 1, but it is 0"):
        advise(lambda: None, steps=0)
    with pytest.raises(InputError, match=r"warmup must be .*at least 1, but it is 0"):
        advise(lambda: None, warmup=0)
    with pytest.raises(ZeroDivisionError):
        advise(lambda: 1 / 0)
    with trace(tmp_path, wait=0, active=1) as run:
        with pytest.raises(ProfilingError, match="only one profiler can run in a process"):
            advise(lambda: None)
        for _ in range(2):
            run.step()


def test_a_step_is_as_long_as_what_it_spends_its_time_on(monkeypatch):
    """However many were recorded; what takes none of it is no finding."""
    seconds = {"data": 0.0, "copies": 1e-3, "products": 3e-3}
    monkeypatch.setattr(
        advising, "break_down_step", lambda events: StepBreakdown(seconds, dict.fromkeys(seconds, "seen"), "cuda")
    )
    advice = advise(lambda: None, steps=2)
    assert advice.step_seconds == pytest.approx(4e-3)
    assert (advice.steps, advice.device) == (2, "cuda")
    assert [(found.kind, found.share) for found in advice.bottlenecks] == [("products", 0.75), ("copies", 0.25)]
