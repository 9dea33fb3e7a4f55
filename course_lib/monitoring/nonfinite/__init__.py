"""Find the operation that makes the first nan or infinity of a step, and say what it was given."""

from course_lib.monitoring.nonfinite.first_nonfinite import first_nonfinite
from course_lib.monitoring.nonfinite.origin import NonfiniteOrigin

__all__ = ["NonfiniteOrigin", "first_nonfinite"]
