"""Trace some steps of a training loop with torch's profiler, for Perfetto or TensorBoard."""

import os
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from course_lib.errors import InputError, ProfilingError
from course_lib.extras import load
from course_lib.profiling.argument_checks import check_count, make_folder
from course_lib.profiling.timing import no_garbage_collection

if TYPE_CHECKING:
    from torch.autograd.profiler_util import EventList
    from torch.profiler import ProfilerActivity, profile

__all__ = ["Trace", "trace"]

Handler = Literal["chrome", "tensorboard"]


class Trace:
    """Profiler on a schedule, made by :func:`trace`: a context manager, whose :meth:`step` ends each step.

    Attributes
    ----------
    files : list of Path
        Files written so far, one for each cycle.
    steps : int
        How often :meth:`step` was called.
    """

    _running: ClassVar[bool] = False  # even while a schedule waits, which torch's own flag does not say

    def __init__(self, folder: Path, first: int, handler: Handler, options: dict[str, Any]) -> None:
        self.files: list[Path] = []
        self.steps = 0
        self._folder, self._first, self._handler = folder, first, handler
        self._averages: EventList | None = None
        self._events: EventList | None = None
        self._entered = self._over = False
        self._failure = self._rank = ""
        self._profiler = load("torch.profiler", extra="torch").profile(on_trace_ready=self._write, **options)

    def __enter__(self) -> "Trace":
        if Trace._running or load("torch.autograd.profiler", extra="torch")._is_profiler_enabled:
            raise ProfilingError(
                "only one profiler can run in a process, but one is running already. Leave its `with` block first."
            )
        if self._entered:
            raise ProfilingError(
                "a trace can run through its schedule only once, but this one was entered before. Make another with "
                "trace(...), in a folder of its own."
            )
        try:
            self._profiler.__enter__()
        except RuntimeError as error:
            raise ProfilingError(
                f"the profiler must be able to start, but torch refused it: {error}. Counters of a GPU may need "
                "permission from its administrator; device='cpu' records the host alone."
            ) from error
        Trace._running = self._entered = True
        self._rank = _rank_suffix()
        return self

    def step(self) -> None:
        """End a step of the training loop."""
        self.steps += 1
        self._profiler.step()
        self._check_written()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        Trace._running, self._over = False, True
        self._profiler.__exit__(kind, error, where)
        if kind is None:
            self._check_written()
        if kind is None and not self.files:
            raise ProfilingError(
                f"the schedule begins to record after {self._first} steps, but step() was called {self.steps} times, "
                "so nothing was written. Call step() after each step of the loop, or lower skip, wait and warmup."
            )

    def averages(self) -> "EventList":
        """Return torch's ``key_averages()`` of the last cycle that was recorded.

        Raises
        ------
        ProfilingError
            If nothing has been recorded yet.
        """
        if self._averages is None:
            self._averages = self.events().key_averages()
        return self._averages

    def events(self) -> "EventList":
        """Return the events of the last cycle that was recorded, one for each call; fails as :meth:`averages` does."""
        if self._events is None:
            raise ProfilingError(
                f"a table needs steps that were recorded, but after {self.steps} steps none was: the schedule "
                f"begins after {self._first}. Call step() in the loop, and read the table after it."
            )
        return self._events

    def table(self, *, sort_by: str = "self_cpu_time_total", rows: int = 10) -> str:
        """Return the profiler's table of the last cycle that was recorded."""
        averages = self.averages()
        try:
            return str(averages.table(sort_by=sort_by, row_limit=rows))
        except AttributeError as error:
            usual = "'self_cpu_time_total' or 'count'"
            raise InputError(f"sort_by must be what torch counts, such as {usual}, but it is {sort_by!r}.") from error

    def _write(self, profiler: "profile") -> None:
        """Write one cycle; called by the profiler, which no error may stop halfway."""
        with no_garbage_collection():  # what torch makes of a long record is all kept, and there is much of it
            events = profiler.events()
        if self._over and all(event.name.startswith("ProfilerStep") for event in events):
            return  # the loop ended with a warm-up
        self._averages, self._events = None, events
        self._rank = _rank_suffix() or self._rank  # the group may have been made since, and may be gone by now
        name = f"cycle_{len(self.files) + 1}{self._rank}"
        ending = ".pt.trace.json" if self._handler == "tensorboard" else ".json"  # what its plugin looks for
        path = self._folder / f"{name}{ending}"
        try:
            path.write_bytes(b"")  # torch would only log that it cannot
            profiler.export_chrome_trace(str(path))
            if not path.stat().st_size:
                self._failure = "torch left it empty"
        except OSError as error:
            self._failure = str(error.strerror)
        if not self._failure:
            self.files.append(path)
        profiler.profiler = None  # or the next cycle adds its events to these

    def _check_written(self) -> None:
        """Raise if the last cycle could not be written."""
        if self._failure:
            raise ProfilingError(
                f"cycle {len(self.files) + 1} must be written to {self._folder}, but that failed: {self._failure}. "
                "Name a folder that you may write to and that stays."
            )


