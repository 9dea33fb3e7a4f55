"""Each report says what happened, to its own reader, and nothing in it can run or be obeyed."""

import csv
import io
import json
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from course_grader.grading import reports
from course_grader.grading.grade_class.similarity import Pair
from course_grader.grading.grade_one.report import Row, SubmissionReport
from course_grader.grading.gradebook import Attempt, FinalGrade, ManualPoints
from course_grader.grading.reports.safe_files import safe_file_name
from course_lib.errors import InputError
from tests.grading.conftest import ListedGrades

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "grades.schema.json").read_text(encoding="utf-8"))
NOON = datetime(2026, 10, 5, 12, tzinfo=UTC)
SCRIPT = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
ROWS = (
    Row("setup", "given", "passed"),
    Row("check_double", "check", "failed", message=f"AssertionError: {SCRIPT}"),
    Row("test_double", "test", "passed", 2, 2, "Doubling works."),
    Row("test_halve", "test", "failed", 0, 1, "Halving works.", f"`halve` raised {SCRIPT}", "assert 41.5 == 3"),
    Row("test_later", "test", "not run", 0, 1, "Later works.", "not run, because the process died"),
    Row("test_key", "test", "error", 0, 1, "The key works.", "this hidden test itself failed", "Traceback"),
)


def stand(learner="ada", *, late=0, manual=(), status="graded", rows=ROWS, sandbox="bubblewrap", messages=(SCRIPT,)):
    """Return where a learner stands."""
    points = sum(row.points for row in rows)
    report = SubmissionReport(
        learner, "double", status, points, sum(row.max_points for row in rows), messages, rows, sandbox
    )
    attempt = Attempt(report, "a" * 64, "b" * 64, NOON, NOON, NOON)
    given = tuple(ManualPoints(learner, "double", points, why, NOON) for points, why in manual)
    return FinalGrade(report, attempt, 1, int(late > 0), late, given)


CLASS = [
    stand(),
    stand("=1+1", late=50, manual=[(1.5, "oral"), (-3, "a loan")]),
    stand("bob", rows=(), status="rejected", sandbox="", messages=("expected a notebook",)),
    FinalGrade(SubmissionReport("cem", "", "missing", 0, 0, ("expected a notebook",))),
]


def test_the_json_is_as_its_schema_says():
    """Every kind of entry is valid, and something missing or besides would be noticed."""
    validator = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    validator.check_schema(SCHEMA)
    document = json.loads(reports.as_json(CLASS, [Pair("double", "ada", "bob", 0.8, ("halve",))]))
    validator.validate(document)
    entry = document["submissions"][1]
    assert (entry["points"], entry["grade"]["tests"], entry["grade"]["automatic"]) == (-0.5, 2, 1)
    entry["surprise"] = 1
    assert not validator.is_valid(document)
    del entry["surprise"], entry["grade"]["tests"]
    assert not validator.is_valid(document)


def test_the_csv_has_the_columns_it_always_had():
    """One line each, with the points that count and why they differ from the tests'."""
    lines = list(csv.reader(io.StringIO(reports.as_csv(CLASS))))
    assert lines[0] == ["learner", "exercise", "points", "max_points", "status", "sandbox", "messages"]
    assert lines[2][:6] == ["'=1+1", "double", "-0.5", "5", "graded", "bubblewrap"]
    assert lines[2][6].endswith(
        "50 % of 2 points taken off | +1.5 by your instructor: oral | -3 by your instructor: a loan"
    )


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1"])
@pytest.mark.parametrize("render", [reports.as_csv, reports.as_canvas, reports.as_moodle])
def test_a_spreadsheet_sees_no_formula(text, render):
    """A cell that would be one begins with an apostrophe, in every column a learner can fill."""
    lines = list(csv.reader(io.StringIO(render([stand(text, messages=(text,))]))))
    cells = [cell for cell in lines[-1] if cell.strip("' \t\r") == text.strip() or text.strip() in cell]
    assert cells
    assert all(cell.startswith("'") for cell in cells)


