"""Programs of one to three lines, at random: what the machine computes is held against the engine on them."""

import random
import re

FUNCTIONS = ("sin", "cos", "exp", "log", "sqrt", "tanh", "relu", "sigmoid")
LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}  # how tightly an operator binds


def make_programs(count, seed=20):
    """Return the same programs each time."""
    rng = random.Random(seed)
    return [make_program(rng) for _ in range(count)]


def make_program(rng):
    """One to three lines; later ones mostly use the names of earlier ones. No more parentheses than Python needs."""
    names, lines = ["x", "y", "w"], []
    for name in "abc"[: rng.randint(1, 3)]:
        lines.append(f"{name} = {make_expression(rng, names, 2)[0]}")
        names += [name] * 4
    text, inputs = "\n".join(lines), {name: round(rng.uniform(-0.8, 2.2), 2) for name in "xyw"}
    computes = re.search(r"[-+*/(]", lines[-1].split(" = ")[1])
    return (text, inputs) if computes and depends_on_input(lines) else make_program(rng)


def depends_on_input(lines):
    """Whether the last line has something to differentiate."""
    tracked = {"x", "y", "w"}
    for line in lines:
        name, expression = line.split(" = ")
        if tracked & set(re.findall(r"\b[a-z]\b", expression)):
            tracked.add(name)
    return name in tracked


def make_expression(rng, names, depth):
    """Return text and how tightly its outermost operator binds."""
    kind = rng.random() if depth else 0
    if kind < 0.25:
        return (rng.choice(["2", "3", "0.5", "5"]), 5) if rng.random() < 0.2 else (rng.choice(names), 5)
    left = make_expression(rng, names, depth - 1)
    if kind < 0.45:
        return f"{rng.choice(FUNCTIONS)}({left[0]})", 5
    if kind < 0.52:
        return f"-{wrap(left, 3)}", 3
    if kind < 0.64:
        return f"{wrap(left, 5)}**{rng.choice(['2', '3', '0.5', '-1'])}", 4
    right = make_expression(rng, names, depth - 1)
    sign = rng.choice(["+", "+", "-", "*", "*", "/", "**"])
    level = LEVELS[sign]
    if sign == "**":
        return f"{wrap(left, 5)}**{wrap(right, 3)}", level
    return f"{wrap(left, level)} {sign} {wrap(right, level + 1)}", level


def wrap(expression, level):
    """Put parentheses where Python needs them."""
    text, own = expression
    return f"({text})" if own < level else text
