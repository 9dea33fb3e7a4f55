"""Stand-in for a package that differentiates, mounted over it where an exercise is done by hand."""

from course_grader.grading.sandbox.by_hand import refuse_import

refuse_import(__name__)
