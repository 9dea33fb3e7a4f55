"""Find the backward rule of a node, and fit it to the settings that the node has saved."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from course_lib.figures.stepper.vjp_rule_table import NORMALIZED, RULES, Rule

__all__ = ["find_rule", "operation_name"]

NONE, MEAN, SUM = 0, 1, 2  # torch's numbers for reductions
ALIASES = {"Log1P": "Log1p", "NllLoss2D": "NllLoss", "CudnnBatchNorm": "NativeBatchNorm"}

Saved = Mapping[str, Any]


def find_rule(name: str, inputs: int, saved: Saved) -> Rule:
    """Return the rule of the node called ``name``; for one that is not known here, only what it is called.

    Examples
    --------
    >>> find_rule("MulBackward0", 2, {}).gives
    ('{v} * {1}', '{v} * {0}')
    >>> find_rule("LeakyReluBackward0", 1, {"negative_slope": 0.1}).gives
    ('{v} where {0} > 0, else {v} * 0.1',)
    >>> find_rule("MyFunctionBackward", 1, {}).gives
    ('the vjp of my_function',)
    """
    operation = operation_name(name)
    fitted = FITTED[operation](inputs, saved) if operation in FITTED else None
    rule = fitted or RULES.get(f"{operation}/{inputs}") or RULES.get(operation)
    if rule is not None and len(rule.gives) == inputs:
        return rule
    called = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operation).lower()
    arguments = ", ".join(f"{{{i}}}" for i in range(inputs))
    return Rule(f"{called}({arguments})", (f"the vjp of {called}",) * inputs, known=False)


def operation_name(name: str) -> str:
    """Return the operation that a node is named after."""
    operation = re.sub(r"Backward\d*$", "", name)
    return ALIASES.get(operation, operation)


def _fit_power(_: int, saved: Saved) -> Rule | None:
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


def _fit_alpha(operation: str) -> Callable[[int, Saved], Rule | None]:
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


def _fit_product(operation: str) -> Callable[[int, Saved], Rule | None]:
    """Put ``alpha`` and ``beta`` in; the course's addmm takes the weight as ``nn.Linear`` keeps it."""

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


def _fit_clamp(_: int, saved: Saved) -> Rule:
    """Put the bounds in."""
    low, high = saved.get("min", saved.get("min_val")), saved.get("max", saved.get("max_val"))
    inside = " ".join(
        [*([f"{low:g} <="] if low is not None else []), "{0}", *([f"<= {high:g}"] if high is not None else [])]
    )
    return Rule("clamp({0})", (f"{{v}} where {inside}, else 0",))


def _fit_leaky_relu(_: int, saved: Saved) -> Rule:
    """Put the slope in."""
    slope = saved.get("slope", saved.get("negative_slope", 0.01))
    return Rule("leaky_relu({0})", (f"{{v}} where {{0}} > 0, else {{v}} * {slope:g}",))


def _fit_elu(_: int, saved: Saved) -> Rule | None:
    """Put ``alpha`` and ``scale`` in, which make it a SELU."""
    alpha, scale = saved.get("alpha", 1.0), saved.get("scale", 1)
    if saved.get("input_scale", 1) != 1:
        return None
    above, below = ("" if factor == 1 else f" * {factor:.5g}" for factor in (scale, alpha * scale))
    called = "elu" if scale == 1 else "selu"
    return Rule(f"{called}({{0}})", (f"{{v}}{above} where {{0}} > 0, else {{v}}{below} * exp({{0}})",))


def _fit_softplus(_: int, saved: Saved) -> Rule:
    """Put ``beta`` and the threshold in."""
    beta, threshold = saved.get("beta", 1.0), saved.get("threshold", 20.0)
    x = "{0}" if beta == 1 else f"{beta:g} * {{0}}"
    straight = "" if threshold >= 20 else f", {{v}} where {x} > {threshold:g}"  # the sigmoid is 1 there to 8 digits
    return Rule("softplus({0})", (f"{{v}} * sigmoid({x}){straight}",))


def _fit_log_sigmoid(_: int, saved: Saved) -> Rule | None:
    """Write the course's loss -log(sigmoid(x)), which saves its input as ``x``."""
    return Rule("-log(sigmoid({0}))", ("-{v} * sigmoid(-{0})",)) if "x" in saved else None


def _fit_variance(forward: str, template: str) -> Callable[[int, Saved], Rule]:
    """Divide by the degrees of freedom: the course's engine saves their number, torch how far it is below n."""

    def fit(_: int, saved: Saved) -> Rule:
        correction = saved.get("correction", 1)
        n = f"{saved['dof']:g}" if "dof" in saved else f"({{count}} - {1 if correction is None else correction:g})"
        return Rule(forward, (template.replace("{n}", n),))

    return fit


