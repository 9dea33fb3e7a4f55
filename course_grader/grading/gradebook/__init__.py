"""The gradebook: every attempt with its points, kept in SQLite or PostgreSQL, and which of them counts."""

from course_grader.grading.gradebook.policy import Policies, Policy, read_policies
from course_grader.grading.gradebook.records import Attempt, ManualPoints
from course_grader.grading.gradebook.run import Outcome, grade_into, standings
from course_grader.grading.gradebook.standing import Standing, standing
from course_grader.grading.gradebook.store import Gradebook
from course_grader.grading.gradebook.submitted import read_times

__all__ = [
    "Attempt",
    "Gradebook",
    "ManualPoints",
    "Outcome",
    "Policies",
    "Policy",
    "Standing",
    "grade_into",
    "read_policies",
    "read_times",
    "standing",
    "standings",
]
