"""What is said on the command line reaches what it is for, and what was done is said in the end."""

import itertools
import json
import shutil
import zipfile
from importlib.metadata import version

import nbformat
import pytest

from course_grader.cli import entry_point
from course_grader.cli.progress import Progress
from course_grader.grading.exercises.exercise import load_exercise
from course_grader.learner import child_process
from course_grader.learner.public_key import PUBLIC_EXERCISES
from tests.grading.conftest import SOURCE


@pytest.fixture
def keys(classroom):
    """The classroom's key, in a folder of its own, beside that of an exercise which nobody has handed in yet."""
    shutil.move(classroom / "exercises" / "double" / "key", (keys := classroom / "keys") / "double")
    also(keys / "double", keys / "triple")
    return keys


def also(key, other):
    """Copy a key for another exercise."""
    shutil.copytree(key, other)
    source = SOURCE.replace("exercise: double", "exercise: triple").replace("Twice as much", "Three times")
    (other / "source.md").write_text(source, encoding="utf-8")


def test_every_command_takes_the_keys_from_where_they_are(course, keys):
    """Not beside the exercises, where there is none now."""
    (download := keys.parent / "download").mkdir()
    shutil.copy(keys.parent / "submissions" / "ada" / "double.ipynb", download / "a_1_2_double.ipynb")
    (keys.parent / "roster.csv").write_text("learner,id\na,1\n")
    for words in (
        ["collect", "download", "--exercise", "double", "--roster", "roster.csv", "--out", "collected"],
        ["grade", "submissions", "-j", 1, "--gradebook", "book.sqlite"],
        ["demo", "double"],
        ["similar", "submissions"],
        ["package", "gradescope", "double", "--out", "a.zip"],
        ["points", "zoe", "triple", 1, "--why", "oral", "--absent", "--gradebook", "book.sqlite"],
    ):
        status, _, err = course(*words, "--key", keys)
        assert (status, err.partition("note: Canvas")[0]) == (0, ""), words


def test_the_version_is_that_of_the_package(course):
    """On its standard output, and alone."""
    assert course("--version") == (0, f"the-backward-pass {version('the-backward-pass')}\n", "")


def test_without_a_folder_of_exercises_those_of_the_package_are_taken(course, tmp_path, monkeypatch):
    """As it is for whoever installed it, and has the submissions alone; another folder must be there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "submissions" / "ada").mkdir(parents=True)
    handed_in = tmp_path / "submissions" / "ada" / "learning_rates.ipynb"
    shutil.copy(PUBLIC_EXERCISES / "learning_rates" / "learning_rates.ipynb", handed_in)
    status, _, err = course("grade", "submissions", "-j", 1)
    assert (status, err.partition("; ")[0]) == (0, "note: no folder exercises here")
    status, _, err = course("grade", "submissions", "--exercises", "elsewhere")
    assert (status, "elsewhere" in err) == (2, True)


def test_what_is_in_the_gradebook_alone_has_its_title_as_long_as_there_is_a_key(course, keys):
    """And its name after that."""
    course("grade", "submissions", "-j", 1, "--key", keys)
    (late := keys.parent / "late" / "ada").mkdir(parents=True)
    nbformat.write(load_exercise(keys / "triple").reference(), late / "triple.ipynb")
    for titled in (True, False):
        status, out, _ = course("grade", "late", "-j", 1, "--key", keys)
        assert status == 0
        assert out.endswith("written: grades/grades.csv, grades/details, grades/learners\n")
        page = (keys.parent / "grades" / "learners" / "bob.html").read_text(encoding="utf-8")
        assert ("Twice as much" in page) is titled
        shutil.rmtree(keys / "double", ignore_errors=True)


@pytest.mark.parametrize(
    ("gradebook", "shown"),
    [([], "grades/gradebook.sqlite"), (["--gradebook", "sqlite:///book.sqlite"], "sqlite://...")],
    ids=["file", "address"],
)
def test_broken_off_it_counts_those_who_were_graded(course, classroom, monkeypatch, gradebook, shown):
    """Who handed nothing in was not; an address may hold a password, and is not shown."""
    (classroom / "submissions" / "abe").mkdir()
    seen = []

    def interrupt(self, outcome):
        seen.append(outcome)
        if len(seen) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", interrupt)
    status, out, err = course("grade", "submissions", "-j", 1, *gradebook)
    graded = sum(outcome.report.status == "graded" for outcome in seen)
    assert graded == 3
    assert (status, out) == (130, "")
    how_to_go_on = "run the same command again to go on from there"
    assert err == f"course: stopped with 3 of 6 submissions in {shown}; {how_to_go_on}\n"


@pytest.mark.parametrize(("module", "name"), [(child_process, "check_file"), (entry_point, "_build_app")])
def test_a_command_that_is_interrupted_has_a_status_of_its_own(course, classroom, monkeypatch, module, name):
    """As shells have it, also while it loads: not that of a notebook that does not pass, nor of one it cannot use."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, name, interrupt)
    assert course("check", "submissions/ada/double.ipynb") == (130, "", "")


