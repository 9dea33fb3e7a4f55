"""Write grades for a learning management system: the columns that Canvas and Moodle import."""

from collections.abc import Sequence

from course_grader.grading.gradebook.final_grade import FinalGrade
from course_grader.grading.reports.safe_files import csv_text

__all__ = ["as_canvas", "as_moodle"]

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def as_canvas(grades: Sequence[FinalGrade]) -> str:
    """Return a Canvas gradebook import: a line per learner, a column per exercise, the points possible in line two.

    Canvas finds a learner by any one of its three ids. The names of the folders handed in are given as login ids.

    Examples
    --------
    >>> from course_grader.grading.grade_one.report import SubmissionReport
    >>> print(as_canvas([FinalGrade(SubmissionReport("ada", "double", "graded", 1.0, 2.0))]))
    Student,ID,SIS User ID,SIS Login ID,Section,double
    Points Possible,,,,,2
    ada,,,ada,,1
    <BLANKLINE>
    """
    exercises, points, worth = _points_by_learner(grades)
    lines = [[*CANVAS, *exercises], ["Points Possible", "", "", "", "", *(worth[slug] for slug in exercises)]]
    lines += [
        [learner, "", "", learner, "", *(of.get(slug, "") for slug in exercises)] for learner, of in points.items()
    ]
    return csv_text(lines)


def as_moodle(grades: Sequence[FinalGrade]) -> str:
    """Return a Moodle grade import: ``username``, then for each exercise its points and what the learner is told.

    Examples
    --------
    >>> from course_grader.grading.grade_one.report import SubmissionReport
    >>> print(as_moodle([FinalGrade(SubmissionReport("ada", "double", "graded", 1.0, 2.0, ("halve it",)))]))
    username,double,double feedback
    ada,1,halve it
    <BLANKLINE>
    """
    exercises, points, _ = _points_by_learner(grades)
    said = {(each.report.learner, each.report.exercise): " | ".join(each.messages) for each in grades}
    head = ["username", *(column for slug in exercises for column in (slug, f"{slug} feedback"))]
    lines = [
        [learner, *(cell for slug in exercises for cell in (of.get(slug, ""), said.get((learner, slug), "")))]
        for learner, of in points.items()
    ]
    return csv_text([head, *lines])


def _points_by_learner(grades: Sequence[FinalGrade]) -> tuple[list[str], dict[str, dict[str, str]], dict[str, str]]:
    """Return the exercises, each learner's points by exercise, and what each exercise is worth.

    Grading that failed gives no points, so that an import leaves what the learner has.
    """
    exercises = sorted({each.report.exercise for each in grades if each.report.exercise})
    points: dict[str, dict[str, str]] = {}
    worth: dict[str, float] = {}
    for each in grades:
        of = points.setdefault(each.report.learner, {})
        if each.report.exercise and (each.report.status != "error" or each.counted):
            of[each.report.exercise] = f"{each.points:g}"
        worth[each.report.exercise] = max(each.report.max_points, worth.get(each.report.exercise, 0))
    return exercises, points, {slug: f"{most:g}" for slug, most in worth.items()}
