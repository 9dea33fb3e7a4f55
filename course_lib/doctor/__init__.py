"""Watch any training loop of torch from outside: what is wrong with its gradients, its time and its memory."""

from course_lib.doctor.doctor import Doctor
from course_lib.doctor.looks.module_look import ModuleUse
from course_lib.doctor.looks.nonfinite_search import FirstNonfinite
from course_lib.doctor.loop.loop_clock import StepTimes
from course_lib.doctor.report.report import Finding, MemoryUse, Report
from course_lib.doctor.watch import watch

__all__ = ["Doctor", "Finding", "FirstNonfinite", "MemoryUse", "ModuleUse", "Report", "StepTimes", "watch"]
