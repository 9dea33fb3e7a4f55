"""Watch gradients while a model trains: how large they are in each layer, and what is wrong with them, in words."""

from course_lib.monitoring.dead import DeadUnits
from course_lib.monitoring.diagnosis import Diagnosis, Finding
from course_lib.monitoring.monitor import GradientMonitor
from course_lib.monitoring.nonfinite import Origin, first_nonfinite
from course_lib.monitoring.norm import compute_grad_norm
from course_lib.monitoring.stats import GradientStats, ParameterStats, log_gradient_stats

__all__ = [
    "DeadUnits",
    "Diagnosis",
    "Finding",
    "GradientMonitor",
    "GradientStats",
    "Origin",
    "ParameterStats",
    "compute_grad_norm",
    "first_nonfinite",
    "log_gradient_stats",
]
