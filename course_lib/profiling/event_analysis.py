"""Analyze a profiler's events: the time of a step, broken down by kind of work."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, get_args

from course_lib.profiling.formatting import format_seconds
from course_lib.profiling.stream_overlap import KernelSpan, KernelTimes, exposed_seconds
from course_lib.profiling.work_kinds import COMPILED, Kind, is_communication, kind_of_kernel, kind_of_operation

if TYPE_CHECKING:
    from torch.autograd.profiler_util import FunctionEvent

__all__ = ["StepBreakdown", "break_down_step"]

RUNTIME = re.compile(r"(cuda|cu|hip|xpu|ze|ur)[A-Z]")  # cudaLaunchKernel, cuLaunchKernelEx, hipMemcpyAsync
SMALL_SECONDS = 1e-5  # a call that is shorter is mostly the calling
PAUSE_SECONDS = 1e-4  # between operations; one that is longer is not the calling of the next
HARDLY_HIDDEN = 0.995
LOADER = "enumerate(DataLoader)"
NODE = "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class StepBreakdown:
    """Time of a step by kind of work: seconds, the evidence in words, whose clock was read, if code was compiled."""

    seconds: dict[Kind, float]
    evidence: dict[Kind, str]
    device: str
    compiled: bool = False


@dataclass(frozen=True)
class _Call:
    """A call of an operation, without the calls inside it, or a pause between operations."""

    name: str
    within: str  # the outermost operation around it, or the node of the backward pass
    seconds: float
    kind: Kind


@dataclass(frozen=True)
class _Scope:
    """Surroundings of an event, itself included: a wait for a batch, an operation, and the name of the outermost."""

    wait: bool = False
    operation: bool = False
    within: str = ""


def break_down_step(events: "Sequence[FunctionEvent]") -> StepBreakdown:
    """Break down the time of a step by kind of work, from the events that a profiler recorded of some steps."""
    kernels = KernelTimes(e for e in events if e.device_type.name != "CPU" and not e.is_user_annotation)
    events = [event for event in events if event.device_type.name == "CPU"]
    on_device = any(event.self_device_time_total for event in events)
    spans = [event for event in events if event.name.startswith("ProfilerStep")]
    scopes, steps = _find_scopes(events), [list(_events_during(events, span)) for span in spans]
    shown: dict[Kind, float] = {}
    if on_device:
        found = [_kernel_calls(step, scopes, kernels) for step in steps]
        operations, shown = _median_calls([calls for calls, _ in found]), _exposed_shares([ran for _, ran in found])
    else:
        operations = _median_calls([list(_own_times(step, scopes)) for step in steps])
    pauses = _median_calls([list(_pauses(step, scopes)) for step in steps])
    operations += [] if on_device else [pause for pause in pauses if pause.kind == "communication"]
    pauses = [pause for pause in pauses if pause.kind != "communication"]
    small = [call for call in operations if not on_device and call.seconds < SMALL_SECONDS]
    of_kind: dict[Kind, list[_Call]] = {kind: [] for kind in get_args(Kind)}
    for call in operations:
        of_kind[call.kind] += [call] if on_device or call.seconds >= SMALL_SECONDS else []
    seconds = {kind: _total_seconds(calls) * shown.get(kind, 1.0) for kind, calls in of_kind.items()}
    waited = fmean(sum(e.cpu_time_total for e in step if _is_wait(e)) for step in steps) / 1e6
    if on_device:
        rest = max(0.0, median(span.cpu_time_total for span in spans) / 1e6 - sum(seconds.values()))
    else:  # of the host's time every part is known; the whole would have a busy spell of the machine in it
        rest = waited + _total_seconds(pauses) + _total_seconds(small)
    of_kind["outside"] = [pause for pause in pauses if pause.seconds >= PAUSE_SECONDS]
    seconds["data"] = min(rest, waited)
    seconds["outside"] = min(rest - seconds["data"], _total_seconds(of_kind["outside"] if operations else pauses))
    seconds["calls"] = rest - seconds["data"] - seconds["outside"]
    evidence = {kind: _name_largest(calls) + _name_hidden(shown.get(kind, 1.0)) for kind, calls in of_kind.items()}
    evidence["data"] = f"{format_seconds(waited)} a step in {LOADER}"
    few = "" if on_device else f", {len(small):,} of them under {SMALL_SECONDS * 1e6:.0f} µs"
    evidence["outside"] = evidence["outside"] or "no operation of torch was recorded"
    evidence["calls"] = f"{len(operations):,} operations a step{few}"
    compiled = any(event.name.startswith(COMPILED) for step in steps for event in step)
    return StepBreakdown(seconds, evidence, "cuda" if on_device else "cpu", compiled)


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


def _own_times(events: "Iterable[FunctionEvent]", scopes: Mapping[int, _Scope]) -> Iterator[_Call]:
    """Yield each operation's own time on the host, leaving out the operations that prepare a batch."""
    for event in events:
        scope = scopes[id(event)]
        if scope.operation and not scope.wait and not _is_runtime_call(event):
            kind = kind_of_operation(event.name)
            yield _Call(_short_name(event), scope.within, event.self_cpu_time_total / 1e6, kind)


