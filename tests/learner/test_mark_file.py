"""``course mark``: a learner marks a notebook by the exercise's public key."""

import json

import pytest

from course_grader.grading.sandbox import bubblewrap
from course_grader.learner import Verdict
from course_grader.learner.child_process import UNPROTECTED, mark_file
from course_lib.errors import InputError
from tests.learner.test_check_file import edited

STUB = 'def double(x):\n    raise NotImplementedError("`double` is not written yet")'
LEAKS = "def double(x):\n    open({!r}, 'w').write('here')\n    return 2 * x"


def verdicts(mark):
    return {row.name: Verdict.of(row) for row in mark.rows}


def test_right_answers_earn_every_point(hand_in, course_folder):
    """Each check and each hidden test is a part."""
    mark = mark_file(hand_in(), course_folder)
    assert (mark.title, mark.points, mark.max_points, mark.passed, mark.notes) == ("Twice as much", 3, 3, True, ())
    assert [row.name for row in mark.rows] == ["check_double", "test_double", "test_halve"]


def test_a_file_may_have_any_name(hand_in, course_folder):
    """Colab's copies do: the notebook itself says which exercise it is of."""
    copy = hand_in().rename(course_folder.parent / "Copy of double (1).ipynb")
    assert mark_file(copy, course_folder).points == 3


def test_what_is_wrong_is_told_apart_from_what_is_not_written(hand_in, course_folder):
    """A stub has its own word, and so has what waits for it; the hidden test's message is there."""
    mark = mark_file(hand_in(double=STUB, halve="def halve(x): return x"), course_folder)
    assert verdicts(mark) == {
        "check_double": Verdict.UNWRITTEN,
        "test_double": Verdict.UNWRITTEN,
        "test_halve": Verdict.WRONG,
    }
    assert mark.rows[-1].message == "`halve` does not halve"
    assert mark.summary == "0 of 3 points. 1 part wrong, 2 not written yet."
    waits = mark_file(hand_in(double=STUB, halve="def halve(x): return double(x) / 4"), course_folder)
    assert verdicts(waits)["test_halve"] is Verdict.UNWRITTEN


def test_cells_of_ones_own_are_left_out(hand_in, course_folder):
    """As in grading, and the message says so."""

    def lean(notebook, cells):
        cells["double"]["source"] = "def double(x): return TWO * x"
        own = {"cell_type": "code", "id": "s", "metadata": {}, "source": "TWO = 2", "outputs": []}
        notebook["cells"].insert(1, own | {"execution_count": None})

    mark = mark_file(edited(hand_in(), lean), course_folder)
    assert mark.points == 1
    assert "`TWO` is in a cell of your own, which is not graded" in mark.rows[1].message
    assert "1 cell of your own was left out" in mark.notes[0]


def test_a_name_that_a_check_makes_is_no_answers_to_use(hand_in, course_folder):
    """It is not there when the answer runs, and the message says whose it is."""
    answer = "def double(x):\n    return [check_double.__name__, wanted][1] * x"
    source = (
        "def check_double():\n    wanted = 2\n    assert double(1) == wanted\n    print('double: right.')\n\n\n"
        "check_double()"
    )

    def name(notebook, cells):
        cells["check_double"]["source"] = source

    edited(course_folder / "double" / "double.ipynb", name)
    row = mark_file(edited(hand_in(double=answer), name), course_folder).rows[0]
    assert row.message == (
        "NameError: name 'wanted' is not defined; `wanted` is a name inside of a check, not yours to use: define it in "
        "the answer cell"
    )


def test_an_answer_that_never_ends_costs_its_own_part(hand_in, course_folder):
    """The exercise's own time limit holds, also in a loop that catches what stops it; the rest is marked."""
    loop = "def double(x):\n    while True:\n        try:\n            while True: pass\n        except: pass"
    mark = mark_file(hand_in(double=loop), course_folder)
    assert verdicts(mark)["test_halve"] is Verdict.RIGHT
    assert mark.rows[1].message == "`double` did not finish within 3 s"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("import sys\nsys.exit(3)", 'SystemExit: "3"'),
        ("def double(x)", "SyntaxError: \"expected ':'\" (line 1)"),
        ("raise ValueError('no')", 'ValueError: "no"'),
    ],
)
def test_an_answer_that_does_not_run_is_a_part_of_its_own(hand_in, course_folder, answer, message):
    """Before the parts that need it."""
    first, *rest = mark_file(hand_in(double=answer), course_folder).rows
    assert (first.name, first.message) == ("double", message)
    assert [row.status for row in rest] == ["failed", "failed", "passed"]


