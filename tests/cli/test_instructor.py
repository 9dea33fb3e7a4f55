"""What an instructor does with a class: grade, break off, go on, add points, look for copies, package."""

import contextlib
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from rich.console import Console

from course_grader.cli.progress import Progress
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.grade_one.report import SubmissionReport
from course_grader.grading.gradebook import Outcome
from tests.grading.conftest import SOURCE, read_details

ROOT = Path(__file__).parents[2]


def points_of(folder):
    """Return everyone's points and what they are told, as the details say."""
    submissions = read_details(folder / "grades")
    return {entry["learner"]: entry["points"] for entry in submissions}


def assert_refused(result, came):
    """One line of what was expected, what came and what to do; status 2."""
    status, out, err = result
    assert (status, out) == (2, "")
    assert err.startswith("course: ")
    assert err.count("\n") == 1
    assert came in err
    assert ";" in err


def test_points_by_hand_are_in_the_next_reports(course, classroom):
    """Added, taken back in part, told to the learner, and kept by a regrade."""
    assert course("grade", "submissions", "-j", 1)[0] == 0
    assert course("points", "bob", "double", "1.5", "--why", "at the board")[:2] == (
        0,
        "bob, double: +1.5, by hand +1.5 in all\n",
    )
    assert course("points", "bob", "double", "-0.5", "--why", "half of it")[1] == (
        "bob, double: -0.5, by hand +1 in all\n"
    )
    status, out, _ = course("grade", "submissions", "--regrade")
    assert status == 0
    assert "in the gradebook already" not in out
    assert points_of(classroom) == {"ada": 3, "bob": 1, "cem": 3, "dan": 0, "eva": 3}
    assert "+1.5 by your instructor: at the board" in (classroom / "grades" / "learners" / "bob.html").read_text()
    assert "5 of 5 were in the gradebook already" in course("grade", "submissions")[1]


def test_points_for_nobody_are_refused(course, classroom):
    """A name that is not there, with the likely one; no reason; no number; no gradebook."""
    assert_refused(course("points", "ada", "double", 1, "--why", "x"), "grades/gradebook.sqlite, found none")
    course("grade", "submissions", "-j", 1)
    assert_refused(course("points", "adda", "double", 1, "--why", "x"), "found none (did you mean ada?)")
    assert_refused(course("points", "ada", "triple", 1, "--why", "x"), "an attempt of ada at triple")
    assert_refused(course("points", "uma", "double", 1, "--why", "x"), "found none (the gradebook has 5 learners)")
    assert "did you mean ada?" not in course("points", "ada", "triple", 1, "--why", "x")[2]
    assert_refused(course("points", "ada", "double", "nan", "--why", "x"), "found nan points")
    assert_refused(course("points", "ada", "double", "inf", "--why", "x"), "found inf points")
    assert_refused(course("points", "ada", "double", "1e308", "--why", "x"), "to 1,000,000, found 1e+308 points")
    assert_refused(course("points", "ada", "double", 1, "--why", " "), "found no reason")
    assert_refused(course("points", "ada", "double", "--why", "x"), "found no number")
    assert_refused(course("points", "ada", "--why", "x"), "expected LEARNER and EXERCISE, found 'ada' alone")
    assert course("points", "ada", "double", "many", "--why", "x")[0] == 2
    absent = course("points", "zoe", "duoble", 1, "--why", "oral exam", "--absent")
    assert_refused(absent, "expected the text of exercise 'duoble' at exercises/duoble/key/source.md")
    assert course("points", "zoe", "double", 1, "--why", "oral exam", "--absent")[0] == 0


def test_points_by_hand_are_listed_and_taken_back(course, classroom):
    """All, or a learner's; the last first, until there are none; the next reports are without them."""
    course("grade", "submissions", "-j", 1)
    assert course("points", "--list")[:2] == (0, "no points were given by hand\n")
    for learner, number, why in (("bob", 1.5, "at the [red]board"), ("bob", -0.5, "half of it"), ("cem", 1, "oral")):
        course("points", learner, "double", number, "--why", why)
    listed = course("points", "--list")[1]
    assert [word in listed for word in ("+1.5", "at the [red]board", "-0.5", "cem", "UTC")] == [True] * 5
    assert "cem" not in course("points", "bob", "--list")[1]
    assert course("points", "bob", "double", "--undo")[1] == (
        "bob, double: -0.5 taken back (half of it), by hand +1.5 in all\n"
    )
    assert "by hand +0 in all" in course("points", "bob", "double", "--undo")[1]
    assert_refused(course("points", "bob", "double", "--undo"), "expected points by hand of bob for double, found none")
    assert_refused(course("points", "bob", "--undo"), "expected LEARNER and EXERCISE")
    assert_refused(course("points", "cem", "double", 1, "--undo"), "expected --undo without points")
    assert_refused(course("points", "--list", "--undo"), "expected --list or --undo, found both")
    course("grade", "submissions", "-j", 1)
    assert (points_of(classroom)["bob"], points_of(classroom)["cem"]) == (0, 4)