@pytest.mark.parametrize("text", ["x;=1+1", "x; @SUM(A1)", 'x;"=1+1', ";-1+2", "x;\t=1", ';;""=1+1;y', "+1;=2"])
@pytest.mark.parametrize("render", [reports.as_csv, reports.as_canvas, reports.as_moodle])
def test_a_spreadsheet_with_semicolons_between_cells_sees_no_formula(text, render):
    """As where decimals have a comma: the file read with that separator has none either, quotes or not."""
    for quotes in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        lines = csv.reader(io.StringIO(render([stand(text, messages=(text,))])), delimiter=";", quoting=quotes)
        cells = [cell.lstrip(' "') for line in lines for cell in line]
        assert len(cells) > len(text.split(";"))
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_what_a_report_is_given_cannot_command_a_terminal_or_fill_a_disk():
    """JSON is whole, and escaped; a cell of a table has an end."""
    odd = stand(messages=("\x1b[2J\x9b31m\u202e\u2028" + "A" * 100_000,))
    text = reports.as_json([odd])
    assert text.replace("\n", "").isprintable()
    assert tuple(json.loads(text)["submissions"][0]["messages"]) == odd.messages
    assert len(reports.as_csv([odd])) < 32_767


def test_canvas_gets_its_columns_and_points_possible():
    """Those of a Canvas import; what the grader failed at is left empty, so that nobody's grade is overwritten."""
    failed = FinalGrade(SubmissionReport("dan", "double", "error", 0, 5))
    lines = list(csv.reader(io.StringIO(reports.as_canvas([*CLASS, failed]))))
    assert lines[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "double"]
    assert lines[1] == ["Points Possible", "", "", "", "", "5"]
    assert [(line[3], line[5]) for line in lines[2:]] == [
        ("ada", "2"),
        ("'=1+1", "-0.5"),
        ("bob", "0"),
        ("cem", ""),
        ("dan", ""),
    ]


def test_canvas_is_told_what_an_exercise_is_worth_whoever_comes_last():
    """Also if that is a learner of whom it is not known."""
    absent = FinalGrade(SubmissionReport("zoe", "double", "missing", 0, 0))
    assert reports.as_canvas([stand(), absent]).splitlines()[1] == "Points Possible,,,,,5"


def test_moodle_gets_points_and_feedback_of_each_exercise():
    """One line a learner, however many exercises."""
    other = FinalGrade(SubmissionReport("ada", "triple", "graded", 1, 1))
    lines = list(csv.reader(io.StringIO(reports.as_moodle([stand(messages=("look again",)), other]))))
    assert lines[0] == ["username", "double", "double feedback", "triple", "triple feedback"]
    assert lines[1] == ["ada", "2", "look again", "1", ""]


def test_junit_is_read_by_others_and_keeps_the_keys_secrets():
    """Passed, failed, skipped and broken are what they are; no detail; no character that XML forbids."""
    junitparser = pytest.importorskip("junitparser")
    text = reports.as_junit([stand(messages=("\x1b[31m\0",), rows=(*ROWS, Row("odd\x0b", "test", "failed"))), CLASS[2]])
    assert "41.5" not in text
    assert "Traceback" not in text
    first, second = junitparser.JUnitXml.fromstring(text.encode())
    assert (first.name, first.tests, first.failures, first.errors, first.skipped) == ("double: ada", 7, 3, 1, 1)
    assert (second.tests, second.failures) == (1, 1)
    assert {each.get("name"): each.get("value") for each in ET.fromstring(text).iter("property")}["points"] == "0"


def test_gradescope_gets_its_fields_and_nothing_of_the_keys():
    """Score, tests with what they are worth, text that is declared as text."""
    results = reports.gradescope_results(stand().report)
    assert (results["score"], results["output_format"], results["stdout_visibility"]) == (2, "text", "hidden")
    tests = {test["name"]: test for test in results["tests"]}
    assert (tests["Doubling works."]["score"], tests["Doubling works."]["max_score"]) == (2, 2)
    assert tests["Halving works."]["status"] == "failed"
    assert "max_score" not in tests["cell check_double"]
    assert sum(test.get("score", 0) for test in results["tests"]) == results["score"]
    assert not {"41.5", "Traceback"} & set(json.dumps(results).split('"'))
    assert "41.5" not in json.dumps(results)


def test_what_gradescope_shows_later_is_nowhere_before():
    """Hidden tests and their words wait for the due date, cells and what to know about the file do not."""
    report = stand(messages=("a cell of your own was left out", ROWS[3].message)).report
    shown = reports.gradescope_results(report)
    assert {test["visibility"] for test in shown["tests"]} == {shown["visibility"]} == {"visible"}
    assert shown["output"].splitlines() == list(report.messages)
    later = reports.gradescope_results(report, visibility="after_due_date")
    seen = {test["name"]: test["visibility"] for test in later["tests"]}
    assert (later["visibility"], seen["Halving works."], seen["cell check_double"]) == (
        *["after_due_date"] * 2,
        "visible",
    )
    assert later["output"] == "a cell of your own was left out"
    assert [test["output"] for test in later["tests"]] == [test["output"] for test in shown["tests"]]


