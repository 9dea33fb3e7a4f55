"""Assemble the report: findings from what the doctor saw, the gravest first."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from course_lib.doctor.looks.module_look import ModuleUse
from course_lib.doctor.loop.loop_clock import AFTER, BEFORE, OPTIMIZER, PARTS, StepTimes
from course_lib.doctor.report.report import Finding, MemoryUse, Report
from course_lib.errors import CourseError
from course_lib.extras import load
from course_lib.frameworks import parameter_names
from course_lib.monitoring import GradientFinding
from course_lib.profiling import Advice
from course_lib.profiling.formatting import format_bytes, format_seconds

if TYPE_CHECKING:
    from course_lib.doctor.loop.loop_watcher import LoopWatcher

__all__ = ["assemble_report"]

LARGE_SHARE, LARGE_OPTIMIZER = 0.2, 0.3  # of a step: a part where nothing of the model runs; the optimizer
RISES = 2.0  # the later losses over the first
FULL = 0.9  # of a device's memory
FEW_LOSSES = 20
ADVICE = {
    PARTS[BEFORE]: (
        "workers and pinned memory in the DataLoader, or less work for each batch; what is logged or evaluated there "
        "counts, too."
    ),
    PARTS[AFTER]: "one pass for clipping (foreach), and .item() or logging at every so many steps only.",
}

_T = TypeVar("_T")


def assemble_report(watcher: "LoopWatcher") -> Report:
    """Turn what was seen so far into a report; a part that cannot be had becomes a note."""
    notes = dict(watcher.notes)

    def get(name: str, read: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return read()
        except Exception as error:  # a report that lacks a part is better than none
            notes.setdefault(name, f"{name}: {type(error).__name__}: {error}")
            return otherwise

    none = list[Finding]()
    unknown: tuple[GradientFinding, ...] = ()
    gradients = get("gradients", lambda: _gradients(watcher, notes), unknown)
    times = get("time", watcher.clock.times, None)
    look, operations = watcher.modules, watcher.operations
    unseen: tuple[ModuleUse, ...] = ()
    modules = get("modules", lambda: look.uses() if look and look.timers else unseen, unseen)
    bottlenecks = get("operations", lambda: operations.advice() if operations and operations.is_over else None, None)
    memory = get("memory", lambda: _memory(watcher), None)
    findings = [
        *_stopped(watcher),
        *get("parameters", lambda: _untrained(watcher), none),
        *_gradient_findings(watcher, gradients),
        *_loss_findings(watcher),
        *get("time findings", lambda: _time_findings(watcher, times, bottlenecks), none),
        *get("memory findings", lambda: _memory_findings(watcher, memory), none),
    ]
    _note_looks(watcher, notes)
    return Report(
        tuple(findings),
        watcher.clock.steps,
        watcher.losses.span(),
        gradients,
        watcher.nonfinite,
        times,
        modules,
        bottlenecks,
        memory,
        watcher.clock.price(without_seconds=watcher.search_seconds),
        tuple(notes.values()),
    )


def _gradients(watcher: "LoopWatcher", notes: dict[str, str]) -> tuple[GradientFinding, ...]:
    """Diagnose the gradients of each optimizer."""
    found = list[GradientFinding]()
    several = len(watcher.watched) > 1
    for number, watched in enumerate(watcher.watched, start=1):
        try:
            findings = watched.monitor.diagnose(stepped=True).findings if watched.monitor is not None else ()
        except CourseError as error:  # nothing was measured
            notes.setdefault("look_at_gradients", f"the gradients were not measured: {error}")
            continue
        for each in findings:
            words = f"optimizer {number} ({watched.label}): {each.words}" if several else each.words
            found.append(GradientFinding(each.kind, words, each.advice, each.parameters, each.steps))
    return tuple(found)


def _stopped(watcher: "LoopWatcher") -> list[Finding]:
    """Say what ended the run, or kept it from beginning."""
    if watcher.nonfinite is not None:
        return [Finding("non-finite", "first non-finite", watcher.nonfinite.words, watcher.nonfinite.remedy)]
    if not watcher.clock.steps:
        advice = "Call step() of the optimizer that is watched, inside the block; a GradScaler may skip its first ones."
        return [Finding("gradients", "no step", "No optimizer has stepped while it was watched.", advice)]
    return []


def _gradient_findings(watcher: "LoopWatcher", gradients: tuple[GradientFinding, ...]) -> list[Finding]:
    """Turn the monitor's findings into the report's; the first value that is not finite was described already."""
    known = {"healthy", *(["non-finite"] if watcher.nonfinite is not None else [])}
    return [Finding("gradients", f.kind, f.words, f.advice) for f in gradients if f.kind not in known]


def _untrained(watcher: "LoopWatcher") -> list[Finding]:
    """Find parameters that require a gradient and are no optimizer's."""
    held = {id(p) for w in watcher.watched for group in w.optimizer.param_groups for p in group["params"]}
    models = {id(w.model): w.model for w in watcher.watched}.values()
    left = [name for model in models for name, p in parameter_names(model) if p.requires_grad and id(p) not in held]
    if not left:
        return []
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    evidence = f"{left[0]}{more} require a gradient, but no watched optimizer has them."
    advice = "Give them to an optimizer, or freeze them with requires_grad_(False), which saves their gradients."
    return [Finding("gradients", "not trained", evidence, advice)]


