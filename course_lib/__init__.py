"""The library of *The Backward Pass*: gradients computed, used, bounded, watched and timed.

Importing this package costs NumPy and nothing more; each sub-package loads torch, JAX, matplotlib and the rest only
where it uses them.
"""

from course_lib.errors import CourseError

__all__ = ["CourseError", "__version__"]

__version__ = "0.1.0"
