"""One submission, from file to report: what earns points, what is said, and to whom."""

import os
import re

import nbformat
import pytest

from course_grader.grading.grade_one.grade_submission import grade_submission, hidden_tests
from course_grader.grading.grade_one.report import Row
from course_lib.errors import InputError
from tests.grading.conftest import SOURCE


def rows(report, kind):
    """Return the rows of one kind by name."""
    return {row.name: row for row in report.rows if row.kind == kind}


def test_the_reference_gets_every_point(grade):
    """The report has a row for each hidden test and each cell, the cells worth nothing."""
    report = grade()
    assert (report.status, report.points, report.max_points, report.messages) == ("graded", 3, 3, ())
    assert report.sandbox == "bubblewrap"
    assert rows(report, "test") == {
        "test_double": Row("test_double", "test", "passed", 2, 2, title="Doubling works for any shape."),
        "test_halve": Row("test_halve", "test", "passed", 1, 1, title="Halving works."),
    }
    assert rows(report, "check") == {"check_double": Row("check_double", "check", "passed")}
    assert sum(row.points for row in report.rows if row.kind != "test") == 0


def test_a_mistake_is_named_and_the_answer_is_not(grade):
    """The learner reads the key's sentence; each failing test costs its own points only."""
    report = grade(halve="def halve(x):\n    return x")
    assert (report.status, report.points) == ("graded", 2)
    assert report.messages == ("`halve` does not halve",)
    assert "41.5" not in " ".join(report.messages) + rows(report, "test")["test_halve"].message


def test_what_a_mistake_quotes_is_one_line_of_bounded_length(make_exercise, hand_in):
    """A key's sentence may hold a learner's own words: none is obeyed, refused or without end, also for instructors."""
    tests = (
        "from course_grader import Mistake, points\n@points(1)\ndef test_keys(learner):\n"
        "    raise Mistake('the keys are ' + ', '.join(learner.call('double', 1)) + '\\ud800')\n"
    )
    answer = "def double(x):\n    return {'\\x1b[2J\\n\\u202e': 1, 'A' * 100_000: 2}"
    report = grade_submission(hand_in(double=answer), learner="ada", exercise=make_exercise(tests=tests))
    [message], row = report.messages, rows(report, "test")["test_keys"]
    assert message == row.message
    assert message.startswith("the keys are \ufffd[2J \ufffd, AAA")
    assert (len(message), message[-1]) == (1000, "\N{HORIZONTAL ELLIPSIS}")
    assert len(row.detail) < 21_000
    assert row.detail.replace("\n", "").isprintable()
    assert "raise Mistake(" in row.detail


def printing(expected, tolerance=None):
    """Return the tiny exercise with a check that prints a third, by the learner's function."""
    source = SOURCE.replace('print("double: right.")', 'print("layer 2 of 3:", double(1 / 6), "of 1")')
    source = source.replace('"double: right."', repr(expected))
    return source if tolerance is None else source.replace("  timeout_", f"  tolerance: {tolerance}\n  timeout_")


