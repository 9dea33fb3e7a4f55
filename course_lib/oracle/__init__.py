"""One loss through several engines: which gradient differs first, by how much, and what mistake makes such numbers."""

from course_lib.oracle.compare import compare
from course_lib.oracle.diagnosis import CAUSES
from course_lib.oracle.report import Difference, Report

__all__ = ["CAUSES", "Difference", "Report", "compare"]
