"""A folder of submissions becomes one line each, whatever is in it."""

import csv
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_grader.grading import reports
from course_grader.grading.grade_class.find_submissions import Task, find_submissions, strays
from course_grader.grading.grade_class.foreman import Foreman
from course_grader.grading.grade_class.graders import grade_class
from course_grader.grading.grade_class.workers import Died, in_processes, serve
from course_grader.grading.gradebook import FinalGrade
from course_lib.errors import GradingError, InputError


@pytest.fixture
def exercises(exercise):
    """The folder that holds the tiny exercise."""
    return exercise.key.parents[1]


@pytest.fixture
def classroom(tmp_path, hand_in):
    """A nested folder: two learners with notebooks, and every kind of thing a folder collects."""
    folder = tmp_path / "submissions"
    right, wrong = hand_in().read_bytes(), hand_in(halve="def halve(x): return x").read_bytes()
    for learner, raw in {"ada": right, "bob": wrong, "=cmd()": right, "cut off": right[:200], "empty": b""}.items():
        (folder / learner).mkdir(parents=True)
        (folder / learner / "double.ipynb").write_bytes(raw)
    (folder / "fay" / "double.ipynb").mkdir(parents=True)
    (folder / "gil").mkdir()
    (folder / "hal").mkdir()
    (folder / "hal" / "my double.ipynb").write_bytes(right)
    (folder / "ivy").symlink_to(folder / "ada")
    (folder / "jon").mkdir()
    (folder / "jon" / "double.ipynb").symlink_to(folder / "ada" / "double.ipynb")
    (folder / ".ipynb_checkpoints").mkdir()
    (folder / "notes.txt").write_text("not a learner")
    return folder


EXPECTED = {
    "=cmd()": ("graded", 3, ""),
    "ada": ("graded", 3, ""),
    "bob": ("graded", 2, "`halve` does not halve"),
    "cut off": ("rejected", 0, "expected a notebook (JSON), found text that is not JSON"),
    "empty": ("rejected", 0, "expected a notebook, found an empty file"),
    "fay": ("rejected", 0, "expected a notebook file, found a folder"),
    "gil": ("missing", 0, "expected double.ipynb, found no notebook"),
    "hal": ("missing", 0, "expected double.ipynb, found my double.ipynb"),
    "ivy": ("missing", 0, "expected a folder with a notebook, found a link"),
    "jon": ("rejected", 0, "expected a notebook file, found a link"),
}


@pytest.mark.parametrize("jobs", [1, 2])
def test_every_submission_gets_its_own_line(classroom, exercises, tmp_path, jobs):
    """One bad file costs nobody else; two at a time give what one at a time gives."""
    tasks = find_submissions(classroom, exercises=exercises, slug="double")
    table, data = reports.write_reports(
        [FinalGrade(report) for report in grade_class(tasks, jobs=jobs)], tmp_path / "grades"
    )
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
    assert [line["points"] for line in lines] == ["3", "3", "2", *["0"] * 7]


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


def twice_or_die(number):
    """Return a number's double; raise at 3, and end the process at 4."""
    if number == 4:
        os._exit(1)
    if number == 3:
        raise InputError("not 3")
    return 2 * number


def test_what_work_raises_is_raised_and_a_death_costs_one_task():
    """The others are done by processes that live, or by new ones."""
    with Foreman(serve) as foreman:
        came = dict(in_processes(twice_or_die, [1, 4, 2, 5], jobs=2, foreman=foreman))
        assert came == {1: 2, 2: 4, 4: Died(), 5: 10}
        with pytest.raises(InputError, match="not 3"):
            list(in_processes(twice_or_die, [3], jobs=1, foreman=foreman))


def test_nothing_outlives_its_foreman():
    """A process that nobody ended dies with the one that forked it."""
    with Foreman(serve) as foreman:
        pipe, descriptor = foreman.fork()
    try:
        assert select.select([descriptor], [], [], 60)[0]
    finally:
        os.close(descriptor)
        pipe.close()


def lost(pipe):
    """Be nowhere to be found."""


def test_a_foreman_that_cannot_load_says_why(monkeypatch, capfd):
    """In one line, to whoever asks it for a process, and not as a traceback on the terminal."""
    monkeypatch.setattr(lost, "__module__", "nowhere")
    with Foreman(lost) as foreman, pytest.raises(GradingError, match=r"has died: ModuleNotFoundError: .*; fix that"):
        foreman.fork()
    assert capfd.readouterr().err == ""