@pytest.mark.parametrize(
    ("expected", "tolerance", "answer", "status"),
    [
        ("layer 2 of 3: 0.3333333333333333 of 1", None, "2 * x + 1e-16", "passed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", None, "2 * x + 1e-8", "failed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", "0.001", "2 * x + 1e-4", "passed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", "0", "np.nextafter(2 * x, 1)", "failed"),
        ("layer 2 of 3: .33333 of 1", "0.001", "2 * x", "passed"),
        ("layer 2 of 3: 3.333e-01 of 1", "0.001", "2 * x", "passed"),
        ("layer 2 of 4: 0.3333333333333333 of 1", "10", "2 * x + 1e-16", "failed"),
        ("Layer 2 of 3: 0.3333333333333333 of 1", "10", "2 * x + 1e-16", "failed"),
        ("layer 2 of 3: 0.3333333333333333", "10", "2 * x + 1e-16", "failed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", "10", "'one third'", "failed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", "10", "float('nan')", "failed"),
        ("layer 2 of 3: 0.3333333333333333 of 1", "10", "'9' * 100_000", "failed"),
    ],
)
def test_numbers_that_a_check_prints_are_compared_within_the_tolerance(
    make_exercise, hand_in, expected, tolerance, answer, status
):
    """Rounding in another order passes; words and whole numbers must be the same, and numbers as close as is asked."""
    exercise = make_exercise(source=printing(expected, tolerance).replace("assert ", "# assert "))
    path = hand_in(double=f"import numpy as np\ndef double(x):\n    return {answer}")
    report = grade_submission(path, learner="ada", exercise=exercise)
    assert rows(report, "check")["check_double"].status == status


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "tolerance: -1",
            "tolerance: in the front matter must be a finite number of 0 or more, but got -1; try 1.0e-6",
        ),
        ("tolerance: 1e-6", "must be a finite number of 0 or more, but got '1e-6'; try 1.0e-6"),
        ("tolerance: .inf", "must be a finite number of 0 or more, but got inf"),
        ("timeout: 3", ", tolerance, prerequisites, pays, by_hand, but got 'timeout'; remove it"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(make_exercise, line, message):
    """Nothing in an exercise's front matter is passed over in silence."""
    with pytest.raises(InputError) as raised:
        make_exercise(source=SOURCE.replace("  title:", f"  {line}\n  title:"))
    assert message in str(raised.value)


def test_a_failing_check_says_what_its_assertion_says(grade):
    """The row of a visible check carries its message, without a traceback."""
    report = grade(double="def double(x):\n    return 3 * x")
    assert rows(report, "check")["check_double"].message == "twice one is two"
    assert report.points == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("def double(x):\n    raise NotImplementedError", "`double` is not written yet"),
        ("def double(x):\n    raise NotImplementedError('`halve` is not written yet')", "`halve` is not written yet"),
        ("def double(x):\n    return {}['k']", "`double` raised KeyError in its line `return {}['k']`"),
        ("def double(x):\n    raise SystemExit(3)", "`double` raised SystemExit in its line `raise SystemExit(3)`"),
        ("def double(x):\n    return TWO * x", "`double` raised NameError: name 'TWO' is not defined"),
        ("def double(x):\n    raise ValueError('\\ud800\\x1b[2J')", "`double` raised ValueError in its line `raise V"),
        ("def double(x):\n    raise NotImplementedError('award 3 of 3')", "`double` is not written yet"),
        ("def double(x):\n    raise type('Award3', (ValueError,), {})()", "`double` raised an exception in its line"),
        ("def double(x):\n    return type('Award3', (), {})()", "`double` returned an object, which is not plain data"),
        ("double = type('Award3', (), {})()", "`double` is an object, not a function"),
        ("raise ValueError('\\x00\\x1b[2J')", 'the cell `double`: ValueError: "\ufffd'),
        ("raise NotImplementedError('a' + '\"b')", 'the cell `double`: NotImplementedError: "a\'b"'),
        ("raise AssertionError('award 3 of 3')", 'the cell `double`: AssertionError: "award 3 of 3"'),
        ("raise type('award 3 of 3', (Exception,), {})", "the cell `double`: an exception"),
        ("def double(x):\n    return object()", "`double` returned a object, which is not plain data"),
        (
            "def double(x):\n    return None",
            "`the double` is None, as happens when a `return` is missing; it must be an",
        ),
        ("def double(x):\n    return 'abc'", "`the double` is a str; it must be an array of numbers"),
        ("double = 3", "`double` is a int, not a function"),
        ("def duoble(x):\n    return 2 * x", "`double` is not defined: its cell defines `duoble`"),
        ("print(2)", "`double` is not defined: look at what its own cell says"),
        (
            "%%timeit -n 1 -r 1\ndef double(x):\n    return 2 * x",
            "`double` is not defined: its cell has a line that begins with %%timeit, and what such a cell defines may "
            "be lost",
        ),
        (
            "# Your answer\n%%time\ndef double(x):\n    return 2 * x",
            "`double` is not defined: its cell has a line that begins with %%time, and what such a cell defines may be "
            "lost",
        ),
        ("def double(x)\n    return 2 * x", "the cell `double`: SyntaxError: \"expected ':'\" (line 1)"),
        ("1 / 0\ndef double(x):\n    return 2 * x", 'the cell `double`: ZeroDivisionError: "division by zero"'),
    ],
)
def test_the_learners_own_error_is_theirs_to_read(grade, answer, message):
    """In one line, cut to a length: a cell's words in quotes; of a call the type and the line, if they are theirs."""
    report = grade(double=answer)
    assert report.status == "graded"
    assert report.points == 1
    assert report.messages[0].startswith(message)
    assert not any(said.startswith("award") for said in report.messages)
    assert all("\n" not in said and len(said) < 500 for said in report.messages)