def _fit_norm(_: int, saved: Saved) -> Rule:
    """Put the order of the norm in."""
    p = float(saved.get("ord", saved.get("p", 2)))
    if p == 2:
        return Rule("norm({0})", ("{v} * {0} / {out}",))
    if abs(p) == float("inf"):
        which = "largest" if p > 0 else "smallest"
        return Rule(f"norm({{0}}, {p:g})", (f"{{v}} * sign({{0}}) where abs({{0}}) is {which}, else 0",))
    return Rule(f"norm({{0}}, {p:g})", (f"{{v}} * sign({{0}}) * (abs({{0}}) / {{out}}) ** {p - 1:g}",))


def _fit_concatenation(called: str) -> Callable[[int, Saved], Rule]:
    def fit(inputs: int, _: Saved) -> Rule:
        arguments = ", ".join(f"{{{i}}}" for i in range(inputs))
        return Rule(f"{called}({arguments})", ("its part of {v}",) * inputs, in_words=tuple(range(inputs)))

    return fit


def _fit_normalization(called: str, over: str) -> Callable[[int, Saved], Rule | None]:
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


def _mean_factor(saved: Saved, n: str) -> str:
    """Return the factor that a mean over n puts in; the course's fused losses are means."""
    return f" / {n}" if saved.get("reduction", MEAN) == MEAN else ""


def _fit_mse(_: int, saved: Saved) -> Rule:
    """Put the reduction in."""
    factor = f"{{v}} * 2{_mean_factor(saved, '{count}')}"
    return Rule("mse_loss({0}, {1})", (f"{factor} * ({{0}} - {{1}})", f"-{factor} * ({{0}} - {{1}})"))


def _fit_nll(_: int, saved: Saved) -> Rule:
    """Write the negative log-likelihood; the course's includes the softmax."""
    if "p" in saved:
        rows = len(saved["right"])
        gives = f"{{v}}{f' / {rows}' if rows > 1 else ''} * (softmax({{0}}) - one_hot(classes))"
        return Rule("cross_entropy({0})", (gives,), ("",))
    total = saved.get("total_weight")
    n = "n" if total is None or not total.numel() else f"{total.item():g}"
    weight = "" if saved.get("weight") is None else " * its weight"
    return Rule("nll_loss({0})", (f"-{{v}}{_mean_factor(saved, n)}{weight} at the class of each row, else 0",), ("",))


def _mention_weights(saved: Saved) -> str:
    """Mention weights, if there are any."""
    return "" if saved.get("weight") is None and saved.get("pos_weight") is None else ", with the weights"


def _fit_bce_with_logits(_: int, saved: Saved) -> Rule:
    """Write the binary cross-entropy of logits."""
    factor, weighted = f"{{v}}{_mean_factor(saved, '{count}')}", _mention_weights(saved)
    gives = (f"{factor} * (sigmoid({{0}}) - {{1}}){weighted}", f"-{factor} * {{0}}{weighted}")
    return Rule("bce_with_logits({0}, {1})", gives)


def _fit_bce(_: int, saved: Saved) -> Rule:
    """Write the binary cross-entropy of probabilities."""
    factor, weighted = f"{{v}}{_mean_factor(saved, '{count}')}", _mention_weights(saved)
    gives = (f"{factor} * ({{0}} - {{1}}) / ({{0}} * (1 - {{0}}))", f"{factor} * (log(1 - {{0}}) - log({{0}}))")
    gives = (gives[0] + weighted, gives[1] + weighted)
    return Rule("bce({0}, {1})", gives)


FITTED: dict[str, Callable[[int, Saved], Rule | None]] = {
    "Pow": _fit_power,
    **{name: _fit_alpha(name) for name in ("Add", "Sub", "Mul", "Div")},
    "Rsub": lambda _, saved: Rule("constant - {0}", ("-{v}",)) if saved.get("alpha", 1) == 1 else None,
    "Addmm": _fit_product("Addmm"),
    "Baddbmm": _fit_product("Baddbmm"),
    "Clamp": _fit_clamp,
    "Hardtanh": _fit_clamp,
    "LeakyRelu": _fit_leaky_relu,
    "Elu": _fit_elu,
    "Softplus": _fit_softplus,
    "LogSigmoid": _fit_log_sigmoid,
    "Var": _fit_variance("var({0})", "{v} * 2 * ({0} - mean({0})) / {n}"),
    "Std": _fit_variance("std({0})", "{v} * ({0} - mean({0})) / ({n} * {out})"),
    "LinalgVectorNorm": _fit_norm,
    "Cat": _fit_concatenation("cat"),
    "Stack": _fit_concatenation("stack"),
    "NativeLayerNorm": _fit_normalization("layer_norm", "rows"),
    "NativeBatchNorm": _fit_normalization("batch_norm", "batch"),
    "MseLoss": _fit_mse,
    "NllLoss": _fit_nll,
    "BinaryCrossEntropyWithLogits": _fit_bce_with_logits,
    "BinaryCrossEntropy": _fit_bce,
}
