"""Write a report as Gradescope's ``results.json``: the format of gradescope-autograders.readthedocs.io."""

from typing import Any

import course_lib
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.sandbox.bubblewrap import NONE

__all__ = ["gradescope_results"]

UNSANDBOXED = "graded without a sandbox: this code could read and change anything the grader can"


def gradescope_results(report: SubmissionReport) -> dict[str, Any]:
    """Return the content of ``results.json``, without anything that is for the instructor alone.

    Text is declared as text, so that Gradescope does not read what a learner wrote as Markdown or HTML.

    Examples
    --------
    >>> row = Row("test_double", "test", "failed", 0, 2, "Doubling works.", "`double` does not double")
    >>> results = gradescope_results(SubmissionReport("ada", "double", "graded", 0, 2, (), (row,)))
    >>> results["tests"][0]["name"], results["tests"][0]["max_score"], results["tests"][0]["output"]
    ('Doubling works.', 2, '`double` does not double')
    """
    said = [UNSANDBOXED] if report.sandbox == NONE else []
    return {
        "score": max(0.0, report.points),
        "output": "\n".join([*said, *report.messages]),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "stdout_visibility": "hidden",
        "tests": [_test_entry(row) for row in report.rows if row.kind != "grader"],
        "extra_data": {
            "exercise": report.exercise,
            "status": report.status,
            "sandbox": report.sandbox,
            "grader_version": course_lib.__version__,
        },
    }


def _test_entry(row: Row) -> dict[str, object]:
    """Return one test; cells have no points, but show what failed before the tests did."""
    test: dict[str, object] = {
        "name": row.title or f"cell {row.name}",
        "status": "passed" if row.status == "passed" else "failed",
        "output": row.message,
        "visibility": "visible",
    }
    return test | ({"score": row.points, "max_score": row.max_points} if row.max_points else {})
