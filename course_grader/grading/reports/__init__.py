"""What grading tells, and to whom: tables for the instructor, pages for learners, files for other systems."""

from course_grader.grading.packages.results import gradescope_results
from course_grader.grading.reports.files import check_folder
from course_grader.grading.reports.grades import as_csv, as_json
from course_grader.grading.reports.junit import as_junit
from course_grader.grading.reports.lms import as_canvas, as_moodle
from course_grader.grading.reports.page import as_page
from course_grader.grading.reports.write import KINDS, prepare, write

__all__ = [
    "KINDS",
    "as_canvas",
    "as_csv",
    "as_json",
    "as_junit",
    "as_moodle",
    "as_page",
    "check_folder",
    "gradescope_results",
    "prepare",
    "write",
]
