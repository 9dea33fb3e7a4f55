"""Each submission of a class gets a report, whatever becomes of the others."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_grader.grading import reports
from course_grader.grading.grade_class import grade_task, graders
from course_grader.grading.grade_class.find_submissions import Task, find_submissions
from course_grader.grading.grade_class.graders import grade_class
from course_grader.grading.gradebook import FinalGrade
from course_lib.errors import InputError
from tests.grading.conftest import ListedGrades

EXPECTED = {
    "=cmd()": ("graded", 3, ""),
    "ada": ("graded", 3, ""),
    "bob": ("graded", 2, "`halve` does not halve"),
    "cut off": ("rejected", 0, "expected a notebook (JSON), found text that is not JSON"),
    "empty": ("rejected", 0, "expected a notebook, found an empty file"),
    "fay": ("rejected", 0, "expected a notebook file, found a folder"),
    "gil": ("missing", 0, "expected double.ipynb, found no notebook"),
    "hal": ("graded", 3, "my double.ipynb was graded: it says that it is the notebook of double"),
    "ivy": ("missing", 0, "expected a folder with a notebook, found a link"),
    "jon": ("rejected", 0, "expected a notebook file, found a link"),
}


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_submission_gets_its_own_line(classroom, exercises, tmp_path, jobs):
    """One bad file costs nobody else; two at a time give what one at a time gives."""
    tasks = find_submissions(classroom, exercises=exercises, slug="double")
    graded = sorted(grade_class(tasks, jobs=jobs), key=lambda report: report.learner)
    grades = ListedGrades(map(FinalGrade, graded))
    table, _, data = reports.write_reports(grades, tmp_path / "grades", kinds=["json"])
    document = json.loads(data.read_text(encoding="utf-8"))
    assert document["schema_version"] == 1
    came = {entry["learner"]: entry for entry in document["submissions"]}
    assert list(came) == sorted(EXPECTED)
    for learner, (status, points, message) in EXPECTED.items():
        entry = came[learner]
        assert (entry["status"], entry["points"], entry["max_points"]) == (status, points, 3), learner
        assert " ".join(entry["messages"]).startswith(message)
    assert came["bob"]["rows"][-1] | {"detail": ""} == {
        "name": "test_halve",
        "kind": "test",
        "status": "failed",
        "points": 0,
        "max_points": 1,
        "title": "Halving works.",
        "message": "`halve` does not halve",
        "detail": "",
    }
    with table.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["learner"].lstrip("'") for line in lines] == sorted(EXPECTED)
    assert lines[0]["learner"] == "'=cmd()"
    assert [line["points"] for line in lines] == ["3", "3", "2", *["0"] * 4, "3", "0", "0"]


def test_a_grader_that_dies_is_an_error_and_not_a_zero(make_exercise, hand_in):
    """When a process of the grader's own is gone, the one it had says so, and the others are graded by the next."""
    tests = (
        "import os\nfrom course_grader import points\n@points(1)\ndef test_exit(learner):\n"
        "    if 'return 3' in learner.source('double'):\n        os._exit(3)\n"
    )
    exercise, good, bad = make_exercise(tests=tests), hand_in(), None
    good = good.rename(good.with_name("good.ipynb"))
    bad = hand_in(double="def double(x): return 3")
    tasks = [Task(learner, exercise, bad if learner == "bob" else good) for learner in ("ada", "bob", "cem", "dan")]
    graded = {report.learner: report for report in grade_class(tasks, jobs=2)}
    assert {learner: report.status for learner, report in graded.items()} == {
        "ada": "graded",
        "bob": "error",
        "cem": "graded",
        "dan": "graded",
    }
    assert graded["bob"].messages == ("the grader's own process died; grade this one again with -j 1",)
    assert (graded["bob"].points, graded["bob"].max_points, graded["ada"].points) == (0, 1, 1)