def _kernel_calls(
    events: "Iterable[FunctionEvent]", scopes: Mapping[int, _Scope], kernels: KernelTimes
) -> tuple[list[_Call], list[KernelSpan]]:
    """Return each operation's time on the device, by kind of its kernels, and when these ran."""
    calls, ran = list[_Call](), list[KernelSpan]()
    for event in events:
        scope = scopes[id(event)]
        if scope.wait or _is_runtime_call(event) or not (scope.operation or event.kernels):
            continue
        times = dict[Kind, float]()
        for kernel in event.kernels:
            kind = kind_of_kernel(kernel.name, event.name)
            times[kind] = times.get(kind, 0.0) + kernel.duration / 1e6
            ran += [span] if (span := kernels.take(kernel, kind)) else []
        times = times or {kind_of_operation(event.name): 0.0}
        calls += [_Call(_short_name(event), scope.within, seconds, kind) for kind, seconds in times.items()]
    return calls, ran


def _exposed_shares(steps: Sequence[Sequence[KernelSpan]]) -> dict[Kind, float]:
    """Return, for each kind, the median share of its kernels' time in which no work of a higher rank ran."""
    shares: dict[Kind, list[float]] = {}
    for spans in steps:
        exposed = exposed_seconds(spans)
        for kind in {span.kind for span in spans}:
            whole = sum(span.end - span.start for span in spans if span.kind == kind) / 1e6
            shares.setdefault(kind, []).append(exposed.get(kind, 0.0) / whole if whole else 1.0)
    return {kind: median(found) for kind, found in shares.items()}


def _pauses(events: "Sequence[FunctionEvent]", scopes: Mapping[int, _Scope]) -> Iterator[_Call]:
    """Yield the pauses between operations: in a step, a label, a node of the backward pass, a custom function."""
    exchanges = [event for event in events if event.is_async and is_communication(event.name)]
    for event in events:
        scope = scopes[id(event)]
        if scope.operation or scope.wait or event.is_async or _is_runtime_call(event):
            continue
        at, inner = event.time_range.start, sorted(event.cpu_children, key=lambda child: child.time_range.start)
        for child in inner:
            name = _name_pause(event, f"before {_short_name(child)}")
            yield from _split_pause(name, at, child.time_range.start, exchanges)
            at = max(at, child.time_range.end)
        yield from _split_pause(
            _name_pause(event, "at the end" if inner else "throughout"), at, event.time_range.end, exchanges
        )


def _split_pause(name: str, start: float, end: float, exchanges: "Sequence[FunctionEvent]") -> Iterator[_Call]:
    """Yield a pause, without the time in which processes exchanged data, and that time."""
    waited = 0.0
    for event in exchanges:
        both = min(end, event.time_range.end) - max(start, event.time_range.start)
        if both > 0:
            waited += both
            yield _Call(_short_name(event), "", both / 1e6, "communication")
    yield _Call(name, "", max(0.0, end - start - waited) / 1e6, "outside")


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
    named = ("::" in event.name or is_communication(event.name)) and not event.name.startswith("autograd::")
    return (named and not event.is_user_annotation) or event.name.startswith(COMPILED)


def _median_calls(steps: Sequence[Sequence[_Call]]) -> list[_Call]:
    """Take the median time of each call over the steps: the n-th of its name in one step is the n-th in the others."""
    times: dict[tuple[str, str, Kind, int], list[float]] = {}
    for calls in steps:
        count = Counter[tuple[str, str, Kind]]()
        for call in calls:
            key = call.name, call.within, call.kind
            count[key] += 1
            times.setdefault((*key, count[key]), []).append(call.seconds)
    return [
        _Call(name, within, median(found), kind)
        for (name, within, kind, _), found in times.items()
        if len(found) * 2 > len(steps)  # not what came once in a while
    ]


def _name_hidden(shown: float) -> str:
    """Say how much of some kernels' time other work hides."""
    return f"; {1 - shown:.0%} of it while other work ran" if shown < HARDLY_HIDDEN else ""


def _name_largest(calls: Sequence[_Call]) -> str:
    """Name the two operations with the most time, and the outermost ones that called them."""
    times: dict[str, list[float]] = {}
    for call in calls:
        label = f"{call.name} in {call.within}" if call.within not in ("", call.name) else call.name
        times.setdefault(label, []).append(call.seconds)
    largest = sorted(times.items(), key=lambda item: -sum(item[1]))[:2]
    return "; ".join(f"{label} ({len(found)} x {format_seconds(fmean(found))})" for label, found in largest)