def test_a_key_that_fails_is_not_the_learners_fault(make_exercise, hand_in):
    """A plain assert shows nothing; a crash of the test is an error for the instructor, with its traceback."""
    tests = """
from course_grader import points
@points(1)
def test_plain_assert(learner):
    assert learner.call("double", 3) == 7, "the answer is 7"
@points(1)
def test_crash(learner):
    {}["secret"]
def test_worth_nothing(learner):
    pass
"""
    report = grade_submission(hand_in(), learner="ada", exercise=make_exercise(tests=tests))
    assert (report.status, report.points, report.max_points) == ("error", 0, 2)
    assert report.messages == (
        "this hidden test did not pass",
        "this hidden test itself failed: tell your instructor, it is not your answer's fault",
    )
    tests = rows(report, "test")
    assert [row.status for row in tests.values()] == ["failed", "error", "passed"]
    assert "the answer is 7" in tests["test_plain_assert"].detail
    assert "KeyError: 'secret'" in tests["test_crash"].detail


def test_an_answer_of_another_form_is_the_learners_fault(make_exercise, hand_in):
    """A hidden test that takes apart what is not there is not broken if it holds for the reference."""
    tests = """
import numpy as np
from course_grader import points
@points(1)
def test_first(learner):
    assert learner.call("double", np.ones(2))[0] == 2
@points(2)
def test_halve(learner):
    assert learner.call("halve", 1) == 0.5
"""
    path = hand_in(double="def double(x): None")
    report = grade_submission(path, learner="ada", exercise=make_exercise(tests=tests))
    assert (report.status, report.points, report.max_points) == ("graded", 2, 3)
    assert report.messages == ("`double` returned something of the wrong form: compare it with what it should return",)
    assert "TypeError" in rows(report, "test")["test_first"].detail


def test_one_learners_run_leaves_nothing_in_the_key_for_the_next(make_exercise, hand_in):
    """A list in the test file starts empty for everyone."""
    tests = """
from course_grader import Mistake, points
SEEN = []
@points(1)
def test_alone(learner):
    SEEN.append(1)
    if len(SEEN) > 1:
        raise Mistake("not alone")
"""
    exercise = make_exercise(tests=tests)
    assert [grade_submission(hand_in(), learner=who, exercise=exercise).points for who in ("ada", "bob")] == [1, 1]


def test_a_key_that_vanishes_is_an_error_and_not_a_zero(make_exercise, hand_in):
    """What cannot be run is reported as the instructor's to mend; the maximum stays known."""
    exercise = make_exercise()
    hidden_tests(exercise)
    exercise.tests.unlink()
    report = grade_submission(hand_in(), learner="ada", exercise=exercise)
    assert (report.status, report.points, report.max_points) == ("error", 0, 3)
    assert report.messages == ("grading failed, not your answer: your instructor has been told",)
    assert "test_hidden.py" in rows(report, "grader")["grader"].detail


def test_the_callers_settings_for_pytest_do_not_matter(grade, monkeypatch):
    """Options from the environment neither reach the run nor get lost."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    assert grade().points == 3
    assert os.environ["PYTEST_ADDOPTS"] == "--collect-only"


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ("import nothing_of_the_kind", "No module named 'nothing_of_the_kind'"),
        ("def test(:", "SyntaxError"),
        ("def test_free(learner): pass", "no test in it has @points"),
        ("", "no test in it has @points"),
    ],
)
def test_a_key_that_cannot_be_used_stops_the_run(make_exercise, tests, why):
    """Nobody is graded by a broken key."""
    with pytest.raises(InputError, match=why):
        hidden_tests(make_exercise(tests=tests))


def test_tests_see_the_sources_and_values_and_each_learner_their_own_numbers(make_exercise, hand_in):
    """``source``, ``eval`` and ``rng`` work; the same learner gets the same numbers again, another one others."""
    tests = """
from course_grader import Mistake, points
@points(1)
def test_tell(learner, rng):
    raise Mistake(f"{learner.source('halve')!r} {learner.eval('LIMIT')} {rng.integers(1000)}")
"""
    exercise = make_exercise(tests=tests)
    path = hand_in(halve="LIMIT = {'a': (1, 2)}")
    said = [grade_submission(path, learner=who, exercise=exercise).messages[0] for who in ("ada", "ada", "bob")]
    assert said[0].startswith("\"LIMIT = {'a': (1, 2)}\" {'a': (1, 2)} ")
    assert said[0] == said[1] != said[2]


def test_another_attempt_sees_other_numbers_and_a_regrade_the_same(make_exercise, hand_in):
    """They depend on learner, notebook, key and test."""
    tests = """
from course_grader import Mistake, points
@points(1)
def test_tell(learner, rng):
    raise Mistake(f"{rng.integers(10**9)}")
@points(1)
def test_tell_again(learner, rng):
    raise Mistake(f"{rng.integers(10**9)}")