def test_points_for_who_handed_nothing_in_are_in_the_reports(course, classroom):
    """Of one without a folder, and of one whose folder is empty."""
    course("grade", "submissions", "-j", 1)
    (classroom / "submissions" / "yan").mkdir()
    for learner in ("yan", "zoe"):
        assert course("points", learner, "double", 1.5, "--why", "oral", "--absent")[0] == 0
    status, out, _ = course("grade", "submissions", "--exercise", "double")
    assert status == 0
    assert "the reports also have 1 from the gradebook, not part of this run" in out
    assert points_of(classroom) == {"ada": 3, "bob": 0, "cem": 3, "dan": 0, "eva": 3, "yan": 1.5, "zoe": 1.5}
    assert "zoe,double,1.5,3,missing," in (classroom / "grades" / "grades.csv").read_text()
    assert "1.5 by your instructor: oral" in (classroom / "grades" / "learners" / "zoe.html").read_text()


def test_grading_a_part_adds_to_the_class(course, classroom):
    """Late hand-ins from a folder of their own, and one exercise alone: reports have all, the table has this run."""
    shutil.copytree("exercises/double", "exercises/triple")
    (source := classroom / "exercises/triple/key/source.md").write_text(
        SOURCE.replace("exercise: double", "exercise: triple").replace("Twice as much", "Three times")
    )
    nbformat.write(load_exercise(source.parent).reference(), classroom / "submissions" / "ada" / "triple.ipynb")
    course("grade", "submissions", "-j", 1)
    shutil.copytree("submissions/cem", "late/fay")
    for folder, options in {"late": [], "submissions": ["--exercise", "double"]}.items():
        status, out, _ = course("grade", folder, "-j", 1, *options)
        assert status == 0
        entries = read_details(classroom / "grades")
        found = [(entry["learner"], entry["exercise"]) for entry in entries]
        assert found == [
            ("ada", "double"),
            ("ada", "triple"),
            *((name, "double") for name in ("bob", "cem", "dan", "eva", "fay")),
        ]
        assert "Three times" in (classroom / "grades" / "learners" / "ada.html").read_text()
    assert "triple" not in out
    assert "the reports also have 2 from the gradebook, not part of this run" in out


@pytest.mark.parametrize(
    ("arguments", "came"),
    [
        (["--course", "none.toml"], "none.toml"),
        (["--course", "bad.toml"], "expected TOML in bad.toml"),
        (["--submitted", "none.csv"], "none.csv"),
        (["--submitted", "bad.toml"], "expected the columns learner, exercise, submitted"),
        (["--report", "pdf"], "expected --report to be one of html, junit"),
        (["--report", "pdf", "-j", 2], "expected --report to be one of html, junit"),  # while the graders start
        (["--out", "bad.toml"], "expected a folder for the grades, found a file"),
        (["--gradebook", "bad.toml"], "file is not a database"),
        (["--gradebook", "mysql://x"], "found mysql://"),
        (["--gradebook", "none/book.sqlite"], "expected a folder for the gradebook"),
        (["--gradebook", "sqlite:///book.sqlite?timeout=abc"], "could not convert string to float: 'abc'"),
        (["--out", "submissions"], "expected --out outside the folder of submissions, found submissions"),
        (["--out", "exercises/../submissions/ada/grades"], "outside the folder of submissions, found exercises/../"),
    ],
)
def test_what_cannot_be_used_is_refused_before_grading(course, classroom, arguments, came):
    """One sentence each, and nothing is written."""
    (classroom / "bad.toml").write_text("due = = \nlonger than an empty file is, by more than sixteen bytes" * 20)
    before = {path: path.read_bytes() for path in classroom.rglob("*") if path.is_file()}
    assert_refused(course("grade", "submissions", "-j", 1, *arguments), came)
    assert {path: path.read_bytes() for path in classroom.rglob("*") if path.is_file()} == before