def test_every_report_says_that_there_was_no_sandbox():
    """Where it ran without one, no reader can miss it."""
    bare = stand(sandbox="none")
    assert "without a sandbox" in reports.as_page([bare], titles={})
    assert "without a sandbox" in reports.gradescope_results(bare.report)["output"]
    assert ",graded,none," in reports.as_csv([bare])
    assert '"sandbox": "none"' in reports.as_json([bare])
    assert '<property name="sandbox" value="none"' in reports.as_junit([bare])


def test_the_page_shows_what_was_written_and_runs_none_of_it(open_file, tmp_path):
    """Chromium under the page's own policy: the learner's markup is text, nothing is asked for, nothing is refused."""
    page_text = reports.as_page([stand(f"ada {SCRIPT}", manual=[(1, SCRIPT)])], titles={"double": f"Twice {SCRIPT}"})
    (path := tmp_path / "page.html").write_text(page_text, encoding="utf-8")
    page = open_file(path, width=390)
    assert page.title() == f"Grades of ada {SCRIPT}"
    assert page.locator("script, img").count() == 0
    assert page.get_by_text(SCRIPT).count() >= 5
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.querySelector('.points')).fontWeight") == "600"
    assert page.troubles == []
    assert "41.5" not in page_text


def test_should_something_slip_through_the_policy_stops_it(open_file, tmp_path):
    """The same page with raw markup put in: a script, a handler, a style and an image are all refused."""
    evil = f"{SCRIPT}<style>h1 {{ display: none }}</style><script src='http://127.0.0.1:1/x.js'></script>"
    text = reports.as_page([stand()], titles={}).replace("<main>", f"<main>{evil}")
    (path := tmp_path / "page.html").write_text(text, encoding="utf-8")
    page = open_file(path)
    assert page.title() == "Grades of ada"
    assert page.get_by_role("heading", level=1).is_visible()
    assert sum("Content Security Policy" in trouble for trouble in page.troubles) >= 4


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "", ".", "..", "a/b", "a\0b", "\ud800", "x" * 400, "-rf", "caf\xe9", "\ufdfa" * 60]
)
def test_a_learners_name_is_no_path(name):
    """Whatever it is, the file lies where it should, and differs from that of a like name."""
    came = safe_file_name(name)
    assert came.isascii()
    assert not set(came) & set("/\\\0 ")
    assert came[0].isalnum()
    assert len(came) <= 90
    assert came != safe_file_name(name + "!")


def test_nobody_can_be_called_like_the_page_of_another():
    """A plain name stays what it is, but for one that looks like what is made of another."""
    assert safe_file_name("ada-2026") == "ada-2026"
    assert safe_file_name(safe_file_name("Ada Lovelace")) != safe_file_name("Ada Lovelace")


ALIKE = ("ada", "Ada", "ADA", "ada.", "ada ", "con", "CON", "com1.x", "nul", "Zo\u00eb", "Zoe", "zoe")


def test_pages_stay_apart_on_every_disk():
    """Where capitals do not count, where names of devices are taken, and where dots and blanks at the end are cut."""
    names = {name: safe_file_name(name) for name in ALIKE}
    assert len({name.casefold().rstrip(". ") for name in names.values()}) == len(ALIKE)
    assert not {name.casefold().split(".")[0] for name in names.values()} & {"con", "com1", "nul"}
    assert names["ada"] == "ada"


