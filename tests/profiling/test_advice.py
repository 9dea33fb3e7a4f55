"""Advice: what a step spends its time on is told apart by what the profiler has recorded, and said in words."""

from time import sleep

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import record_function
from torch.utils.data import DataLoader

from course_lib.errors import InputError, ProfilingError
from course_lib.profiling import advise, trace
from course_lib.profiling.advice import Advice, Finding
from course_lib.profiling.marks import read


class Recorded:
    """Events as torch's profiler gives them, with times that a test has chosen, in microseconds."""

    def __init__(self, *, device=None):
        self.events, self.device = [], device

    def add(self, name, start, end, *, inside=None, kernel=None):
        """Record one call, inside another, with a kernel of some length on the device."""
        event = FunctionEvent(len(self.events), name, 1, start, end, use_device=self.device)
        if inside is not None:
            inside.append_cpu_child(event)
            event.set_cpu_parent(inside)
        if kernel is not None:
            event.append_kernel("a_kernel", 0, kernel)
            on_device = FunctionEvent(0, "void at::a_kernel", 1, start, start + kernel, device_type=DeviceType.CUDA)
            self.events.append(on_device)
        self.events.append(event)
        return event


def milliseconds(events):
    """Return what was seen of each kind."""
    return {kind: round(seconds * 1e3, 6) for kind, seconds in read(events).seconds.items() if seconds > 1e-9}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "products"),
        ("aten::addmm_", "products"),
        ("aten::convolution_backward", "products"),
        ("aten::mkldnn_convolution", "products"),
        ("aten::_slow_conv2d_forward", "products"),
        ("aten::slow_conv_dilated3d", "products"),
        ("aten::_conv_depthwise2d", "products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "products"),
        ("aten::_cudnn_rnn", "products"),
        ("aten::_linalg_svd", "products"),
        ("aten::linalg_vector_norm", "passes"),
        ("aten::upsample_linear1d", "passes"),
        ("aten::_thnn_fused_lstm_cell", "passes"),
        ("aten::copy_", "copies"),
        ("aten::_foreach_copy_", "copies"),
        ("aten::cat", "copies"),
        ("aten::mul", "passes"),
        ("aten::_log_softmax", "passes"),
        ("mine::fused", "passes"),
        ("Torch-Compiled Region: 0/0", "passes"),
    ],
)
def test_an_operation_is_known_by_its_name(name, kind):
    """A long call counts with its kind, and what is around it as time between operations."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add(name, 90, 910, inside=step)
    assert milliseconds(seen.events) == {kind: 0.82, "calls": 0.18}


def test_a_short_call_is_mostly_the_calling():
    """Below ten microseconds the name does not matter; at ten it does."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 100)
    seen.add("aten::mm", 0, 9, inside=step)
    seen.add("aten::mm", 20, 30, inside=step)
    assert milliseconds(seen.events) == {"products": 0.01, "calls": 0.09}
    assert read(seen.events).evidence["calls"] == "2 operations a step, 1 of them under 10 µs"


