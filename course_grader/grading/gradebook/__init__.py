"""Keep a gradebook in SQLite or PostgreSQL: attempts, points given by hand, late penalties, final grades."""

from course_grader.grading.gradebook.attempts import Attempt, ManualPoints
from course_grader.grading.gradebook.course_toml import find_policies, read_policies
from course_grader.grading.gradebook.final_grade import FinalGrade, compute_final_grade
from course_grader.grading.gradebook.gradebook import Gradebook
from course_grader.grading.gradebook.incremental_grading import Outcome, grade_into
from course_grader.grading.gradebook.kept_attempts import KeptAttempts, count_outdated, find_kept_attempts
from course_grader.grading.gradebook.late_policy import Policies, Policy
from course_grader.grading.gradebook.standing import GradeLine, Standing
from course_grader.grading.gradebook.standings import Standings, compute_final_grades
from course_grader.grading.gradebook.submission_times import read_times

__all__ = [
    "Attempt",
    "FinalGrade",
    "GradeLine",
    "Gradebook",
    "KeptAttempts",
    "ManualPoints",
    "Outcome",
    "Policies",
    "Policy",
    "Standing",
    "Standings",
    "compute_final_grade",
    "compute_final_grades",
    "count_outdated",
    "find_kept_attempts",
    "find_policies",
    "grade_into",
    "read_policies",
    "read_times",
]
