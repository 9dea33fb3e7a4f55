"""Deadlines and late penalties, and the tables that cohorts write: rules, and times of submission."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_grader.grading.gradebook import (
    Policy,
    read_policies,
    read_times,
)
from course_lib.errors import InputError

DUE = datetime(2026, 10, 5, 22, tzinfo=UTC)
DAY = timedelta(days=1)


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


EXTENDED = """
[defaults]
late_percent_per_day = 10
[exercises.double]
due = 2026-10-05T22:00:00Z
max_attempts = 2
[exercises.halve]
due = 2026-10-12T22:00:00Z
[extensions.ada]
extra_days = 3
[extensions.ada.halve]
due = 2026-10-13T22:00:00Z
[extensions."Zoe\u0308 M."]
max_attempts = 5
[extensions.cem.triple]
late_percent = [50]
"""


def test_an_extension_comes_before_what_holds_for_all(tmp_path):
    """For one exercise or for every one, whatever the rule; the more special table holds, nobody else has it."""
    (path := tmp_path / "course.toml").write_text(EXTENDED, encoding="utf-8")
    policies = read_policies(path)
    assert policies.of("double", "ada").due == DUE + 3 * DAY
    assert policies.of("halve", "ada").due == DUE + 8 * DAY
    assert policies.of("double", "ada").late_percent == policies.of("double").late_percent
    assert (policies.of("double", "Zoë M.").max_attempts, policies.of("halve", "Zoë M.").max_attempts) == (5, 5)
    assert policies.of("new", "Zoë M.").max_attempts == 5
    assert (policies.of("triple", "cem").late_percent, policies.of("double", "cem").due) == ((50,), DUE)
    assert policies.of("double", "bob") == policies.of("double")


def test_a_small_percentage_is_no_long_table(tmp_path):
    """Of a thousandth percent a day, a hundred thousand days are not written down."""
    (path := tmp_path / "course.toml").write_text("[defaults]\nlate_percent_per_day = 5e-324\n")
    assert len(read_policies(path).default.late_percent) == 1000


def test_the_roster_lies_beside_the_rules(tmp_path, monkeypatch):
    """Wherever the command runs."""
    (path := tmp_path / "course.toml").write_text('roster = "people.csv"\n')
    (tmp_path / "people.csv").write_text("username\nada\nbob\n")
    monkeypatch.chdir("/")
    assert [entry.username for entry in read_policies(path).roster] == ["ada", "bob"]


@pytest.mark.parametrize(
    ("text", "came"),
    [
        ("due = ", "expected TOML"),
        ("due = 2026-10-05", "[defaults], [exercises.<name>] and [extensions.<learner>], found 'due'"),
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
        ("[exercises.e]\nlate_percent = [10, 5]", "late_percent: expected percents that do not fall from day to day"),
        ("[exercises.e]\nlate_percent = [10, inf]", "expected a number from 0 to 100, found inf"),
        ("[exercises.e]\nmax_attempts = 0", "max_attempts: expected a whole number from 1 on, found 0"),
        ("[exercises.e]\nmax_attempts = true", "max_attempts: expected a whole number from 1 on, found True"),
        ("[defaults]\npause_minutes = -5", "pause_minutes: expected a number from 0 to 10080, found -5"),
        ('[defaults]\ngradescope_visibility = "never"', 'expected "visible", "after_due_date", "after_published" or'),
        ("[defaults]\nextra_days = 5", "found 'extra_days'; remove"),
        ("[extensions]\nada = 5", "[extensions.ada]: expected a table, found 5"),
        ("[extensions.ada]\nextra_dys = 5", "[extensions.ada]: expected one of due, "),
        ("[extensions.ada.e]\nextra_days = -5", "[extensions.ada.e]: extra_days: expected a number from 0 to 1000"),
        ("[extensions.ada]\nextra_days = 5\ndue = 2026-10-05T10:00:00Z", "expected due or extra_days, found both"),
        (
            "[exercises.e]\ndue = 2026-10-05T10:00:00Z\n[extensions.ada.e]\ndue = 2026-10-04T10:00:00Z",
            "[extensions.ada.e]: due: expected a time after that for all",
        ),
        ("roster = 1", "roster: expected the path of a CSV file, found 1"),
        ('roster = "none.csv"', "roster: expected the path of a CSV file, found 'none.csv'"),
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
