"""Profile a training step: time, parts, modules, FLOPs, saved activations, memory timeline, traces, bottlenecks."""

from course_lib.costs import mfu, peak_flops
from course_lib.instrument import Flops, ModuleFlops, count_flops
from course_lib.profiling.activations import SavedActivation, SavedActivations, saved_activations
from course_lib.profiling.advice import Advice, Bottleneck, advise
from course_lib.profiling.memory import LiveStorage, MemoryTimeline, memory_timeline
from course_lib.profiling.module_times import ModuleTime
from course_lib.profiling.step_profile import StepProfile, profile_step
from course_lib.profiling.timing import Timing, time_call
from course_lib.profiling.trace import Trace, trace

__all__ = [
    "Advice",
    "Bottleneck",
    "Flops",
    "LiveStorage",
    "MemoryTimeline",
    "ModuleFlops",
    "ModuleTime",
    "SavedActivation",
    "SavedActivations",
    "StepProfile",
    "Timing",
    "Trace",
    "advise",
    "count_flops",
    "memory_timeline",
    "mfu",
    "peak_flops",
    "profile_step",
    "saved_activations",
    "time_call",
    "trace",
]
