"""``course_grader.check()``, the last cell of a notebook that is handed out, in a real kernel."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

from course_grader.grading.exercises.answers import answers_of
from course_grader.grading.exercises.exercise import find_exercise

ROOT = Path(__file__).parents[2]
SLUG = "learning_rates"
COLAB = """
import json, os, sys, types
def blocking_request(kind, request="", timeout_sec=None):
    assert kind == "get_ipynb"
    return json.loads(os.environ["SCREEN"])
message = types.ModuleType("google.colab._message")
message.blocking_request = blocking_request
sys.modules |= {"google": types.ModuleType("google"), "google.colab": types.ModuleType("google.colab")}
sys.modules["google.colab._message"] = message
"""  # Colab's own cannot be installed


@pytest.fixture(scope="module")
def answers():
    """The reference's."""
    return answers_of(find_exercise(SLUG, exercises=ROOT / "exercises").reference())


@pytest.fixture
def notebook(answers):
    """Return a function that fills the notebook that is handed out."""

    def fill(**others: str):
        filled = nbformat.read(ROOT / "exercises" / SLUG / f"{SLUG}.ipynb", as_version=4)
        for cell in filled.cells:
            cell.source = (answers | others).get(cell.id, cell.source)
        return filled

    return fill


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a notebook and gives the outputs of its last cell."""

    def execute(notebook, first="", **environment: str):
        begin = new_code_cell(first, metadata={"course": {"kind": "first"}})
        notebook.cells = [begin, *(cell for cell in notebook.cells if cell.id != "set-up")]  # which would install
        env = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        client = NotebookClient(
            notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}
        )
        return client.execute(env=env).cells[-1].outputs

    return execute


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a notebook under a copy's name, and gives the environment that Jupyter makes."""

    def save(notebook, name="Copy of learning_rates.ipynb"):
        nbformat.write(notebook, tmp_path / name)
        return {"JPY_SESSION_NAME": str(tmp_path / name)}

    return save


def text_of(outputs):
    """Return what a single output shows, as text; an HTML table must come with it."""
    [output] = outputs
    assert output.data["text/html"].startswith("<div>")
    return output.data["text/plain"]


def test_the_last_cell_marks_the_notebook(run, saved, notebook):
    """Under any name, with every point for right answers, and says of when the text is."""
    said = text_of(run(filled := notebook(), **saved(filled)))
    assert said.startswith("Which learning rates are too large: 10 of 10 points. 14 parts right.")
    assert "`Copy of learning_rates.ipynb`" in said.splitlines()[-1]


def test_an_untouched_notebook_is_not_written_yet(run, saved):
    """And nothing in it is called wrong."""
    handed_out = nbformat.read(ROOT / "exercises" / SLUG / f"{SLUG}.ipynb", as_version=4)
    said = text_of(run(handed_out, **saved(handed_out)))
    assert ": 0 of 10 points. 14 parts not written yet." in said.splitlines()[0]


def test_a_mistake_gets_the_hidden_tests_message(run, saved, notebook):
    """Beside what is right; the answer's prints stay out of it."""
    wrong = notebook(hessian="print('noise')\n\n\ndef hessian(x):\n    print('noise')\n    return x.T @ x / len(x)\n")
    said = text_of(run(wrong, **saved(wrong)))
    assert "✗ wrong             0 / 2" in said
    assert "noise" not in said


def test_the_session_is_neither_used_nor_changed(run, saved, notebook, answers):
    """What a cell of one's own defines is not there for the answers, and stays as it was for the learner."""
    leaning = notebook(hessian=answers["hessian"] + "\nhelper")
    leaning.cells.insert(-1, new_code_cell("helper = 1; np = 'mine'"))
    leaning.cells.append(new_code_cell("print(helper, np)"))
    environment = saved(leaning)
    assert [out.text for out in run(leaning, **environment)] == ["1 mine\n"]
    said = text_of(leaning.cells[-2].outputs)
    assert "NameError: name 'helper' is not defined; `helper` is in a cell of your own" in said


def test_an_answer_that_was_not_saved_is_pointed_out(run, saved, notebook, answers):
    """What ran last is not what the file has: else the mark would be that of another answer."""
    environment = saved(notebook(diverged="def diverged(runs):\n    return []\n"))
    said = text_of(run(notebook(), **environment))
    assert "note: the answer `diverged` that you ran last is not in the saved file: save, or run its cell" in said


def test_vs_code_says_which_file_is_open(run, saved, notebook):
    """In a name of the notebook."""
    path = saved(filled := notebook())["JPY_SESSION_NAME"]
    assert "10 of 10 points" in text_of(run(filled, first=f"__vsc_ipynb_file__ = {path!r}"))


def test_a_path_can_be_given(run, saved, notebook):
    """Where the editor says nothing."""
    saved(filled := notebook())
    filled.cells[-1].source = "import course_grader\ncourse_grader.check('Copy of learning_rates.ipynb')"
    assert "10 of 10 points" in text_of(run(filled))


@pytest.mark.parametrize(
    ("environment", "came"),
    [({}, "no editor that says which one that is"), ({"JPY_SESSION_NAME": "gone.ipynb"}, "no file at gone.ipynb")],
)
def test_without_a_file_it_says_to_save_one(run, saved, notebook, environment, came):
    """With a notebook that lies there as the example, and without a traceback."""
    saved(filled := notebook())
    [output] = run(filled, **environment)
    [line] = output.traceback
    assert came in line
    assert line.endswith(
        'save the notebook, and pass its path, such as course_grader.check("Copy of learning_rates.ipynb")'
    )


def test_colab_is_asked_for_what_is_on_the_screen(run, notebook):
    """Its text has no ids of cells, and lies in no file."""
    shown = json.loads(nbformat.writes(filled := notebook()))
    for cell in shown["cells"]:
        cell["metadata"]["id"] = cell.pop("id")[::-1]
    said = text_of(run(filled, first=COLAB, SCREEN=json.dumps({"ipynb": shown | {"nbformat_minor": 0}})))
    assert "10 of 10 points" in said
    assert "note: marked as it is on the screen" in said
    assert "of your own" not in said


@pytest.mark.parametrize("reply", ["null", "{}", "broken"])
def test_where_colab_gives_no_text_it_says_to_upload_one(run, notebook, reply):
    """Whatever came instead."""
    [output] = run(notebook(), first=COLAB, SCREEN=reply)
    [line] = output.traceback
    assert 'upload that file (folder icon on the left), and run course_grader.check("FILE.ipynb")' in line


def test_without_pytest_it_says_what_to_install(run, saved, notebook):
    """The light extra."""
    [output] = run(filled := notebook(), first="import sys; sys.modules['pytest'] = None", **saved(filled))
    [line] = output.traceback
    assert "this needs pytest" in line
    assert "[check]" in line


def test_it_stands_in_every_exercise_that_is_handed_out():
    """As the last cell; and no check has an output before it was run."""
    for path in sorted((ROOT / "exercises").glob("*/*.ipynb")):
        *cells, last = nbformat.read(path, as_version=4).cells
        assert "\ncourse_grader.check()\n" in last.source
        checks = [cell for cell in cells if cell.metadata.get("course", {}).get("kind") == "check"]
        assert checks
        assert all((cell.outputs, cell.execution_count) == ([], None) for cell in checks)
        assert all(cell.metadata.jupyter.source_hidden and cell.metadata.cellView == "form" for cell in checks)