def test_where_the_machine_forbids_a_sandbox_that_is_said(classroom, tmp_path):
    """Status 2 and one line with the reason and the way out; nobody is graded."""
    refused = tmp_path / "bwrap"  # as Ubuntu 24.04 does: it is installed, and may not make its namespaces
    refused.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    refused.chmod(0o755)
    command = [sys.executable, "-m", "course_grader.cli", "grade", "submissions"]
    env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("course: grading runs learners' code in a sandbox, and bwrap failed here (")
    assert "setting up uid map: Permission denied): allow ordinary users to make namespaces" in done.stderr
    assert not recorded(classroom)


def test_rules_are_found_and_applied(course, classroom):
    """``course.toml`` in the working directory counts, and the times of a table."""
    (classroom / "course.toml").write_text("[exercises.double]\ndue = 2026-01-01T00:00:00Z\nlate_percent = [50]\n")
    (classroom / "times.csv").write_text("learner,exercise,submitted\nada,double,2025-12-31T23:00:00Z\n")
    status, out, _ = course("grade", "submissions", "--submitted", "times.csv", "--report", "junit")
    assert status == 0
    assert points_of(classroom) == {"ada": 3, "bob": 0, "cem": 1.5, "dan": 0, "eva": 1.5}
    assert "late: 50 % of 3 points taken off" in " ".join(out.replace("│", " ").split())
    assert not (classroom / "grades" / "learners").exists()


def test_whoever_is_on_the_roster_is_in_every_report(course, classroom):
    """Also without a folder; a folder of nobody on it, and an extension for nobody, are pointed out."""
    (classroom / "people.csv").write_text("Student,SIS Login ID\nAda,ada\nBob,bob\nCem,cem\nDan,dan\nZoe,zoe\n")
    (classroom / "course.toml").write_text(
        'roster = "people.csv"\n[exercises.double]\ndue = 2026-01-01T00:00:00Z\nlate_percent = [50]\n'
        "[extensions.ada]\nextra_days = 1000\n[extensions.zoee.double]\nextra_days = 1\n"
    )
    kinds = [word for kind in ("html", "junit", "canvas", "moodle", "gradescope") for word in ("--report", kind)]
    status, out, err = course("grade", "submissions", "-j", 1, *kinds)
    assert status == 0
    assert "the reports also have 1 from the roster, where nothing was handed in" in out
    extension, stranger = err.splitlines()
    assert "extensions for zoee, but nobody of that name on the roster" in extension
    assert "not on the roster: eva;" in stranger
    assert points_of(classroom) == {"ada": 3, "bob": 0, "cem": 1.5, "dan": 0, "eva": 1.5, "zoe": 0}
    grades = classroom / "grades"
    assert "zoe,double,0,3,missing,,nothing was handed in" in (grades / "grades.csv").read_text()
    assert "zoe,,,zoe,,0" in (grades / "canvas.csv").read_text()
    assert "zoe,0,nothing was handed in" in (grades / "moodle.csv").read_text()
    assert "double: zoe" in (grades / "junit.xml").read_text()
    assert (grades / "learners" / "zoe.html").is_file()
    assert (grades / "gradescope" / "zoe" / "double.json").is_file()


def test_an_attempt_too_many_is_recorded_and_told(course, classroom):
    """It earns nothing, its reason is on the learner's page and in details; with a higher maximum it counts."""
    rules = "[exercises.double]\nmax_attempts = {}\n"
    (classroom / "course.toml").write_text(rules.format(1))
    right, mine = (classroom / "submissions" / name / "double.ipynb" for name in ("ada", "bob"))
    os.utime(mine, (0, 0))
    assert course("grade", "submissions", "-j", 1)[0] == 0
    mine.write_bytes(right.read_bytes() + b" ")
    assert "does not count: the 1 attempt" in " ".join(
        course("grade", "submissions", "-j", 1)[1].replace("│", " ").split()
    )
    assert points_of(classroom)["bob"] == 0
    assert "the 1 attempt allowed was used before it" in (classroom / "grades" / "learners" / "bob.html").read_text()
    entry = read_details(classroom / "grades")[1]["grade"]
    assert ([each["rule"] for each in entry["not_counted"]], entry["attempts"]) == (["max_attempts"], 2)
    (classroom / "course.toml").write_text(rules.format(2))
    course("grade", "submissions", "-j", 1)
    assert points_of(classroom)["bob"] == 3


