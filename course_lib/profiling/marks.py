"""The marks that bottlenecks leave in what a profiler records: each call's own time, by what kind of work it is."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Literal, get_args

from course_lib.profiling.text import seconds_text

__all__ = ["Kind", "Marks", "read"]

Kind = Literal["data", "outside", "calls", "products", "copies", "passes"]

RUNTIME = re.compile(r"(cuda|cu|hip|xpu|ze|ur)[A-Z]")  # cudaLaunchKernel, cuLaunchKernelEx, hipMemcpyAsync
SMALL_SECONDS = 1e-5  # a call that is shorter is mostly the calling
PAUSE_SECONDS = 1e-4  # between operations; one that is longer is not the calling of the next
PRODUCTS = ("mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "addr", "linear", "_addmm_activation")
PRODUCT_PARTS = (
    "convolution",
    "slow_conv",
    "conv_depthwise",
    "conv_tbc",
    "attention",
    "_rnn",
    "_lstm_mps",
    "_mm",
    "mkl_linear",
    "mkldnn_linear",
    "_trilinear",
)
SOLVERS = ("_svd", "_eig", "_qr", "_lu", "_solve", "_inv", "cholesky", "triangular", "lstsq", "householder")
COPIES = ("copy", "_to_copy", "clone", "contiguous", "cat", "stack", "repeat", "_foreach_copy")
LOADER = "enumerate(DataLoader)"
NODE = "autograd::engine::evaluate_function: "
COMPILED = ("Torch-Compiled Region", "CompiledFunction", "triton_")


@dataclass(frozen=True)
class Marks:
    """What a step spends its time on: seconds of each kind, in words what showed them, and on which device."""

    seconds: dict[Kind, float]
    evidence: dict[Kind, str]
    device: str


@dataclass(frozen=True)
class Call:
    """One call of an operation, without those that it called, or one pause between operations."""

    name: str
    within: str  # the outermost operation around it, or the node of the backward pass
    seconds: float

    @property
    def kind(self) -> Kind:
        """What it is, by its name."""
        name = self.name.removeprefix("aten::").rstrip("_")
        if name in PRODUCTS or any(part in name for part in (*PRODUCT_PARTS, *SOLVERS)):
            return "products"
        return "copies" if name in COPIES else "passes"


@dataclass(frozen=True)
class Scope:
    """What an event is in, or is itself: the waiting for a batch, an operation, and the outermost one of these."""

    wait: bool = False
    operation: bool = False
    within: str = ""


def read(events: Sequence[Any]) -> Marks:
    """Tell the kinds apart in the events of some steps, which a profiler has recorded."""
    events = [event for event in events if event.device_type.name == "CPU"]  # a kernel's time is with its operation
    on_device = any(event.self_device_time_total for event in events)
    spans = [event for event in events if event.name.startswith("ProfilerStep")]
    scopes, steps = scopes_of(events), [list(inside(events, span)) for span in spans]
    operations = usual([list(own_times(step, scopes, on_device=on_device)) for step in steps])
    pauses = usual([list(pauses_of(step, scopes)) for step in steps])
    small = [call for call in operations if not on_device and call.seconds < SMALL_SECONDS]
    of_kind: dict[Kind, list[Call]] = {kind: [] for kind in get_args(Kind)}
    for call in operations:
        of_kind[call.kind] += [call] if on_device or call.seconds >= SMALL_SECONDS else []
    seconds = {kind: total(found) for kind, found in of_kind.items()}
    waited = fmean(sum(e.cpu_time_total for e in step if is_wait(e)) for step in steps) / 1e6
    if on_device:
        rest = max(0.0, median(span.cpu_time_total for span in spans) / 1e6 - sum(seconds.values()))
    else:  # of the host's time every part is known; the whole would have a busy spell of the machine in it
        rest = waited + total(pauses) + total(small)
    of_kind["outside"] = [pause for pause in pauses if pause.seconds >= PAUSE_SECONDS]
    seconds["data"] = min(rest, waited)
    seconds["outside"] = min(rest - seconds["data"], total(of_kind["outside"] if operations else pauses))
    seconds["calls"] = rest - seconds["data"] - seconds["outside"]
    evidence = {kind: most(found) for kind, found in of_kind.items()}
    evidence["data"] = f"{seconds_text(waited)} a step in {LOADER}"
    few = "" if on_device else f", {len(small):,} of them under {SMALL_SECONDS * 1e6:.0f} µs"
    evidence["outside"] = evidence["outside"] or "no operation of torch was recorded"
    evidence["calls"] = f"{len(operations):,} operations a step{few}"
    return Marks(seconds, evidence, "cuda" if on_device else "cpu")


def total(calls: Iterable[Call]) -> float:
    """Add up times, in seconds."""
    return sum(call.seconds for call in calls)


def inside(events: Sequence[Any], span: Any) -> Iterator[Any]:
    """Yield what began during a step, on any thread."""
    first, last = span.time_range.start, span.time_range.end
    return (event for event in events if first <= event.time_range.start < last)


def scopes_of(events: Iterable[Any]) -> dict[int, Scope]:
    """Say of each event, by its id, what it is in; the events come in the order of time."""
    found = dict[int, Scope]()
    for event in events:
        above, operation = found.get(id(event.cpu_parent), Scope()), is_operation(event)
        within = above.within or (short(event) if operation or is_node(event) else "")
        found[id(event)] = Scope(above.wait or is_wait(event), above.operation or operation, within)
    return found


def own_times(events: Iterable[Any], scopes: Mapping[int, Scope], *, on_device: bool) -> Iterator[Call]:
    """Yield each operation's own time, without the operations that prepare a batch."""
    for event in events:
        scope = scopes[id(event)]
        if scope.operation and not scope.wait and not is_runtime(event):
            own = event.self_device_time_total if on_device else event.self_cpu_time_total
            yield Call(short(event), scope.within, own / 1e6)