def children():
    """Return the numbers of this process's own."""
    return {int(p) for p in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_a_foreman_that_was_killed_is_missed():
    """While it loads, say, by a system that is out of memory."""
    others = children()
    with Foreman(serve) as foreman:
        [pid] = children() - others
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(GradingError, match="has died: something killed it; fix that, or pass -j 1"):
            foreman.fork()


def test_a_flat_folder_is_called_after_learners(tmp_path, exercises, hand_in):
    """With an exercise named, ``<learner>.ipynb`` will do; without, the message says so."""
    folder = tmp_path / "flat"
    folder.mkdir()
    hand_in().rename(folder / "ada.ipynb")
    [task] = find_submissions(folder, exercises=exercises, slug="double")
    assert (task.learner, task.exercise.slug) == ("ada", "double")
    with pytest.raises(InputError, match=r"found the notebook ada\.ipynb; say with --exercise"):
        find_submissions(folder, exercises=exercises)


def test_exercises_are_known_by_the_files_names(classroom, exercises):
    """Without an exercise named, each notebook is graded as what it is called."""
    tasks = find_submissions(classroom, exercises=exercises)
    assert {task.learner for task in tasks if task.exercise} == {
        "=cmd()",
        "ada",
        "bob",
        "cut off",
        "empty",
        "fay",
        "jon",
    }


@pytest.mark.parametrize("slug", ["double", None])
def test_notebooks_under_other_names_are_kept_count_of(classroom, exercises, hand_in, tmp_path, slug):
    """And files of other kinds, beside one that is graded or a folder deeper; not other exercises' and hidden ones."""
    exercises = shutil.copytree(exercises, tmp_path / "exercises")
    (exercises / "triple").mkdir()
    for name in ("double (1).ipynb", "a\x1bb.ipynb", "triple.ipynb", ".double.ipynb", "double.txt"):
        (classroom / "ada" / name).write_bytes(hand_in().read_bytes())
    for name in ("deep/er/triple.ipynb", "__MACOSX/double.ipynb", "none/.hidden"):
        (classroom / "ada" / name).parent.mkdir(parents=True)
        (classroom / "ada" / name).touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug=slug)}
    assert (tasks["ada"].path.name, tasks["ada"].passed_over) == (
        "double.ipynb",
        ("a\N{REPLACEMENT CHARACTER}b.ipynb", "deep/er", "double (1).ipynb", "double.txt", "none"),
    )
    assert {learner for learner, task in tasks.items() if task.passed_over} == {"ada", "hal"}


@pytest.mark.parametrize(
    ("names", "came"),
    [
        ([], "found no notebook; hand in the notebook under its own name"),
        (["double (1).ipynb", "triple.ipynb"], "found double (1).ipynb and triple.ipynb; hand in the notebook under"),
        (["double.zip"], "found double.zip; hand in the notebook itself, under its own name, not packed and not"),
        (["double.IPYNB"], "found double.IPYNB; hand in the notebook itself"),
        (["sub/double.ipynb", "double.ipynb.txt"], "found double.ipynb.txt and sub/double.ipynb; hand in the notebook"),
        ([f"{number}.png" for number in range(9)], "found 0.png, 1.png, 2.png, 3.png, 4.png and 4 more; hand in"),
    ],
)
def test_where_a_notebook_is_missing_what_lies_there_is_named(classroom, exercises, names, came):
    """With what to do about it."""
    for name in names:
        (path := classroom / "gil" / name).parent.mkdir(exist_ok=True)
        path.touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert tasks["gil"].path is None
    assert f"expected double.ipynb, {came}" in tasks["gil"].message


def test_files_among_the_learners_are_named(classroom, exercises, tmp_path):
    """As strays beside a class, and in the sentence that says that there is none."""
    for folder in (classroom, empty := tmp_path / "empty"):
        folder.mkdir(exist_ok=True)
        for name in ("ada.zip", "carl.IPYNB", "dora.ipynb.txt", ".DS_Store"):
            (folder / name).touch()
    assert strays(classroom) == ("ada.zip", "carl.IPYNB", "dora.ipynb.txt", "notes.txt")
    with pytest.raises(InputError, match=r"no such notebook, only ada\.zip, carl\.IPYNB and dora\.ipynb\.txt; check"):
        find_submissions(empty, exercises=exercises)


@pytest.mark.parametrize("named", [True, False])
def test_a_notebook_under_another_name_is_no_reason_to_stop(classroom, exercise, tmp_path, named):
    """Also where there is one key alone, and it is not named which exercise's it is."""
    for key in (exercise.key, exercise.key.parents[1]):
        tasks = find_submissions(classroom, exercises=tmp_path / "none", slug="double" if named else None, key=key)
        came = {task.learner: task for task in tasks}
        assert came["ada"].exercise.key == exercise.key
        assert came["hal"].path is None


def test_a_private_key_is_found(classroom, exercise, tmp_path):
    """``--key`` may name the folder of one key, or of several by exercise."""
    for key in (exercise.key, exercise.key.parents[1]):
        tasks = find_submissions(classroom, exercises=tmp_path / "none", slug="double", key=key)
        assert next(task for task in tasks if task.exercise).exercise.key == exercise.key
    with pytest.raises(InputError, match=r"expected the text of exercise 'double' at .*; check --exercises and --key"):
        find_submissions(classroom, exercises=tmp_path / "none", slug="double", key=tmp_path)


