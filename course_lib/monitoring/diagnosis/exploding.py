"""Detect gradients that explode: beyond the weights, from step to step, or from layer to layer.

The thresholds were set between what healthy networks show (``tests/monitoring/zoo.py``: perceptrons up to 50 layers,
convolutions, residual and recurrent networks, Transformers, at several seeds) and what broken ones do.
"""

import numpy as np

from course_lib.monitoring.diagnosis.evidence import (
    FIRST,
    WINDOW,
    Evidence,
    GradientFinding,
    Indices,
    describe_steps,
    nan_medians,
)
from course_lib.monitoring.diagnosis.vanishing import APART, is_bias
from course_lib.monitoring.reading.gradient_measures import Float64

__all__ = ["describe_large_unit", "detect_exploding"]

TOO_LARGE = 1e3  # norm of the gradient over the norm of the parameters; healthy networks stay below 40
GROWTH = 1e3  # of the norm, over its first steps; healthy networks stay below 60
JUMP = 100  # of the norm, over the median of the twenty steps before; healthy networks stay below 3
OVERWRITTEN = 0.5  # norm of the update over the norm of the parameters; healthy networks stay below 0.2
VIOLENT = 1.0  # the same, for one of the first updates: the beginning ends before it, and JUMP is growth enough
ALIKE = 100  # TOO_LARGE, in units of the gradient of the last bias; what explodes on its way is above 3e3
UNITS = (
    'If the loss is a sum (reduction="sum"), take the mean; if its targets are in large units, divide them by their '
    "deviation. If a GradScaler scales the loss, call step() after its unscale_(optimizer)."
)


def detect_exploding(e: Evidence) -> GradientFinding | None:
    """Detect gradients too large for the parameters, that grow without end, or that grow from layer to layer."""
    finite = np.flatnonzero(np.isfinite(e.total) & ~e.nonfinite.any(axis=1))
    if not len(finite):
        return None
    total = e.total[finite]
    # Gradients that add up grow with the steps and, where only some add up, from layer to layer.
    growing = [] if e.accumulating else [_detect_growth(e, finite, total), _detect_growth_towards_input(e)]
    seen = [_compare_with_weights(e, finite), *growing, _detect_large_updates(e, finite)]
    found = [words for words in seen if words]
    if not found:
        return None
    worst = finite[np.argmax(total)]
    advice = (
        "Use an initialization that keeps the variance (Xavier, He), a lower learning rate, or clip by global norm."
    )
    norm, weights = e.norm[worst], e.weights
    among = np.arange(len(norm)) if np.isnan(norm[weights]).all() else weights  # where only biases have a gradient
    largest = among[np.nanargmax(norm[among])]
    return GradientFinding(
        "exploding", " ".join(found), advice, e.names_of([largest]), e.step_numbers(finite[total >= total.max() / 10])
    )


def _compare_with_weights(e: Evidence, finite: Indices) -> str:
    """Compare the norm of all gradients with the norm of all parameters."""
    ratio = _gradient_to_weight_ratio(e, finite)
    if ratio < TOO_LARGE or describe_large_unit(e):
        return ""
    return (
        f"The norm of all gradients is {ratio:.2g} times the norm of all parameters (the median of "
        f"{describe_steps(e.step_numbers(finite))}; at most about 40 in healthy networks). {UNITS}"
    )


def _gradient_to_weight_ratio(e: Evidence, finite: Indices) -> float:
    """Return the norm of all gradients over that of all parameters, the median; 0 if it is not known."""
    weights = np.sqrt(np.nansum(e.weight_norm[finite] ** 2, axis=1))
    known = weights > 0
    return float(np.median(e.total[finite][known] / weights[known])) if known.any() else 0.0


