"""Find the rule of a node, and fit it to the settings that the node has saved."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from course_lib.figures.stepper.vocabulary import NORMALIZED, RULES, Rule

__all__ = ["UNKNOWN", "Rule", "operation_of", "rule_for"]

UNKNOWN = "the vjp of"
NONE, MEAN, SUM = 0, 1, 2  # torch's numbers for reductions
ALIASES = {"Log1P": "Log1p", "NllLoss2D": "NllLoss", "CudnnBatchNorm": "NativeBatchNorm"}

Saved = Mapping[str, Any]


def rule_for(name: str, inputs: int, saved: Saved) -> Rule:
    """Return the rule of the node called ``name``; for one that is not known here, only what it is called.

    Examples
    --------
    >>> rule_for("MulBackward0", 2, {}).gives
    ('{v} * {1}', '{v} * {0}')
    >>> rule_for("LeakyReluBackward0", 1, {"negative_slope": 0.1}).gives
    ('{v} where {0} > 0, else {v} * 0.1',)
    >>> rule_for("MyFunctionBackward", 1, {}).gives
    ('the vjp of my_function',)
    """
    operation = operation_of(name)
    fitted = FITTED[operation](inputs, saved) if operation in FITTED else None
    rule = fitted or RULES.get(f"{operation}/{inputs}") or RULES.get(operation)
    if rule is not None and len(rule.gives) == inputs:
        return rule
    called = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation).lower()
    arguments = ", ".join(f"{{{i}}}" for i in range(inputs))
    return Rule(f"{called}({arguments})", (f"{UNKNOWN} {called}",) * inputs)


def operation_of(name: str) -> str:
    """Return the operation that a node is named after."""
    operation = re.sub(r"Backward\d*$", "", name)
    return ALIASES.get(operation, operation)


def _power(_: int, saved: Saved) -> Rule | None:
    """Write n * x ** (n - 1) as one would by hand; the exponent may also be the input."""
    n, base = saved.get("exponent", saved.get("n")), saved.get("self")
    if isinstance(base, int | float):
        return Rule(f"{base:g} ** {{0}}", (f"{{v}} * {{out}} * log({base:g})",), ("exponent",))
    if not isinstance(n, int | float):
        return None
    if n == 0:
        return Rule("{0} ** 0", ("{v} * 0",))
    rest = "" if n == 1 else " * {0}" if n == 2 else f" * {{0}} ** {n - 1:g}"
    return Rule(f"{{0}} ** {n:g}", (f"{{v}} * {n:g}{rest}",))


def _scaled(operation: str) -> Callable[[int, Saved], Rule | None]:
    """Put torch's factor ``alpha`` in, and for an operand without a node the number that was saved, if it was."""

    def fit(inputs: int, saved: Saved) -> Rule | None:
        rule, alpha = RULES[operation], saved.get("alpha", 1)
        if inputs == 1:
            other = saved.get("other")
            said = f"{other:g}" if isinstance(other, int | float) else "constant"
            return Rule(rule.forward.replace("{1}", said), (rule.gives[0].replace("{1}", said),))
        if alpha == 1:
            return None
        gives = (rule.gives[0], f"{rule.gives[1]} * {alpha:g}")
        return replace(rule, forward=rule.forward.replace("{1}", f"{alpha:g} * {{1}}"), gives=gives)

    return fit


def _product(operation: str) -> Callable[[int, Saved], Rule | None]:
    """Put ``alpha`` and ``beta`` in; the mini engine's addmm takes the weight as ``nn.Linear`` keeps it."""

    def fit(_: int, saved: Saved) -> Rule | None:
        if "w" in saved:
            return RULES["Linear"]
        rule, alpha, beta = RULES[operation], saved.get("alpha", 1), saved.get("beta", 1)
        if (alpha, beta) == (1, 1):
            return None
        first, *rest = rule.gives
        gives = (f"{first} * {beta:g}", *(f"{given} * {alpha:g}" for given in rest))
        return replace(rule, forward=f"{beta:g} * {{0}} + {alpha:g} * {{1}} @ {{2}}", gives=gives)

    return fit


