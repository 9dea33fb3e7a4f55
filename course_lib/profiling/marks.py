"""The marks that bottlenecks leave in what a profiler records: each call's own time, by what kind of work it is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, get_args

from course_lib.profiling.text import seconds_text

__all__ = ["Kind", "Marks", "read"]

Kind = Literal["data", "calls", "products", "copies", "passes"]

SMALL_SECONDS = 1e-5  # a call that is shorter is mostly the calling
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "addr", "linear")
PRODUCT_PARTS = ("convolution", "attention", "rnn_layer", "lstm", "_mm", "_linear")
COPIES = ("copy", "_to_copy", "clone", "contiguous", "cat", "stack", "repeat")
LOADER = "enumerate(DataLoader)"
COMPILED = ("Torch-Compiled Region", "CompiledFunction", "triton_")


@dataclass(frozen=True)
class Marks:
    """What a step spends its time on: seconds of each kind, in words what they were seen by, and on which device."""

    seconds: dict[Kind, float]
    evidence: dict[Kind, str]
    device: str


@dataclass(frozen=True)
class Call:
    """One call of an operation, or one label: its own seconds, without those that it called."""

    name: str
    within: str  # the outermost operation around it, or the node of the backward pass
    seconds: float

    @property
    def kind(self) -> Kind:
        """What it is, by its name."""
        name = self.name.removeprefix("aten::").rstrip("_")
        if name in PRODUCTS or any(part in name for part in PRODUCT_PARTS):
            return "products"
        return "copies" if name in COPIES else "passes"


def read(events: Sequence[Any]) -> Marks:
    """Tell the kinds apart in the events of some steps, which a profiler has recorded."""
    events = [event for event in events if event.device_type.name == "CPU"]  # a kernel's time is with its operation
    on_device = any(event.self_device_time_total for event in events)
    spans = [event for event in events if event.name.startswith("ProfilerStep")]
    calls = usual([list(own_times(inside(events, span), on_device=on_device)) for span in spans])
    operations = [call for call in calls if is_operation(call.name)]
    long = [call for call in operations if on_device or call.seconds >= SMALL_SECONDS]
    of_kind: dict[Kind, list[Call]] = {kind: [c for c in long if c.kind == kind] for kind in get_args(Kind)}
    seconds = {kind: sum(call.seconds for call in found) for kind, found in of_kind.items()}
    waited = fmean(sum(e.cpu_time_total for e in inside(events, span) if is_wait(e)) for span in spans) / 1e6
    if on_device:
        rest = max(0.0, median(span.cpu_time_total for span in spans) / 1e6 - sum(seconds.values()))
    else:  # of the host's time every part is known; the whole would have a busy spell of the machine in it
        rest = waited + max(0.0, sum(call.seconds for call in calls) - sum(seconds.values()))
    seconds["data"] = min(rest, waited)
    seconds["calls"] = rest - seconds["data"]
    evidence = {kind: most(found) for kind, found in of_kind.items()}
    evidence["data"] = f"{seconds_text(waited)} a step in {LOADER}"
    few = "" if on_device else f", {len(operations) - len(long):,} of them under {SMALL_SECONDS * 1e6:.0f} µs"
    evidence["calls"] = f"{len(operations):,} operations a step{few}"
    return Marks(seconds, evidence, "cuda" if on_device else "cpu")


def inside(events: Sequence[Any], span: Any) -> Iterator[Any]:
    """Yield what began during a step, on any thread."""
    first, last = span.time_range.start, span.time_range.end
    return (event for event in events if first <= event.time_range.start < last)


def own_times(events: Iterable[Any], *, on_device: bool) -> Iterator[Call]:
    """Yield what each event took itself, without those that belong to the preparing of a batch."""
    for event in events:
        within, above = event.name, event
        while above is not None and not is_wait(above):
            if is_operation(above.name) or "Backward" in above.name:
                within = above.name.rpartition(": ")[2]
            above = above.cpu_parent
        if above is None:
            own = event.self_device_time_total if on_device else event.self_cpu_time_total
            yield Call(event.name.partition("#")[0], within.partition("#")[0], own / 1e6)


def is_wait(event: Any) -> bool:
    """Tell the waiting for a batch."""
    return bool(event.name.startswith(LOADER))


def is_operation(name: str) -> bool:
    """Tell operations from labels, steps, and the nodes of the backward pass."""
    return ("::" in name and not name.startswith("autograd::")) or name.startswith(COMPILED)


def usual(steps: Sequence[Sequence[Call]]) -> list[Call]:
    """Give each call the median of its times: the n-th of its name in one step is the n-th in the others."""
    times: dict[tuple[str, str, int], list[float]] = {}
    for calls in steps:
        count = Counter[tuple[str, str]]()
        for call in calls:
            count[call.name, call.within] += 1
            times.setdefault((call.name, call.within, count[call.name, call.within]), []).append(call.seconds)
    return [
        Call(name, within, median(found))
        for (name, within, _), found in times.items()
        if len(found) * 2 > len(steps)  # not what came once in a while
    ]


def most(calls: Sequence[Call]) -> str:
    """Say which operations have the most time, in the outermost ones that called them."""
    times: dict[str, list[float]] = {}
    for call in calls:
        name, within = (text.removeprefix("aten::") for text in (call.name, call.within))
        times.setdefault(name if name == within else f"{name} in {within}", []).append(call.seconds)
    largest = sorted(times.items(), key=lambda item: -sum(item[1]))[:2]
    return "; ".join(f"{label} ({len(found)} x {seconds_text(fmean(found))})" for label, found in largest)
