"""The rules in words are the rules the engines compute by."""

import math

import pytest

from course_lib.figures.nodes import read
from course_lib.figures.stepper.labels import Labels
from course_lib.figures.stepper.rules import RULES, rule_for
from course_lib.figures.stepper.walk import walk

FUNCTIONS = {"exp", "log", "sin", "cos", "sqrt", "tanh"}
CASES = {
    "Add": lambda e, x, y: x + y,
    "Sub": lambda e, x, y: x - y,
    "Mul": lambda e, x, y: x * y,
    "Div": lambda e, x, y: x / y,
    "Neg": lambda e, x, y: -x,
    "Reciprocal": lambda e, x, y: e.reciprocal(x),
    "Sqrt": lambda e, x, y: e.sqrt(x),
    "Exp": lambda e, x, y: e.exp(x),
    "Log": lambda e, x, y: e.log(x),
    "Sin": lambda e, x, y: e.sin(x),
    "Cos": lambda e, x, y: e.cos(x),
    "Tanh": lambda e, x, y: e.tanh(x),
    "Sigmoid": lambda e, x, y: e.sigmoid(x),
    "Pow with 1": lambda e, x, y: x**1,
    "Pow with 2": lambda e, x, y: x**2,
    "Pow with 0.5": lambda e, x, y: x**0.5,
    "Pow with -1": lambda e, x, y: x**-1,
    "Square": lambda e, x, y: e.square(x),
}


@pytest.mark.parametrize("case", CASES)
def test_formula_and_engine_agree(engine, case):
    """The formula, with the numbers that the figure puts into it, gives what the engine sends, to four digits."""
    x, y = (engine.tensor(value, requires_grad=True) for value in (0.7, -2.0))
    z = CASES[case](engine, x, y) * 3.0
    graph = read(z, {"x": x, "y": y})
    walked = walk(graph)
    labels = Labels(graph, walked)
    visit = walked.visits[1]  # after the product with 3, which gives v = 3
    for slot, sent in enumerate(visit.sent):
        _, numbers = labels.given(visit.node, slot, visit.arrived[0], sent)
        functions = {name: getattr(math, name) for name in FUNCTIONS}
        assert eval(numbers, functions) == pytest.approx(sent.item(), rel=2e-3)


def test_every_rule_says_what_goes_to_every_input():
    """Its templates use only what the figure fills in."""
    for name, rule in RULES.items():
        inputs = len(rule.gives)
        filled = rule.forward.format(*"abc"[:inputs]) + "".join(
            gives.format(*"abc"[:inputs], v="v", out="out", count=1) for gives in rule.gives
        )
        assert "{" not in filled, name


def test_powers_are_written_as_by_hand():
    """No exponent of one, no factor of x to the zero."""
    written = {n: rule_for("PowBackward0", 1, {"exponent": n}).gives[0] for n in (1, 2, 3)}
    assert written == {1: "{v} * 1", 2: "{v} * 2 * {0}", 3: "{v} * 3 * {0} ** 2"}


def test_an_unknown_operation_is_named():
    """The reader is told that there is a rule, and whose."""
    rule = rule_for("LogSoftmaxBackward0", 2, {})
    assert (rule.forward, rule.gives) == ("log_softmax({0}, {1})", ("the vjp of log_softmax",) * 2)