def _bounded(_: int, saved: Saved) -> Rule:
    low, high = saved.get("min", saved.get("min_val")), saved.get("max", saved.get("max_val"))
    inside = " ".join(
        [*([f"{low:g} <="] if low is not None else []), "{0}", *([f"<= {high:g}"] if high is not None else [])]
    )
    return Rule("clamp({0})", (f"{{v}} where {inside}, else 0",))


def _leaky(_: int, saved: Saved) -> Rule:
    slope = saved.get("slope", saved.get("negative_slope", 0.01))
    return Rule("leaky_relu({0})", (f"{{v}} where {{0}} > 0, else {{v}} * {slope:g}",))


def _elu(_: int, saved: Saved) -> Rule | None:
    alpha, scale = saved.get("alpha", 1.0), saved.get("scale", 1)
    if saved.get("input_scale", 1) != 1:
        return None
    above, below = ("" if factor == 1 else f" * {factor:.5g}" for factor in (scale, alpha * scale))
    called = "elu" if scale == 1 else "selu"
    return Rule(f"{called}({{0}})", (f"{{v}}{above} where {{0}} > 0, else {{v}}{below} * exp({{0}})",))


def _softplus(_: int, saved: Saved) -> Rule:
    beta, threshold = saved.get("beta", 1.0), saved.get("threshold", 20.0)
    x = "{0}" if beta == 1 else f"{beta:g} * {{0}}"
    straight = "" if threshold >= 20 else f", {{v}} where {x} > {threshold:g}"  # the sigmoid is 1 there to 8 digits
    return Rule("softplus({0})", (f"{{v}} * sigmoid({x}){straight}",))


def _log_sigmoid(_: int, saved: Saved) -> Rule | None:
    """In the mini engine this is the loss -log(sigmoid(x)), which saves its input as ``x``."""
    return Rule("-log(sigmoid({0}))", ("-{v} * sigmoid(-{0})",)) if "x" in saved else None


def _spread(forward: str, template: str) -> Callable[[int, Saved], Rule]:
    """Divide by the degrees of freedom: the mini engine saves their number, torch how far it is below n."""

    def fit(_: int, saved: Saved) -> Rule:
        correction = saved.get("correction", 1)
        n = f"{saved['dof']:g}" if "dof" in saved else f"({{count}} - {1 if correction is None else correction:g})"
        return Rule(forward, (template.replace("{n}", n),))

    return fit


def _norm(_: int, saved: Saved) -> Rule:
    p = float(saved.get("ord", saved.get("p", 2)))
    if p == 2:
        return Rule("norm({0})", ("{v} * {0} / {out}",))
    if abs(p) == float("inf"):
        which = "largest" if p > 0 else "smallest"
        return Rule(f"norm({{0}}, {p:g})", (f"{{v}} * sign({{0}}) where abs({{0}}) is {which}, else 0",))
    return Rule(f"norm({{0}}, {p:g})", (f"{{v}} * sign({{0}}) * (abs({{0}}) / {{out}}) ** {p - 1:g}",))


def _joined(called: str) -> Callable[[int, Saved], Rule]:
    def fit(inputs: int, _: Saved) -> Rule:
        arguments = ", ".join(f"{{{i}}}" for i in range(inputs))
        return Rule(f"{called}({arguments})", ("its part of {v}",) * inputs)

    return fit


def _normalized(called: str, over: str) -> Callable[[int, Saved], Rule | None]:
    """Write torch's fused form with weight and bias; in evaluation, batch norm only scales."""

    def fit(inputs: int, saved: Saved) -> Rule | None:
        if inputs != 3:
            return None
        weighted = saved.get("weight") is not None
        h = "{v} * {1}" if weighted else "{v}"
        if saved.get("training", True):
            first = NORMALIZED.replace("{h}", "h" if weighted else "{v}").replace("{xhat}", "x̂")
            first += f", with h = {h}" if weighted else ""
        else:
            first = f"{h} / sqrt(running_var + eps)"
        arguments = "{0}, {1}, {2}" if weighted else "{0}"
        gives = (first, f"{{v}} * x̂, summed over the {over}", f"{{v}}, summed over the {over}")
        return Rule(f"{called}({arguments})", gives, ("input", "weight", "bias"))

    return fit


