"""The clocks, and what is made of their times: on a clock that a test has chosen, each figure is known."""

import contextlib
import itertools
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from course_lib.profiling import Timing, time_call, timing
from course_lib.profiling.device_clocks import CudaClock, HostClock, clock_for


class FakeCuda:
    """Stands where torch.cuda stands, and notes what is asked of it."""

    def __init__(self):
        self.log, self.now, self.steps = [], 0.0, itertools.cycle([2.0])

    def device(self, device):
        """Make it current."""
        self.log.append(f"on {device}")
        return contextlib.nullcontext()

    def Event(self, enable_timing):
        """Return one that is recorded two milliseconds after the one before, or whatever comes next."""
        assert enable_timing
        cuda = self

        class Event:
            def record(self):
                cuda.now += next(cuda.steps)
                cuda.log.append("record")
                self.at = cuda.now

            def elapsed_time(self, end):
                return end.at - self.at

        return Event()

    def synchronize(self, device):
        """Wait."""
        self.log.append(f"wait for {device}")


def test_the_clock_of_cuda_records_events_and_waits_once():
    """Without a device, held against what torch.cuda would be asked; events give milliseconds."""
    cuda = FakeCuda()
    clock = CudaClock(cuda, "cuda:1")
    start, end = clock.mark(), clock.mark()
    clock.synchronize()
    assert clock.seconds(start, end) == pytest.approx(2e-3)
    assert cuda.log == ["on cuda:1", "record", "on cuda:1", "record", "wait for cuda:1"]


def test_the_clock_is_chosen_by_where_the_tensors_are():
    """In any nest; CPU and meta tensors have the host's clock; CUDA's is taken where all are on one such device."""
    assert isinstance(clock_for(torch.ones(1), [{"x": torch.ones(1)}], 3, None), HostClock)
    assert isinstance(clock_for(torch.ones(1, device="meta")), HostClock)
    assert clock_for(torch.nn.Linear(2, 2)).device == "cpu"
    tensor, waited = type("Tensor", (SimpleNamespace,), {}), []
    fake = SimpleNamespace(Tensor=tensor, nn=torch.nn, cuda=SimpleNamespace(is_initialized=lambda: False))
    fake.accelerator = SimpleNamespace(synchronize=waited.append)
    first, second = (tensor(device=torch.device("cuda", i)) for i in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", fake)
        clock = clock_for([{"deep": (second,)}])
        both = clock_for([first, second])
        both.mark()
    assert isinstance(clock, CudaClock)
    assert clock.device == "cuda:1"
    assert (type(both), both.device) == (HostClock, "cuda:0, cuda:1")
    assert set(waited) == {first.device, second.device}


@pytest.mark.parametrize(
    ("things", "name"), [((), "cuda:1"), ((torch.ones(1),), "cpu"), ((torch.nn.Linear(1, 1),), "cpu")]
)
def test_work_that_no_argument_shows_is_waited_for_on_every_device_in_use(monkeypatch, things, name):
    """A closure over tensors of the second device, while the current one is idle."""
    waited = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 512 * (device == 1))
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    clock = clock_for(*things)
    clock.mark()
    clock.synchronize()
    assert (type(clock), clock.device, waited) == (HostClock, name, [torch.device("cuda", 1)] * 2)


@pytest.fixture
def cuda(monkeypatch):
    """What is timed has a clock on which each sample takes two milliseconds of the device and one of the processor."""
    cuda = FakeCuda()
    monkeypatch.setattr(timing, "clock_for", lambda *things: CudaClock(cuda, "cuda:1"))
    monkeypatch.setattr(timing, "process_time", itertools.count(0, 1e-3).__next__)
    return cuda


def test_a_sample_is_divided_by_its_calls(cuda):
    """On either clock; the device is waited for before a sample and after it, and not between its calls."""
    found = time_call(lambda: cuda.log.append("call"), repeats=5)
    calls = found.calls_per_sample
    assert found.samples == (2e-3 / calls,) * 5
    assert found.cpu_seconds == pytest.approx(1e-3 / calls)
    assert (found.min_seconds, found.device, found.noisy) == (2e-3 / calls, "cuda:1", False)
    sample = ["wait for cuda:1", "on cuda:1", "record", *["call"] * calls, "on cuda:1", "record", "wait for cuda:1"]
    assert cuda.log[-2 * len(sample) :] == 2 * sample


def test_warm_up_calls_are_not_counted(cuda):
    """A first call a hundred times as long as the others comes before any clock is read."""

    def first_is_slow():
        cuda.now += 1.0 if "call" in cuda.log else 100.0
        cuda.log.append("call")

    found = time_call(first_is_slow, warmup=2, repeats=5)
    assert cuda.log[: cuda.log.index("record")].count("call") == 2
    assert found.samples == pytest.approx((1e-3 + 2e-3 / found.calls_per_sample,) * 5)


@pytest.mark.parametrize(
    ("budget_seconds", "patience", "samples"), [(0.5, math.inf, 101), (1e-3, math.inf, 7), (0.5, -1, 7)]
)
def test_there_are_as_many_samples_as_the_budget_allows(cuda, monkeypatch, budget_seconds, patience, samples):
    """Between 7 and 101; and no more than are needed once patience is over."""
    monkeypatch.setattr(timing, "PATIENCE", patience)
    assert len(time_call(lambda: None, budget_seconds=budget_seconds).samples) == samples


@pytest.mark.parametrize(("high", "noisy"), [(110.4, False), (110.6, True)])
def test_quartiles_further_apart_than_a_tenth_of_the_median_are_noisy(cuda, high, noisy):
    """The median of the samples is 105 milliseconds, the lower quartile 100."""
    cuda.steps = itertools.cycle([100, 105, high, 120, 90])
    found = time_call(lambda: None, repeats=5)
    quartiles = [found.q25_seconds, found.median_seconds, found.q75_seconds]
    assert [1e3 * found.calls_per_sample * seconds for seconds in quartiles] == pytest.approx([100, 105, high])
    assert found.noisy == noisy


@pytest.mark.parametrize(
    ("once", "later", "calls", "seconds"),
    [
        (0.3, 1e-6, 1, 0.3),  # no pause is that long
        (0.1, 0.1, 1, 0.1),
        (0.1, 1e-4, 10, 1e-4),  # there was a pause in it
        (1e-4, 1e-4, 10, 1e-4),
        (0.0, 2e-6, 256, 2e-6),  # sixteen times as many each time
        (1e-4, 1e-2, 10, 1e-2),  # what was first was no guide
    ],
)
def test_calls_fill_a_sample(once, later, calls, seconds):
    """What one call took says how many, and those that are tried then."""
    assert timing._calls_per_sample(lambda calls: (later, 0.0), once) == (calls, seconds)


def test_numbers_of_numpy_are_numbers():
    """As options, whole ones and others."""
    found = time_call(lambda: None, warmup=np.int64(1), repeats=np.int32(2), budget_seconds=np.float32(0.01))
    assert len(found.samples) == 2


@pytest.mark.parametrize("noisy", [False, True])
def test_each_figure_is_printed_below_its_name(noisy):
    """With what they were taken from, and whether they can be trusted."""
    found = Timing(3e-3, 2e-3, 4e-3, 1e-3, 5e-3, noisy, (1e-3, 3e-3), 7, "cuda:1")
    assert repr(found).splitlines() == [
        " median      25%      75%      min  processor",
        "3.00 ms  2.00 ms  4.00 ms  1.00 ms    5.00 ms",
        f"(2 samples of 7, on cuda:1{', noisy' if noisy else ''})",
    ]
