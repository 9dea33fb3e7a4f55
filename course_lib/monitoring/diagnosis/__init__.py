"""Say in words what a history of gradients shows: each sign looks at the evidence, and tells what it finds."""

from course_lib.monitoring.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.monitoring.diagnosis.evidence import GradientFinding

__all__ = ["Diagnosis", "GradientFinding", "diagnose"]
