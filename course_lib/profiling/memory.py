"""Follow the memory of a step: bytes after each operation, of each kind, and which storages are alive at the peak."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.dispatch_mode import check_step
from course_lib.instrument.module_calls import track_module_calls
from course_lib.instrument.storages import Storage, StorageLog, log_storages
from course_lib.profiling.formatting import format_bytes
from course_lib.rendering import ReadableResult, Section

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

__all__ = ["LiveStorage", "MemoryTimeline", "memory_timeline"]

SHOWN = 12
BEFORE, BACKWARD = "(there before)", "(backward pass)"
PARAMETERS, STATE, GRADIENTS, ACTIVATIONS, TEMPORARY = KINDS = (
    "parameters",
    "optimizer state",
    "gradients",
    "activations",
    "temporary",
)


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
class MemoryTimeline(ReadableResult):
    """Bytes of the tensors that were alive during a step, and the storages at the peak.

    Attributes
    ----------
    live_bytes : tuple of int
        Before the first operation, and after each.
    operations : tuple of str
        Their names, such as ``addmm``: ``live_bytes[i + 1]`` is after ``operations[i]``.
    places : tuple of str
        Where each ran: the innermost module, ``(backward pass)`` or ``(outside modules)``.
    alive_at_peak : tuple of LiveStorage
        Every storage that was in memory at the peak, the largest first.
    by_kind : dict of str to tuple of int
        For a timeline that knows the optimizer, the bytes of each kind, as in ``live_bytes``, which is their sum:
        ``parameters``, and what else was there before, as buffers and the batch; ``optimizer state``; ``gradients``,
        which end in ``.grad``; ``activations``, which the forward pass made and the backward pass found; and
        ``temporary``, all else, such as upstream gradients. Empty without an optimizer.
    """

    live_bytes: tuple[int, ...]
    operations: tuple[str, ...]
    places: tuple[str, ...]
    alive_at_peak: tuple[LiveStorage, ...]
    by_kind: dict[str, tuple[int, ...]] = field(default_factory=dict)

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

    def sections(self) -> list[Section]:
        """Return a table of the largest storages at the peak, and when it was."""
        rows = [("made in", "by", "shape", "dtype", "size")]
        rows += [(a.place, a.op, str(a.shape), a.dtype, format_bytes(a.bytes)) for a in self.alive_at_peak[:SHOWN]]
        more = [f"and {len(self.alive_at_peak) - SHOWN} smaller"] if len(self.alive_at_peak) > SHOWN else []
        done = self.peak_at
        when = f"after {self.operations[done - 1]} in {self.places[done - 1]}" if done else "at the start"
        at = f"{format_bytes(self.peak_bytes)} alive {when}, operation {done} of {len(self.operations)}"
        return [Section(rows=tuple(rows), caption="In memory at the peak", notes=(*more, at), word_columns=4)]


def memory_timeline(step: Callable[[], object], *, optimizer: "Optimizer | None" = None) -> MemoryTimeline:
    """Run a step once, and follow every storage from the operation that makes it to the moment it is freed.

    Parameters
    ----------
    step : callable
        Takes nothing: a forward pass, or a whole step of training, which then trains.
    optimizer : torch.optim.Optimizer, optional
        The one that the step calls. It tells parameters, state and gradients apart, for ``by_kind``.

    Returns
    -------
    MemoryTimeline

    Raises
    ------
    InputError
        If ``step`` cannot be called, or ``optimizer`` is none. What the step raises is passed on.

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
    >>> optimizer = torch.optim.AdamW(model.parameters())
    >>> def step():
    ...     optimizer.zero_grad()
    ...     model(x).sum().backward()
    ...     optimizer.step()
    >>> timeline = memory_timeline(step, optimizer=optimizer)
    >>> {kind: sizes[-1] for kind, sizes in timeline.by_kind.items()}  # after the step; the batch is in the first
    {'parameters': 338984, 'optimizer state': 546912, 'gradients': 273448, 'activations': 0, 'temporary': 0}
    """
    torch = load("torch", extra="torch")
    check_step(step)
    if optimizer is not None and not hasattr(optimizer, "param_groups"):
        raise InputError(
            f"optimizer must be an optimizer of torch, but got a {type(optimizer).__name__}. Pass the one whose step() "
            "the step calls."
        )
    log = StorageLog()
    with track_module_calls() as stack, nullcontext() if optimizer is None else _mark_kinds(log, optimizer):

        def place() -> str:
            if torch._C._current_autograd_node() is not None:
                return BACKWARD
            return stack.innermost

        log_storages(step, note=place, log=log)
    live = log.live_bytes()
    peak = live.index(max(live)) - 1  # the number of an operation, or -1
    found = [_describe_storage(entry) for entry in log.storages if entry.bytes and entry.is_alive(peak)]
    found.sort(key=lambda a: -a.bytes)
    by_kind = {} if optimizer is None else {kind: tuple(log.live_bytes(kind)) for kind in KINDS}
    return MemoryTimeline(tuple(live), tuple(log.ops), tuple(log.notes), tuple(found), by_kind)


@contextmanager
def _mark_kinds(log: StorageLog, optimizer: "Optimizer") -> Iterator[None]:
    """Mark gradients as they come, since the step may drop them, and the other kinds at the end."""

    def mark_gradient(parameter: "Tensor") -> None:
        log.mark(parameter.grad, GRADIENTS)

    parameters: list[Any] = [p for group in optimizer.param_groups for p in group["params"]]
    hooks = [p.register_post_accumulate_grad_hook(mark_gradient) for p in parameters if p.requires_grad]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
    log.mark([p.grad for p in parameters], GRADIENTS)
    log.mark(list(optimizer.state.values()), STATE)
    log.mark(parameters, PARAMETERS)
    next_backward, after = list[int | None](), None  # from each operation on
    for at in reversed(range(len(log.ops))):
        after = at if log.notes[at] == BACKWARD else after
        next_backward.append(after)
    next_backward.reverse()
    for entry in log.storages:
        if not entry.kind:
            entry.kind = PARAMETERS if entry.born < 0 else _kind_by_lifetime(entry, next_backward[entry.born])


def _kind_by_lifetime(entry: Storage, backward: int | None) -> str:
    """Tell an activation from a temporary array: it is there when the next backward pass begins."""
    waits = backward is not None and entry.born < backward and entry.is_alive(backward)
    return ACTIVATIONS if waits else TEMPORARY


def _describe_storage(entry: Storage) -> LiveStorage:
    """Describe a storage of the log, and where it was made."""
    return LiveStorage(entry.note or BEFORE, entry.op, entry.shape, entry.dtype, entry.bytes)
