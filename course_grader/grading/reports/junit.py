"""Write grades as JUnit XML, which CI services show: a suite per submission, a case per test or cell."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from course_grader.grading.grade_one.report import Row
from course_grader.grading.gradebook.final_grade import FinalGrade
from course_lib.extras import load

__all__ = ["as_junit", "iterate_junit"]

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2


def as_junit(grades: Iterable[FinalGrade]) -> str:
    """Return grades as JUnit XML, without the tests' ``detail``: learners read what such services show.

    A failure carries the learner's message, what could not run is skipped, and a fault of the key is an error.
    """
    return "".join(iterate_junit(grades))


def iterate_junit(grades: Iterable[FinalGrade]) -> Iterator[str]:
    """Yield the same, a submission at a time."""
    junit: Any = load("junitparser", extra="grade")
    yield '<testsuites name="grades">'
    for grade in grades:
        report = grade.report
        suite = junit.TestSuite(_xml_text(f"{report.exercise}: {report.learner}"))
        suite.add_property("points", f"{grade.points:g}")
        suite.add_property("max_points", f"{report.max_points:g}")
        suite.add_property("sandbox", report.sandbox or "not run")
        rows = report.rows or (Row(report.status, "submission", "failed", message=" ".join(report.messages)),)
        suite.add_testcases([_make_case(junit, row, f"{report.exercise}.{report.learner}") for row in rows])
        yield str(suite.tostring().decode("utf-8"))
    yield "</testsuites>\n"


def _make_case(junit: Any, row: Row, where: str) -> Any:
    case = junit.TestCase(_xml_text(row.title or row.name), classname=_xml_text(where), time=0)
    message = _xml_text(row.message)
    match row.status:
        case "passed":
            pass
        case "not run":
            case.result = [junit.Skipped(message)]
        case "error":
            case.result = [junit.Error(message)]
        case _:
            case.result = [junit.Failure(message)]
    return case


def _xml_text(text: str) -> str:
    """Return text without the characters that XML has no way to write."""
    return NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