def test_a_name_with_a_line_break_is_one_line(course, classroom):
    """None of it is obeyed by the terminal."""
    status, out, err = course("check", "a\n\x1b[2Jb.ipynb")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "\x1b" not in err


def test_check_says_where_a_result_may_mean_nothing(course, classroom):
    """Of a check that was edited; and what is no check does not count as one."""
    path = classroom / "submissions" / "ada" / "double.ipynb"
    notebook = nbformat.read(path, as_version=4)
    cells = {cell.id: cell for cell in notebook.cells}
    cells["check_double"].source = 'print("double: right.")'
    cells["halve"].source = "1 / 0"
    nbformat.write(notebook, path)
    status, out, _ = course("check", path)
    assert status == 1
    assert "note: the check check_double was edited, so its result may not mean anything" in out
    assert "1 check right, 1 wrong." in out


@pytest.mark.parametrize("sandbox", [True, False])
def test_a_demo_and_an_autograder_are_told_of_the_sandbox(course, classroom, sandbox):
    """Where there is none, it is said."""
    words = [] if sandbox else ["--no-sandbox"]
    assert ("graded without a sandbox" in course("demo", "double", *words)[1]) is not sandbox
    assert course("package", "gradescope", "double", "--out", "a.zip", *words)[0] == 0
    with zipfile.ZipFile("a.zip") as packed:
        assert json.loads(packed.read("settings.json"))["sandbox"] is sandbox


def test_the_rules_say_when_gradescope_shows_the_tests(course, classroom):
    """In the autograder, and in what it would get; all is shown at once where they are silent."""
    for words, rules, expected in (
        ([], "", "visible"),
        (["--course", "r.toml"], "gradescope_visibility = 'hidden'", "hidden"),
    ):
        (classroom / "r.toml").write_text(f"[exercises.double]\n{rules}\n")
        assert course("package", "gradescope", "double", "--out", f"{expected}.zip", *words)[0] == 0
        with zipfile.ZipFile(f"{expected}.zip") as packed:
            assert json.loads(packed.read("settings.json"))["visibility"] == expected
        assert course("grade", "submissions", "-j", 1, "--report", "gradescope", *words)[0] == 0
        written = json.loads((classroom / "grades" / "gradescope" / "bob" / "double.json").read_text())
        assert written["visibility"] == expected


def test_a_key_that_cannot_be_used_is_not_packaged(course, classroom):
    """It is better found here than there."""
    (classroom / "exercises" / "double" / "key" / "test_hidden.py").write_text("import nothing_of_this_name\n")
    status, out, err = course("package", "gradescope", "double", "--out", "a.zip")
    assert (status, out) == (2, "")
    assert "nothing_of_this_name" in err
    assert not (classroom / "a.zip").exists()


def test_similar_looks_at_what_it_is_told_to(course, classroom):
    """One exercise or all, from the share on that is given; who handed nothing in is not counted."""
    also(classroom / "exercises" / "double" / "key", classroom / "exercises" / "triple" / "key")
    (classroom / "submissions" / "abe").mkdir()
    odd = "    y = 1.0 * x\n    for k in range(60):\n        y = y - (2 * y - x) * 0.25\n    return y\n"
    own = {"ada": "    return [a + a for a in x]\n", "eva": "    while x.any():\n        return x + x\n"}
    for slug, learner in itertools.product(("double", "triple"), own):
        notebook = load_exercise(classroom / "exercises" / slug / "key").reference()
        cells = {cell.id: cell for cell in notebook.cells}
        cells["halve"].source, cells["double"].source = f"def halve(x):\n{odd}", f"def double(x):\n{own[learner]}"
        nbformat.write(notebook, classroom / "submissions" / learner / f"{slug}.ipynb")
    for words, said in (
        (["--at-least", 0.4], "7 submissions, 2 pairs at least 40% alike"),
        (["--exercise", "double", "--at-least", 0.4], "5 submissions, 1 pair at least 40% alike"),
        (["--exercise", "double", "--at-least", 1], "5 submissions, 0 pairs at least 100% alike"),
    ):
        assert course("similar", "submissions", *words)[1].splitlines()[-1] == said
