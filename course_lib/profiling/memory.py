"""Follow the memory of a step: bytes after each operation, and which storages are alive at the peak."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from course_lib.extras import load
from course_lib.instrument.dispatch_mode import check_step
from course_lib.instrument.module_calls import track_module_calls
from course_lib.instrument.storages import Storage, log_storages
from course_lib.profiling.formatting import format_bytes, format_table

__all__ = ["LiveStorage", "MemoryTimeline", "memory_timeline"]

SHOWN = 12
BEFORE, BACKWARD = "(there before)", "(backward pass)"


@dataclass(frozen=True)
class LiveStorage:
    """A storage that was alive at the peak.

    Attributes
    ----------
    place : str
        Where it was made: the name of the innermost module, ``(backward pass)``, ``(outside modules)``, or
        ``(there before)``, as parameters and the batch were.
    op : str
        The operation that made it, such as ``addmm``; empty if it was there before.
    shape : tuple of int
        Of the tensor that was seen first on it.
    dtype : str
        Such as ``float32``.
    bytes : int
        Of the whole storage.
    """

    place: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True, repr=False)
class MemoryTimeline:
    """Bytes of the tensors that were alive during a step, and the storages at the peak.

    Attributes
    ----------
    live_bytes : tuple of int
        Before the first operation, and after each.
    operations : tuple of str
        Their names, such as ``addmm``: ``live_bytes[i + 1]`` is after ``operations[i]``.
    places : tuple of str
        Where each ran: the innermost module, ``(backward pass)`` or ``(outside modules)``.
    alive_at_peak : tuple of Alive
        Every storage that was in memory at the peak, the largest first.
    """

    live_bytes: tuple[int, ...]
    operations: tuple[str, ...]
    places: tuple[str, ...]
    alive_at_peak: tuple[LiveStorage, ...]

    @property
    def peak_bytes(self) -> int:
        """The most that was alive at once."""
        return max(self.live_bytes)

    @property
    def peak_at(self) -> int:
        """Which entry of ``live_bytes`` is the peak, the first of several."""
        return self.live_bytes.index(self.peak_bytes)

    def by_place(self) -> dict[str, int]:
        """Return the bytes at the peak by where they were made, most first."""
        found = Counter[str]()
        for alive in self.alive_at_peak:
            found[alive.place] += alive.bytes
        return dict(found.most_common())

    def __repr__(self) -> str:
        rows = [("made in", "by", "shape", "dtype", "size")]
        rows += [(a.place, a.op, str(a.shape), a.dtype, format_bytes(a.bytes)) for a in self.alive_at_peak[:SHOWN]]
        more = f"\nand {len(self.alive_at_peak) - SHOWN} smaller" if len(self.alive_at_peak) > SHOWN else ""
        done = self.peak_at
        when = f"after {self.operations[done - 1]} in {self.places[done - 1]}" if done else "at the start"
        at = f"{format_bytes(self.peak_bytes)} alive {when}, operation {done} of {len(self.operations)}"
        return f"{format_table(rows)}{more}\n{at}"


def memory_timeline(step: Callable[[], object]) -> MemoryTimeline:
    """Run a step once, and follow every storage from the operation that makes it to the moment it is freed.

    Parameters
    ----------
    step : callable
        Takes nothing: a forward pass, or a whole step of training, which then trains.

    Returns
    -------
    MemoryTimeline

    Raises
    ------
    InputError
        If ``step`` cannot be called. What it raises is passed on.

    Notes
    -----
    What an operation reads but none has made was there from the beginning: parameters, optimizer state, the batch. What
    no operation of the step touches is not seen, such as old gradients that ``zero_grad`` drops, nor what other threads
    or compiled kernels allocate, nor what a kernel needs for itself, nor what an allocator holds back; so this is the
    same on every device, and less than a device's own count. A function made by ``torch.compile`` runs as it is
    written. Fake tensors and those on ``meta`` count what they would take. Memory that is shared with NumPy counts
    again when a tensor is made from it, and a storage that was resized counts once an operation uses it.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> x = torch.ones(64, 256)
    >>> timeline = memory_timeline(lambda: model(x).sum().backward())
    >>> timeline.by_place()
    {'(there before)': 338984, '(backward pass)': 338984, '(outside modules)': 8}
    """
    torch = load("torch", extra="torch")
    check_step(step)
    with track_module_calls() as stack:

        def place() -> str:
            if torch._C._current_autograd_node() is not None:
                return BACKWARD
            return stack.innermost

        log = log_storages(step, note=place)
    live = log.live_bytes()
    peak = live.index(max(live)) - 1  # the number of an operation, or -1
    found = [_describe_storage(entry) for entry in log.storages if entry.bytes and entry.is_alive(peak)]
    found.sort(key=lambda a: -a.bytes)
    return MemoryTimeline(tuple(live), tuple(log.ops), tuple(log.notes), tuple(found))


def _describe_storage(entry: Storage) -> LiveStorage:
    """Describe a storage of the log, and where it was made."""
    return LiveStorage(entry.note or BEFORE, entry.op, entry.shape, entry.dtype, entry.bytes)
