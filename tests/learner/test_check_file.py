"""``course check``: a learner checks a notebook with nothing but the notebook."""

import json

import pytest

from course_grader.code_digest import code_digest
from course_grader.learner.child_process import check_file
from course_lib.errors import InputError


def edited(path, edit):
    """Change a notebook as JSON and write it back."""
    notebook = json.loads(path.read_text())
    cells = {cell.get("id", ""): cell for cell in notebook["cells"]}
    edit(notebook, cells)
    path.write_text(json.dumps(notebook))
    return path


def test_right_answers_pass(hand_in):
    """Each visible check is one row."""
    result = check_file(hand_in())
    assert [(row.name, row.status) for row in result.rows] == [("check_double", "passed")]
    assert (result.title, result.passed, result.notes) == ("Twice as much", True, ())


def test_a_mistake_is_named(hand_in):
    """The row says what the assertion says."""
    result = check_file(hand_in(double="def double(x):\n    return x"))
    assert not result.passed
    assert [row.message for row in result.rows] == ["twice one is two"]


def test_an_answer_that_fails_to_run_is_shown(hand_in):
    """A cell that raises has a row of its own before the check it breaks."""
    result = check_file(hand_in(double="def double(x)"))
    assert [row.message for row in result.rows] == [
        "SyntaxError: \"expected ':'\" (line 1)",
        "NameError: name 'double' is not defined",
    ]
    assert not result.passed


def test_a_saved_output_makes_no_difference(hand_in):
    """Neither clearing nor forging the stored outputs changes the verdict."""

    def clear(notebook, cells):
        cells["check_double"].update(outputs=[], execution_count=None)

    def forge(notebook, cells):
        wrong = [{"output_type": "stream", "name": "stdout", "text": "hello\n"}]
        cells["check_double"].update(outputs=wrong, execution_count=7)

    assert check_file(edited(hand_in(), clear)).passed
    assert check_file(edited(hand_in(), forge)).passed
    assert not check_file(edited(hand_in(double="def double(x): return x"), forge)).passed


def test_numbers_within_the_tolerance_pass(hand_in):
    """The tolerance travels with the check; one that is no number is the usual one."""
    for tolerance, printed, passes in (
        (0.01, 0.3333, True),
        (0.01, 0.4, False),
        (None, 1 / 3 + 1e-12, True),
        ("0.01", 0.3333, False),
    ):

        def ask(notebook, cells, tolerance=tolerance):
            check = cells["check_double"]
            check["source"] = "print(double(1))"
            check["metadata"]["course"].update(expect="0.3333333333333333\n", digest=code_digest("print(double(1))"))
            if tolerance is not None:
                check["metadata"]["course"]["tolerance"] = tolerance

        assert check_file(edited(hand_in(double=f"def double(x): return {printed!r}"), ask)).passed == passes


def test_an_edited_check_is_pointed_out(hand_in):
    """A check that was changed may pass, but not silently; one that prints something else does not pass."""

    def soften(notebook, cells):
        cells["check_double"]["source"] = 'print("double: right.")'

    result = check_file(edited(hand_in(double="def double(x): return x"), soften))
    assert result.passed
    [warning] = result.notes
    assert "the check check_double was edited" in warning
    result = check_file(edited(hand_in(), lambda notebook, cells: cells["check_double"].update(source="pass")))
    assert result.rows[0].message == "the check ran, but did not print what it prints for a right answer"


def sealed(notebook, cells):
    """Put the fingerprint of its code into the given cell, as the notebook that is handed out has it."""
    cells["setup"]["metadata"]["course"]["digest"] = code_digest("".join(cells["setup"]["source"]))


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("\nimport  numpy as np\nnp.ones = np.zeros", "`setup` (`import numpy as np`)"),
        ("import numpy as np" + " #" * 60, f"`setup` (`import numpy as np{' #' * 20} …`)"),
        (" \n", "`setup` (empty now)"),
    ],
)
def test_an_edited_given_cell_is_pointed_out(hand_in, source, place):
    """It runs here, and in grading the one that was handed out does: which one, by how it begins, and what to do."""

    def edit(notebook, cells):
        sealed(notebook, cells)
        cells["setup"]["source"] = source

    [warning] = check_file(edited(hand_in(), edit)).notes
    assert f"the given cell {place} was edited" in warning
    assert "grading runs it as it was handed out; " in warning


def test_a_given_cell_as_it_was_handed_out_is_not_pointed_out(hand_in):
    """Nor is one with other line ends, nor any of a notebook that holds no fingerprints of them, or nonsense."""

    def respell(notebook, cells):
        sealed(notebook, cells)
        cells["setup"]["source"] = ["import numpy as np\r\n"]

    def forget(notebook, cells):
        cells["setup"]["metadata"]["course"].pop("digest", None)
        cells["setup"]["source"] = "import numpy as np, os"

    for edit in (sealed, respell, forget):
        assert check_file(edited(hand_in(), edit)).notes == ()


def test_cells_of_ones_own_are_left_out_as_in_grading(hand_in):
    """An answer that leans on a scratch cell fails here as it would there, and the note says why."""

    def lean(notebook, cells):
        cells["double"]["source"] = "def double(x): return TWO * x"
        scratch = {"cell_type": "code", "id": "s", "metadata": {}, "source": "TWO = 2", "outputs": []}
        notebook["cells"].insert(1, scratch | {"execution_count": None})

    result = check_file(edited(hand_in(), lean))
    assert "`TWO` is in a cell of your own" in result.rows[0].message
    [warning] = result.notes
    assert "1 cell of your own was left out" in warning


def test_an_answer_in_two_cells_is_pointed_out(hand_in):
    """Both run here, and in grading one at most."""

    def split(notebook, cells):
        notebook["cells"].insert(1, cells["double"] | {"id": "new", "source": "TWO = 2"})
        cells["double"]["source"] = "def double(x): return TWO * x"

    result = check_file(edited(hand_in(), split))
    assert result.passed
    [warning] = result.notes
    assert "the answer cell `double` is there 2 times" in warning


def test_a_cell_that_was_deleted_is_missed(hand_in):
    """An answer that no check asks for, a check, and nothing where the notebook does not say what it had."""

    def delete(*names):
        def edit(notebook, cells):
            notebook["cells"] = [cell for cell in notebook["cells"] if cell.get("id") not in names]

        return edit

    def forget(notebook, cells):
        delete("halve")(notebook, cells)
        notebook["metadata"]["course"]["cells"] = "none of them"

    result = check_file(edited(hand_in(), delete("halve")))
    [warning] = result.notes
    assert result.passed
    assert "the answer cell `halve` is missing" in warning
    assert check_file(edited(hand_in(), forget)).notes == ()
    with pytest.raises(InputError, match="found one without its checks"):
        check_file(edited(hand_in(), delete("check_double")))


def test_a_check_that_hangs_ends(hand_in):
    """The notebook's own time limit holds."""
    result = check_file(hand_in(double="def double(x):\n    while True: pass"))
    assert result.rows[0].message == "the cell `check_double` did not finish within 3 s"
    assert not result.passed


def test_a_notebook_without_checks_is_refused(hand_in):
    """A page of the book, or a notebook that lost its checks, is not an exercise."""
    path = edited(hand_in(), lambda notebook, cells: notebook["cells"].remove(cells["check_double"]))
    with pytest.raises(InputError, match="expected the notebook of an exercise, found one without its checks"):
        check_file(path)
