"""The table of a class is read on a terminal, whatever a learner is called and whatever the reports hold."""

import io
from datetime import UTC, datetime

from rich.console import Console

from course_grader.cli.result_tables import grades_table, similar_pairs_table
from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import FinalGrade
from course_grader.grading.gradebook.attempts import ManualPoints

RAW = "\x1b[2J\x1b]0;pwned\x07\x9b31m\ud800\u202e\n[red]" + "A" * 100_000
MOODLE = "Anna-Lena Hofmann_4711023_assignsubmission_file" + "x" * 196


def printed(table, width=100):
    """Return what a terminal that takes UTF-8 alone would get."""
    file = io.TextIOWrapper(raw := io.BytesIO(), encoding="utf-8")
    Console(file=file, width=width, highlight=False).print(table)
    file.flush()
    return raw.getvalue().decode()


def test_nothing_in_a_table_is_obeyed_by_the_terminal():
    """In every column of either table, and in the line about failures."""
    tables = [
        grades_table([FinalGrade(SubmissionReport(RAW, slug, "error", 0, 1, (RAW,))) for slug in (RAW, "double")]),
        similar_pairs_table([Pair(slug, RAW, RAW, 0.8, (RAW,)) for slug in (RAW, "double")]),
    ]
    for shown in map(printed, tables):
        assert shown.replace("\n", "").isprintable()
        assert "[red]AAA" in "".join(char for char in shown if char not in " │\n")
        assert len(shown) < 100_000


def test_long_names_leave_room_for_what_the_learner_is_told():
    """Names as long as files may have are folded; what is told keeps the wider column."""
    said = "expected double.ipynb, found no notebook"
    for slugs in (["double"], ["double", "gradients_of_a_network_with_two_layers"]):
        reports = [SubmissionReport(MOODLE, slug, "missing", 0, 10, (said,)) for slug in slugs]
        assert said in printed(grades_table([FinalGrade(report) for report in reports]))
    table = printed(similar_pairs_table([Pair("double", MOODLE, MOODLE + "y", 0.8, ("clip_by_global_norm",))]))
    assert "clip_by_global_norm" in table


def test_on_a_narrow_terminal_short_names_stay_whole():
    """What is told is folded first there."""
    reports = [SubmissionReport("ada", slug, "graded", 9.5, 10, ("x" * 50,)) for slug in ("double", "walk_the_graph")]
    table = printed(grades_table([FinalGrade(report) for report in reports], width=80), width=80)
    assert "│ ada     │ walk_the_graph │ 9.5 / 10 │ graded │ xxx" in table


def test_the_table_of_grades_is_in_order_and_tells_what_must_not_be_missed():
    """By learner, then by exercise; the exercises only where there are several; points by hand are in the sum."""
    reports = [
        SubmissionReport("bob", "double", "graded", 1, 2, ("one", "two", "three"), sandbox="bubblewrap"),
        SubmissionReport("ada", "halve", "graded", 2, 2, (), sandbox="bubblewrap"),
        SubmissionReport("ada", "double", "error", 0, 2, ("only",), sandbox="none"),
        SubmissionReport("abe", "double", "rejected", 0, 2, ()),
    ]
    given = ManualPoints("bob", "double", 0.5, "for the drawing", datetime(2026, 1, 2, tzinfo=UTC))
    grades = [FinalGrade(reports[0], manual=(given,)), *map(FinalGrade, reports[1:])]
    lines = printed(grades_table(grades)).splitlines()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert rows == [
        ["abe", "double", "0 / 2", "rejected", ""],
        ["ada", "double", "0 / 2", "error", "only"],
        ["ada", "halve", "2 / 2", "graded", ""],
        ["bob", "double", "1.5 / 2", "graded", "one (and 3 more)"],
    ]
    said = " ".join(lines)
    assert "graded without a sandbox: this code could read and change anything you can" in said
    assert "not the learners' fault, look at `detail` in details/: ada" in said
    alone = printed(grades_table([FinalGrade(reports[0])]))
    assert "exercise" not in alone
    assert "sandbox" not in alone
    assert "fault" not in alone


def test_the_table_of_pairs_names_the_exercise_where_there_are_several():
    """The share is in percent."""
    pairs = [Pair("double", "ada", "bob", 0.876, ("double", "halve")), Pair("halve", "ada", "cem", 1.0, ())]
    both, one = printed(similar_pairs_table(pairs)), printed(similar_pairs_table(pairs[:1]))
    assert "│ ada     │ bob │ double   │   88% │ double, halve" in both
    assert ("exercise" in both, "exercise" in one) == (True, False)
