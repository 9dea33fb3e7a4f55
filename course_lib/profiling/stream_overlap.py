"""Add up the time of kernels that run at once, on several streams or devices, each moment once."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.profiling.work_kinds import Kind

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent, Kernel

__all__ = ["KernelSpan", "KernelTimes", "exposed_seconds"]

RANKS: tuple[Kind, ...] = ("products", "passes", "copies", "communication")  # what hides what


@dataclass(frozen=True)
class KernelSpan:
    """From when to when a kernel ran, in microseconds, and the kind of its work."""

    kind: Kind
    start: float
    end: float


class KernelTimes:
    """When each kernel ran: an operation knows only the names of its kernels, and how long each took."""

    def __init__(self, events: "Iterable[FunctionEvent]") -> None:
        self._waiting: dict[tuple[str, float], deque[FunctionEvent]] = {}
        for event in sorted(events, key=lambda event: float(event.time_range.start)):
            took = event.time_range.end - event.time_range.start
            self._waiting.setdefault((event.name, took), deque()).append(event)

    def take(self, kernel: "Kernel", kind: Kind) -> KernelSpan | None:
        """Return the next kernel of this name and length, in the order of the launches; None if there is none."""
        if not (found := self._waiting.get((kernel.name, kernel.duration))):
            return None
        ran = found.popleft().time_range
        return KernelSpan(kind, ran.start, ran.end)


def exposed_seconds(spans: Sequence[KernelSpan]) -> dict[Kind, float]:
    """Add up the time of each kind, without the moments at which work of a higher rank ran, too.

    Products hide passes, these hide copies, and all of them hide communication: what is left of a kind is what the step
    would be shorter without it, at most.

    Examples
    --------
    >>> exposed_seconds([KernelSpan("products", 0, 3e6), KernelSpan("communication", 1e6, 4e6)])
    {'products': 3.0, 'communication': 1.0}
    """
    edges = sorted((at, step, span.kind) for span in spans for at, step in ((span.start, 1), (span.end, -1)))
    running, found, before = Counter[Kind](), dict[Kind, float](), 0.0
    for at, step, kind in edges:
        if at > before and (top := next((rank for rank in RANKS if running[rank]), None)):
            found[top] = found.get(top, 0.0) + (at - before) / 1e6
        running[kind] += step
        before = at
    return found
