"""What each operation computes and what it sends back, as a reader would write it.

A rule is words about numbers that the engine computes: nothing here is used to compute a gradient.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["UNKNOWN", "Rule", "rule_for"]

UNKNOWN = "the vjp of"


@dataclass(frozen=True)
class Rule:
    """Templates in which ``{v}`` is what arrives, ``{0}``, ``{1}`` are the inputs and ``{out}`` is the output.

    Attributes
    ----------
    forward : str
        What the operation computes.
    gives : tuple of str
        What it sends to each input.
    saved : tuple of str
        For each input, the names by which engines save it, joined by ``|``.
    spreads : bool
        Whether one element of what arrives goes to many elements of the input.
    broadcasts : bool
        Whether the inputs are stretched to the same shape.
    """

    forward: str
    gives: tuple[str, ...]
    saved: tuple[str, ...] = ("self|x", "other|y|mat2")
    spreads: bool = False
    broadcasts: bool = False


RULES = {
    "Add": Rule("{0} + {1}", ("{v}", "{v}"), broadcasts=True),
    "Sub": Rule("{0} - {1}", ("{v}", "-{v}"), broadcasts=True),
    "Mul": Rule("{0} * {1}", ("{v} * {1}", "{v} * {0}"), broadcasts=True),
    "Div": Rule("{0} / {1}", ("{v} / {1}", "-{v} * {0} / {1} ** 2"), broadcasts=True),
    "Neg": Rule("-{0}", ("-{v}",)),
    "Square": Rule("{0} ** 2", ("{v} * 2 * {0}",)),
    "Reciprocal": Rule("1 / {0}", ("-{v} * {out} ** 2",)),
    "Sqrt": Rule("sqrt({0})", ("{v} / (2 * {out})",)),
    "Exp": Rule("exp({0})", ("{v} * {out}",)),
    "Log": Rule("log({0})", ("{v} / {0}",)),
    "Sin": Rule("sin({0})", ("{v} * cos({0})",)),
    "Cos": Rule("cos({0})", ("-{v} * sin({0})",)),
    "Tanh": Rule("tanh({0})", ("{v} * (1 - {out} ** 2)",)),
    "Sigmoid": Rule("sigmoid({0})", ("{v} * {out} * (1 - {out})",)),
    "Relu": Rule("relu({0})", ("{v} where {out} > 0, else 0",)),
    "Sum": Rule("sum({0})", ("{v}",), spreads=True),
    "Mean": Rule("mean({0})", ("{v} / {count}",), spreads=True),
    "Mm": Rule("{0} @ {1}", ("{v} @ {1}.T", "{0}.T @ {v}")),
    "Bmm": Rule("{0} @ {1}", ("{v} @ {1}.mT", "{0}.mT @ {v}")),
    "Mv": Rule("{0} @ {1}", ("outer({v}, {1})", "{0}.T @ {v}"), ("self|x", "vec|y")),
    "Dot": Rule("{0} @ {1}", ("{v} * {1}", "{v} * {0}"), ("self|x", "tensor|y")),
    "T": Rule("{0}.T", ("{v}.T",)),
    "Addmm": Rule(
        "{0} + {1} @ {2}", ("{v}, summed over the rows", "{v} @ {2}.T", "{1}.T @ {v}"), ("self", "mat1", "mat2")
    ),
    "Linear": Rule(
        "{0} @ {1}.T + {2}", ("{v} @ {1}", "{v}.T @ {0}", "{v}, summed over the rows"), ("x", "w", "b")
    ),
    **{
        name: Rule(f"{{0}}.{method}()", ("{v}, in the shape of {0}",))
        for name, method in {"View": "view", "UnsafeView": "view", "ReshapeAlias": "reshape", "Squeeze": "squeeze",
                             "Unsqueeze": "unsqueeze"}.items()
    },
    "Transpose": Rule("{0}.transpose()", ("{v}, transposed back",)),
    "Expand": Rule("{0}.expand()", ("{v}, summed over the copies",)),
    "Clone": Rule("{0}.clone()", ("{v}",)),
}  # fmt: skip


def rule_for(name: str, inputs: int, saved: Mapping[str, Any]) -> Rule:
    """Return the rule of the node called ``name``; of one that is not known here, only what it is called.

    Examples
    --------
    >>> rule_for("MulBackward0", 2, {}).gives
    ('{v} * {1}', '{v} * {0}')
    >>> rule_for("LogSoftmaxBackward0", 1, {}).gives
    ('the vjp of log_softmax',)
    """
    operation = re.sub(r"Backward\d*$", "", name)
    exponent = saved.get("exponent", saved.get("n"))
    if operation == "Pow" and isinstance(exponent, int | float):
        return _power(exponent)
    if operation == "Addmm" and "w" in saved:  # the mini engine's, which takes the weight as nn.Linear keeps it
        operation = "Linear"
    if operation in RULES and len(RULES[operation].gives) == inputs:
        return RULES[operation]
    called = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation).lower()
    arguments = ", ".join(f"{{{i}}}" for i in range(inputs))
    return Rule(f"{called}({arguments})", (f"{UNKNOWN} {called}",) * inputs)


def _power(n: float) -> Rule:
    """Write n * x ** (n - 1) as one would by hand."""
    rest = "" if n == 1 else " * {0}" if n == 2 else f" * {{0}} ** {n - 1:g}"
    return Rule(f"{{0}} ** {n:g}", (f"{{v}} * {n:g}{rest}",))
