"""Whatever a learner's functions return, every exercise answers for it: nothing odd passes for a fault of its key."""

import ast
import tracemalloc
from pathlib import Path

import nbformat
import numpy as np
import pytest

from course_lib.grading import expect
from course_lib.grading.exercise import find
from course_lib.grading.merge import answers_of, merge
from course_lib.grading.points import Mistake
from course_lib.grading.submission import grade_submission

EXERCISES = Path(__file__).parents[2] / "exercises"
SLUGS = sorted(path.parents[1].name for path in EXERCISES.glob("*/key/source.md"))
# One after the other, so that each function gives back all of them in turn.
ODD = """
import numpy as np
from itertools import count
_odd = [None, [], {}, "passed", 10**400, float("nan"), np.complex128(1j), [[1.0], [2.0, "x"]], np.array(["x"])]
_odd += [np.zeros((0, 3)), np.full((2, 2), 1j), (None, None), ("a", {0: [None]}), dict.fromkeys(["w1", "loss", "x"])]
_turn = count()
"""
FUNCTION = "def {0}(*args, **kwargs):\n    return {1}\n"


def answers(exercise, value):
    """Return answers whose every function returns this."""
    parts = {}
    for name, source in answers_of(exercise.reference()).items():
        functions = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
        parts[name] = ODD + "".join(FUNCTION.format(function, value) for function in functions)
    return parts


@pytest.mark.parametrize("value", ["None", "_odd[next(_turn) % len(_odd)]"], ids=["None", "odd"])
@pytest.mark.parametrize("slug", SLUGS)
def test_functions_that_return_odd_values_are_graded(tmp_path, slug, value):
    """The report blames nobody but them, in words, and most points are not theirs."""
    exercise = find(slug, exercises=EXERCISES)
    nbformat.write(merge(exercise.reference(), answers(exercise, value)), path := tmp_path / "a.ipynb")
    report = grade_submission(path, learner="ada", exercise=exercise)
    assert report.status == "graded", [row.detail[-300:] for row in report.rows if row.status == "error"]
    assert report.points <= 0.2 * report.max_points
    assert all(row.message for row in report.rows if row.status == "failed")


@pytest.mark.parametrize("kind", [str, np.array, np.str_])
def test_text_among_numbers_is_refused_before_numpy_gives_each_as_much_room(kind):
    """One long text and many short ones take gigabytes as an array."""
    texts = list(map(kind, ["x" * 20_000, *[""] * 2_000]))
    tracemalloc.start()
    try:
        with pytest.raises(Mistake, match="`dw` is a list of 2; it must be an array of numbers"):
            expect.array([[0, 1], texts], name="dw")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