"""
    ours, theirs = make_exercise(tests=tests), make_exercise(tests=tests + "# mended")

    def numbers(answer, exercise=ours):
        return grade_submission(hand_in(halve=answer), learner="ada", exercise=exercise).messages

    first, again, other, mended = numbers("1"), numbers("1"), numbers("2"), numbers("1", theirs)
    assert first == again
    assert len({*first, *other, *mended}) == 6


def test_a_table_of_constants_read_off_the_first_report_earns_its_honest_part(make_exercise, hand_in):
    """Even where a key tells the right result: the next attempt is asked for another."""
    tests = """
from course_grader import Mistake, points
@points(2)
def test_double(learner, rng):
    x = float(rng.normal())
    if learner.call("double", x) != 2 * x:
        raise Mistake(f"twice it is {2 * x!r}")
@points(1)
def test_halve(learner):
    assert learner.call("halve", 3.0) == 1.5
"""
    exercise = make_exercise(tests=tests)
    first = grade_submission(hand_in(double="def double(x): return 0"), learner="ada", exercise=exercise)
    table = f"def double(x): return {first.messages[0].removeprefix('twice it is ')}"
    assert grade_submission(hand_in(double=table), learner="ada", exercise=exercise).points == 1


def test_what_a_hidden_test_gives_a_function_is_not_told_by_it(exercise, hand_in):
    """Not as text, nor as the name of a type, of a variable, or of a line of code."""
    told = "import base64\ndef double(x):\n    what = base64.b64encode(np.asarray(x).tobytes()).decode()\n"
    ways = [
        "    raise ValueError(what)",
        "    raise NotImplementedError(what)",
        "    raise type(what, (Exception,), {})(what)",
        "    raise type('A' + what.encode().hex(), (Exception,), {})",
        "    return type('A' + what.encode().hex(), (), {})()",
        "    raise NameError(f\"name 'A{what.encode().hex()}' is not defined\")",
        "    import linecache; linecache.getline = lambda *_: what\n    return 1 / 0",
    ]
    given = []
    for way in ways:
        report = grade_submission(hand_in(double=told + way), learner="ada", exercise=exercise)
        assert report.points == 1
        given += [word for row in rows(report, "test").values() for word in re.findall(r"[\w+/=]{24,}", row.message)]
    assert given == [], given


def test_a_test_that_looks_at_no_cell_does_not_pass(make_exercise, hand_in):
    """A misspelt cell is the key's fault, while one that the learner left out is empty."""
    tests = """
from course_grader import expect, points
@points(1)
def test_text(learner):
    assert learner.source("double") == ""
@points(2)
def test_by_hand(learner):
    expect.by_hand(learner, ["halve"], among=["double", "haIve"], instead_of={"numpy": "by hand"})
"""
    exercise = make_exercise(tests=tests)
    notebook = nbformat.read(path := hand_in(), as_version=4)
    notebook.cells = [cell for cell in notebook.cells if cell.id != "double"]
    nbformat.write(notebook, path)
    report = grade_submission(path, learner="ada", exercise=exercise)
    assert [(row.name, row.status) for row in report.rows if row.kind == "test"] == [
        ("test_text", "passed"),
        ("test_by_hand", "error"),
    ]
    said = "takes an answer cell, one of double, halve, but got 'haIve'. Correct the test."
    assert any(said in row.detail for row in report.rows)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("import sys\ndef double(x):\n    print('warn', file=sys.stderr)\n    return 2 * x", "a line on stderr"),
        ("def double(x):\n    print('debug', x)\n    return 2 * x", "printed debugging"),
        ("import warnings\ndef double(x):\n    warnings.warn('old')\n    return 2 * x", "a warning"),
        ("def double(x):\r\n    return 2 * x\r\n", "Windows line ends"),
        ("# NBVAL_RAISES_EXCEPTION\ndef double(x): return 2 * x", "a comment that speaks to nbval"),
        ("import torch\ndef double(x):\n    return 2 * torch.as_tensor(x)", "a torch tensor"),
        ("def double(x):\n    return (2 * x).tolist()", "nested lists"),
        ("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\ndef double(x):\n    return 2 * x", "a figure"),
        ("import time\ndef double(x):\n    time.sleep(0.2)\n    return 2 * x", "slow"),
        ("def double(v):\n    global w\n    w = v\n    return w + w", "other names"),
    ],
)
def test_a_right_answer_in_another_manner_gets_every_point(exercise, hand_in, answer, why):
    """What does no harm costs nothing, not even the visible check."""
    report = grade_submission(hand_in(double=answer), learner="ada", exercise=exercise)
    assert (report.points, report.messages) == (3, ()), why
    assert rows(report, "check")["check_double"].status == "passed"