# Python looks at signals between its own steps: nothing but a kill ends one long step in C, such as a parse.
@pytest.mark.parametrize(
    ("without_end", "jobs"),
    [("time.sleep(600)", 2), ("sum(range(10**13))", 2), ("time.sleep(600)", 1), ("while True: pass", 1)],
    ids=["waits", "computes in C", "waits in this process", "computes in this process"],
)
def test_grading_that_does_not_end_is_an_error_and_not_a_zero(make_exercise, hand_in, monkeypatch, without_end, jobs):
    """The hidden tests may go on for ever, where no clock of the sandbox looks; it is ended."""
    tests = (
        "import time\nfrom course_grader import points\n@points(1)\ndef test_wait(learner):\n"
        f"    if 'return 3' in learner.source('double'):\n        {without_end}\n"
    )
    exercise, good, bad = make_exercise(tests=tests), hand_in(), None
    good = good.rename(good.with_name("good.ipynb"))
    bad = hand_in(double="def double(x): return 3")
    for module in (graders, grade_task):
        monkeypatch.setattr(module, "compute_deadline_seconds", lambda task: 5.0 if task.learner == "bob" else 600.0)
    tasks = [Task(learner, exercise, bad if learner == "bob" else good) for learner in ("ada", "bob", "cem")]
    graded = {report.learner: report for report in grade_class(tasks, jobs=jobs)}
    assert {learner: report.status for learner, report in graded.items()} == {
        "ada": "graded",
        "bob": "error",
        "cem": "graded",
    }
    [message] = graded["bob"].messages
    assert "5 s" in message
    assert "hidden tests" in message
    assert (graded["bob"].points, graded["bob"].max_points) == (0, 1)


def test_the_deadline_follows_from_the_exercises_own_limits(make_exercise):
    """It leaves a notebook all the time it has, and hidden tests a few cells' more; not a multiple of all that."""
    limits = make_exercise(seconds=20, total=200).limits
    seconds = grade_task.compute_deadline_seconds(Task("ada", make_exercise(seconds=20, total=200), None))
    notebook = limits.start_seconds + limits.total_seconds
    assert notebook + limits.cell_seconds < seconds <= notebook + 5 * limits.cell_seconds


def test_hidden_tests_that_end_the_process_end_the_run(make_exercise, hand_in):
    """Before anyone is graded by them."""
    exercise = make_exercise(tests="import os\nos._exit(0)\n")
    tasks = [Task(learner, exercise, hand_in()) for learner in ("ada", "bob")]
    with pytest.raises(InputError, match="its tests end the process; run them through pytest"):
        list(grade_class(tasks, jobs=2))


def test_the_graders_own_process_loads_nothing_that_runs_notebooks(exercise, exercises, tmp_path):
    """Where others grade, pytest, nbval and IPython are theirs to load: the command itself starts sooner."""
    for learner in ("ada", "bob"):
        (tmp_path / "class" / learner).mkdir(parents=True)
        nbformat.write(exercise.reference(), tmp_path / "class" / learner / "double.ipynb")
    words = ["grade", "class", "-j", "2", "--exercise", "double", "--exercises", str(exercises)]
    code = f"""
import sys
from course_grader.cli import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code
unused = {{"_pytest", "nbval.plugin", "IPython", "ipykernel", "numpy"}}
print("loaded:", *{{"sqlalchemy", *unused}} & sys.modules.keys())
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("3 / 3") == 2
    assert done.stdout.splitlines()[-1] == "loaded: sqlalchemy"  # which shows that the line tells what is loaded


def test_a_script_need_not_guard_its_main_program(exercise, hand_in, tmp_path):
    """Those that grade start by themselves: nothing that the script does is done by them once more."""
    (script := tmp_path / "script.py").write_text(
        f"""
import sys
from pathlib import Path
sys.path[:] = {sys.path!r}
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.graders import grade_class
print("begins")
exercise = load_exercise(Path({str(exercise.key)!r}))
tasks = [Task(learner, exercise, Path({str(hand_in())!r})) for learner in ("ada", "bob")]
print([report.points for report in grade_class(tasks)])
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "begins\n[3, 3]\n")


def test_nothing_is_imported_from_the_folder_in_which_grading_begins(exercise, hand_in, tmp_path):
    """It may be that of the submissions, and what they call their files runs where no sandbox is."""
    (folder := tmp_path / "class").mkdir()
    for name in ("json", "numpy", "pebble", "random", "socket"):
        (folder / f"{name}.py").write_text("open('ran', 'w').close()\n")
    (script := tmp_path / "script.py").write_text(
        f"""
from pathlib import Path
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.grading.grade_class.graders import grade_class
exercise = load_exercise(Path({str(exercise.key)!r}))
tasks = [Task(learner, exercise, Path({str(hand_in())!r})) for learner in ("ada", "bob")]
print([report.points for report in grade_class(tasks, jobs=2)])
"""
    )
    env = os.environ | {"PYTHONPATH": str(Path.cwd())}
    done = subprocess.run([sys.executable, script], cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[3, 3]\n")
    assert not (folder / "ran").exists()
