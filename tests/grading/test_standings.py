"""Where a class stands is what its gradebook says, though most of it was computed long ago; in both databases alike."""

from dataclasses import replace
from datetime import timedelta

import pytest

from course_grader.grading.grade_class.roster import RosterEntry
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import (
    Gradebook,
    ManualPoints,
    Policies,
    Policy,
    Standing,
    Standings,
    compute_final_grades,
    standings,
)
from tests.grading.test_gradebook import NOON, attempt

LATE = NOON + timedelta(hours=1)
POLICIES = Policies(Policy(due=NOON, late_percent=(50,)))
LEARNERS = ("Zoe", "ada", "bob", "cem", "zed", "\xe9mile")  # by code point, as Python sorts


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "gradebook.sqlite")
    return request.getfixturevalue("new_database")()


@pytest.fixture
def book(address):
    """A gradebook with an attempt of everyone at two exercises."""
    with Gradebook(address) as book:
        for learner in reversed(LEARNERS):
            book.record(attempt(learner))
            book.record(at_triple(learner))
        yield book


def at_triple(learner, **changes):
    """Return an attempt at another exercise."""
    first = attempt(learner, **changes)
    return replace(first, report=replace(first.report, exercise="triple"))


def read(book, reports=(), policies=POLICIES):
    """Return all lines, after checking that they are those of the grades as they are computed without any memory."""
    lines = list(Standings(book, reports, policies))
    assert lines == list(map(Standing.of, compute_final_grades(book, reports, policies)))
    return {(line.learner, line.exercise): line for line in lines}


@pytest.fixture
def renewed(monkeypatch):
    """Return the learners and exercises that were computed anew since this was cleared."""
    pairs = []

    def note(attempts, policy, manual=(), *, came):
        pairs.append((came.learner, came.exercise))
        return compute(attempts, policy, manual, came=came)

    compute = standings.compute_final_grade
    monkeypatch.setattr(standings, "compute_final_grade", note)
    return pairs


CHANGES = {
    "an attempt": lambda book: book.record(attempt("bob", notebook="b" * 64)),
    "a grade in the place of another": lambda book: book.record(attempt("bob", points=1.0)),
    "a later time": lambda book: book.record_resubmission(attempt("bob"), submitted_at=LATE),
    "a time that is told": lambda book: book.set_submission_times({("bob", "double", "a" * 64): LATE}),
    "points by hand": lambda book: book.add_points(ManualPoints("bob", "double", 1.5, "oral", NOON)),
    "points taken back": lambda book: book.undo_points("bob", "double"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_only_who_has_changed_is_computed_anew(book, renewed, change):
    """Whatever it is that changes; and once only."""
    book.add_points(ManualPoints("bob", "double", 1.0, "a drawing", NOON))
    before = read(book)
    renewed.clear()
    change(book)
    assert len(list(Standings(book, (), POLICIES))) == 2 * len(LEARNERS)
    assert renewed == [("bob", "double")]
    after = read(book)
    assert {pair for pair, line in after.items() if line != before[pair]} <= {("bob", "double")}
    renewed.clear()
    assert [*Standings(book, (), POLICIES)] == [*after.values()]
    assert renewed == []


def test_nothing_that_changed_is_nothing_to_compute(book, renewed):
    """A notebook that lies there still, and a time that was told before, change nothing."""
    book.set_submission_times({("bob", "double", "a" * 64): LATE})
    read(book)
    renewed.clear()
    book.set_submission_times({("bob", "double", "a" * 64): LATE})
    book.record_resubmission(attempt("bob"), submitted_at=NOON)
    assert len(list(Standings(book, (), POLICIES))) == 2 * len(LEARNERS)
    assert renewed == []


def test_other_rules_compute_those_anew_to_whom_they_apply(book, renewed):
    """An extension is one learner's; a deadline is everyone's."""
    read(book)
    own = replace(POLICIES, extensions={("cem", "double"): Policy(due=LATE)})
    renewed.clear()
    assert list(Standings(book, (), own))
    assert renewed == [("cem", "double")]
    read(book, policies=own)
    sooner = Policies(Policy(due=NOON - timedelta(days=1), late_percent=(50,)))
    assert {line.points for line in read(book, policies=sooner).values()} == {1.0}


def test_lines_are_in_order_however_they_are_read(book, monkeypatch):
    """By code point, as Python sorts, whatever the database's language; also where a learner's lines are cut."""
    expected = [(learner, exercise) for learner in LEARNERS for exercise in ("double", "triple")]
    for many in (1, 3, 4, 100):
        monkeypatch.setattr(standings, "ROWS_AT_ONCE", many)
        assert list(read(book)) == expected


def test_this_runs_failures_and_the_roster_are_there_and_are_not_kept(book):
    """Nobody is overlooked today; tomorrow's run has its own."""
    failed = SubmissionReport("ada", "double", "error", 0, 2.5, ("grading failed",), (Row("x", "grader", "error"),))
    reports = [
        failed,
        SubmissionReport("dan", "double", "missing", 0, 2.5, ("found no notebook",)),
        SubmissionReport("eva", "", "missing", 0, 0, ("found no notebook",)),
        SubmissionReport("fay", "double", "rejected", 0, 2.5, ("too large",)),
        SubmissionReport("bob", "double", "graded", 2, 2.5),
    ]
    roster = Policies(POLICIES.default, roster=(RosterEntry("abe"), RosterEntry("dan"), RosterEntry("zed")))
    lines = read(book, reports, roster)
    assert (lines["ada", "double"].status, lines["ada", "double"].points) == ("error", 2.0)
    assert lines["dan", "double"].messages == ("found no notebook",)
    assert [pair for pair, line in lines.items() if line.is_absent] == [
        *(("abe", slug) for slug in ("double", "triple")),
        *(("dan", slug) for slug in ("double", "triple")),
        ("eva", ""),
    ]
    assert [line.max_points for line in lines.values() if line.learner == "abe"] == [2.5, 2.5]
    assert read(book)["ada", "double"].status == "graded"


def test_points_by_hand_for_someone_absent_come_and_go(book):
    """Who handed nothing in has a line for as long as there are points."""
    book.add_points(ManualPoints("abe", "double", 1.5, "oral", NOON))
    assert read(book)["abe", "double"].points == 1.5
    assert read(book)["abe", "double"].max_points == 2.5
    book.undo_points("abe", "double")
    assert ("abe", "double") not in read(book)


def test_what_changes_while_it_is_computed_is_computed_again(book, monkeypatch):
    """Another grader records an attempt just before the standing is kept: the next reader sees it."""
    keep = Gradebook.save_standings

    def record_first(self, kept):
        monkeypatch.setattr(Gradebook, "save_standings", keep)
        book.record(attempt("ada", points=2.5, notebook="c" * 64))
        keep(self, kept)

    monkeypatch.setattr(Gradebook, "save_standings", record_first)
    assert list(Standings(book, (), POLICIES))[2].points == 2.0
    assert read(book)["ada", "double"].points == 2.5


def test_grades_of_some_learners_are_computed_alone(book, monkeypatch):
    """With all that is behind them, and nobody else's read."""
    asked = []
    read_attempts = Gradebook.attempts
    monkeypatch.setattr(
        Gradebook, "attempts", lambda self, **which: asked.append(which["learner"]) or read_attempts(self, **which)
    )
    grades = compute_final_grades(book, [], POLICIES, learners=["cem"])
    assert [(grade.learner, grade.exercise, len(grade.report.rows)) for grade in grades] == [
        ("cem", "double", 3),
        ("cem", "triple", 3),
    ]
    assert asked == [["cem"]]
