"""Final grades: the best or last attempt, less the late penalty, plus points by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import (
    Attempt,
    ManualPoints,
    Policy,
    compute_final_grade,
)

DUE = datetime(2026, 10, 5, 22, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
CAME = SubmissionReport("ada", "double", "graded", 0, 10)


def attempt(points, *, at, name=None, last=None):
    """Return an attempt with so many points out of ten."""
    report = SubmissionReport("ada", "double", "graded", points, 10)
    return Attempt(report, name or str(points), "key", at, last or at, at + HOUR)


def test_the_best_attempt_is_best_after_what_lateness_took():
    """Eight points in time are more than ten of which a quarter is taken."""
    tries = [attempt(8, at=DUE - HOUR), attempt(10, at=DUE + HOUR)]
    policy = Policy(due=DUE, late_percent=(25, 50))
    best = compute_final_grade(tries, policy, came=CAME)
    assert (best.points, best.days_late, best.attempts) == (8, 0, 2)
    late = compute_final_grade(tries[1:], policy, came=CAME)
    assert (late.points, late.days_late, late.percent_taken, late.automatic) == (7.5, 1, 25, 7.5)
    assert late.messages == ("handed in 1 day late: 25 % of 10 points taken off",)


def test_of_nothing_nothing_is_said_to_be_taken():
    """Who has no points is not told what share of them being late costs."""
    none = compute_final_grade([attempt(0, at=DUE + HOUR)], Policy(due=DUE, late_percent=(25, 50)), came=CAME)
    assert (none.points, none.days_late, none.messages) == (0, 1, ())


def test_of_equal_attempts_the_first_counts():
    """So that its time and notebook do not change when the same is earned again."""
    tries = [attempt(8, at=DUE - HOUR, name="a"), attempt(8, at=DUE - 2 * HOUR, name="b")]
    assert compute_final_grade(tries, Policy(), came=CAME).counted.notebook_hash == "b"


def test_the_last_attempt_is_the_one_handed_in_last():
    """Also when it is worse, and when an older notebook was handed in again."""
    tries = [attempt(8, at=DUE - 2 * HOUR), attempt(3, at=DUE - HOUR)]
    assert compute_final_grade(tries, Policy(attempts="last"), came=CAME).points == 3
    again = [replace(tries[0], last_submitted_at=DUE), tries[1]]
    assert compute_final_grade(again, Policy(attempts="last"), came=CAME).points == 8


def test_of_attempts_at_one_time_the_later_recorded_is_the_last():
    """Also when the one before it was graded again after it."""
    tries = [replace(attempt(8, at=DUE), graded_at=DUE + DAY), attempt(3, at=DUE)]
    assert compute_final_grade(tries, Policy(attempts="last"), came=CAME).points == 3


def test_points_by_hand_come_on_top_and_are_told():
    """They are not touched by lateness, and may take points away."""
    manual = [ManualPoints("ada", "double", points, why, DUE) for points, why in ((1.5, "oral exam"), (-1, "a loan"))]
    came = compute_final_grade([attempt(10, at=DUE + HOUR)], Policy(due=DUE, late_percent=(10,)), manual, came=CAME)
    assert (came.automatic, came.points) == (9, 9.5)
    assert came.messages[1:] == ("+1.5 by your instructor: oral exam", "-1 by your instructor: a loan")
    assert compute_final_grade([], Policy(), manual, came=replace(CAME, status="missing")).points == 0.5


def test_a_failure_of_the_grader_is_shown_and_costs_nothing():
    """What was recorded counts; the status says that somebody must look."""
    broken = replace(CAME, status="error", messages=("grading failed",))
    came = compute_final_grade([attempt(8, at=DUE)], Policy(), came=broken)
    assert (came.points, came.report.status, came.messages) == (8, "error", ("grading failed",))
