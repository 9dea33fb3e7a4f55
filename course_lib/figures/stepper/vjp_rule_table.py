"""Table of backward rules: what each operation computes and what it sends back, as a reader would write it.

A rule is words about numbers that the engine computes: nothing here is used to compute a gradient.
"""

from dataclasses import dataclass

__all__ = ["NORMALIZED", "RULES", "SAVED_WORDS", "Rule"]


@dataclass(frozen=True)
class Rule:
    """Backward rule: templates with ``{v}`` for what arrives, ``{0}``, ``{1}`` for inputs and ``{out}`` for the output.

    Attributes
    ----------
    forward : str
        What the operation computes.
    gives : tuple of str
        What it sends to each input; ``{count}`` is how many elements of it share one element of what arrives.
    saved : tuple of str
        For each input, the names by which engines save it, joined by ``|``.
    spreads : bool
        Whether one element of what arrives goes to many elements of the input, which get the same.
    broadcasts : tuple of int
        Which inputs are stretched to the shape of the output.
    in_words : tuple of int
        For which inputs the template describes, and is no formula to put numbers into.
    known : bool
        Whether the rule is of this table; else it is only called by the name of the operation.
    """

    forward: str
    gives: tuple[str, ...]
    saved: tuple[str, ...] = ("self|x|input", "other|y|mat2|exponent|target")
    spreads: bool = False
    broadcasts: tuple[int, ...] = ()
    in_words: tuple[int, ...] = ()
    known: bool = True


def _binary(forward: str, *gives: str) -> Rule:
    """Write a rule of two inputs that broadcast."""
    return Rule(forward, gives, broadcasts=(0, 1))


def _rearrangement(method: str, back: str) -> Rule:
    """Write a rule of a method that moves elements, and of how they are moved back."""
    return Rule(f"{{0}}.{method}()", (f"{{v}}, {back}",))


def _selection(forward: str, back: str) -> Rule:
    """Write a rule of a selection: what was not selected gets 0."""
    return Rule(forward, (f"{{v}} {back}, else 0",))


def _described(forward: str, back: str) -> Rule:
    """Write a rule that describes what is sent, without numbers."""
    return Rule(forward, (back,), in_words=(0,))


