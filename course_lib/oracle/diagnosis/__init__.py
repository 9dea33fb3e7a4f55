"""Find the likeliest cause of wrong gradients: only what reproduces the numbers is named."""

from course_lib.oracle.diagnosis.comparison import Comparison
from course_lib.oracle.diagnosis.diagnose import Diagnosis, diagnose

__all__ = ["Comparison", "Diagnosis", "diagnose"]
