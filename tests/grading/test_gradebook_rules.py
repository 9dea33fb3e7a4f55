"""What of the gradebook counts: deadlines, best or last, points by hand; and what is not graded again."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import (
    Attempt,
    Gradebook,
    ManualPoints,
    Policies,
    Policy,
    compute_final_grade,
    compute_final_grades,
    grade_into,
    read_policies,
    read_times,
)
from course_lib.errors import InputError

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


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 100), max_size=4).map(sorted),
    st.integers(0, 60),
    st.timedeltas(-2 * DAY, 9 * DAY),
    st.timedeltas(timedelta(0), 5 * DAY),
)
def test_lateness_never_pays(percents, grace, after, more):
    """With percents that do not fall, whoever hands in later never keeps more; before the deadline all is kept."""
    policy = Policy(due=DUE, late_percent=tuple(percents), grace=timedelta(minutes=grace))
    assert policy.percent_taken(DUE + after) <= policy.percent_taken(DUE + after + more)
    assert policy.percent_taken(DUE - abs(after)) == 0


def test_the_rules_of_a_cohort_are_read(tmp_path):
    """An exercise's own come before the defaults; ten percent a day are all of them after ten days."""
    (path := tmp_path / "course.toml").write_text(
        '[defaults]\nlate_percent_per_day = 10\ngrace_minutes = 5\n[exercises.double]\nattempts = "last"\n'
        "due = 2026-10-05T23:59:00+02:00\n[exercises.halve]\nlate_percent = [50, 100]\ndue = 2026-10-05T20:00:00Z\n"
    )
    policies = read_policies(path)
    double, halve = policies.of("double"), policies.of("halve")
    assert (double.attempts, double.grace, double.due) == ("last", 5 * timedelta(minutes=1), DUE - timedelta(minutes=1))
    assert [double.percent_taken(double.due + days * DAY) for days in (1, 2, 10, 99)] == [10, 20, 100, 100]
    assert (halve.late_percent, halve.attempts) == ((50, 100), "best")
    assert policies.of("other").days_late(DUE + 99 * DAY) == 0


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("due = ", "expected TOML"),
        ("due = 2026-10-05", "expected [defaults] and [exercises.<name>], found 'due'"),
        ("[exercises.e]\ndue = 2026-10-05T10:00:00", "expected a date and time with its offset"),
        ("[exercises.e]\ndue = 2026-10-05", "expected a date and time with its offset"),
        ('[exercises.e]\ndue = "tomorrow"', "found tomorrow; write the offset"),
        ('[exercises.e]\nattempts = "worst"', 'expected "best" or "last", found \'worst\''),
        ("[exercises.e]\nlate_percent_per_day = 101", "expected a number from 0 to 100, found 101"),
        ("[exercises.e]\nlate_percent = 10", "expected a list of percents"),
        ("[exercises.e]\nlate_percent = [true]", "expected a number from 0 to 100, found True"),
        ("[exercises.e]\ngrace_minutes = -1", "expected a number from 0 to 1440, found -1"),
        ("[exercises.e]\nlate_percent = [1]\nlate_percent_per_day = 1", "found both; keep one"),
        ("[defaults]\ndeu = 1", "expected one of due, attempts, grace_minutes, late_percent"),
        ("exercises = 1", "expected tables [exercises.<name>], found 1"),
        ("[exercises]\ne = 1", "expected a table, found 1"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named(tmp_path, text, came):
    """Which, where, and what it must be."""
    (path := tmp_path / "course.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_policies(path)
    assert came in str(caught.value)
    assert ";" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("learner,exercise\nada,double\n", "line 1: expected the columns learner, exercise, submitted"),
        ("learner,exercise\nada,double\n", "found 'learner,exercise'; name the columns there"),
        ("", "line 1: expected the columns learner, exercise, submitted, with commas between them, found nothing;"),
        ("learner;exercise;submitted\nada;double;2026-10-05T10:00Z\n", "found 'learner;exercise;submitted'; "),
        ("learner;exercise;submitted\n", "; write commas in place of the semicolons, in all lines"),
        ("learner\texercise\tsubmitted\n", "; write commas in place of the tabs, in all lines"),
        (
            "learner,exercise,submitted\nada,double,\n",
            "line 2: expected the columns learner, exercise, submitted, found",
        ),
        ("learner,exercise,submitted\nada,double,noon\n", "found 'noon'; write the offset"),
        ("learner,exercise,submitted\nada,double,2026-10-05T10:00\n", "expected a time with its offset"),
        (
            "learner,exercise,submitted\nada,double,2026-10-05T10:00Z\nada,double,2026-10-06T10:00Z\n",
            "line 3: expected one time for double of ada, found 2026-10-06T10:00:00+00:00 after 2026-10-05",
        ),
    ],
)
def test_a_time_that_cannot_be_used_is_named(tmp_path, text, came):
    """With its line."""
    (path := tmp_path / "times.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_times(path)
    assert came in str(caught.value)


def test_a_time_may_be_said_twice(tmp_path):
    """In two time zones, too."""
    (path := tmp_path / "times.csv").write_text(
        "learner,exercise,submitted\nada,double,2026-10-05T10:00Z\nada,double,2026-10-05T12:00+02:00\n"
    )
    assert list(read_times(path)) == [("ada", "double")]


@pytest.fixture
def graded(exercise, tmp_path):
    """Return a function that grades notebooks into one gradebook, and says who was graded and how all stand.

    Grading itself is replaced: what is looked at is what is asked of it.
    """
    (folder := tmp_path / "class").mkdir()
    asked = []

    statuses, edits = {}, set()

    class Graders:
        def __init__(self, sandbox):
            self.sandbox = sandbox

        def grade(self, tasks):
            for task in tasks:
                asked.append(task.learner)
                if task.learner in edits:
                    task.path.write_text("edited")
                status = statuses.get(task.learner, "graded")
                yield task, SubmissionReport(task.learner, "double", status, 2, 3, sandbox=self.sandbox)

    def grade(texts, *, key=exercise, sandbox="bubblewrap", status=None, edited=(), **options):
        asked.clear()
        statuses.clear()
        statuses.update(status or {})
        edits.clear()
        edits.update(edited)
        for learner, text in texts.items():
            (folder / learner).write_text(text)
            os.utime(folder / learner, (DUE.timestamp(), DUE.timestamp()))
        tasks = [Task(learner, key, folder / learner) for learner in texts]
        with Gradebook(str(tmp_path / "book.sqlite")) as book:
            outcomes = list(grade_into(book, tasks, Graders(sandbox), **options))
            return list(asked), compute_final_grades(book, (each.report for each in outcomes), Policies())

    return grade


def test_what_is_known_is_not_graded_again(graded):
    """The same notebook is skipped, a changed one is a second attempt, ``regrade`` grades all in their places."""
    assert graded({"ada": "a", "bob": "b"})[0] == ["ada", "bob"]
    asked, stand = graded({"ada": "a", "bob": "c"})
    assert (asked, [each.attempts for each in stand]) == (["bob"], [1, 2])
    asked, stand = graded({"ada": "a", "bob": "c"}, regrade=True)
    assert (asked, [each.attempts for each in stand]) == (["ada", "bob"], [1, 2])


def test_a_changed_key_grades_anew(graded, exercise, make_exercise):
    """In the place of the old grade; what grading does not read changes nothing."""
    graded({"ada": "a"})
    (exercise.key / "wrong").mkdir(exist_ok=True)
    (exercise.key / "wrong" / "new.py").write_text("")
    assert graded({"ada": "a"})[0] == []
    other = make_exercise(tests="from course_grader import points\n@points(1)\ndef test(learner): pass\n")
    asked, stand = graded({"ada": "a"}, key=other)
    assert (asked, stand[0].attempts) == (["ada"], 1)


def test_a_grade_without_a_sandbox_is_done_over_in_one(graded):
    """And not the other way round."""
    graded({"ada": "a"}, sandbox="none")
    assert graded({"ada": "a"}, sandbox="none")[0] == []
    asked, stand = graded({"ada": "a"})
    assert (asked, stand[0].report.sandbox) == (["ada"], "bubblewrap")
    assert graded({"ada": "a"}, sandbox="none")[0] == []


def test_a_failure_is_tried_again(graded):
    """The grader's own failure is no attempt, nor is a file that changed under its hands."""
    graded({"ada": "a", "bob": "b"})
    _, stand = graded({"ada": "x", "bob": "y"}, status={"ada": "error"}, edited=["bob"])
    assert [each.attempts for each in stand] == [1, 1]
    assert [each.report.status for each in stand] == ["error", "error"]
    assert "was changed while it was being graded" in stand[1].messages[0]
    assert graded({"ada": "x", "bob": "y"})[0] == ["ada", "bob"]


def test_the_time_of_submission_is_the_files_or_the_tables(graded):
    """A table of times comes before the files' own."""
    _, [own] = graded({"ada": "a"})
    assert own.counted.submitted_at == DUE
    _, [told] = graded({"ada": "b"}, times={("ada", "double"): DUE - DAY})
    assert (told.counted.submitted_at, told.attempts) == (DUE - DAY, 2)  # of equal ones the first counts


def test_a_time_that_was_too_early_can_be_put_right(graded):
    """By a table given later; a run without one keeps what the table said."""
    graded({"ada": "a"}, times={("ada", "double"): DUE - DAY})
    _, [told] = graded({"ada": "a"}, times={("ada", "double"): DUE + DAY})
    assert told.counted.submitted_at == DUE + DAY
    asked, [kept] = graded({"ada": "a"})
    assert (asked, kept.counted.submitted_at, kept.counted.last_submitted_at) == ([], DUE + DAY, DUE + DAY)


def test_who_is_not_in_this_run_stands_as_the_gradebook_says(graded):
    """Late hand-ins graded on their own add to the class."""
    graded({"ada": "a", "bob": "b"})
    asked, stand = graded({"cem": "c", "bob": "d"})
    assert asked == ["cem", "bob"]
    assert [(each.report.learner, each.points, each.attempts) for each in stand] == [
        ("ada", 2, 1),
        ("bob", 2, 2),
        ("cem", 2, 1),
    ]


def test_points_by_hand_count_for_who_handed_nothing_in(graded, tmp_path):
    """Also at an exercise that nobody handed in; what it is worth is what it is worth to others."""
    graded({"ada": "a"})
    with Gradebook(str(tmp_path / "book.sqlite")) as book:
        for exercise in ("double", "oral"):
            book.add_points(ManualPoints("zoe", exercise, 1.5, "at the board", DUE))
    _, [_, zoe, oral] = graded({"ada": "a"})
    assert (zoe.points, zoe.report.max_points, zoe.report.status, zoe.attempts) == (1.5, 3, "missing", 0)
    assert zoe.messages == ("nothing was handed in", "+1.5 by your instructor: at the board")
    assert (oral.report.exercise, oral.points, oral.report.max_points) == ("oral", 1.5, 0)
