"""A hidden test that rests on right versions of what a function needs."""

import numpy as np
import pytest

from course_grader import LearnerError, Mistake, rests_on
from course_grader.grading.authoring.expect import by_hand
from course_grader.grading.authoring.learner import Learner
from course_grader.grading.learner_side.handle_request import handle_request

RIGHT = "def double(x):\n    return FACTOR * x\n"


class Names:
    """Answer requests for functions in a dict, as the learner's process does."""

    activity = ""

    def __init__(self, source):
        self.names = {"FACTOR": 2}
        exec(source, self.names)

    def request(self, content):
        """Look up or call a name."""
        return handle_request(content, self.names)


@rests_on(RIGHT)
def quadruples(learner, rng):
    """Hold that four times a number comes, and that both runs draw the same number."""
    x = float(rng.uniform(1, 2))
    learner.call("note", x)
    if learner.call("quadruple", x) != 4 * x:
        raise Mistake("`quadruple` is wrong")


def run(source):
    process = Names("seen = []\ndef note(x):\n    seen.append(x)\n" + source)
    quadruples(learner=Learner(process, {"double": "def double(x): ..."}), rng=np.random.default_rng(0))
    return process.names


QUADRUPLE = "def quadruple(x):\n    return double(double(x))\n"


def test_a_function_passes_if_it_is_right_on_what_is_right():
    """The wrong `double` is back in its place afterwards, and each run drew the same number."""
    names = run("def double(x):\n    return x + 1\n" + QUADRUPLE)
    assert names["double"](5) == 6
    assert len(set(names["seen"])) == 1 < len(names["seen"])


def test_one_that_raises_is_replaced_too():
    """So is one that is not defined at all."""
    run("def double(x):\n    raise RuntimeError\n" + QUADRUPLE)
    assert "double" not in run(QUADRUPLE)


def test_an_answer_that_shares_more_than_it_must_passes_as_it_is():
    """The right version would not know the second argument."""
    run("def double(x, times=1):\n    return 2**times * x\ndef quadruple(x):\n    return double(x, 2)\n")


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        (QUADRUPLE.replace("double(double(x))", "double(x)"), Mistake, "`quadruple` is wrong"),
        ("def double(x):\n    raise ValueError('no')\ndef quadruple(x):\n    return double(x)\n", LearnerError, "no"),
    ],
    ids=["wrong", "raises"],
)
def test_a_wrong_function_gets_what_was_said_first(source, error, said):
    """The learner has no right version, and reads what their own came to."""
    with pytest.raises(error, match=said):
        run(("" if "def double" in source else "def double(x):\n    return 2 * x\n") + source)


def test_what_is_replaced_is_not_read_as_the_learners_text():
    """A library that their own version uses is not held against what rests on it."""
    learner = Learner(Names(QUADRUPLE), {"double": "import torch", "quadruple": QUADRUPLE})
    assert learner.resting_on(RIGHT).source("double") == ""
    assert learner.resting_on(RIGHT).source("quadruple") == QUADRUPLE


HELPED = (
    "import torch.func as f\ndef slope(x):\n    return f.grad(g)(x)\ndef g(x): ...\ndef double(x):\n    return slope(x)"
)


@pytest.mark.parametrize("own", ["slope(x)", "f.vjp(x)"], ids=["a function", "an import"])
def test_what_stays_of_a_replaced_cell_is_the_learners_text(own):
    """A helper beside the function that is replaced runs, so what it uses is held against whoever uses it."""
    learner = Learner(Names(""), {"double": HELPED, "quadruple": f"def quadruple(x):\n    return {own}"})
    for each in (learner, learner.resting_on(RIGHT)):
        with pytest.raises(Mistake, match=r"`quadruple` uses `torch\.func\.(grad|vjp)`: derive it"):
            by_hand(each, ["quadruple"], among=["double", "quadruple"], instead_of={r"^torch\.func\.": "derive it"})
    alone = Learner(Names(""), {"double": HELPED, "quadruple": QUADRUPLE}).resting_on(RIGHT)
    by_hand(alone, ["quadruple"], among=["double", "quadruple"], instead_of={r"^torch\b": "derive it"})


def test_what_of_a_replaced_cell_cannot_be_read_is_left_out():
    """A cell that is no Python defines no helper."""
    learner = Learner(Names(""), {"double": "def double(x:", "quadruple": QUADRUPLE})
    assert learner.resting_on(RIGHT).source("double") == ""