def pauses_of(events: Iterable[Any], scopes: Mapping[int, Scope]) -> Iterator[Call]:
    """Yield the times between operations: in a step, a label, a node of the backward pass, a function of one's own."""
    for event in events:
        scope = scopes[id(event)]
        if scope.operation or scope.wait or is_runtime(event):
            continue
        at, inner = event.time_range.start, sorted(event.cpu_children, key=lambda child: child.time_range.start)
        for child in inner:
            yield Call(pause_in(event, f"before {short(child)}"), "", max(0.0, child.time_range.start - at) / 1e6)
            at = max(at, child.time_range.end)
        last = max(0.0, event.time_range.end - at)
        yield Call(pause_in(event, "at the end" if inner else "throughout"), "", last / 1e6)


def pause_in(event: Any, where: str) -> str:
    """Say where a pause is: in a step, next to which operation; elsewhere, in which event."""
    return where if event.name.startswith("ProfilerStep") else f"in {short(event)}"


def short(event: Any) -> str:
    """Name an event without what tells its instances apart."""
    if event.name.startswith("## Call "):  # as Inductor marks what it has compiled: the rest is a hash
        return "compiled code"
    return str(event.name).removeprefix(NODE).removeprefix("aten::").partition("#")[0]


def is_wait(event: Any) -> bool:
    """Say whether an event is the waiting for a batch."""
    return bool(event.name.startswith(LOADER))


def is_node(event: Any) -> bool:
    """Say whether an event is a node of the backward pass."""
    return "Backward" in event.name and not event.is_user_annotation


def is_runtime(event: Any) -> bool:
    """Say whether an event is a call of the device's own library, in which the host waits for the device."""
    try:
        return event.activity_type in ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "xpu_runtime")
    except AttributeError:  # older releases of torch give an event no type, but its name says it
        return bool(RUNTIME.match(event.name)) and not event.is_user_annotation


def is_operation(event: Any) -> bool:
    """Tell operations from labels, steps, and the nodes of the backward pass."""
    named = "::" in event.name and not event.name.startswith("autograd::") and not event.is_user_annotation
    return named or event.name.startswith(COMPILED)


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
        label = f"{call.name} in {call.within}" if call.within not in ("", call.name) else call.name
        times.setdefault(label, []).append(call.seconds)
    largest = sorted(times.items(), key=lambda item: -sum(item[1]))[:2]
    return "; ".join(f"{label} ({len(found)} x {seconds_text(fmean(found))})" for label, found in largest)