@pytest.mark.parametrize(("others", "more"), [((), "no notebook;"), (("evva",), "1 more like it")])
def test_rules_and_times_for_nobody_are_pointed_out(course, classroom, others, more):
    """A misspelled name would switch a deadline off without a word."""
    (classroom / "course.toml").write_text("[exercises.duoble]\ndue = 2026-01-01T00:00:00Z\nlate_percent = [50]\n")
    times = [f"{name},double,2025-12-31T23:00:00Z\n" for name in ("ada", "adda", *others)]
    (classroom / "times.csv").write_text("learner,exercise,submitted\n" + "".join(times))
    status, _, err = course("grade", "submissions", "--submitted", "times.csv", "--report", "junit")
    assert status == 0
    rules, time, no_time = err.splitlines()
    assert "duoble" in rules
    assert "double of adda" in time
    assert more in time
    assert "no time for double of bob, cem, dan and eva" in no_time


def test_notebooks_that_are_passed_over_are_pointed_out(course, classroom):
    """Which is graded, which is not, and why, so that nobody thinks that the other one was looked at."""
    (ada, bob), reference = (classroom / "submissions" / name for name in ("ada", "bob")), classroom / "reference.ipynb"
    nbformat.write(load_exercise(classroom / "exercises" / "double" / "key").reference(), reference)
    for path in (ada / "double (1).ipynb", bob / "double copy.zip", bob / "new" / "double.ipynb", ada / "../fay.zip"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(reference.read_bytes())
    status, _, err = course("grade", "submissions", "-j", 1)
    assert status == 0
    stray, ada, bob = err.splitlines()
    assert "fay.zip" in stray
    assert "ada: double.ipynb is graded, double (1).ipynb is passed over" in ada
    assert "bob: double.ipynb is graded, double copy.zip and new/double.ipynb are passed over" in bob
    assert all("<exercise>.ipynb" in line for line in (stray, ada, bob))
    assert points_of(classroom)["bob"] == 0


@pytest.mark.parametrize("ends", [os.killpg, os.kill], ids=["Ctrl-C", "SIGTERM"])
def test_broken_off_it_says_how_to_go_on_and_does(classroom, ends):
    """After the first grade: one line, status 130, what was graded is kept; then only the rest is graded.

    One submission keeps a grader busy until it is broken off.
    """
    unending = hand_in_without_end(classroom)
    command = [sys.executable, "-m", "course_grader.cli", "grade", "submissions", "-j", "2"]
    (temporary := classroom / "temporary").mkdir()
    options = {"text": True, "env": os.environ | {"TMPDIR": str(temporary)}}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **options
    )
    while not recorded(classroom) and process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
    # A terminal tells the whole foreground group, an init system the process.
    ends(process.pid, signal.SIGINT if ends is os.killpg else signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    kept = recorded(classroom)
    assert (process.returncode, out) == (130, "")
    assert err.count("\n") == 1
    assert err.startswith("course: stopped with ")
    assert "run the same command again to go on from there" in err
    assert 1 <= len(kept) <= 5
    assert not list(temporary.iterdir())
    shutil.copy(classroom / "submissions" / "ada" / "double.ipynb", unending)
    done = subprocess.run(command, capture_output=True, **options)
    assert done.returncode == 0, done.stderr
    assert not list(temporary.iterdir())
    assert f"{len(kept)} of 6 were in the gradebook already" in done.stdout
    assert set(kept) <= set(recorded(classroom))
    assert points_of(classroom) == {"ada": 3, "bob": 0, "cem": 3, "dan": 0, "eva": 3, "fay": 3}


def hand_in_without_end(classroom):
    """Hand in an answer that waits, in an exercise that lets it wait for long; return the notebook's path."""
    (source := classroom / "exercises/double/key/source.md").write_text(
        SOURCE.replace("timeout_seconds: 3", "timeout_seconds: 600")
    )
    notebook = load_exercise(source.parent).reference()
    next(cell for cell in notebook.cells if cell.id == "double").source = "import time\ntime.sleep(600)"
    (path := classroom / "submissions/fay/double.ipynb").parent.mkdir()
    nbformat.write(notebook, path)
    return path


def recorded(folder):
    """Return who was graded when, as the gradebook says."""
    path = folder / "grades" / "gradebook.sqlite"
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path, timeout=30)) as book:
        if not book.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone():
            return []
        return book.execute("SELECT learner, graded_at FROM attempts").fetchall()


