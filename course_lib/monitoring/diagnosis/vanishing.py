"""See gradients that are too small: all but gone on the way to the input, or exactly 0.

The thresholds were set between what healthy networks show (``tests/monitoring/zoo.py``: perceptrons up to 50 layers,
convolutions, residual and recurrent networks, Transformers, at several seeds) and what broken ones do.
"""

import numpy as np

from course_lib.monitoring.diagnosis.evidence import Evidence, Finding, Indices, listed, span

__all__ = ["APART", "dead", "vanishing"]

APART = 1e-3  # rms of a weight's gradient over that of the largest; healthy networks stay above 3e-3
FAR_APART = 1e-5  # the same over that of any parameter, biases included; healthy networks stay above 2e-4
DEAD_UNITS = 0.7  # share of a layer's units without a gradient; healthy networks stay below 0.6
DEAD_STEPS = 10  # so many steps on end at least


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
        layers, steps_seen = "1 layer" if len(units) == 1 else f"{len(units)} layers", span(e.looks[-DEAD_STEPS:])
        words.append(f"Most units of {layers} had no gradient in any of {steps_seen}: {shares}.")
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
