"""The signs of trouble in gradients: each looks at the evidence, and returns what it finds.

The thresholds were set between what healthy networks show (``tests/monitoring/zoo.py``: perceptrons up to 50 layers,
convolutions, residual and recurrent networks, Transformers, at several seeds) and what broken ones do.
"""

from collections.abc import Callable

import numpy as np

from course_lib.monitoring.evidence import Evidence, Finding, Indices, listed, span
from course_lib.monitoring.parameters import Array

__all__ = ["SIGNS", "healthy"]

APART = 1e-3  # rms of a weight's gradient over that of the largest; healthy networks stay above 3e-3
FAR_APART = 1e-5  # the same over that of any parameter, biases included; healthy networks stay above 2e-4
TOO_LARGE = 1e3  # norm of the gradient over the norm of the parameters; healthy networks stay below 40
GROWTH = 1e3  # of the norm, over its first steps; healthy networks stay below 60
JUMP = 100  # of the norm, over the five steps before
OVERWRITTEN = 0.5  # norm of the update over the norm of the parameters; healthy networks stay below 0.2
FIRST = 3  # steps, whose largest norm counts as where it began
DEAD_UNITS = 0.7  # share of a layer's units without a gradient; healthy networks stay below 0.6
DEAD_STEPS = 10  # so many steps on end at least


def non_finite(e: Evidence) -> Finding | None:
    """See infinite and NaN gradients: when first, where, and whether the parameters were still finite."""
    bad = np.flatnonzero(e.nonfinite.any(axis=1))
    if not len(bad):
        return None
    first = bad[0]
    where = np.flatnonzero(e.nonfinite[first])
    nearest, value = where[-1], e.norm[first, where[-1]]
    words = (
        f"at step {e.steps[first]}, {len(where)} of {len(e.names)} gradients were not finite, and {len(bad)} of "
        f"{len(e.steps)} steps have such. The one nearest to the loss was {e.names[nearest]}, with a norm of {value}."
    )
    advice = "Look for log(0), 0/0, or exp of a large number in the forward pass and the loss, and at that batch."
    if np.isfinite(e.weight_norm).any():
        spoiled = np.flatnonzero(~np.isfinite(e.weight_norm[first]))
        if len(spoiled):
            words += f" The parameters were not finite any more either ({listed(e.named(spoiled))})."
            advice = "The update before spoiled them: lower the learning rate, or clip the gradients."
        else:
            words += " The parameters were still finite."
            advice = "The gradients had exploded before." if exploding(e) else advice
    return Finding("non-finite", words, advice, e.named(where), e.numbers(bad))


def not_zeroed(e: Evidence) -> Finding | None:
    """See gradients that are added to what is left of the step before."""
    left = np.flatnonzero(e.left_over > 0)
    if len(left) * 2 < len(e.steps) - 1 or not len(left):
        return None
    steps = e.numbers(left)
    words = (
        f"gradients still held those of the step before when backward() began, in {len(left)} of {len(e.steps) - 1} "
        f"steps ({span(steps)}), so they add up. The norm of all together went from {e.total[0]:.3g} at step "
        f"{e.steps[0]} to {e.total[-1]:.3g} at step {e.steps[-1]}."
    )
    advice = (
        "Call optimizer.zero_grad() once for each optimizer.step(). If you accumulate on purpose, call the monitor's "
        "step() once for each optimizer.step(), too."
    )
    return Finding("not zeroed", words, advice, steps=steps)


def unreached(e: Evidence) -> Finding | None:
    """See parameters that never got a gradient."""
    never = np.flatnonzero((np.isnan(e.norm) & ~e.nonfinite).all(axis=0))
    if not len(never):
        return None
    words = f"{listed(e.named(never))} had no gradient at all (None) in {span(e.numbers(range(len(e.steps))))}."
    advice = (
        "They are not connected to the loss: look for a detach(), a no_grad(), or a layer that forward() leaves out."
    )
    return Finding("unreached", words, advice, e.named(never), e.numbers(range(len(e.steps))))


