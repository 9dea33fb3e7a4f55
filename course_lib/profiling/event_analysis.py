"""Analyze a profiler's events: the time of a step, broken down by kind of work."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Literal, get_args

from course_lib.profiling.formatting import format_seconds

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent

__all__ = ["Kind", "StepBreakdown", "break_down_step"]

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
class StepBreakdown:
    """Time of a step by kind of work: seconds, the evidence in words, and whose clock was read."""

    seconds: dict[Kind, float]
    evidence: dict[Kind, str]
    device: str


@dataclass(frozen=True)
class _Call:
    """A call of an operation, without the calls inside it, or a pause between operations."""

    name: str
    within: str  # the outermost operation around it, or the node of the backward pass
    seconds: float

    @property
    def kind(self) -> Kind:
        """The kind of work, by the operation's name."""
        name = self.name.removeprefix("aten::").rstrip("_")
        if name in PRODUCTS or any(part in name for part in (*PRODUCT_PARTS, *SOLVERS)):
            return "products"
        return "copies" if name in COPIES else "passes"


@dataclass(frozen=True)
class _Scope:
    """Surroundings of an event, itself included: a wait for a batch, an operation, and the name of the outermost."""

    wait: bool = False
    operation: bool = False
    within: str = ""


def break_down_step(events: "Sequence[FunctionEvent]") -> StepBreakdown:
    """Break down the time of a step by kind of work, from the events that a profiler recorded of some steps."""
    events = [event for event in events if event.device_type.name == "CPU"]  # a kernel's time is with its operation
    on_device = any(event.self_device_time_total for event in events)
    spans = [event for event in events if event.name.startswith("ProfilerStep")]
    scopes, steps = _find_scopes(events), [list(_events_during(events, span)) for span in spans]
    operations = _median_calls([list(_own_times(step, scopes, on_device=on_device)) for step in steps])
    pauses = _median_calls([list(_pauses(step, scopes)) for step in steps])
    small = [call for call in operations if not on_device and call.seconds < SMALL_SECONDS]
    of_kind: dict[Kind, list[_Call]] = {kind: [] for kind in get_args(Kind)}
    for call in operations:
        of_kind[call.kind] += [call] if on_device or call.seconds >= SMALL_SECONDS else []
    seconds = {kind: _total_seconds(found) for kind, found in of_kind.items()}
    waited = fmean(sum(e.cpu_time_total for e in step if _is_wait(e)) for step in steps) / 1e6
    if on_device:
        rest = max(0.0, median(span.cpu_time_total for span in spans) / 1e6 - sum(seconds.values()))
    else:  # of the host's time every part is known; the whole would have a busy spell of the machine in it
        rest = waited + _total_seconds(pauses) + _total_seconds(small)
    of_kind["outside"] = [pause for pause in pauses if pause.seconds >= PAUSE_SECONDS]
    seconds["data"] = min(rest, waited)
    seconds["outside"] = min(rest - seconds["data"], _total_seconds(of_kind["outside"] if operations else pauses))
    seconds["calls"] = rest - seconds["data"] - seconds["outside"]
    evidence = {kind: _name_largest(found) for kind, found in of_kind.items()}
    evidence["data"] = f"{format_seconds(waited)} a step in {LOADER}"
    few = "" if on_device else f", {len(small):,} of them under {SMALL_SECONDS * 1e6:.0f} µs"
    evidence["outside"] = evidence["outside"] or "no operation of torch was recorded"
    evidence["calls"] = f"{len(operations):,} operations a step{few}"
    return StepBreakdown(seconds, evidence, "cuda" if on_device else "cpu")


def _total_seconds(calls: Iterable[_Call]) -> float:
    """Add up times, in seconds."""
    return sum(call.seconds for call in calls)


def _events_during(events: "Sequence[FunctionEvent]", span: "FunctionEvent") -> "Iterator[FunctionEvent]":
    """Yield the events that began during a step, on any thread."""
    first, last = span.time_range.start, span.time_range.end
    return (event for event in events if first <= event.time_range.start < last)


def _find_scopes(events: "Iterable[FunctionEvent]") -> dict[int, _Scope]:
    """Find the scope of each event, by its id; the events come in the order of time."""
    found = dict[int, _Scope]()
    for event in events:
        above, operation = found.get(id(event.cpu_parent), _Scope()), _is_operation(event)
        within = above.within or (_short_name(event) if operation or _is_backward_node(event) else "")
        found[id(event)] = _Scope(above.wait or _is_wait(event), above.operation or operation, within)
    return found


