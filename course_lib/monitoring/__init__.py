"""Watch gradients while a model trains: how large they are in each layer, and what is wrong with them, in words."""

from course_lib.monitoring.dead_units import DeadUnits
from course_lib.monitoring.diagnosis import Diagnosis, GradientFinding
from course_lib.monitoring.grad_norm import compute_grad_norm
from course_lib.monitoring.gradient_stats import GradientStats, ParameterStats, log_gradient_stats
from course_lib.monitoring.histograms import GradientHistogram
from course_lib.monitoring.jax_monitor import JaxGradientMonitor
from course_lib.monitoring.monitor import GradientMonitor
from course_lib.monitoring.nonfinite import NonfiniteOrigin, first_nonfinite

__all__ = [
    "DeadUnits",
    "Diagnosis",
    "GradientFinding",
    "GradientHistogram",
    "GradientMonitor",
    "GradientStats",
    "JaxGradientMonitor",
    "NonfiniteOrigin",
    "ParameterStats",
    "compute_grad_norm",
    "first_nonfinite",
    "log_gradient_stats",
]
