"""What a mark says of names: those that an answer lacks, and those of the notebook that it reads."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course_grader.grading.grade_one.grade_submission import grade_submission
from tests.grading.conftest import SOURCE

NOTE = "of your own was left out, since only answer cells are graded: what an answer needs must be inside it"
WHERE = "is in a cell of your own, which is not graded: put it into the answer cell"


@pytest.fixture
def beside(hand_in, exercise):
    """Return a function that grades an answer that has cells of the learner's own beside it."""

    def grade(double: str, *own: str):
        notebook = nbformat.read(path := hand_in(double=double), as_version=4)
        notebook.cells[1:1] = [new_code_cell(source) for source in own]
        nbformat.write(notebook, path)
        return grade_submission(path, learner="ada", exercise=exercise)

    return grade


def test_a_name_from_a_cell_of_ones_own_is_said_to_be_there(beside):
    """It works in the learner's notebook, so only this explains the mark."""
    report = beside("def double(x):\n    return TWO * x", "TWO = 2")
    assert report.messages == (
        f"1 cell {NOTE}",
        f"`double` raised NameError: name 'TWO' is not defined; `TWO` {WHERE}",
    )


def test_an_answer_in_a_cell_of_ones_own_is_found(beside):
    """Below the one that was handed out, which is as it was."""
    stub = 'def double(x):\n    raise NotImplementedError("`double` is not written yet")'
    report = beside(stub, "def double(x):\n    return 2 * x")
    assert report.points == 1
    assert report.messages[1] == f"`double` is not written yet; `double` {WHERE}"


def test_a_name_that_is_missing_is_found_behind_a_hidden_tests_own_sentence(make_exercise, tmp_path):
    """A key may say more about an error than what it was."""
    tests = (
        "from course_grader import Mistake, points\n@points(1)\ndef test_double(learner):\n"
        "    try:\n        learner.call('double', 1)\n"
        "    except Mistake as mistake:\n        raise Mistake(f'for one number, {mistake}') from None\n"
    )
    exercise = make_exercise(tests=tests)
    notebook = exercise.reference()
    next(cell for cell in notebook.cells if cell.id == "double").source = "def double(x):\n    return TWO * x"
    notebook.cells.append(new_code_cell("TWO = 2"))
    nbformat.write(notebook, path := tmp_path / "double.ipynb")
    message = grade_submission(path, learner="ada", exercise=exercise).messages[-1]
    assert message == f"for one number, `double` raised NameError: name 'TWO' is not defined; `TWO` {WHERE}"


def test_cells_of_ones_own_beside_a_right_answer_are_nobodys_business(beside):
    """There is nothing to explain."""
    assert beside("def double(x):\n    return 2 * x", "double(3)", "1 / 0").messages == ()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("return data @ np.ones((3, 2))", ". It reads the notebook's own `data`, whatever it is given"),
        ("return [data[i] for i in x]", ". It reads the notebook's own `data`, whatever it is given"),
        ("return x @ np.ones(7) * FACTOR", ""),
        ("data = x\n    return data @ np.ones(7)", ""),
    ],
)
def test_data_of_the_notebook_in_a_function_that_fails_are_named(make_exercise, tmp_path, answer, said):
    """It worked on what the notebook has, and on nothing else; a constant is there to be read."""
    exercise = make_exercise(SOURCE.replace("import numpy as np", "import numpy as np\ndata, FACTOR = np.ones(2), 2.0"))
    notebook = exercise.reference()
    next(cell for cell in notebook.cells if cell.id == "double").source = f"def double(x):\n    {answer}"
    nbformat.write(notebook, path := tmp_path / "double.ipynb")
    (message,) = grade_submission(path, learner="ada", exercise=exercise).messages
    assert message.startswith("`double` raised ")
    assert message.partition(". It reads")[1:] == said.partition(". It reads")[1:]


def test_data_of_the_notebook_in_a_function_that_is_wrong_are_named(make_exercise, tmp_path):
    """Its check may pass with what the notebook has, so the mark comes as a surprise; of a constant nothing is said."""
    exercise = make_exercise(SOURCE.replace("import numpy as np", "import numpy as np\nfactor, FACTOR = 3.0, 3.0"))
    said = {}
    for body in ("factor * x", "FACTOR * x"):
        notebook = exercise.reference()
        next(cell for cell in notebook.cells if cell.id == "double").source = f"def double(x):\n    return {body}"
        nbformat.write(notebook, path := tmp_path / "double.ipynb")
        (said[body],) = grade_submission(path, learner="ada", exercise=exercise).messages
    own = ". `double` reads the notebook's own `factor`, whatever it is given"
    assert said["factor * x"] == said["FACTOR * x"] + own


def test_an_answers_own_data_may_be_read(grade):
    """A table that the answer's cell makes is part of the answer."""
    report = grade(double="table = [1]\ndef double(x):\n    return table[x.size]")
    assert report.messages == ("`double` raised IndexError in its line `return table[x.size]`",)


def test_cells_of_ones_own_are_searched_for_names_up_to_a_limit(beside):
    """Together: eight long ones took the grader longer than all the rest. It is said, and a short one is still read."""
    long = "x = '" + "a<" * 8_000 + "'\n"
    report = beside("def double(x):\n    return TWO * x", *[long + f"a{i} = {i}" for i in range(8)], "TWO = 2")
    assert report.points == 1
    assert report.messages[1] == "too long to be searched for names that answers lack: 6 of your own cells and checks"
    assert report.messages[2].endswith(f"`TWO` {WHERE}")
