"""The points of a part are those of the hidden tests that call its function."""

import pytest

from course_grader.notebooks import read_text
from course_grader.part_points import points_by_answer
from course_lib.errors import NotebookError

CELL = "```{{code-cell}} ipython3\n{}\n```\n\n"
ANSWER = ":name: {0}\n:tags: [answer]\ndef {0}(x):\n    ..."
GIVEN = "def asked(x, through='second'):\n    return {'first': helper(x)}\n\n\ndef helper(x):\n    return first(x)"
HEAD = "from course_grader import Mistake, points\nimport pytest\n\nCASES = [1, 2, 3]\n\n"


@pytest.fixture
def counted(tmp_path):
    def count(tests):
        text = "# Title\n\n" + "".join(map(CELL.format, [GIVEN, ANSWER.format("first"), ANSWER.format("second")]))
        (tmp_path / "source.md").write_text(f"---\ncourse: {{exercise: e}}\n---\n\n{text}")
        (tmp_path / "test_hidden.py").write_text(HEAD + tests)
        return points_by_answer(tmp_path / "test_hidden.py", read_text(tmp_path / "source.md"))

    return count


@pytest.mark.parametrize(
    ("test", "first", "second"),
    [
        ("@points(2)\ndef test_it(learner):\n    learner.call('first', 1)", 2, 0),
        ("@points(2)\ndef test_it(learner):\n    learner.call('first', learner.call('second', 1))", 0, 2),
        ("@points(2)\ndef test_it(learner):\n    ask(learner)\n\ndef ask(l):\n    l.call('first')", 2, 0),
        ("@points(2)\ndef test_it(learner):\n    learner.call('helper', 1)", 2, 0),
        ("@points(2)\ndef test_it(learner):\n    learner.call('asked', 1)", 0, 2),
        ("@points(1)\ndef test_it(l):\n    l.call('first')\n    raise Mistake('second')", 1, 0),
        ("@points(1, part='second')\ndef test_it(l):\n    l.call('first')", 0, 1),
        ("@points(0.5)\n@pytest.mark.parametrize('n', CASES)\ndef test_it(l, n):\n    l.call('first')", 1.5, 0),
        ("@points(0.5)\n@pytest.mark.parametrize('n', [1, 2])\ndef test_it(l, n):\n    l.call('first')", 1, 0),
        ("def test_it(l):\n    l.call('first')", 0, 0),
    ],
)
def test_a_test_belongs_to_the_answer_that_it_calls(counted, test, first, second):
    """Itself or through others, the last one if there are several; what it only says does not count."""
    assert counted(test) == {"first": first, "second": second}


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("@points(1)\ndef test_it(l):\n    l.call('third')", "test_it must belong to an answer, one of first, second"),
        ("@points(1, part='third')\ndef test_it(l):\n    l.call('first')", "but it names 'third'"),
        (
            "@points(1)\n@pytest.mark.parametrize('n', range(3))\ndef test_it(l, n):\n    l.call('first')",
            r"must be a list, .* but they are range\(3\)",
        ),
    ],
)
def test_points_that_belong_nowhere_are_refused(counted, test, message):
    """And so are cases that cannot be counted."""
    with pytest.raises(NotebookError, match=message):
        counted(test)
