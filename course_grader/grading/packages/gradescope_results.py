"""Write a report as Gradescope's ``results.json``: the format of gradescope-autograders.readthedocs.io."""

from typing import Any

import course_lib
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.sandbox.bubblewrap import NONE

__all__ = ["gradescope_results"]

VISIBLE = "visible"
UNSANDBOXED = "graded without a sandbox: this code could read and change anything the grader can"


def gradescope_results(report: SubmissionReport, *, visibility: str = VISIBLE) -> dict[str, Any]:
    """Return the content of ``results.json``, without anything that is for the instructor alone.

    Text is declared as text, so that Gradescope does not read what a learner wrote as Markdown or HTML.

    Parameters
    ----------
    report : SubmissionReport
        What came of a submission.
    visibility : {"visible", "after_due_date", "after_published", "hidden"}
        When Gradescope shows the hidden tests, and so the score. Cells are always shown, as is what to know about the
        file; what the tests say stands with them alone, unless it can be read at once.

    Examples
    --------
    >>> row = Row("test_double", "test", "failed", 0, 2, "Doubling works.", "`double` does not double")
    >>> results = gradescope_results(SubmissionReport("ada", "double", "graded", 0, 2, (), (row,)))
    >>> results["tests"][0]["name"], results["tests"][0]["max_score"], results["tests"][0]["output"]
    ('Doubling works.', 2, '`double` does not double')
    """
    said = [UNSANDBOXED] if report.sandbox == NONE else []
    later = {row.message for row in report.rows if row.kind == "test"} if visibility != VISIBLE else set()
    said += [message for message in report.messages if message not in later]
    return {
        "score": max(0.0, report.points),
        "output": "\n".join(said),
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": [
            _test_entry(row, visibility if row.kind == "test" else VISIBLE)
            for row in report.rows
            if row.kind != "grader"
        ],
        "extra_data": {
            "exercise": report.exercise,
            "status": report.status,
            "sandbox": report.sandbox,
            "grader_version": course_lib.__version__,
        },
    }


def _test_entry(row: Row, visibility: str) -> dict[str, object]:
    """Return one test; cells have no points, but show what failed before the tests did."""
    test: dict[str, object] = {
        "name": row.title or f"cell {row.name}",
        "status": "passed" if row.status == "passed" else "failed",
        "output": row.message,
        "visibility": visibility,
    }
    return test | ({"score": row.points, "max_score": row.max_points} if row.max_points else {})
