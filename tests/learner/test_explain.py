"""What the hidden tests say below a check that a learner runs: in a real kernel, and of answers given as text."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course_grader.grading.exercises.answers import answers_of
from course_grader.grading.exercises.exercise import find_exercise
from course_grader.learner import explain
from course_grader.learner.explain import explain_check

ROOT = Path(__file__).parents[2]
SLUG = "learning_rates"
HALF = "def hessian(x):\n    return x.T @ x / len(x)\n"
FLAT = "def largest_stable_rate(h):\n    return 2 / np.abs(np.linalg.eigvalsh(h)).min()\n"
SILENT = "def hessian(x):\n    return 2 * x.T @ x / len(x) if x.shape[1] > 1 else 2 * (x.T @ x).item() / len(x)\n"


@pytest.fixture(scope="module")
def exercise():
    return find_exercise(SLUG, exercises=ROOT / "exercises")


@pytest.fixture
def explained(exercise):
    """Return a function that fills in answers and gives what is said below the check of a part."""

    def run(part, *, failed, check="", first=(), **answers):
        cells = [cell for cell in exercise.pristine().cells if cell.cell_type == "code"]
        right = answers_of(exercise.reference())
        kinds = [(cell, cell.metadata.course.kind) for cell in cells]
        ran = [(right | answers).get(cell.id, cell.source) for cell, kind in kinds if kind in ("given", "answer")]
        text = check or next(cell.source for cell in cells if cell.id == f"check_{part}")
        said = explain_check(SLUG, text, [*first, *ran], failed=failed)
        return repr(said) if said else ""

    return run


def test_a_notebook_says_it_below_the_check_that_failed(tmp_path):
    """Once, even if its first cell was run twice; a check of what is not written yet says only that."""
    notebook = nbformat.read(ROOT / "exercises" / SLUG / f"{SLUG}.ipynb", as_version=4)
    cells = {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}
    cells["hessian"].source = HALF
    again = nbformat.from_dict(cells["set-up"])
    notebook.cells = [cells["set-up"], again, *(cells[name] for name in ("setup", "hessian", "check_hessian"))]
    notebook.cells += [cells["diverged"], cells["check_diverged"]]
    client = NotebookClient(notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}})
    client.execute(env=os.environ | {"PYTHONPATH": str(ROOT)})
    failed, said = cells["check_hessian"].outputs
    assert failed.ename == "AssertionError"
    assert said.data["text/plain"].startswith("The tests of `hessian` say:\n  ✗ ")
    assert "the square has a derivative with a 2 in it" in said.data["text/html"]
    assert [output.ename for output in cells["check_diverged"].outputs] == ["NotImplementedError"]


def test_right_answers_need_no_words(explained):
    """Whether the check itself passes or fails."""
    assert [explained("hessian", failed=failed) for failed in (False, True)] == ["", ""]


def test_a_test_that_fails_where_the_check_passes_is_shown(explained):
    """The check has not seen it."""
    said = explained("hessian", failed=False, hessian=SILENT)
    assert said.startswith("The check passes, but the tests of `hessian` do not:\n  ✗ ")


def test_where_the_part_is_right_a_failed_check_names_what_it_rests_on(explained):
    """Where the check passes, nothing is said of the parts above, and of those below nothing ever."""
    said = explained("descend", failed=True, largest_stable_rate=FLAT)
    assert said.startswith("The tests find a mistake in `largest_stable_rate`: mend that first")
    assert explained("descend", failed=False, largest_stable_rate=FLAT) == ""
    assert explained("hessian", failed=True, largest_stable_rate=FLAT) == ""


def test_a_part_that_is_wrong_itself_says_so_and_what_else_to_mend(explained):
    """One failure is one message, however many tests it breaks."""
    said = explained("fastest_rate", failed=True, hessian=HALF, fastest_rate="def fastest_rate(h):\n    return 1 / 0\n")
    assert said.startswith("The tests of `fastest_rate` say (there is a mistake in `hessian`, too: mend that first):")
    assert said.count("`fastest_rate` raised ZeroDivisionError") == len(said.splitlines()) - 1 == 1


def test_an_answer_that_was_not_run_is_not_there(exercise):
    """Else the check's NameError stands alone."""
    check = next(cell.source for cell in exercise.pristine().cells if cell.id == "check_hessian")
    said = explain_check(SLUG, check, ["import numpy as np"], failed=True)
    assert repr(said) == "`hessian` is not there: run the cell of its answer, and then this one"


def test_the_answer_that_was_run_last_counts(explained):
    """Not one that was run before."""
    assert explained("hessian", failed=True, first=[HALF]) == ""


def test_a_name_of_ones_own_is_not_there(explained, exercise):
    """As in grading; and the message says where it was seen."""
    leaning = answers_of(exercise.reference())["hessian"].replace("return", "helper\n    return")
    said = explained("hessian", failed=False, first=["helper = 1"], hessian=leaning)
    assert "`helper` is in a cell of your own" in said


def test_a_check_that_was_changed_is_left_alone(explained, exercise):
    """Its tests may be others; so may those of an exercise whose key is not public."""
    check = next(cell.source for cell in exercise.pristine().cells if cell.id == "check_hessian")
    assert explained("hessian", failed=True, hessian=HALF)
    assert explained("hessian", failed=True, hessian=HALF, check=check + "\nprint()") == ""
    assert explain_check("private", check, [HALF], failed=True) is None


def test_without_pytest_the_first_cell_says_what_is_missing(monkeypatch, capsys):
    """In a sentence with the command that installs it."""
    monkeypatch.setattr(explain, "find_shell", object)
    monkeypatch.setitem(__import__("sys").modules, "pytest", None)
    explain.explain_checks(SLUG)
    assert "pip install" in capsys.readouterr().out
