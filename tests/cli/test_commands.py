"""The commands answer with a table or with one line, and with the exit status that says which."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_grader.grading.exercises.exercise import find_exercise
from course_grader.notebooks import read_text
from tests.grading.conftest import SOURCE, TESTS, read_details

ROOT = Path(__file__).parents[2]
EXERCISES = ["--exercises", str(ROOT / "exercises")]


@pytest.fixture(scope="module")
def exercise():
    """The course's first exercise."""
    return find_exercise("two_layer_gradients", exercises=ROOT / "exercises")


def run_process(code, **environment):
    """Run Python with a changed environment."""
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=ROOT)


def test_check_passes_a_right_notebook_and_leaves_it_alone(course, exercise, tmp_path):
    """Exit status 0, a line for each check, the file as it was."""
    nbformat.write(exercise.reference(), path := tmp_path / "mine.ipynb")
    before = path.read_bytes()
    status, out, err = course("check", path)
    assert (status, err) == (0, "")
    assert re.findall(r"(check_\w+) +│ (\w+)", out) == [
        ("check_forward", "right"),
        ("check_slope", "right"),
        ("check_loss_backward", "right"),
        ("check_backward", "right"),
    ]
    assert "4 checks right." in out
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.ipynb"]


def test_check_fails_an_untouched_notebook(course):
    """Exit status 1, and each check says what is missing."""
    status, out, _ = course("check", ROOT / "exercises/two_layer_gradients/two_layer_gradients.ipynb")
    assert status == 1
    assert "`loss_backward` is not written yet" in out
    assert "4 checks not written yet." in out


def test_check_shows_markup_as_text(course, exercise, tmp_path):
    """What a learner's assertion or exception says is not read as colours or links."""
    notebook = exercise.reference()
    next(
        cell for cell in notebook.cells if cell.id == "forward"
    ).source = "raise ValueError('[red]x[/] [link=http://e]')"
    nbformat.write(notebook, path := tmp_path / "mine.ipynb")
    _, out, _ = course("check", path)
    assert "[red]x[/] [link=http://e]" in out


def bad_files(folder, exercise):
    """Make a file of each bad kind; return them with what the message must say came."""
    future, page = exercise.pristine(), read_text(ROOT / "chapters/mechanics/what_backward_does.md")
    future.nbformat = 5
    (folder / "empty.ipynb").touch()
    (folder / "text.ipynb").write_text("hello")
    (folder / "binary.ipynb").write_bytes(b"\xff\x00")
    (folder / "future.ipynb").write_text(json.dumps(future))
    (folder / "page.ipynb").write_text(json.dumps(page))
    (folder / "folder.ipynb").mkdir()
    return {
        "missing.ipynb": "no such file",
        "folder.ipynb": "a folder",
        "empty.ipynb": "an empty file",
        "text.ipynb": "not JSON",
        "binary.ipynb": "other bytes",
        "future.ipynb": "found 5, which is newer",
        "page.ipynb": "found another one",
    }


def assert_one_line(status, out, err):
    """Bad input: status 2, one line on standard error, no traceback, nothing else."""
    assert status == 2
    assert out == ""
    assert err.startswith("course: ")
    assert err.count("\n") == 1
    assert ";" in err or ":" in err[8:]


def test_check_names_bad_input(course, exercise, tmp_path):
    """Each kind of bad file has its own sentence."""
    for name, came in bad_files(tmp_path, exercise).items():
        status, out, err = course("check", tmp_path / name)
        assert_one_line(status, out, err)
        assert came in err
        assert name in err


def test_grade_writes_what_it_prints(course, exercise, tmp_path):
    """A flat folder with one right and one wrong notebook, and the notebook of something else."""
    (folder := tmp_path / "class").mkdir()
    nbformat.write(exercise.reference(), folder / "ada.ipynb")
    nbformat.write(exercise.pristine(), folder / "bob.ipynb")
    other = exercise.reference()
    other.metadata.course.exercise = "softmax"
    for cell in other.cells:
        if cell.cell_type == "code":
            cell.metadata.course.exercise = "softmax"
    nbformat.write(other, folder / "cem.ipynb")
    status, out, err = course(
        "grade", folder, "--out", tmp_path / "grades", "--exercise", "two_layer_gradients", *EXERCISES, "-j", 1
    )
    assert (status, err) == (0, "")
    assert re.findall(r"│ (\w+) +│ +([\d.]+ / 10) │ (\w+)", out) == [
        ("ada", "10 / 10", "graded"),
        ("bob", "0 / 10", "graded"),
        ("cem", "0 / 10", "rejected"),
    ]
    assert "expected the notebook of two_layer_gradients" in out
    assert [entry["points"] for entry in read_details(tmp_path / "grades")] == [10, 0, 0]
    assert (tmp_path / "grades/grades.csv").read_text().startswith("learner,exercise,points,max_points,status,")


