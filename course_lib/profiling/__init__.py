"""Where the time and the memory of a training step go: timing, the parts of a step, FLOPs, activations, traces."""

from course_lib.costs import Flops, count_flops
from course_lib.profiling.activations import Entry, Inventory, saved_activations
from course_lib.profiling.modules import ModuleTime
from course_lib.profiling.step import StepProfile, profile_step
from course_lib.profiling.timing import Timing, time_call
from course_lib.profiling.trace import Trace, trace

__all__ = [
    "Entry",
    "Flops",
    "Inventory",
    "ModuleTime",
    "StepProfile",
    "Timing",
    "Trace",
    "count_flops",
    "profile_step",
    "saved_activations",
    "time_call",
    "trace",
]