SHAPE = "{v}, in the shape of {0}"
TAKEN = "{v} added where it was taken from, else 0"
NORMALIZED = "({h} - mean({h}) - {xhat} * mean({h} * {xhat})) / sqrt(var({0}) + eps)"
RULES = {
    "Add": _binary("{0} + {1}", "{v}", "{v}"),
    "Sub": _binary("{0} - {1}", "{v}", "-{v}"),
    "Mul": _binary("{0} * {1}", "{v} * {1}", "{v} * {0}"),
    "Div": _binary("{0} / {1}", "{v} / {1}", "-{v} * {0} / {1} ** 2"),
    "Maximum": _binary("maximum({0}, {1})", *(f"{{v}} where {{{i}}} is larger, half at a tie, else 0" for i in (0, 1))),
    "Minimum": _binary(
        "minimum({0}, {1})", *(f"{{v}} where {{{i}}} is smaller, half at a tie, else 0" for i in (0, 1))
    ),
    "Where": _binary("where(c, {0}, {1})", "{v} where c is true, else 0", "{v} where c is false, else 0"),
    "Pow": _binary("{0} ** {1}", "{v} * {1} * {0} ** ({1} - 1)", "{v} * {out} * log({0})"),
    "Atan2": _binary(
        "atan2({0}, {1})", "{v} * {1} / ({0} ** 2 + {1} ** 2)", "-{v} * {0} / ({0} ** 2 + {1} ** 2)"
    ),
    "Neg": Rule("-{0}", ("-{v}",)),
    "Abs": Rule("abs({0})", ("{v} * sign({0})",)),
    "Sign": Rule("sign({0})", ("{v} * 0",)),
    "Square": Rule("{0} ** 2", ("{v} * 2 * {0}",)),
    "Reciprocal": Rule("1 / {0}", ("-{v} * {out} ** 2",)),
    "Sqrt": Rule("sqrt({0})", ("{v} / (2 * {out})",)),
    "Rsqrt": Rule("1 / sqrt({0})", ("-{v} * {out} ** 3 / 2",)),
    "Exp": Rule("exp({0})", ("{v} * {out}",)),
    "Expm1": Rule("exp({0}) - 1", ("{v} * ({out} + 1)",)),
    "Log": Rule("log({0})", ("{v} / {0}",)),
    "Log1p": Rule("log(1 + {0})", ("{v} / (1 + {0})",)),
    "Log2": Rule("log2({0})", ("{v} / ({0} * log(2))",)),
    "Sin": Rule("sin({0})", ("{v} * cos({0})",)),
    "Cos": Rule("cos({0})", ("-{v} * sin({0})",)),
    "Tan": Rule("tan({0})", ("{v} * (1 + {out} ** 2)",)),
    "Sinh": Rule("sinh({0})", ("{v} * cosh({0})",)),
    "Cosh": Rule("cosh({0})", ("{v} * sinh({0})",)),
    "Atan": Rule("atan({0})", ("{v} / (1 + {0} ** 2)",)),
    "Erf": Rule("erf({0})", ("{v} * 2 / sqrt(pi) * exp(-{0} ** 2)",)),
    "Tanh": Rule("tanh({0})", ("{v} * (1 - {out} ** 2)",)),
    "Sigmoid": Rule("sigmoid({0})", ("{v} * {out} * (1 - {out})",)),
    "LogSigmoid": Rule("log(sigmoid({0}))", ("{v} * sigmoid(-{0})",)),
    "Relu": Rule("relu({0})", ("{v} where {out} > 0, else 0",)),
    "Gelu": Rule("gelu({0})", ("{v} * (Φ({0}) + {0} * φ({0}))",)),
    "Silu": Rule("silu({0})", ("{v} * sigmoid({0}) * (1 + {0} * (1 - sigmoid({0})))",)),
    "Sum": Rule("sum({0})", ("{v}",), spreads=True),
    "Mean": Rule("mean({0})", ("{v} / {count}",), spreads=True),
    "Amax": Rule("amax({0})", ("{v} where {0} is largest, shared by equals, else 0",)),
    "Amin": Rule("amin({0})", ("{v} where {0} is smallest, shared by equals, else 0",)),
    "Max": Rule("max({0})", ("{v} where {0} is largest, else 0",)),
    "Min": Rule("min({0})", ("{v} where {0} is smallest, else 0",)),
    "Prod": _described("prod({0})", "{v} * the product of the other elements of {0}"),
    "Cumsum": Rule("cumsum({0})", ("{v}, summed from each place to the end",)),
    "Softmax": Rule("softmax({0})", ("{out} * ({v} - sum({v} * {out}))",)),
    "LogSoftmax": Rule("log_softmax({0})", ("{v} - exp({out}) * sum({v})",)),
    "Logsumexp": Rule("logsumexp({0})", ("{v} * exp({0} - {out})",)),
    "NativeLayerNorm": Rule(
        "normalize({0})", (NORMALIZED.replace("{h}", "{v}").replace("{xhat}", "{out}"),), ("x|input",)
    ),
    "Mm": Rule("{0} @ {1}", ("{v} @ {1}.T", "{0}.T @ {v}")),
    "Bmm": Rule("{0} @ {1}", ("{v} @ {1}.mT", "{0}.mT @ {v}")),
    "Mv": Rule("{0} @ {1}", ("outer({v}, {1})", "{0}.T @ {v}"), ("self|x", "vec|y")),
    "Dot": Rule("{0} @ {1}", ("{v} * {1}", "{v} * {0}"), ("self|x", "tensor|y")),
    "Outer": Rule("outer({0}, {1})", ("{v} @ {1}", "{v}.T @ {0}")),
    "Addmm": Rule(
        "{0} + {1} @ {2}", ("{v}", "{v} @ {2}.T", "{1}.T @ {v}"), ("self", "mat1", "mat2"), broadcasts=(0,)
    ),
    "Baddbmm": Rule(
        "{0} + {1} @ {2}", ("{v}", "{v} @ {2}.mT", "{1}.mT @ {v}"), ("self", "batch1", "batch2"), broadcasts=(0,)
    ),
    "Linear": Rule("{0} @ {1}.T + {2}", ("{v} @ {1}", "{v}.T @ {0}", "{v}"), ("x", "w", "b"), broadcasts=(2,)),
    "Convolution": Rule(
        "conv({0}, {1}) + {2}",
        ("{v}, spread by the transpose of {1}", "{0}, correlated with {v}", "{v}, summed over batch and places"),
        ("input", "weight"),
        in_words=(0,),
    ),
    "T": Rule("{0}.T", ("{v}.T",)),
    **{
        name: _described(f"{{0}}.{method}()", SHAPE)
        for name, method in {"View": "view", "UnsafeView": "view", "ReshapeAlias": "reshape", "Squeeze": "squeeze",
                             "Unsqueeze": "unsqueeze"}.items()
    },
    "Transpose": _rearrangement("transpose", "transposed back"),
    "Permute": _rearrangement("permute", "its dimensions put back"),
    "Flip": _rearrangement("flip", "flipped back"),
    "Expand": _rearrangement("expand", "summed over the copies"),
    "Repeat": _rearrangement("repeat", "summed over the copies"),
    "SumToSize": _described("{0}.sum_to_size()", SHAPE),
    "ToCopy": _described("{0}.to()", "{v}, in the dtype of {0}"),
    "Tril": _rearrangement("tril", "its lower triangle"),
    "Triu": _rearrangement("triu", "its upper triangle"),
    **{
        name: _described(f"{{0}}.{method}()", "the pieces of {v}, joined")
        for name, method in {"Split": "split", "SplitWithSizes": "split", "Unbind": "unbind"}.items()
    },
    "Clone": Rule("{0}.clone()", ("{v}",)),
    "Alias": Rule("{0}", ("{v}",)),
    "Fill": Rule("{0}.fill_()", ("{v} * 0",)),
    **{name: _described("{0}[...]", "{v} where it was taken from, else 0") for name in ("Select", "Slice")},
    "Index": _described("{0}[...]", TAKEN),
    "IndexSelect": _described("index_select({0})", TAKEN),
    "Gather": _described("gather({0})", TAKEN),
    "Embedding": _selection("embedding({0})", "added to the rows that were looked up"),
    "IndexPut": _described("index_put({0})", "{v} where it was put, else 0"),
    "IndexPut/2": Rule(
        "{0} with {1} put in", ("{v}, but 0 where it was put in", "{v} where it was put in"), ("", ""), broadcasts=(1,),
        in_words=(0, 1),
    ),
    "MaskedFill": _selection("masked_fill({0})", "where the mask is false"),
    "MaxPool2DWithIndices": _selection("max_pool2d({0})", "where {0} is largest in its window"),
    "AvgPool2D": _rearrangement("avg_pool2d", "shared evenly by its window"),
    "AdaptiveAvgPool2D": _rearrangement("adaptive_avg_pool2d", "shared evenly by its window"),
}  # fmt: skip

# What nodes save besides inputs and outputs, by the engines' names for it
SAVED_WORDS = {
    "p": "the probabilities",
    "d": "the differences",
    "c": "the condition",
    "condition": "the condition",
    "mask": "the mask",
    "right": "the places of the right classes",
    "rows": "the row numbers",
    "index": "the indices",
    "indices": "the indices",
    "target": "the targets",
    "total_weight": "the count",
    "result1": "the means",
    "result2": "the deviations",
}