@pytest.mark.parametrize(
    ("arguments", "came"),
    [
        (["grade", "{tmp}/missing", *EXERCISES], "found nothing"),
        (["grade", "{tmp}/file", *EXERCISES], "found a file"),
        (["grade", "{tmp}", *EXERCISES], "found no such notebook"),
        (["grade", "{tmp}", "--exercise", "nothing", *EXERCISES], "expected the text of exercise 'nothing'"),
        (["grade", "{tmp}", "--exercises", "{tmp}/missing"], "expected the folder of exercises"),
        (["demo", "nothing", *EXERCISES], "expected the text of exercise 'nothing'"),
        (["demo", "--key", "{tmp}", *EXERCISES], "expected the text of exercise 'two_layer_gradients'"),
    ],
)
def test_bad_input_is_one_line(course, tmp_path, arguments, came):
    """Every command says what it expected and what came, and writes nothing."""
    (tmp_path / "file").write_text("kept")
    status, out, err = course(*[argument.format(tmp=tmp_path) for argument in arguments])
    assert_one_line(status, out, err)
    assert came in err
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("file", "kept")]


@pytest.mark.parametrize(
    ("arguments", "shown", "came"),
    [
        (["grade"], "course grade --help", "Missing argument"),
        (["nothing"], "course --help", "'nothing'"),
        (["check", "a", "b"], "course check --help", "unexpected extra argument"),
        (["grade", "x", "--ouput", "y"], "course grade --help", "--ouput"),
        (["grade", "x", "-j", "0"], "course grade --help", "--jobs"),
        (["grade", "x", "-j", "many"], "course grade --help", "--jobs"),
        (["package", "elsewhere", "y", "--out", "z"], "course package --help", "gradescope"),
        (["similar", "x", "--at-least", "2"], "course similar --help", "--at-least"),
    ],
)
def test_a_wrong_command_line_is_one_line_too(course, arguments, shown, came):
    """In the words of every other error: no box, no second style; it says where the right ones are described."""
    status, out, err = course(*arguments)
    assert_one_line(status, out, err)
    assert f"`{shown}`" in err
    assert came in err


def test_course_alone_shows_its_help(course):
    """Which is no error, and has a status of its own all the same: nothing was done."""
    status, out, err = course()
    assert status == 2
    assert "Usage: course" in out + err
    assert "course: expected" not in out + err


def test_without_bubblewrap_grading_refuses_unless_told(exercise, tmp_path):
    """One line and status 2; with --no-sandbox it runs, and every report says that there was none."""
    (tmp_path / "class" / "ada").mkdir(parents=True)
    nbformat.write(exercise.reference(), tmp_path / "class" / "ada" / "two_layer_gradients.ipynb")
    command = ["grade", str(tmp_path / "class"), "--out", str(tmp_path / "grades"), *EXERCISES]
    refused = run_process(f"from course_grader.cli import main; main({command})", PATH="/nowhere")
    assert_one_line(refused.returncode, refused.stdout, refused.stderr)
    assert "bwrap was not found" in refused.stderr
    assert not (tmp_path / "grades").exists()
    told = run_process(f"from course_grader.cli import main; main({[*command, '--no-sandbox']})", PATH="/nowhere")
    assert told.returncode == 0, told.stderr
    assert "graded without a sandbox" in told.stdout
    [entry] = read_details(tmp_path / "grades")
    assert (entry["sandbox"], entry["points"]) == ("none", 10)
    assert ",graded,none," in (tmp_path / "grades/grades.csv").read_text()


@pytest.mark.parametrize(
    ("module", "command", "extra"),
    [("typer", "check", "check"), ("rich", "check", "check"), ("pytest", "mark", "check"), ("nbval", "grade", "grade")],
)
def test_the_base_install_says_which_extra_is_missing(module, command, extra):
    """Without the extra's packages, the command is one line, not a traceback."""
    words = [command, "exercises/learning_rates/learning_rates.ipynb"]
    code = f"import sys; sys.modules[{module!r}] = None\nfrom course_grader.cli import main; main({words})"
    done = run_process(code)
    assert_one_line(done.returncode, done.stdout, done.stderr)
    assert re.search(rf"; install the-backward-pass\[{extra}\] with: pip install (-e )?'?\S.*\[{extra}\]", done.stderr)