def trace(
    folder: str | Path,
    *,
    wait: int = 1,
    warmup: int = 1,
    active: int = 3,
    repeat: int = 1,
    skip: int = 0,
    handler: Handler = "chrome",
    device: Literal["cpu", "cuda"] | None = None,
    shapes: bool = False,
    memory: bool = False,
    stacks: bool = False,
) -> Trace:
    """Profile a few steps of a loop with ``torch.profiler``, and write a trace.

    Of every ``wait + warmup + active`` steps the first are left alone, the next are recorded and dropped, since a
    profiler's own first steps are slow, and the last are written. After ``repeat`` such cycles the loop runs free.

    Parameters
    ----------
    folder : path
        Made if it is not there. Files of an earlier trace in it are overwritten; those beyond the new ones stay.
        Processes that train together can share it: each names its files with its rank, such as ``cycle_1_rank_0.json``.
    wait, warmup, active, repeat, skip : int
        Steps; ``repeat`` counts cycles, and ``skip`` steps are left alone before the first one.
    handler : {"chrome", "tensorboard"}
        ``"chrome"`` writes ``cycle_1.json``, which https://ui.perfetto.dev and chrome://tracing open;
        ``"tensorboard"`` writes ``cycle_1.pt.trace.json``, the name that TensorBoard's plugin looks for.
    device : {"cpu", "cuda"}, optional
        What is watched: by default the host, and CUDA if there is a device.
    shapes, memory : bool
        Record the shapes of inputs, and what is allocated.
    stacks : bool
        Record where in Python each operation was called: slow, and gigabytes in a long run.

    Returns
    -------
    Trace
        To be entered with ``with``.

    Raises
    ------
    InputError
        If a number is out of range, ``device="cuda"`` without CUDA, or the folder cannot be made or written to.
    ProfilingError
        On entering, if another profiler is running, torch refuses, or this was entered before; in the loop or on
        leaving, if a cycle could not be written; on leaving, if no step was recorded.

    Notes
    -----
    Starting and stopping takes about a second. torch 2.13 writes markers of its own to stderr the first time; here they
    are silenced with ``KINETO_LOG_LEVEL``, unless you have set it, have profiled before, or watch CUDA: the same
    channel says when CUDA cannot be watched. Do not start ``torch.profiler.profile()`` of your own inside: torch 2.13
    crashes when the outer one writes its trace.

    Examples
    --------
    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder, trace(folder, active=2) as run:
    ...     for _ in range(4):
    ...         _ = torch.ones(8, 8) @ torch.ones(8, 8)
    ...         run.step()
    >>> [row.count for row in run.averages() if row.key == "aten::mm"], [path.name for path in run.files]
    ([2], ['cycle_1.json'])
    """
    profiler = load("torch.profiler", extra="torch")
    counts = {"wait": (wait, 0), "warmup": (warmup, 0), "active": (active, 1), "repeat": (repeat, 1), "skip": (skip, 0)}
    for name, (value, least) in counts.items():
        check_count(name, value, least=least)
    if handler not in ("chrome", "tensorboard"):
        raise InputError(f"handler must be 'chrome' or 'tensorboard', but it is {handler!r}.")
    watched = _profiler_activities(device)
    if len(watched) == 1:  # else it may have to say that the GPU cannot be watched
        os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # read by torch when a process profiles for the first time
    folder = make_folder(folder)
    options = {
        "activities": watched,
        "schedule": profiler.schedule(skip_first=skip, wait=wait, warmup=warmup, active=active, repeat=repeat),
        "record_shapes": shapes,
        "profile_memory": memory,
        "with_stack": stacks,
    }
    return Trace(folder, skip + wait + warmup, handler, options)


def _rank_suffix() -> str:
    """Return the ending of this process's files in distributed training, else an empty string."""
    distributed = load("torch.distributed", extra="torch")
    together = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
    return f"_rank_{distributed.get_rank()}" if together else ""


def _profiler_activities(device: str | None) -> "list[ProfilerActivity]":
    """Return the profiler's activities for a device: the host, and CUDA if there is one."""
    torch = load("torch", extra="torch")
    known = torch.profiler.ProfilerActivity
    if device not in (None, "cpu", "cuda"):
        raise InputError(f"device must be 'cpu' or 'cuda', but it is {device!r}.")
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("device='cuda' needs a CUDA device, but torch sees none here. Leave device out.")
    return [known.CPU] if device == "cpu" or not torch.cuda.is_available() else [known.CPU, known.CUDA]