def test_similar_lists_and_grade_does_too(course, classroom):
    """Two copies of an unusual answer: a table for a human, in grades.json, and no points lost."""
    odd = "def halve(x):\n    y = 1.0 * x\n    for k in range(60):\n        y = y - (2 * y - x) * 0.25\n    return y\n"
    for learner in ("ada", "eva"):
        path = classroom / "submissions" / learner / "double.ipynb"
        notebook = nbformat.read(path, as_version=4)
        next(cell for cell in notebook.cells if cell.id == "halve").source = odd
        nbformat.write(notebook, path)
    status, out, _ = course("similar", "submissions", "--exercise", "double")
    assert status == 0
    assert "ada" in out
    assert "100%" in out
    assert "5 submissions, 1 pair at least 60% alike" in out
    status, out, _ = course("grade", "submissions", "--report", "json")
    assert "alike, for you to look at: no points depend on it" in out
    document = json.loads((classroom / "grades" / "grades.json").read_text())
    assert [(pair["first"], pair["second"], pair["alike"]) for pair in document["similar"]] == [("ada", "eva", 1.0)]
    assert points_of(classroom)["ada"] == 3
    assert_refused(course("similar", "nowhere"), "expected a folder of submissions")


def test_a_run_writes_what_changed_and_names_what_it_left(course, classroom):
    """Pages and details of others stay the same files; what was not asked for again is old, and named."""
    course("grade", "submissions", "-j", 1, "--report", "html", "--report", "json")
    learners = [path for name in ("learners", "details") for path in (classroom / "grades" / name).iterdir()]
    before = {path: path.stat().st_ino for path in learners}
    (classroom / "late").mkdir()
    shutil.copytree("submissions/ada", "late/bob")
    status, out, _ = course("grade", "late", "-j", 1)
    assert status == 0
    assert {path.stem for path in learners if path.stat().st_ino != before[path]} == {"bob"}
    assert points_of(classroom)["bob"] == 3
    assert "from an earlier run: grades/grades.json; name them with --report to write them anew" in out


def test_packages_are_written_once(course, classroom):
    """Each kind; a second time the name is taken; an unknown exercise or place is refused."""
    assert course("package", "gradescope", "double", "--out", "a.zip")[:2] == (
        0,
        "written: a.zip, with the key in it\n",
    )
    before = (classroom / "a.zip").read_bytes()
    assert_refused(course("package", "gradescope", "double", "--out", "a.zip"), "found something at a.zip")
    assert (classroom / "a.zip").read_bytes() == before
    assert course("package", "classroom", "double", "--out", "repo")[0] == 0
    assert_refused(course("package", "classroom", "triple", "--out", "b"), "expected the text of exercise 'triple'")
    assert_refused(course("package", "classroom", "double", "--out", "b", "--no-sandbox"), "without --no-sandbox")
    assert course("package", "elsewhere", "double", "--out", "b")[0] == 2


def test_the_progress_bar_is_not_in_what_a_command_prints(capsys, monkeypatch):
    """It is on standard error, if nobody says where."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which Rich takes any stream for a terminal
    with Progress(total=3):
        pass
    out, err = capsys.readouterr()
    assert out == ""
    assert "0/3" in err


def test_the_progress_bar_counts_and_leaves_known_ones_out():
    """On a terminal: how many of how many, how they did, and time left; elsewhere nothing."""
    for terminal in (True, False):
        shown = io.StringIO()
        console = Console(file=shown, force_terminal=terminal, width=100)
        with Progress(total=3, console=console) as progress:
            for status, known in (("graded", True), ("graded", False), ("rejected", False)):
                progress.show(
                    Outcome(
                        Task("ada", None, None), SubmissionReport("ada", "double", status, 0, 1), already_graded=known
                    )
                )
        assert ("2/2" in shown.getvalue()) is terminal
        assert ("1 known · 1 graded · 1 rejected" in shown.getvalue()) is terminal