@pytest.mark.parametrize("command", ["check", "mark"])
def test_a_learners_commands_need_nothing_that_grades_a_class(command):
    """Neither a kernel nor a database, web or numerics beside NumPy: the extra is light."""
    heavy = ["nbval", "nbformat", "IPython", "zmq", "jupyter_client", "sqlalchemy", "scipy", "datasketch", "jinja2"]
    words = [command, "exercises/learning_rates/learning_rates.ipynb"]
    code = f"import sys; sys.modules |= dict.fromkeys({heavy})\nfrom course_grader.cli import main; main({words})"
    done = run_process(code)
    assert (done.returncode, done.stderr) == (1, "")
    assert "not written yet" in done.stdout


def test_help_loads_nothing_that_grades():
    """The command line starts quickly: no kernel client, no pytest, no array library but NumPy."""
    code = (
        "import sys\nfrom course_grader.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'nbval', 'pytest', 'zmq', 'jupyter_client', 'sqlalchemy', 'torch', 'jax', 'matplotlib'}\n"
        "heavy &= set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = run_process(code)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in ("check", "grade", "points", "similar", "package", "demo"))


def test_demo_shows_what_a_broken_hidden_test_said(course, tmp_path):
    """Once, of the reference, which comes first: a demo keeps no report in which its author could look it up."""
    (key := tmp_path / "double" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS.replace("!= SECRET", "/ 0 != SECRET"), encoding="utf-8")
    status, out, err = course("demo", "double", "--exercises", tmp_path)
    assert (status, err) == (0, "")
    assert "not the learners' fault, look at `detail` below: (reference)" in out
    assert out.count("`detail` of test_halve for (reference):") == out.count("`detail` of ") == 1
    assert "ZeroDivisionError: float division by zero" in out


def test_demo_says_where_a_key_does_not_keep_its_promises(course, tmp_path):
    """A wrong answer with other points or another message, and a reference that fails its own check."""
    (key := tmp_path / "double" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE.replace('t: "double: right."', 't: "right."'), encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    (key / "wrong").mkdir()
    wrong = '"""Halves nothing.\n\nexpects: {}\npoints: {}\n"""\n\n# %% halve\ndef halve(x):\n    return x\n'
    for name, expects, points in (("kept", "does not", 2), ("cheap", "does not", 2.5), ("mute", "triples", 2)):
        (key / "wrong" / f"{name}.py").write_text(wrong.format(expects, points), encoding="utf-8")
    status, out, err = course("demo", "double", "--exercises", tmp_path)
    assert (status, err) == (0, "")
    assert out.split("\n\n")[1:] == [
        "the reference must pass everything, but not check_double; correct the solutions or the tests",
        "cheap must get 2.5 points and 'does not', but got 2 and ['`halve` does not halve']",
        "mute must get 2 points and 'triples', but got 2 and ['`halve` does not halve']\n",
    ]


def test_demo_prints_a_table_fit_for_a_readme(course, tmp_path):
    """At most 100 columns, no times and no paths, one line for each kind of submission."""
    (key := tmp_path / "double" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    (key / "wrong").mkdir()
    wrong = '"""Halves nothing.\n\nexpects: does not halve\npoints: 2\n"""\n\n# %% halve\ndef halve(x):\n    return x\n'
    (key / "wrong" / "unhalved.py").write_text(wrong, encoding="utf-8")
    status, out, err = course("demo", "double", "--exercises", tmp_path)
    assert (status, err) == (0, "")
    assert out.startswith("Twice as much: 4 submissions\n")
    assert "┃ submission " in out
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "/tmp" not in out
    assert re.findall(r"│ (\S.*?) +│ +(\d+ / 3) │ (\w+) +│ (.*?) +│", out) == [
        ("(cut off)", "0 / 3", "rejected", "expected a notebook (JSON), found text that is not JSON; open"),
        ("(reference)", "3 / 3", "graded", ""),
        ("(untouched)", "0 / 3", "graded", "`double` is not written yet (and 1 more)"),
        ("unhalved", "2 / 3", "graded", "`halve` does not halve"),
    ]
