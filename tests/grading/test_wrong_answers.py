"""What a known-wrong answer's file must say."""

import pytest

from course_grader.grading.exercises.wrong_answers import read_wrong_answer
from course_lib.errors import InputError

WRONG = '''"""Halves nothing.

expects: does not halve
points: 2
"""


# %% halve
def halve(x):
    return x
'''


@pytest.fixture
def written(tmp_path):
    def write(text, encoding="utf-8"):
        (path := tmp_path / "unhalved.py").write_text(text, encoding=encoding)
        return path

    return write


def test_a_wrong_answer_is_its_docstring_and_its_cells(written, exercise):
    """The rest is the reference's."""
    wrong = read_wrong_answer(written(WRONG))
    assert (wrong.name, wrong.mistake, wrong.expects, wrong.points) == (
        "unhalved",
        "Halves nothing.",
        "does not halve",
        2,
    )
    cells = {cell.id: cell.source for cell in wrong.notebook(exercise).cells}
    assert (cells["halve"], "return 2 * x" in cells["double"]) == ("def halve(x):\n    return x\n", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (WRONG.replace("expects: does", "Expects: does"), "found no line `expects: ...`; add one"),
        (WRONG.replace("points: 2", ""), "found no line `points: ...`; add one"),
        (WRONG.replace("# %%", "#%%"), "found no line `# %% <cell>`; add one"),
        (WRONG.replace("points: 2", "points: 2 / 3"), "the number that is left, found '2 / 3'; write such as 8"),
        (WRONG.replace("(x):", "(x)"), r"expected Python in UTF-8, found other text: expected ':'"),
    ],
)
def test_what_is_missing_or_malformed_is_named(written, text, message):
    """With the file, and the fix."""
    with pytest.raises(InputError, match=rf"unhalved\.py: .*{message}"):
        read_wrong_answer(written(text))


def test_a_file_in_another_encoding_is_named(written):
    """It is no reason for a traceback."""
    with pytest.raises(InputError, match=r"unhalved\.py: expected Python in UTF-8, found other text: 'utf-8' codec"):
        read_wrong_answer(written(WRONG.replace("Halves", "Dédouble"), "latin-1"))


def test_a_cell_that_is_no_answer_is_refused(written, exercise):
    """With it left out, the reference itself would be graded and earn every point."""
    wrong = read_wrong_answer(written(WRONG.replace("%% halve", "%% check_double")))
    with pytest.raises(InputError, match=r"unhalved\.py: .*one of double, halve, found 'check_double'; correct it"):
        wrong.notebook(exercise)


def test_a_cells_name_may_hold_a_dash(written):
    """As it may in the exercise's text."""
    assert read_wrong_answer(written(WRONG.replace("%% halve", "%% to-halve"))).answers.keys() == {"to-halve"}