def test_odd_values_are_the_answers_fault(hand_in, course_folder):
    """A hidden test that breaks on one does not break on the reference's."""
    tests = course_folder / "double" / "key" / "test_hidden.py"
    tests.write_text(tests.read_text() + "\n\n@points(1)\ndef test_len(learner):\n    len(learner.call('halve', 2))\n")
    row = mark_file(hand_in(), course_folder).rows[-1]
    assert (row.status, row.message.startswith("`halve` returned something of the wrong form")) == ("failed", True)
    assert row.detail == ""


def test_without_a_public_key_the_visible_checks_run_and_that_is_said(hand_in, course_folder):
    """The key is private, or the checks are those of another edition."""
    (course_folder / "double" / "key" / "test_hidden.py").rename(course_folder / "private.py")
    mark = mark_file(hand_in(), course_folder)
    assert (mark.max_points, mark.summary) == (0, "1 check right.")
    assert "visible checks alone, no points: the hidden tests of this exercise are not public" in mark.notes[0]


def test_a_notebook_of_another_edition_is_not_marked_by_this_ones_tests(hand_in, course_folder):
    """An instructor's own key may ask for other things under the same names."""

    def change(notebook, cells):
        cells["check_double"]["metadata"]["course"]["digest"] = "0" * 16

    mark = mark_file(edited(hand_in(), change), course_folder)
    assert mark.max_points == 0
    assert "handed out with other checks than those of the course that is installed here" in mark.notes[0]


def test_answers_run_in_a_sandbox(hand_in, course_folder, tmp_path):
    """As in grading: they see and change no file of the learner's."""
    mark = mark_file(hand_in(double=LEAKS.format(str(tmp_path / "leak"))), course_folder)
    assert not (tmp_path / "leak").exists()
    assert verdicts(mark)["test_double"] is Verdict.WRONG


def test_where_there_can_be_no_sandbox_that_is_said(hand_in, course_folder, monkeypatch, tmp_path):
    """And everything is marked all the same: it is one's own code."""
    monkeypatch.setenv("PATH", "")
    bubblewrap.require_sandbox.cache_clear()
    try:
        mark = mark_file(hand_in(double=LEAKS.format(str(tmp_path / "leak"))), course_folder)
    finally:
        bubblewrap.require_sandbox.cache_clear()
    assert (mark.points, mark.notes) == (3, (UNPROTECTED,))
    assert (tmp_path / "leak").exists()


def test_python_that_ends_before_the_notebook_does_is_reported(hand_in, course_folder):
    """In one line, not as a traceback."""
    with pytest.raises(InputError, match="expected to run it to its end, but Python ended before"):
        mark_file(hand_in(double="import os\nos._exit(3)"), course_folder)


def test_a_package_that_the_exercise_needs_is_named(hand_in, course_folder):
    """Nothing can be marked without it, and nothing is called wrong; an answer's own import is its own mistake."""

    def need(notebook, cells):
        cells["setup"]["source"] = "import torch_that_is_not_here.nn"

    edited(course_folder / "double" / "double.ipynb", need)
    with pytest.raises(InputError, match=r"found it not installed; .*: pip install torch_that_is_not_here$"):
        mark_file(hand_in(), course_folder)


def test_what_is_no_exercise_is_refused(tmp_path, course_folder):
    """A page of the book, by its name."""
    page = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    (path := tmp_path / "page.ipynb").write_text(json.dumps(page))
    with pytest.raises(InputError, match=r"page\.ipynb: expected the notebook of an exercise, found another one"):
        mark_file(path, course_folder)


def test_a_slug_is_no_path(hand_in, course_folder):
    """A notebook that names a folder elsewhere gets no tests from there."""

    def wander(notebook, cells):
        notebook["metadata"]["course"]["exercise"] = "../course/double"

    assert mark_file(edited(hand_in(), wander), course_folder).max_points == 0


def test_magics_are_left_out_where_there_is_no_notebook(hand_in, course_folder):
    """IPython's own kernel would run them; without one, the Python beside them runs."""
    answer = "%matplotlib inline\n!ls\n%time TWO = 2\ndef double(x):\n    return TWO * x\ndouble?"
    assert mark_file(hand_in(double=answer), course_folder).points == 3