def exploding(e: Evidence) -> Finding | None:
    """See gradients that are too large for the parameters, that grow without end, or that grow from layer to layer."""
    finite = np.flatnonzero(np.isfinite(e.total) & ~e.nonfinite.any(axis=1))
    if not len(finite):
        return None
    total = e.total[finite]
    growth = "" if not_zeroed(e) else grown(e, finite, total)
    seen = [too_large(e, finite), growth, towards_the_input(e), overwritten(e, finite)]
    found = [words for words in seen if words]
    if not found:
        return None
    worst = finite[np.argmax(total)]
    advice = (
        "Use an initialisation that keeps the variance (Xavier, He), a lower learning rate, or clip by global norm."
    )
    largest = e.weights[np.nanargmax(e.norm[worst, e.weights])]
    return Finding(
        "exploding", " ".join(found), advice, e.named([largest]), e.numbers(finite[total >= total.max() / 10])
    )


def too_large(e: Evidence, finite: Indices) -> str:
    """Compare the norm of all gradients with the norm of all parameters."""
    weights = np.sqrt(np.nansum(e.weight_norm[finite] ** 2, axis=1))
    known = weights > 0
    ratio = float(np.median(e.total[finite][known] / weights[known])) if known.any() else 0.0
    if ratio < TOO_LARGE:
        return ""
    return (
        f"The norm of all gradients is {ratio:.2g} times the norm of all parameters (the median of "
        f"{span(e.numbers(finite))}; at most about 40 in healthy networks)."
    )


def grown(e: Evidence, finite: Indices, total: Array) -> str:
    """Look for a norm that has left its beginnings far behind, or jumped."""
    began, top = total[:FIRST].max(), int(np.argmax(total))
    before = total[max(0, top - 5) : top]
    jumped = len(before) > 0 and total[top] > JUMP * before.max() and total[top] > 10 * began
    if not (began > 0 and (total[top] > GROWTH * began or jumped)):
        return ""
    return (
        f"The norm of all gradients reached {total[top]:.3g} at step {e.steps[finite[top]]}, {total[top] / began:.2g} "
        f"times the largest of its first {FIRST} steps ({began:.3g})."
    )


def overwritten(e: Evidence, finite: Indices) -> str:
    """Look for updates that are as large as what they change."""
    ratios = e.update_ratio[finite][:, e.weights]
    known = ratios[np.isfinite(ratios).any(axis=1)]
    if not len(known) or (ratio := float(np.median(np.nanmedian(known, axis=1)))) < OVERWRITTEN:
        return ""
    return (
        f"An update changes a weight by {ratio:.2g} times its norm (the median; at most about 0.2 in healthy networks)."
    )


def towards_the_input(e: Evidence) -> str:
    """Look for gradients that are larger the nearer a layer is to the input."""
    rms = e.rms[e.weights]
    if not (rms > 0).any():
        return ""
    top, least = int(np.nanargmax(rms)), int(np.nanargmin(np.where(rms > 0, rms, np.inf)))
    if top >= least or rms[least] > APART * rms[top]:
        return ""
    first, last = e.named([e.weights[top], e.weights[least]])
    return (
        f"Towards the input the gradient grows: its rms is {rms[top]:.2g} in {first} and {rms[least]:.2g} in {last}, "
        f"{rms[top] / rms[least]:.2g} times less."
    )


def vanishing(e: Evidence) -> Finding | None:
    """See gradients that all but disappear on the way to the input."""
    low = vanished(e)
    if not len(low):
        return None
    rms, weights = e.rms, e.weights
    top = weights[np.nanargmax(rms[weights])]
    if rms[top] < FAR_APART * np.nanmax(rms):
        top = int(np.nanargmax(rms))
    least = low[np.argmin(rms[low])]
    steps = e.numbers(e.window)
    words = (
        f"the rms of the gradient is {rms[least]:.2g} in {e.names[least]}, and {rms[top]:.2g} in {e.names[top]} "
        f"(medians of {span(steps)}). {len(low)} of {len(weights)} weights have less than a thousandth of the largest: "
        f"{listed(e.named(low))}."
    )
    between = int(np.sum((weights >= least) & (weights < top)))
    if between > 1 and rms[least] > 0:
        words += (
            f" That is a factor of {(rms[least] / rms[top]) ** (1 / between):.2g} from each weight to the one before."
        )
    advice = (
        "Use an initialisation made for the activation (He for ReLU, Xavier for tanh), an activation that does not "
        "saturate, normalisation, or residual connections."
    )
    return Finding("vanishing", words, advice, e.named(low), steps)