@pytest.mark.parametrize(
    ("make", "came"),
    [
        (lambda path: None, "found nothing"),
        (lambda path: path.write_text("x"), "found a file"),
        (lambda path: path.mkdir(), "found no such notebook"),
    ],
)
def test_what_is_not_a_class_is_named(tmp_path, exercises, make, came):
    """A missing folder, a file and an empty folder are told apart."""
    make(folder := tmp_path / "class")
    with pytest.raises(InputError, match=came):
        find_submissions(folder, exercises=exercises)


def test_a_learners_name_can_be_any_bytes(tmp_path, exercises, hand_in):
    """A folder's name that is not text, or holds control characters, is shown as far as it can be, and never used."""
    raw = hand_in().read_bytes()
    for name in (b"caf\xe9", b"a\x1b[31mred"):
        folder = tmp_path / "class" / name.decode("utf-8", "surrogateescape")
        folder.mkdir(parents=True)
        (folder / "double.ipynb").write_bytes(raw)
    learners = [task.learner for task in find_submissions(tmp_path / "class", exercises=exercises)]
    assert learners == ["a\N{REPLACEMENT CHARACTER}[31mred (ab2940)", "caf\\udce9 (dafd66)"]


ALIKE = ("ada", "ada ", "a  b", "a b", "x\N{ZERO WIDTH SPACE}", "x\N{ZERO WIDTH NON-JOINER}", "caf\udce9", "caf\\udce9")


@pytest.mark.parametrize("flat", [True, False])
def test_learners_whose_names_look_alike_stay_two(tmp_path, exercises, hand_in, flat):
    """Blanks and characters that are not shown tell them apart; who has a plain name keeps it as it is."""
    raw = hand_in().read_bytes()
    for name in ALIKE:
        path = tmp_path / "class" / (f"{name}.ipynb" if flat else f"{name}/double.ipynb")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    learners = {task.learner for task in find_submissions(tmp_path / "class", exercises=exercises, slug="double")}
    assert len(learners) == len(ALIKE)
    assert {"ada", "a b", "caf\\udce9"} <= learners
    assert all(len(name.encode().splitlines()) == 1 and name.isprintable() for name in learners)


def test_a_name_made_to_look_like_anothers_is_refused(tmp_path, exercises, hand_in):
    """Both are named as they are written, so that one of them can be given another name."""
    raw = hand_in().read_bytes()
    for name in ("ada ", "ada (680f1a)"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "double.ipynb").write_bytes(raw)
    with pytest.raises(InputError, match=r"found 'ada ' and 'ada \(680f1a\)'; rename one of them"):
        find_submissions(tmp_path / "class", exercises=exercises)


def test_a_place_that_cannot_hold_grades_is_named_before_grading(tmp_path):
    """A file where the folder should be, or above it, and a folder where a file should be."""
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "grades.json").mkdir(parents=True)
    for folder, came in {"file": "found a file", "file/below": "found a file", "taken": "found a folder there"}.items():
        with pytest.raises(InputError, match=came):
            reports.check_folder(tmp_path / folder)
    reports.check_folder(tmp_path / "new" / "and" / "deep")
    assert not (tmp_path / "new").exists()


def test_a_script_need_not_guard_its_main_program(exercise, hand_in, tmp_path):
    """Those that grade start by themselves: nothing that the script does is done by them once more."""
    (script := tmp_path / "script.py").write_text(
        f"""
import sys
from pathlib import Path
sys.path[:] = {sys.path!r}
from course_grader.grading.grade_class.find_submissions import Task
from course_grader.grading.exercises.exercise import load
from course_grader.grading.grade_class.graders import grade_class
print("begins")
exercise = load(Path({str(exercise.key)!r}))
tasks = [Task(learner, exercise, Path({str(hand_in())!r})) for learner in ("ada", "bob")]
print([report.points for report in grade_class(tasks)])
"""
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "begins\n[3, 3]\n")


def test_of_many_files_beside_a_notebook_the_first_are_named(classroom, exercises):
    """A whole environment may have been packed with it."""
    for number in range(50):
        (classroom / "ada" / f"{number:02}.txt").touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert tasks["ada"].passed_over == tuple(f"{number:02}.txt" for number in range(20))


def test_a_notebook_in_a_folder_of_its_own_is_to_be_taken_out_of_it(classroom, exercises):
    """Its name is right, and its place is not."""
    (path := classroom / "gil" / "sub" / "double.ipynb").parent.mkdir()
    path.touch()
    tasks = {task.learner: task for task in find_submissions(classroom, exercises=exercises, slug="double")}
    assert "found sub/double.ipynb; hand in the notebook itself" in tasks["gil"].message
    assert tasks["gil"].message.endswith("not packed and not in another folder")
