"""Grade notebooks nobody here wrote; hidden tests import ``points``, ``Mistake`` and ``expect`` from here.

What runs the grading is one import further down (:func:`course_lib.grading.submission.grade_submission`), so that the
learner's kernel, which imports the codec from this package, does not load pytest and nbval with it.
"""

from course_lib.grading import expect
from course_lib.grading.points import LearnerError, Mistake, points
from course_lib.grading.report import Row, SubmissionReport

__all__ = ["LearnerError", "Mistake", "Row", "SubmissionReport", "expect", "points"]
