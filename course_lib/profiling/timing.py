"""Time a function call: warm up, wait for the device, repeat, and report the spread."""

import gc
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from time import perf_counter, process_time
from typing import Any

import numpy as np

from course_lib.errors import InputError
from course_lib.profiling.argument_checks import check_budget, check_count
from course_lib.profiling.device_clocks import (
    Clock,
    HostClock,
    block_until_ready,
    clock_for,
    has_jax_arrays,
    jax_devices,
)
from course_lib.profiling.formatting import format_seconds
from course_lib.rendering import ReadableResult, Section

__all__ = ["Timing", "no_garbage_collection", "time_call"]

LONGEST_PAUSE = 0.2  # seconds for which a busy machine may leave a process waiting
SHORTEST = 1e-8  # the least that a call takes
SAMPLE_SECONDS = 1e-3  # far above what reading the clock costs
FEWEST, MOST = 7, 101  # samples, where the caller does not say
LAZY = (Generator, AsyncGenerator, Awaitable, map, filter, zip)
PATIENCE = 4  # budgets, after which no more samples are taken than are needed
NOISY = 0.1  # of the median, between the quartiles


@dataclass(frozen=True, repr=False)
class Timing(ReadableResult):
    """Timing of one call, in seconds.

    Attributes
    ----------
    median_seconds, q25_seconds, q75_seconds, min_seconds : float
        Over the samples. Other work on the machine only ever adds time, so the minimum says what the call itself needs,
        and the median what it usually took here.
    cpu_seconds : float
        Processor time of this process for one call, all threads added up. If far below the median, the call waits: for
        a device, a disk, or its turn. If far above, the call uses several cores.
    noisy : bool
        The quartiles are further apart than a tenth of the median: report the spread when you report the time.
    samples : tuple of float
        Seconds of one call, each averaged over ``calls_per_sample`` calls.
    calls_per_sample : int
    device : str
        Whose clock was read.
    """

    median_seconds: float
    q25_seconds: float
    q75_seconds: float
    min_seconds: float
    cpu_seconds: float
    noisy: bool
    samples: tuple[float, ...]
    calls_per_sample: int
    device: str

    def sections(self) -> list[Section]:
        """Return a table of the times, and how they were measured."""
        times = (self.median_seconds, self.q25_seconds, self.q75_seconds, self.min_seconds, self.cpu_seconds)
        names = ("median", "25%", "75%", "min", "processor")
        noise = ", noisy" if self.noisy else ""
        of = f"{len(self.samples)} samples of {self.calls_per_sample}, on {self.device}{noise}"
        rows = names, tuple(map(format_seconds, times))
        return [Section(rows=rows, caption="Time of one call", notes=(f"({of})",), word_columns=0)]


def time_call(
    fn: Callable[..., Any],
    *args: object,
    warmup: int = 3,
    repeats: int | None = None,
    budget_seconds: float = 0.5,
) -> Timing:
    """Time ``fn(*args)``.

    The first calls are not counted: they compile, allocate, and fill caches. Each sample waits until the work is done
    and not only queued: on CUDA by events on the stream, for JAX by ``block_until_ready`` on what is returned, where
    the warm-up has seen one of its arrays there. Calls too short for the clock are timed several at once. Garbage is
    not collected meanwhile.

    Parameters
    ----------
    fn : callable
        On JAX it must return what it computes, or there is nothing to wait for.
    *args
        Its arguments.
    warmup : int
        Calls before the clock starts, at least 1.
    repeats : int, optional
        Samples, at least 2; by default as many as the budget allows, between 7 and 101.
    budget_seconds : float
        About how long the samples may take together, where ``repeats`` is not given.

    Returns
    -------
    Timing

    Raises
    ------
    InputError
        If ``fn`` cannot be called, returns an iterator, coroutine or future, whose work is not done yet, or an option
        is out of range. What ``fn`` raises is passed on.

    Examples
    --------
    >>> import numpy as np
    >>> timing = time_call(np.dot, np.ones(1000), np.ones(1000), repeats=5)
    >>> timing.min_seconds <= timing.q25_seconds <= timing.median_seconds <= timing.q75_seconds
    True
    """
    _check_arguments(fn, warmup, repeats)
    check_budget(budget_seconds)
    with no_garbage_collection():
        clock, deferred, once = _warm_up(fn, args, warmup)
        draw = partial(_time_sample, clock, fn, args, deferred=deferred)
        calls, once = _calls_per_sample(draw, once)
        pairs, late = [], perf_counter() + PATIENCE * budget_seconds
        for _ in range(repeats or min(MOST, max(FEWEST, int(budget_seconds / (once * calls))))):
            pairs.append(draw(calls))
            if repeats is None and len(pairs) >= FEWEST and perf_counter() > late:  # it became slower on the way
                break
    wall, cpu = zip(*pairs, strict=True)
    low, middle, high = (float(q) for q in np.percentile(wall, [25, 50, 75]))
    noisy = high - low > NOISY * middle
    return Timing(middle, low, high, min(wall), float(np.median(cpu)), noisy, wall, calls, clock.device)