def describe_large_unit(e: Evidence) -> str:
    """Describe gradients that are large because the loss is, and do no harm; else return an empty string.

    In another unit of the loss all gradients are larger by the same factor, even that of the last bias, which passes
    through no weight; and an optimizer whose updates are no larger, such as Adam, trains all the same.
    """
    finite = np.flatnonzero(np.isfinite(e.total) & ~e.nonfinite.any(axis=1))
    biases = [i for i in range(len(e.names)) if len(e.shapes[i]) == 1 and is_bias(e, i)]
    ratio, changed = _gradient_to_weight_ratio(e, finite), _median_update_ratio(e, finite)
    if ratio < TOO_LARGE or not biases or not changed < OVERWRITTEN:
        return ""
    last, at_output = e.names[biases[-1]], float(np.nan_to_num(np.median(e.norm[finite, biases[-1]])))
    if ratio / max(1.0, at_output) >= ALIKE:
        return ""
    return (
        f" The norm of all gradients is {ratio:.2g} times the norm of all parameters, and that of {last} is "
        f"{at_output:.2g}: the loss has a large unit, and a bound for clipping must be as large. {UNITS}"
    )


def _detect_growth(e: Evidence, finite: Indices, total: Float64) -> str:
    """Look for a norm that has left its beginnings far behind, or jumped."""
    first, top = _count_first_steps(e, finite), int(np.argmax(total))
    began, before = total[:first].max(), total[max(0, top - WINDOW) : top]
    jumped = len(before) > 0 and total[top] > JUMP * np.median(before) and total[top] > 10 * began
    limit = GROWTH if first == FIRST else JUMP
    if not (began > 0 and (total[top] > limit * began or jumped)):
        return ""
    where = f"the largest of its first {first} steps" if first > 1 else "that of its first step"
    return (
        f"The norm of all gradients reached {total[top]:.3g} at step {e.steps[finite[top]]}, {total[top] / began:.2g} "
        f"times {where} ({began:.3g})."
    )


def _count_first_steps(e: Evidence, finite: Indices) -> int:
    """Return how many steps show where it began: three, or those before a violent update."""
    violent = np.flatnonzero(nan_medians(_update_ratios(e, finite[:FIRST]), axis=1) >= VIOLENT)
    return max(1, int(violent[0])) if len(violent) else FIRST


def _update_ratios(e: Evidence, rows: Indices) -> Float64:
    """Return the update ratios of the weights, NaN for those that began at 0, which consist of their updates."""
    born = (e.weight_norm == 0).any(axis=0)
    return np.where(born, np.nan, e.update_ratio)[rows][:, e.weights]


def _median_update_ratio(e: Evidence, rows: Indices) -> float:
    """Return the median of the update ratios of the weights, NaN if there are none."""
    ratios = _update_ratios(e, rows)
    known = ratios[np.isfinite(ratios).any(axis=1)]
    return float(np.median(np.nanmedian(known, axis=1))) if len(known) else np.nan


def _detect_large_updates(e: Evidence, finite: Indices) -> str:
    """Look for updates that are as large as what they change."""
    ratio = _median_update_ratio(e, finite)
    if not ratio >= OVERWRITTEN:
        return ""
    return (
        f"An update changes a weight by {ratio:.2g} times its norm (the median; at most about 0.2 in healthy networks)."
    )


def _detect_growth_towards_input(e: Evidence) -> str:
    """Look for gradients that are larger the nearer a layer is to the input."""
    rms = e.size[e.layers]
    if not (rms > 0).any():
        return ""
    top, least = int(np.nanargmax(rms)), int(np.nanargmin(np.where(rms > 0, rms, np.inf)))
    after = np.nanmax(e.size[e.layers[least] :])  # biases, too: a weight has no gradient either where its input is 0
    if top >= least or after > APART * rms[top]:
        return ""
    first, last = e.names_of([e.layers[top], e.layers[least]])
    rms = e.rms[e.layers]
    return (
        f"Towards the input the gradient grows: its rms is {rms[top]:.2g} in {first} and {rms[least]:.2g} in {last}, "
        f"{rms[top] / rms[least]:.2g} times smaller."
    )
