"""Timing a call: warmed up, waited for, told with its spread."""

import contextlib
import gc
import sqlite3
from concurrent.futures import Future

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from course_lib.errors import InputError
from course_lib.profiling import time_call
from course_lib.profiling.device_clocks import clock_for
from course_lib.profiling.formatting import format_bytes, format_seconds


def spin(count=2000):
    """Keep the processor busy."""
    return sum(range(count))


def test_the_figures_are_those_of_the_samples():
    """Quartiles in order, the minimum the least, nothing negative; as many samples as were asked for."""
    timing = time_call(spin, repeats=9)
    assert len(timing.samples) == 9
    assert timing.min_seconds == min(timing.samples) > 0
    assert (
        timing.min_seconds <= timing.q25_seconds <= timing.median_seconds <= timing.q75_seconds <= max(timing.samples)
    )
    assert (timing.q25_seconds, timing.median_seconds) == tuple(np.percentile(timing.samples, [25, 50]))
    assert timing.q75_seconds == np.percentile(timing.samples, 75)
    assert timing.cpu_seconds > 0
    assert timing.noisy == (timing.q75_seconds - timing.q25_seconds > 0.1 * timing.median_seconds)


def test_more_work_takes_longer():
    """Fifty times the work, at least ten times the time: it is the call that is timed."""
    assert time_call(spin, 100_000).min_seconds > 10 * time_call(spin, 2000).min_seconds


def test_short_calls_are_timed_many_at_once():
    """The clock is read around about a millisecond of work."""
    assert time_call(spin, 10, repeats=3).calls_per_sample > 50


def test_first_calls_that_return_at_once_are_no_measure():
    """As of a queue that was full: how many calls fill a sample is found again from those after them."""
    seen = []

    def soon_slow():
        seen.append(None)
        return spin(100_000) if len(seen) > 4 else None

    assert time_call(soon_slow, repeats=2).calls_per_sample <= 16


@pytest.mark.parametrize("form", [lambda y: {"y": y}, lambda y: jax.tree_util.Partial(print, y)], ids=["dict", "own"])
def test_it_waits_for_jax(form):
    """Every result is waited for, wherever it is in what is returned, also in a tree of somebody's own."""
    waited = []
    real = jax.block_until_ready
    x = jnp.ones((64, 64))
    product, made = jax.jit(lambda x: form(x @ x)), []

    def call(x):
        made.append(None)
        return product(x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax, "block_until_ready", lambda tree: waited.append(tree) or real(tree))
        timing = time_call(call, x, warmup=1, repeats=3)
    assert len(waited) == len(made) >= 1 + 3 * timing.calls_per_sample
    assert {jax.tree.structure(tree) for tree in waited} == {jax.tree.structure(form(x))}


class Device:
    """A device that this machine may not have."""

    def __init__(self, name):
        self.name, self.platform = name, name.split(":")[0].replace("cuda", "gpu")  # as JAX calls them

    def __str__(self):
        return self.name


class ArrayOn:
    """What an array of JAX says of itself."""

    def __init__(self, *devices):
        self.names = devices

    def devices(self):
        """Name where it lies."""
        return {Device(name) for name in self.names}

    def block_until_ready(self):
        """Return it: its work is done."""
        return self


@pytest.mark.parametrize(
    ("devices", "named"),
    [(("cuda:0",), "cuda:0"), (("cuda:1", "cuda:0"), "cuda:0, cuda:1"), (("cpu:0", "cpu:1"), "cpu")],
)
def test_it_names_the_device_of_jax_arrays(devices, named):
    assert time_call(lambda: {"y": ArrayOn(*devices)}, repeats=2).device == named


def test_it_waits_for_nothing_else(monkeypatch):
    """JAX would look through every item of a list, which may take longer than the call."""
    waited = []
    monkeypatch.setattr(jax, "block_until_ready", waited.append)
    time_call(lambda: [0.0] * 10, repeats=2)
    assert not waited


def test_an_array_in_one_warm_up_call_is_enough_to_wait():
    """Results may differ from call to call."""
    results, made = iter([jnp.ones(2), 0.0, *[jnp.ones(2)] * 10**6]), []
    with pytest.MonkeyPatch.context() as patch:
        waited = []
        patch.setattr(jax, "block_until_ready", waited.append)
        timing = time_call(lambda: made.append(None) or next(results), warmup=2, repeats=2)
    assert len(waited) == len(made) >= 2 + 2 * timing.calls_per_sample


def test_arguments_are_not_looked_through_while_the_clock_runs():
    """They are, for tensors, when the clock is chosen and in warm-up calls, and not for each of thousands of calls."""
    looks = []

    class Watched(dict):
        def values(self):
            looks.append(self)
            return super().values()

    timing = time_call(len, Watched(), warmup=2, repeats=2)
    assert 0 < len(looks) < 10 < timing.calls_per_sample


