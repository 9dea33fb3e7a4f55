"""Diagnose gradients in words: vanishing, exploding, dead, non-finite, not zeroed, unreached, or barely moving."""

from course_lib.monitoring.diagnosis.diagnose import Diagnosis, diagnose
from course_lib.monitoring.diagnosis.evidence import GradientFinding

__all__ = ["Diagnosis", "GradientFinding", "diagnose"]