def _check_arguments(fn: object, warmup: int, repeats: int | None) -> None:
    """Check the arguments of :func:`time_call`."""
    if not callable(fn):
        raise InputError(
            f"time_call needs a function to call, but it got {type(fn).__name__}: pass it uncalled, "
            "time_call(f, x) and not time_call(f(x))."
        )
    check_count("warmup", warmup, least=1, because="a first call is never like the others")
    if repeats is not None:
        check_count("repeats", repeats, least=2, because="one sample has no spread")


def _check_finished(result: object) -> None:
    """Refuse a result that is still to be computed, as a generator's or a future's."""
    if inspect.iscoroutine(result):
        result.close()
    found = f"the function must do its work when it is called, but it returned a {type(result).__name__}, which "
    if hasattr(result, "add_done_callback"):
        raise InputError(f"{found}may not be done yet: wait for it inside, for example with result().")
    if isinstance(result, LAZY):  # other iterators, such as a file or a cursor, come after the work
        raise InputError(f"{found}has done nothing yet: consume it inside, for example with list().")


def _warm_up(fn: Callable[..., Any], args: tuple[object, ...], count: int) -> tuple[Clock[Any], bool, float]:
    """Call a function, and return its clock, whether JAX is to be waited for, and the seconds of the last call."""
    deferred = False
    for _ in range(count):
        start = perf_counter()
        result = fn(*args)
        called = perf_counter() - start
        _check_finished(result)
        clock = clock_for(args, result)  # looking through long lists may take longer than the call
        if has_jax_arrays(result):
            deferred = True
            if isinstance(clock, HostClock):
                clock.device = jax_devices(result) or clock.device
        start = perf_counter()
        if deferred:
            block_until_ready(result)
        clock.synchronize()
        once = called + perf_counter() - start
    return clock, deferred, once


def _calls_per_sample(draw: Callable[[int], tuple[float, float]], once: float) -> tuple[int, float]:
    """Find how many calls fill a sample, and the seconds of one, by trying more and more.

    The first calls may be no guide: those that take from a full queue, say, take longer once it is empty.
    """
    calls, once = 1, max(once, SHORTEST)
    if SAMPLE_SECONDS / 2 <= once < LONGEST_PAUSE:  # a pause of the machine may have been in it: ask again
        once = max(min(once, draw(1)[0]), SHORTEST)
    while calls * once < SAMPLE_SECONDS / 2:
        calls = min(16 * calls, ceil(SAMPLE_SECONDS / once))
        once = max(draw(calls)[0], SHORTEST)
    return calls, once


def _time_sample(
    clock: Clock[Any], fn: Callable[..., Any], args: tuple[object, ...], calls: int, *, deferred: bool
) -> tuple[float, float]:
    """Time several calls; return the mean seconds of one, on the device's clock and of the processor."""
    clock.synchronize()
    cpu = process_time()
    start = clock.mark()
    if deferred:
        for _ in range(calls):
            block_until_ready(fn(*args))
    else:
        for _ in range(calls):
            fn(*args)
    end = clock.mark()
    clock.synchronize()
    return clock.seconds(start, end) / calls, (process_time() - cpu) / calls


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable Python's garbage collector inside."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
