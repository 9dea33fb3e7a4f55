"""What grading reads off the text of an exercise."""

import pytest

from course_grader.grading.exercises.exercise import find_exercise, load_exercise
from course_grader.grading.sandbox.limits import Limits
from course_lib.errors import InputError
from tests.grading.conftest import SOURCE, TESTS


@pytest.fixture
def loaded(tmp_path):
    def load_from(source):
        (key := tmp_path / "double" / "key").mkdir(parents=True)
        (key / "source.md").write_text(source, encoding="utf-8")
        (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
        return load_exercise(key)

    return load_from


def test_the_title_and_the_time_for_a_cell_are_the_texts(loaded):
    """All cells together have ten times as long."""
    exercise = loaded(SOURCE)
    assert (exercise.slug, exercise.title) == ("double", "Twice as much")
    assert (exercise.limits.cell_seconds, exercise.limits.total_seconds) == (3, 30)


def test_without_them_the_name_and_the_usual_time_do(loaded):
    """Nothing else in the front matter is needed."""
    exercise = loaded(SOURCE.replace("  title: Twice as much\n  timeout_seconds: 3\n", ""))
    assert exercise.title == "double"
    assert exercise.limits.cell_seconds == Limits().cell_seconds
    assert exercise.limits.total_seconds == 10 * Limits().cell_seconds


def test_imports_are_those_at_the_top_level_of_what_is_handed_out(loaded):
    """Of whole modules; not those in functions, beside the notebook, in solutions, or of what cannot be parsed."""
    given = "import numpy as np\nimport os.path, sys as s\nfrom math import pi\nfrom .beside import x\nfrom . import y"
    source = SOURCE.replace("import numpy as np", f"{given}\ndef f():\n    import json", 1)
    source = source.replace("    return 2 * x", "    return 2 * x\nimport csv")
    exercise = loaded(source + "\n```{code-cell} ipython3\n%time import re\n```\n")
    assert exercise.imports == ("math", "numpy", "os.path", "sys")


def test_a_text_under_another_name_is_found_and_named(tmp_path):
    """That its file is there, and what it says, helps more than that there is none."""
    (key := tmp_path / "treble" / "key").mkdir(parents=True)
    (key / "source.md").write_text(SOURCE, encoding="utf-8")
    (key / "test_hidden.py").write_text(TESTS, encoding="utf-8")
    with pytest.raises(InputError, match=r"of exercise 'treble', found that of 'double' at .*; its front matter must"):
        find_exercise("treble", exercises=tmp_path)


def test_what_is_wrong_with_a_text_is_said_with_one_path(loaded):
    """The reader of texts gives it, and so does what loads an exercise."""
    with pytest.raises(InputError, match=r"source.md is not an exercise: a cell's name must be its own, but 'double'"):
        loaded(SOURCE.replace(":name: check_double", ":name: double"))