def _mean(saved: Saved, n: str) -> str:
    """Return the factor that a mean over n puts in; the mini engine's fused losses are means."""
    return f" / {n}" if saved.get("reduction", MEAN) == MEAN else ""


def _squares(_: int, saved: Saved) -> Rule:
    factor = f"{{v}} * 2{_mean(saved, '{count}')}"
    return Rule("mse_loss({0}, {1})", (f"{factor} * ({{0}} - {{1}})", f"-{factor} * ({{0}} - {{1}})"))


def _likelihood(_: int, saved: Saved) -> Rule:
    """In the mini engine this operation includes the softmax."""
    if "p" in saved:
        rows = len(saved["right"])
        gives = f"{{v}}{f' / {rows}' if rows > 1 else ''} * (softmax({{0}}) - one_hot(classes))"
        return Rule("cross_entropy({0})", (gives,), ("",))
    total = saved.get("total_weight")
    n = "n" if total is None or not total.numel() else f"{total.item():g}"
    weight = "" if saved.get("weight") is None else " * its weight"
    return Rule("nll_loss({0})", (f"-{{v}}{_mean(saved, n)}{weight} at the class of each row, else 0",), ("",))


def _weighted(saved: Saved) -> str:
    return "" if saved.get("weight") is None and saved.get("pos_weight") is None else ", with the weights"


def _yes_or_no(_: int, saved: Saved) -> Rule:
    factor, weighted = f"{{v}}{_mean(saved, '{count}')}", _weighted(saved)
    gives = (f"{factor} * (sigmoid({{0}}) - {{1}}){weighted}", f"-{factor} * {{0}}{weighted}")
    return Rule("bce_with_logits({0}, {1})", gives)


def _yes_or_no_of_probabilities(_: int, saved: Saved) -> Rule:
    factor, weighted = f"{{v}}{_mean(saved, '{count}')}", _weighted(saved)
    gives = (f"{factor} * ({{0}} - {{1}}) / ({{0}} * (1 - {{0}}))", f"{factor} * (log(1 - {{0}}) - log({{0}}))")
    gives = (gives[0] + weighted, gives[1] + weighted)
    return Rule("bce({0}, {1})", gives)


FITTED: dict[str, Callable[[int, Saved], Rule | None]] = {
    "Pow": _power,
    **{name: _scaled(name) for name in ("Add", "Sub", "Mul", "Div")},
    "Rsub": lambda _, saved: Rule("constant - {0}", ("-{v}",)) if saved.get("alpha", 1) == 1 else None,
    "Addmm": _product("Addmm"),
    "Baddbmm": _product("Baddbmm"),
    "Clamp": _bounded,
    "Hardtanh": _bounded,
    "LeakyRelu": _leaky,
    "Elu": _elu,
    "Softplus": _softplus,
    "LogSigmoid": _log_sigmoid,
    "Var": _spread("var({0})", "{v} * 2 * ({0} - mean({0})) / {n}"),
    "Std": _spread("std({0})", "{v} * ({0} - mean({0})) / ({n} * {out})"),
    "LinalgVectorNorm": _norm,
    "Cat": _joined("cat"),
    "Stack": _joined("stack"),
    "NativeLayerNorm": _normalized("layer_norm", "rows"),
    "NativeBatchNorm": _normalized("batch_norm", "batch"),
    "MseLoss": _squares,
    "NllLoss": _likelihood,
    "BinaryCrossEntropyWithLogits": _yes_or_no,
    "BinaryCrossEntropy": _yes_or_no_of_probabilities,
}
