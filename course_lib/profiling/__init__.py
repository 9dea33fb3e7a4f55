"""Where the time and the memory of a step go: timing, its parts, FLOPs, activations, traces, and advice."""

from course_lib.costs import Flops, count_flops
from course_lib.profiling.activations import Entry, Inventory, saved_activations
from course_lib.profiling.advice import Advice, Finding, advise
from course_lib.profiling.memory import Alive, MemoryTimeline, memory_timeline
from course_lib.profiling.modules import ModuleTime
from course_lib.profiling.step import StepProfile, profile_step
from course_lib.profiling.timing import Timing, time_call
from course_lib.profiling.trace import Trace, trace

__all__ = [
    "Advice",
    "Alive",
    "Entry",
    "Finding",
    "Flops",
    "Inventory",
    "MemoryTimeline",
    "ModuleTime",
    "StepProfile",
    "Timing",
    "Trace",
    "advise",
    "count_flops",
    "memory_timeline",
    "profile_step",
    "saved_activations",
    "time_call",
    "trace",
]