def _own_times(events: "Iterable[FunctionEvent]", scopes: Mapping[int, _Scope], *, on_device: bool) -> Iterator[_Call]:
    """Yield each operation's own time, leaving out the operations that prepare a batch."""
    for event in events:
        scope = scopes[id(event)]
        if scope.operation and not scope.wait and not _is_runtime_call(event):
            own = event.self_device_time_total if on_device else event.self_cpu_time_total
            yield _Call(_short_name(event), scope.within, own / 1e6)


def _pauses(events: "Iterable[FunctionEvent]", scopes: Mapping[int, _Scope]) -> Iterator[_Call]:
    """Yield the pauses between operations: in a step, a label, a node of the backward pass, a custom function."""
    for event in events:
        scope = scopes[id(event)]
        if scope.operation or scope.wait or _is_runtime_call(event):
            continue
        at, inner = event.time_range.start, sorted(event.cpu_children, key=lambda child: child.time_range.start)
        for child in inner:
            yield _Call(
                _name_pause(event, f"before {_short_name(child)}"), "", max(0.0, child.time_range.start - at) / 1e6
            )
            at = max(at, child.time_range.end)
        last = max(0.0, event.time_range.end - at)
        yield _Call(_name_pause(event, "at the end" if inner else "throughout"), "", last / 1e6)


def _name_pause(event: "FunctionEvent", where: str) -> str:
    """Name a pause: in a step by the operation next to it, elsewhere by the event around it."""
    return where if event.name.startswith("ProfilerStep") else f"in {_short_name(event)}"


def _short_name(event: "FunctionEvent") -> str:
    """Shorten an event's name to its operation's."""
    if event.name.startswith("## Call "):  # as Inductor marks what it has compiled: the rest is a hash
        return "compiled code"
    return str(event.name).removeprefix(NODE).removeprefix("aten::").partition("#")[0]


def _is_wait(event: "FunctionEvent") -> bool:
    """Return whether an event is the wait for a batch."""
    return bool(event.name.startswith(LOADER))


def _is_backward_node(event: "FunctionEvent") -> bool:
    """Return whether an event is a node of the backward pass."""
    return "Backward" in event.name and not event.is_user_annotation


def _is_runtime_call(event: "FunctionEvent") -> bool:
    """Return whether an event is a call of the device's runtime library, in which the host waits for the device."""
    try:
        return event.activity_type in ("cuda_runtime", "cuda_driver", "privateuse1_runtime", "xpu_runtime")
    except AttributeError:  # older releases of torch give an event no type, but its name says it
        return bool(RUNTIME.match(event.name)) and not event.is_user_annotation


def _is_operation(event: "FunctionEvent") -> bool:
    """Return whether an event is an operation, not a label, a step, or a node of the backward pass."""
    named = "::" in event.name and not event.name.startswith("autograd::") and not event.is_user_annotation
    return named or event.name.startswith(COMPILED)


def _median_calls(steps: Sequence[Sequence[_Call]]) -> list[_Call]:
    """Take the median time of each call over the steps: the n-th of its name in one step is the n-th in the others."""
    times: dict[tuple[str, str, int], list[float]] = {}
    for calls in steps:
        count = Counter[tuple[str, str]]()
        for call in calls:
            count[call.name, call.within] += 1
            times.setdefault((call.name, call.within, count[call.name, call.within]), []).append(call.seconds)
    return [
        _Call(name, within, median(found))
        for (name, within, _), found in times.items()
        if len(found) * 2 > len(steps)  # not what came once in a while
    ]


def _name_largest(calls: Sequence[_Call]) -> str:
    """Name the two operations with the most time, and the outermost ones that called them."""
    times: dict[str, list[float]] = {}
    for call in calls:
        label = f"{call.name} in {call.within}" if call.within not in ("", call.name) else call.name
        times.setdefault(label, []).append(call.seconds)
    largest = sorted(times.items(), key=lambda item: -sum(item[1]))[:2]
    return "; ".join(f"{label} ({len(found)} x {format_seconds(fmean(found))})" for label, found in largest)