@pytest.fixture
def small_disk(tool, tmp_path):
    """Return a function that runs Python where ``tmp_path / "disk"`` is a disk of 256 KiB."""
    (disk := tmp_path / "disk").mkdir()
    bubble = [tool("bwrap", package="bubblewrap"), "--dev-bind", "/", "/", "--size", str(256 << 10), "--tmpfs", disk]

    def run(code):
        return subprocess.run([*bubble, sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    return run


FULL_DISK = """
from pathlib import Path
from course_grader.grading import reports
from course_lib.errors import InputError
from tests.grading.conftest import ListedGrades
from tests.grading.test_reports import stand
folder = Path({folder!r})
reports.write_reports(ListedGrades([stand()]), folder, kinds=["html"])
before = {{path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}}
try:
    reports.write_reports(ListedGrades([stand(messages=("x" * 10_000,) * 100)]), folder, kinds=["html"])
except InputError as error:
    print(error)
assert {{path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}} == before
"""


def test_a_full_disk_is_named_and_costs_no_report(small_disk, tmp_path):
    """The path is in the sentence; the last run's reports are whole, and no part of a new one is left."""
    done = small_disk(FULL_DISK.format(folder=str(tmp_path / "disk")))
    assert done.returncode == 0, done.stderr
    assert (
        f"expected to write {tmp_path / 'disk' / 'details' / 'ada.json'}, found: No space left on device" in done.stdout
    )


def test_files_are_whole_or_not_there(tmp_path):
    """A second run replaces the first one's files; a run that fails leaves them, and no half-written file."""
    for _ in range(2):
        data, table = sorted(reports.write_reports(ListedGrades([stand()]), tmp_path, kinds=["json"]))[:0:-1]
    before = data.read_text()
    with pytest.raises(TypeError):
        reports.write_reports(ListedGrades([stand(messages=(object(),))]), tmp_path, kinds=["json"])
    assert data.read_text() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["details", "grades.csv", "grades.json"]
    assert stat.S_IMODE(table.stat().st_mode) == 0o644


def test_a_page_is_made_anew_only_if_something_on_it_changed(tmp_path):
    """Points, messages, a title, or how many attempts: what is shown; what only the instructor sees is no reason."""

    def write(*grades, title="Twice"):
        before = {path: path.stat().st_ino for path in (tmp_path / "learners").glob("*")}
        reports.write_reports(ListedGrades(grades), tmp_path, kinds=["html"], titles={"double": title})
        return sorted(path.stem for path in (tmp_path / "learners").iterdir() if path.stat().st_ino != before.get(path))

    assert write(stand(), stand("bob")) == ["ada", "bob"]
    assert write(stand(), stand("bob")) == []
    assert write(stand(rows=tuple(replace(row, detail="other") for row in ROWS)), stand("bob")) == []
    assert write(stand(late=10), stand("bob")) == ["ada"]
    assert write(stand(late=10), replace(stand("bob"), attempts=2)) == ["bob"]
    assert write(stand(late=10), replace(stand("bob"), attempts=2), title="Thrice") == ["ada", "bob"]
    (tmp_path / "learners" / "ada.html").write_text("damaged")
    assert write(stand(late=10), replace(stand("bob"), attempts=2), title="Thrice") == ["ada"]


def test_a_page_that_is_left_is_what_would_be_written(tmp_path):
    """The mark by which it is known is in the page itself, and says nothing of what only the instructor sees."""
    reports.write_reports(ListedGrades([stand()]), tmp_path, kinds=["html"], titles={})
    first = (tmp_path / "learners" / "ada.html").read_text()
    other = stand(rows=tuple(replace(row, detail="other") for row in ROWS))
    assert first == reports.as_page([stand()], titles={}) == reports.as_page([other], titles={})


def test_every_kind_is_written_where_it_is_said(tmp_path):
    """Files and folders by the names of the options, and one page for each learner."""
    written = reports.write_reports(ListedGrades(CLASS), tmp_path, kinds=list(reports.REPORT_KINDS))
    assert all(path.exists() for path in written)
    assert len(list((tmp_path / "learners").iterdir())) == len(CLASS)
    assert json.loads((tmp_path / "gradescope" / "ada" / "double.json").read_text())["score"] == 2
    (tmp_path / "taken" / "junit.xml").mkdir(parents=True)
    with pytest.raises(InputError, match="found a folder there"):
        reports.write_reports(ListedGrades(CLASS), tmp_path / "taken", kinds=["junit"])


def test_half_a_character_does_not_cost_the_class_its_grades(tmp_path):
    """A detail that cannot be encoded is written escaped, in every kind of report."""
    odd = stand(rows=(Row("t", "test", "failed", 0, 1, "\ud800", "\ud800", "\ud800"),), messages=("\ud800",))
    reports.write_reports(ListedGrades([odd]), tmp_path, kinds=list(reports.REPORT_KINDS))
    assert json.loads((tmp_path / "grades.json").read_bytes())["submissions"][0]["rows"][0]["detail"] == "\ud800"
