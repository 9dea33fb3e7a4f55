"""Write reports: tables for the instructor, pages for learners, files for other systems."""

from course_grader.grading.packages.gradescope_results import gradescope_results
from course_grader.grading.reports.canvas_moodle import as_canvas, as_moodle
from course_grader.grading.reports.csv_json import as_csv, as_json
from course_grader.grading.reports.junit import as_junit
from course_grader.grading.reports.learner_page import as_page
from course_grader.grading.reports.report_folder import REPORT_KINDS, ClassGrades, check_reports, write_reports
from course_grader.grading.reports.safe_files import check_folder

__all__ = [
    "REPORT_KINDS",
    "ClassGrades",
    "as_canvas",
    "as_csv",
    "as_json",
    "as_junit",
    "as_moodle",
    "as_page",
    "check_folder",
    "check_reports",
    "gradescope_results",
    "write_reports",
]