def vanished(e: Evidence) -> Indices:
    """Return the weights whose gradient is far below the largest, which comes later in the model."""
    rms, weights = e.rms, e.weights
    if not (rms[weights] > 0).any():
        return weights[:0]
    top = weights[np.nanargmax(rms[weights])]
    low = weights[(rms[weights] < APART * rms[top]) & (weights < top)]
    if not (rms[low] > 0).any():
        low = low[:0]  # exactly 0, and nothing small between: dead, not vanishing
    far = weights[rms[weights] < FAR_APART * np.nanmax(rms)]
    far = far if (rms[far] > 0).any() else far[:0]
    far = far[far < int(np.nanargmax(rms))]
    return np.union1d(low, far)


def dead(e: Evidence) -> Finding | None:
    """See layers, or most units of a layer, whose gradient is exactly 0 step after step."""
    if not len(e.window):
        return None
    silent = np.flatnonzero((e.norm[e.window] == 0).all(axis=0))
    small = vanished(e)  # what is 0 below these is too small for its precision, not dead
    silent = silent[silent > small.max()] if len(small) else silent
    units = [] if len(small) else dead_units(e)
    if not len(silent) and not units:
        return None
    steps, words = e.numbers(e.window), []
    if len(silent):
        words.append(
            f"the gradient of {listed(e.named(silent))} was exactly 0 in {span(steps)} ({len(silent)} of "
            f"{len(e.names)} parameters)."
        )
    if units:
        shares = listed([f"{count} of {size} in {e.names[i]}" for i, count, size in units])
        words.append(
            f"Most units of {len(units)} layers had no gradient in any of {span(e.looks[-DEAD_STEPS:])}: {shares}."
        )
    advice = (
        "Units whose ReLU is closed for every example do not learn: lower the learning rate, start biases at 0, or use "
        "a leaky ReLU or GELU."
    )
    where = sorted({*silent.tolist(), *(i for i, _, _ in units)})
    return Finding("dead", " ".join(words), advice, e.named(where), steps)


def dead_units(e: Evidence) -> list[tuple[int, int, int]]:
    """Return vectors most of whose elements had a gradient of exactly 0 all along: which, how many, of how many."""
    if len(e.looks) < DEAD_STEPS:
        return []
    found = [(i, int((seen < e.looks[-DEAD_STEPS]).sum()), len(seen)) for i, seen in sorted(e.last_seen.items())]
    return [(i, n, size) for i, n, size in found if size > 1 and DEAD_UNITS * size <= n < size]


def healthy(e: Evidence) -> Finding:
    """Say in numbers that nothing stands out."""
    steps, total, rms = e.numbers(range(len(e.steps))), e.total, e.rms[e.weights]
    words = (
        f"in {span(steps)}, the norm of all gradients was between {total.min():.3g} and {total.max():.3g}, and the rms "
        f"in the weights between {np.nanmin(rms):.2g} and {np.nanmax(rms):.2g}."
    )
    updates = e.update_ratio[e.window][:, e.weights]
    if np.isfinite(updates).any():
        words += f" A step changed a weight by {np.nanmedian(updates):.2g} of its norm (median)."
    if len(steps) < FIRST:
        words += " That is few steps: watch more of them."
    return Finding("healthy", words, steps=steps)


SIGNS: tuple[Callable[[Evidence], Finding | None], ...] = (
    non_finite,
    not_zeroed,
    exploding,
    vanishing,
    dead,
    unreached,
)