@pytest.mark.parametrize("nest", [[], {}])
def test_a_nest_that_holds_itself_has_an_end(nest):
    """Lists and dicts may; the tensor in it is found all the same."""
    nest.update(it=nest, x=torch.ones(1)) if isinstance(nest, dict) else nest.extend([nest, torch.ones(1)])
    timing = time_call(lambda x: x, nest, repeats=2)
    assert timing.device == "cpu"
    assert clock_for(nest, torch.ones(1, device="meta")).device == "cpu"


def test_a_file_is_no_iterator_that_waits(tmp_path):
    """Opening it is the work."""
    (path := tmp_path / "notes.txt").write_text("mine")
    opened = []
    time_call(lambda: opened.append(path.open()) or opened[-1], repeats=2, budget_seconds=0.01)
    for file in opened:
        file.close()


def test_the_garbage_collector_is_as_it_was():
    """Off while timing; on again even if the call raises; left off if it was off."""
    seen = []
    time_call(lambda: seen.append(gc.isenabled()), repeats=2)
    assert set(seen) == {False}
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        time_call(lambda: 1 / 0)
    assert gc.isenabled()
    gc.disable()
    try:
        time_call(spin, repeats=2)
        assert not gc.isenabled()
    finally:
        gc.enable()


async def later():
    """Yield once somebody asks."""
    yield 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: time_call(3.0), "needs a function to call, but it got float: pass it uncalled"),
        (lambda: time_call(spin, warmup=0), "warmup must be a whole number, at least 1, but it is 0"),
        (lambda: time_call(spin, warmup=1.5), "at least 1, but it is 1.5"),
        (lambda: time_call(spin, warmup=True), "at least 1, but it is True"),
        (lambda: time_call(spin, repeats=2.5), "at least 2, but it is 2.5"),
        (lambda: time_call(spin, budget_seconds=0), "budget_seconds must be a time above 0, but it is 0"),
        (lambda: time_call(spin, budget_seconds=float("nan")), "above 0, but it is nan"),
        (lambda: time_call(spin, budget_seconds=float("inf")), "above 0, but it is inf"),
        (lambda: time_call(spin, repeats=1), "repeats must be a whole number, at least 2, but it is 1"),
        (lambda: time_call(spin, budget_seconds="1"), "above 0, but it is '1'"),
        (lambda: time_call(spin, budget_seconds=None), "above 0, but it is None"),
        (lambda: time_call(lambda: (n for n in "ab")), "returned a generator, which has done nothing yet"),
        (lambda: time_call(map, str, "ab"), "returned a map, which has done nothing yet: consume it inside"),
        (lambda: time_call(zip, "ab"), "returned a zip, which has done nothing yet"),
        (lambda: time_call(filter, str, "ab"), "returned a filter, which has done nothing yet"),
        (lambda: time_call(later), "returned a async_generator, which has done nothing yet"),
        (lambda: time_call(torch.futures.Future), "returned a Future, which may not be done yet"),
        (lambda: time_call(Future), "returned a Future, which may not be done yet: wait for it inside"),
    ],
)
def test_what_cannot_be_timed_is_refused(call, message):
    """Each message says what came and what to do."""
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        call()


def test_a_coroutine_is_refused_and_closed():
    """No warning about one that was never awaited."""

    async def later():
        """Do nothing."""

    with pytest.raises(InputError, match="returned a coroutine"):
        time_call(later)


def test_it_prints_as_a_table():
    """Five figures with units, and how they were taken."""
    head, figures, note = repr(time_call(spin, repeats=3)).splitlines()
    assert head.split() == ["median", "25%", "75%", "min", "processor"]
    assert len(figures.split()) == 10
    assert note.startswith("(3 samples of ")
    assert "on cpu" in note


@pytest.mark.parametrize(
    ("seconds", "text"), [(1.0, "1.00 s"), (0.0123, "12.3 ms"), (123e-6, "123 µs"), (5e-9, "5 ns"), (0.0, "0 ns")]
)
def test_times_have_three_digits_and_a_unit(seconds, text):
    """From nanoseconds to seconds."""
    assert format_seconds(seconds) == text


def test_sizes_have_a_unit():
    """Powers of 1024."""
    found = [format_bytes(n) for n in (7, 2048, 5 * 2**30, 3 * 2**40)]
    assert found == ["7 B", "2.00 KiB", "5.00 GiB", "3.00 TiB"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_the_work_is_waited_for():
    """A product of 4096 x 4096 takes far longer than its launch."""
    x = torch.randn(4096, 4096, device="cuda")
    timing = time_call(lambda: x @ x, repeats=5)
    assert timing.device.startswith("cuda")
    assert timing.min_seconds > 2 * 4096**3 / 2e15


def test_an_iterator_over_work_that_is_done_is_timed():
    """A cursor can be read on, and yet its statement is over."""
    with contextlib.closing(sqlite3.connect(":memory:")) as book:
        assert time_call(book.execute, "SELECT 1", repeats=2).min_seconds > 0
