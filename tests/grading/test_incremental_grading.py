"""A class is graded into a gradebook, and what it has is not graded again."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, update

from course_grader.grading.exercises.hashes import hash_notebook
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import (
    Gradebook,
    ManualPoints,
    Policies,
    compute_final_grades,
    count_outdated,
    find_kept_attempts,
    grade_into,
)
from course_grader.grading.gradebook.sql_tables import NotebookRow
from course_lib.errors import InputError

DUE = datetime(2026, 10, 5, 22, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def graded(exercise, tmp_path):
    """Return a function that grades notebooks into one gradebook, and says who was graded and how all stand.

    Grading itself is replaced: what is looked at is what is asked of it.
    """
    (folder := tmp_path / "class").mkdir()
    asked, seen = [], []

    statuses, edits = {}, set()

    class Graders:
        def __init__(self, sandbox):
            self.sandbox = sandbox

        def grade(self, tasks):
            for task in tasks:
                asked.append(task.learner)
                seen.append(task.path.read_text())
                if task.learner in edits:
                    task.path.write_text("edited")
                status = statuses.get(task.learner, "graded")
                yield task, SubmissionReport(task.learner, "double", status, 2, 3, sandbox=self.sandbox)

    def grade(texts, *, key=exercise, sandbox="bubblewrap", status=None, edited=(), all_kept=False, **options):
        asked.clear()
        seen.clear()
        statuses.clear()
        statuses.update(status or {})
        edits.clear()
        edits.update(edited)
        for learner, text in texts.items():
            (folder / learner).write_text(text)
            os.utime(folder / learner, (DUE.timestamp(), DUE.timestamp()))
        tasks = [Task(learner, key, folder / learner) for learner in texts]
        with Gradebook(str(tmp_path / "book.sqlite")) as book:
            if all_kept:
                grade.kept = find_kept_attempts(book, tasks, find={"double": key}.__getitem__)
                options |= {"regrade": True, "kept": grade.kept.tasks}
            outcomes = list(grade_into(book, tasks, Graders(sandbox), **options))
            grade.seen, grade.outdated = list(seen), count_outdated(book, tasks)
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


def test_kept_attempts_are_graded_again_though_their_files_are_gone(graded):
    """Each attempt of everyone once, those that lie there too; when they were handed in stays, and no file is left."""
    graded({"ada": "a", "bob": "a"}, times={("ada", "double"): DUE - DAY})
    _, before = graded({"ada": "b", "cem": "c"})
    asked, stand = graded({"ada": "b"}, all_kept=True, status={"bob": "rejected"})
    assert (sorted(asked), sorted(graded.seen)) == (["ada", "ada", "bob", "cem"], ["a", "a", "b", "c"])
    assert [each.attempts for each in stand] == [each.attempts for each in before] == [2, 1, 1]
    assert [each.report.status for each in stand] == ["graded", "rejected", "graded"]
    assert [came(each) for each in stand] == [came(each) for each in before]
    assert not any(task.path.exists() for task in graded.kept.tasks)


def came(grade):
    """Return when the attempt that counts was handed in, first and last."""
    return grade.counted.submitted_at, grade.counted.last_submitted_at


def test_what_a_changed_key_leaves_outdated_is_counted(graded, make_exercise):
    """Until they are graded again; with the files alone, the attempts before them stay outdated."""
    graded({"ada": "a", "bob": "b"})
    graded({"ada": "c"})
    other = make_exercise(tests="from course_grader import points\n@points(1)\ndef test(learner): pass\n")
    graded({"ada": "c"}, key=other)
    assert graded.outdated == 2
    graded({"ada": "c"}, key=other, all_kept=True)
    assert graded.outdated == 0


def test_a_failure_to_grade_a_kept_attempt_costs_nothing(graded, tmp_path):
    """The grader's own failure, or a damaged copy: the marks stay, and are shown as such."""
    graded({"ada": "a", "bob": "b"})
    with Gradebook(str(tmp_path / "book.sqlite")) as book, book._engine.begin() as connection:
        connection.execute(
            update(NotebookRow).where(NotebookRow.hash == hash_notebook(b"b")).values(content=b"damaged")
        )
    asked, stand = graded({"cem": "c"}, all_kept=True, status={"ada": "error"})
    assert sorted(asked) == ["ada", "cem"]
    assert [(each.report.status, each.points) for each in stand] == [("error", 2), ("error", 2), ("graded", 2)]
    assert "copy of this notebook is damaged" in stand[1].messages[0]


def test_an_attempt_without_its_notebook_keeps_its_marks_and_is_named(graded, tmp_path):
    """Until the same bytes come again, as files: then they are kept."""
    graded({"ada": "a", "bob": "b"})
    with Gradebook(str(tmp_path / "book.sqlite")) as book, book._engine.begin() as connection:
        connection.execute(delete(NotebookRow))
    asked, stand = graded({"cem": "c"}, all_kept=True)
    assert (asked, [each.points for each in stand]) == (["cem"], [2, 2, 2])
    assert graded.kept.without_notebook == {"double": ["ada", "bob"]}
    assert graded({"ada": "a"})[0] == []
    graded({"cem": "c"}, all_kept=True)
    assert graded.kept.without_notebook == {"double": ["bob"]}


def test_kept_attempts_of_an_exercise_that_is_not_found_are_named(graded, exercise, tmp_path):
    """They are not graded, and keep their marks."""
    graded({"ada": "a"})

    def find(slug):
        raise InputError(f"no {slug}")

    with Gradebook(str(tmp_path / "book.sqlite")) as book:
        kept = find_kept_attempts(book, [], find=find)
        assert (kept.tasks, kept.without_exercise) == ({}, ["double"])
        assert len(find_kept_attempts(book, [], find={"double": exercise}.get).tasks) == 1
        assert not find_kept_attempts(book, [], find=find, only="triple").tasks