def _loss_findings(watcher: "LoopWatcher") -> list[Finding]:
    """Find a loss that ends far above where it began."""
    if watcher.nonfinite is not None or len(watcher.losses.latest) < FEW_LOSSES:
        return []
    began, ended = watcher.losses.trend()
    if not (began > 0 and ended > RISES * began):
        return []
    evidence = f"The loss rose from {began:.4g} (median of the first ten) to {ended:.4g} (of the last ten)."
    return [Finding("loss", "rising loss", evidence, "A lower learning rate, warm-up, or clipping.")]


def _time_findings(watcher: "LoopWatcher", times: StepTimes | None, bottlenecks: Advice | None) -> list[Finding]:
    """Find parts of a step that take more than their share."""
    found = list[Finding]()
    parts = times.parts if times else {}
    shares = {name: t / times.step_seconds for name, t in parts.items()} if times else {}
    for name, advice in ADVICE.items():
        if (share := shares.get(name, 0.0)) > LARGE_SHARE:
            evidence = f"{share:.0%} of a step ({format_seconds(parts[name])}) pass {name}."
            found.append(Finding("time", name, evidence[0].upper() + evidence[1:], advice))
    if (share := shares.get(PARTS[OPTIMIZER], 0.0)) > LARGE_OPTIMIZER and (slow := _unfused(watcher)):
        evidence = f"{slow} takes {share:.0%} of a step ({format_seconds(parts[PARTS[OPTIMIZER]])})."
        advice = f"{slow}(..., fused=True) does all in one kernel; larger batches make fewer steps of an epoch."
        found.append(Finding("time", "optimizer", evidence, advice))
    for each in bottlenecks.bottlenecks if bottlenecks else ():
        if each.share > LARGE_SHARE:
            evidence = f"{each.share:.0%} of a step: {each.evidence}."
            found.append(Finding("time", each.kind, evidence, f"{each.remedy}."))
    return found


def _unfused(watcher: "LoopWatcher") -> str:
    """Return the name of the first optimizer, if it could be fused and is not."""
    first = watcher.first or watcher.watched[0]
    defaults: dict[str, Any] = first.optimizer.param_groups[0]
    return first.label if "fused" in defaults and not defaults["fused"] else ""


def _memory(watcher: "LoopWatcher") -> MemoryUse | None:
    """Add up what the models and the optimizers hold."""
    if not watcher.watched:
        return None
    torch, device = load("torch", extra="torch"), watcher.watched[0].device
    models = list({id(w.model): w.model for w in watcher.watched}.values())
    parameters = [p for model in models for p in model.parameters()]
    saved = watcher.modules.saved if watcher.modules is not None else {}
    return MemoryUse(
        sum(p.nbytes for p in parameters),
        sum(p.nbytes for p in parameters if p.requires_grad),
        sum(w.state_bytes() for w in watcher.watched),
        sum(b.nbytes for model in models for b in model.buffers()),
        sum(saved.values()) if saved else None,
        torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None,
    )


def _memory_findings(watcher: "LoopWatcher", memory: MemoryUse | None) -> list[Finding]:
    """Find a device that is nearly full."""
    if memory is None or memory.device_peak_bytes is None:
        return []
    whole = load("torch", extra="torch").cuda.get_device_properties(watcher.watched[0].device).total_memory
    if memory.device_peak_bytes < FULL * whole:
        return []
    evidence = f"{format_bytes(memory.device_peak_bytes)} of {format_bytes(whole)} were allocated at the peak."
    return [
        Finding("memory", "nearly full", evidence, "Checkpointing, bfloat16, or smaller batches with accumulation.")
    ]


def _note_looks(watcher: "LoopWatcher", notes: dict[str, str]) -> None:
    """Say which looks the loop was too short for, or which it ruled out."""
    if watcher.modules is None and watcher.compiling.concerns(watcher.watched):
        notes["modules"] = "time and memory by module: what torch.compile has compiled cannot be looked into."
    elif watcher.modules is None or not watcher.modules.timers:
        notes["modules"] = "time and memory by module: the loop was too short to look at them for its price."
    if watcher.operations is None or not watcher.operations.is_over:
        notes["operations"] = "operations: the loop was too short to record them for its price."
    elif watcher.operations.profiler is None:
        notes["operations"] = "operations: the loop ran a profiler of its own, and torch allows only one."
    if watcher.compiling.was_used and not watcher.clock.saw_model:
        notes["calls"] = "calls of the model: the loop calls a compiled copy of it; pass that one to watch()."
