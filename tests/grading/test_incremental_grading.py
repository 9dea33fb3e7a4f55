"""A class is graded into a gradebook, and what it has is not graded again."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import (
    Gradebook,
    ManualPoints,
    Policies,
    compute_final_grades,
    grade_into,
)

DUE = datetime(2026, 10, 5, 22, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


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
