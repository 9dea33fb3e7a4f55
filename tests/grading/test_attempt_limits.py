"""A maximum of attempts, and a pause between them: what does not count is recorded, and its reason is told."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import Attempt, Policy, compute_final_grade
from course_grader.grading.gradebook.attempt_limits import Reason, limit_attempts

NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
CAME = SubmissionReport("ada", "double", "graded", 0, 10)


def attempt(points, *, minutes, again=None, status="graded"):
    """Return an attempt handed in so many minutes after noon, and perhaps again."""
    times = [NOON + MINUTE * each for each in (minutes, minutes if again is None else again)]
    return Attempt(SubmissionReport("ada", "double", status, points, 10), str(points), "key", *times, NOON)


def counting(tries, **rules):
    """Return the points of the attempts that count, and the reasons of the others."""
    count, others = limit_attempts(tries, Policy(**rules))
    return [each.report.points for each in count], {each.attempt.report.points: each.reason for each in others}


def test_what_comes_after_the_last_attempt_allowed_does_not_count():
    """However good it is; the learner reads which notebook, and why."""
    tries = [attempt(points, minutes=points) for points in (3, 5, 9)]
    assert counting(tries, max_attempts=2) == ([3, 5], {9: Reason.TOO_MANY})
    for attempts in ("best", "last"):
        grade = compute_final_grade(tries, Policy(attempts=attempts, max_attempts=2), came=CAME)
        assert (grade.points, grade.attempts) == (5, 3)
        assert grade.messages == (
            "the notebook handed in 2026-10-05 12:09 UTC does not count: the 2 attempts allowed were used before it",
        )
    assert compute_final_grade(tries, Policy(max_attempts=3), came=CAME).messages == ()


def test_the_same_notebook_uses_up_one_attempt():
    """And still counts as the last one when it is handed in again."""
    tries = [attempt(3, minutes=0, again=90), attempt(5, minutes=10), attempt(9, minutes=20)]
    assert compute_final_grade(tries, Policy(attempts="last", max_attempts=2), came=CAME).points == 3


def test_a_file_that_could_not_be_graded_uses_up_none():
    """Nor does it start a pause; when none is left, it does not take the place of what counts."""
    tries = [attempt(0, minutes=0, status="rejected"), attempt(5, minutes=1), attempt(6, minutes=2, status="rejected")]
    assert counting(tries, max_attempts=1, pause=MINUTE) == ([0, 5], {6: Reason.TOO_MANY})
    assert compute_final_grade(tries, Policy(attempts="last", max_attempts=1), came=CAME).points == 5


def test_what_comes_too_soon_does_not_count_and_starts_no_pause():
    """Otherwise whoever tries again and again never gets one that counts."""
    tries = [attempt(points, minutes=minutes) for points, minutes in ((1, 0), (2, 20), (3, 29), (4, 30), (5, 59))]
    assert counting(tries, pause=30 * MINUTE) == ([1, 4], dict.fromkeys((2, 3, 5), Reason.TOO_SOON))
    *_, last = compute_final_grade(tries, Policy(pause=30 * MINUTE), came=CAME).messages
    assert "handed in 2026-10-05 12:59 UTC does not count: it came less than 30 minutes after" in last
    assert last.endswith("; hand it in again from 2026-10-05 13:00 UTC on")


def test_what_came_too_soon_counts_from_when_it_comes_again():
    """As late as it then is, and the next pause begins then."""
    tries = [attempt(1, minutes=0), attempt(8, minutes=20, again=40), attempt(9, minutes=69)]
    policy = Policy(due=NOON + 30 * MINUTE, late_percent=(50,), pause=30 * MINUTE)
    grade = compute_final_grade(tries, policy, came=CAME)
    assert (grade.points, grade.counted.submitted_at) == (4, NOON + 40 * MINUTE)
    assert [each.attempt.report.points for each in grade.not_counted] == [9]


def test_without_another_attempt_nobody_is_told_to_hand_in_again():
    """What came too soon stays out when all attempts were used."""
    tries = [attempt(1, minutes=0), attempt(2, minutes=5), attempt(3, minutes=40), attempt(4, minutes=99, again=200)]
    _, others = limit_attempts(tries, Policy(max_attempts=2, pause=30 * MINUTE))
    assert [(each.reason, each.again_from) for each in others] == [(Reason.TOO_SOON, None), (Reason.TOO_MANY, None)]


def test_without_limits_all_attempts_count_as_they_are():
    """Nothing is put in their place."""
    tries = [attempt(1, minutes=0), replace(attempt(2, minutes=0), last_submitted_at=NOON + MINUTE)]
    assert limit_attempts(tries, Policy()) == (tries, [])
