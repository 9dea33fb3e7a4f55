"""What the backward() machine computes, and the words in which it says so."""

import math
import re

import numpy as np

from course_lib import autograd
from tests.book.random_programs import FUNCTIONS, make_programs

EXPRESSIONS = 1000


def test_gradients_agree_with_the_engine_on_a_thousand_expressions(machine):
    """Made at random, with values that are used more than once; and so do the values."""
    programs = make_programs(EXPRESSIONS)
    found = machine().evaluate(
        """programs => programs.map(([text, inputs]) => {
            const { parse, forward, gradients } = backwardMachine, graph = parse(text);
            const found = gradients(graph, inputs), spell = number => String(number);
            return [spell(forward(graph, inputs)[graph.result]), Object.entries(found).map(([n, g]) => [n, spell(g)])];
        })""",
        programs,
    )
    used_again = compared = 0
    for (text, inputs), (value, grads) in zip(programs, found, strict=True):
        result, tensors = run_on_engine(text, inputs)
        expected = {name: tensor.grad.item() for name, tensor in tensors.items() if tensor.grad is not None}
        assert is_close(float(value), result), (text, inputs, value, result)
        assert {name for name, _ in grads} == set(expected), text
        for name, grad in grads:
            compared += math.isfinite(float(grad))
            assert is_close(float(grad), expected[name]), (text, inputs, name, grad, expected[name])
        used_again += "\n" in text
    assert compared > 1200  # most are numbers, and not all of them nan
    assert used_again > 500


def run_on_engine(text, inputs):
    """Return the last line's value, and the leaves with their gradients."""
    tensors = {n: autograd.tensor(value, dtype=autograd.float64, requires_grad=True) for n, value in inputs.items()}
    scope = {name: take_numbers(getattr(autograd, name)) for name in FUNCTIONS} | tensors
    with np.errstate(all="ignore"):  # the logarithm of a negative number is nan here as there
        exec(text, scope)
        result = scope[text.split("\n")[-1].split(" = ")[0]]
        result.backward()
    return result.item(), tensors


def take_numbers(function):
    """Let a function of tensors take a number too."""
    return lambda value: function(
        autograd.tensor(value, dtype=autograd.float64) if isinstance(value, float | int) else value
    )


def is_close(a, b):
    """Whether they are the same number, or both nan or infinite alike."""
    return (math.isnan(a) and math.isnan(b)) or a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def test_the_words_of_each_rule_say_its_number(machine):
    """They are Python: evaluated, with the values by name, they are the local derivative that was multiplied by."""
    found = machine().evaluate(
        """programs => programs.map(([text, inputs]) => {
            const { parse, forward, backward, tell } = backwardMachine, graph = parse(text);
            const values = forward(graph, inputs), steps = backward(graph, values);
            const named = graph.nodes.filter(n => n.name).map(n => [n.name, String(values[n.id])]);
            const sent = steps.filter(step => step.kind === "send");
            return [named, sent.map(step => [step.rule, String(step.local), tell(step, graph).rule])];
        })""",
        make_programs(300),
    )
    seen = set()
    for names, rules in found:
        scope = {name: getattr(np, name) for name in FUNCTIONS if hasattr(np, name)}
        scope |= {"relu": lambda a: np.maximum(a, 0), "sigmoid": lambda a: 1 / (1 + np.exp(-a))}
        scope |= {name: np.float64(value) for name, value in names}
        for words, local, told in rules:
            assert f" {words} = " in told
            with np.errstate(all="ignore"):
                said = float(
                    eval(
                        re.sub(r"(?<![\w.])(\d+\.?\d*)(?![\w.])", r"float64(\1)", words),
                        scope | {"float64": np.float64},
                    )
                )
            if math.isfinite(said) and "NaN" not in dict(names).values():
                assert is_close(said, float(local)), (words, names, local)
                seen.add(re.sub(r"\b[a-z]\d?\b|[\d.]+", "_", words))
    assert len(seen) > 40, seen