def test_time_counts_once_where_calls_are_nested():
    """What an operation calls is not its own time, and the outermost operation is named."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    outer = seen.add("aten::contiguous", 0, 600, inside=step)
    seen.add("aten::copy_", 100, 600, inside=outer)
    engine = seen.add("autograd::engine::evaluate_function: MmBackward0", 600, 1000, inside=step)
    node = seen.add("MmBackward0", 600, 1000, inside=engine)
    seen.add("aten::mm", 700, 910, inside=node)
    assert milliseconds(seen.events) == {"copies": 0.6, "products": 0.21, "outside": 0.1, "calls": 0.09}
    evidence = read(seen.events).evidence
    assert evidence["copies"] == "copy_ in contiguous (1 x 500 µs); contiguous (1 x 100 µs)"
    assert evidence["products"] == "mm in MmBackward0 (1 x 210 µs)"
    assert evidence["outside"] == "in MmBackward0 (1 x 100 µs)"


def test_waiting_for_a_batch_counts_whole():
    """Also what the loader computes meanwhile, which no change to the model would make quicker."""
    seen = Recorded()
    step = seen.add("ProfilerStep#1", 0, 1000)
    loader = seen.add("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, 700, inside=step)
    seen.add("aten::stack", 100, 600, inside=loader)
    seen.add("aten::mm", 700, 1000, inside=step)
    assert milliseconds(seen.events) == {"data": 0.7, "products": 0.3}


def test_a_busy_spell_of_the_machine_moves_nothing():
    """The median over the steps counts for each call, and for the time between them."""
    seen = Recorded()
    for i, late in enumerate((0, 5000, 0)):
        start = i * 10_000
        step = seen.add(f"ProfilerStep#{i}", start, start + 650 + 2 * late)
        seen.add("aten::mm", start, start + 600 + late, inside=step)
    assert milliseconds(seen.events) == {"products": 0.6, "calls": 0.05}


@pytest.mark.parametrize("typed", [True, False])
def test_on_a_device_its_own_clock_counts(typed):
    """A quick launch of a long kernel is the kernel; what the device was idle is what the host did meanwhile.

    Older releases of torch do not say that an event is a call of the device's library: its name does.
    """
    seen = Recorded(device="cuda")
    step = seen.add("ProfilerStep#1", 0, 1000)
    seen.add("enumerate(DataLoader)#_Iter.__next__", 0, 50, inside=step)
    seen.add("aten::mm", 50, 55, inside=step, kernel=700)
    seen.add("aten::copy_", 60, 64, inside=step, kernel=4)
    seen.add("aten::view", 184, 185, inside=step)
    waited = seen.add("cudaDeviceSynchronize", 185, 950, inside=step)
    waited.activity_type = "cuda_runtime"
    if not typed:
        for event in seen.events:
            vars(event).pop("activity_type", None)
    marks = read(seen.events)
    assert marks.device == "cuda"
    assert marks.evidence["outside"] == "before view (1 x 120 µs)"
    found = {"data": 0.05, "products": 0.7, "copies": 0.004, "outside": 0.12, "calls": 0.126}
    assert milliseconds(seen.events) == found


def test_what_a_step_of_the_real_thing_leaves():
    """Shares add up to 1; a loader's wait, a product and its backward pass are all seen."""
    weight = torch.randn(300, 300, requires_grad=True)
    batches = iter(DataLoader(torch.randn(700, 300), batch_size=100))
    advice = advise(lambda: (next(batches) @ weight).sum().backward())
    assert sum(found.share for found in advice.findings) == pytest.approx(1)
    assert [found.share for found in advice.findings] == sorted((f.share for f in advice.findings), reverse=True)
    seen = {found.kind: found.evidence for found in advice.findings}
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
    found = advise(step, warmup=1, steps=3).findings[0]
    assert found.kind == "outside"
    assert evidence in found.evidence


def test_a_label_is_no_operation():
    """Whatever its name: what is inside has its own, and Python that runs in it is named by the label."""

    def step():
        with record_function("data::augment"):
            sleep(0.02)
        with record_function("Backward"):
            torch.ones(300, 300) @ torch.ones(300, 300)

    evidence = {found.kind: found.evidence for found in advise(step, warmup=1, steps=3).findings}
    assert evidence["outside"].startswith("in data::augment (1 x ")
    assert evidence["products"].startswith("mm in matmul (1 x ")


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
        Finding("calls", 0.75, "900 operations a step, 890 of them under 10 µs", "whole batches"),
        Finding("products", 0.2, "mm (2 x 40.0 µs)", "fewer FLOPs"),
        Finding("copies", 0.05, "cat (1 x 20.0 µs)", "a layout that fits"),
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
    assert [(found.kind, found.evidence) for found in advice.findings] == [
        ("outside", "no operation of torch was recorded")
    ]
    assert "gain" not in repr(advice)


def test_what_cannot_be_recorded_is_refused(tmp_path):
    """In words, and an error of the step is passed on."""
    with pytest.raises(InputError, match="step must be a function that runs one step, but got a Tensor"):
        advise(torch.ones(3).sum())
    with pytest.raises(InputError, match="steps must be a whole number, at least 1, but it is 0"):
        advise(lambda: None, steps=0)
    with pytest.raises(InputError, match="warmup must be a whole number, at least 1, but it is 0: a first step"):
        advise(lambda: None, warmup=0)
    with pytest.raises(ZeroDivisionError):
        advise(lambda: 1 / 0)
    with trace(tmp_path, wait=0, active=1) as run:
        with pytest.raises(ProfilingError, match="only one profiler can run in a process"):
            advise(lambda: None)
        for _ in range(2):
            run.step()


def test_what_inductor_has_compiled_has_a_name():
    """Its mark is a hash between signs."""
    recorded = Recorded()
    step = recorded.add("ProfilerStep#1", 0, 2000)
    region = recorded.add("Torch-Compiled Region: 0/0", 0, 2000, inside=step)
    recorded.add("## Call CompiledFxGraph fq3x ##", 100, 1900, inside=region)
    assert "compiled code" in " ".join(read(recorded.events).evidence.values())
