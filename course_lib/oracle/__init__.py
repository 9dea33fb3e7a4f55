"""Compare the gradients of one loss by several engines and by hand; find the first that differs, and its cause."""

from course_lib.oracle.bug_ranking import CAUSES
from course_lib.oracle.compare import compare
from course_lib.oracle.report import Difference, Report

__all__ = ["CAUSES", "Difference", "Report", "compare"]
