"""Detect gradients that are too small: all but gone on the way to the input, or exactly 0.

The thresholds were set between what healthy networks show (``tests/monitoring/zoo.py``: perceptrons up to 50 layers,
convolutions, residual and recurrent networks, Transformers, at several seeds) and what broken ones do.
"""

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.diagnosis.evidence import (
    Evidence,
    GradientFinding,
    Indices,
    describe_steps,
    join_names,
    nan_medians,
)

__all__ = ["APART", "detect_dead", "detect_vanishing", "is_bias"]

APART = 1e-3  # size of a weight's gradient over that of the largest; healthy networks stay above 3e-3
FAR_APART = 1e-5  # the same over that of any parameter, biases included; healthy networks stay above 2e-4
DEAD_UNITS = 0.7  # share of a layer's units without a gradient; healthy networks stay below 0.6
DEAD_STEPS = 10  # at least so many steps in a row
STARTING = 100  # steps, in which a part that begins at 0 should have grown
RISES = 1.5  # the later half of a gradient's history over the earlier; what grows steadily from 0 has 3


def detect_vanishing(e: Evidence) -> GradientFinding | None:
    """Detect gradients that all but disappear on the way to the input; next to some that add up, all look small."""
    if e.accumulating:
        return None
    low = _vanished_weights(e)
    low = low[~_grows_from_zero(e)[low]]
    # What is lost on the way to the input is missing in most of the weights before, not in a branch here and there.
    if not len(low) or 2 * len(low) < np.sum(e.layers <= low.max()):
        return None
    rms, weights = e.rms, e.layers
    top = weights[np.nanargmax(rms[weights])]
    if rms[top] < FAR_APART * np.nanmax(rms):
        top = int(np.nanargmax(rms))
    least = low[np.argmin(rms[low])]
    steps = e.step_numbers(e.window)
    words = (
        f"the rms of the gradient is {rms[least]:.2g} in {e.names[least]}, and {rms[top]:.2g} in {e.names[top]} "
        f"(medians of {describe_steps(steps)}). {len(low)} of {len(weights)} weights have less than a thousandth of "
        f"the largest: "
        f"{join_names(e.names_of(low))}."
    )
    between = int(np.sum((weights >= least) & (weights < top)))
    if between > 1 and rms[least] > 0:
        words += (
            f" That is a factor of {(rms[least] / rms[top]) ** (1 / between):.2g} from each weight to the one before."
        )
    advice = (
        "Use an initialization made for the activation (He for ReLU, Xavier for tanh), an activation that does not "
        "saturate, normalization, or residual connections."
    )
    return GradientFinding("vanishing", words + e.short_history_note, advice, e.names_of(low), steps)


def _vanished_weights(e: Evidence) -> Indices:
    """Return the weights whose gradient is far below the largest, which comes later in the model."""
    size, weights = e.size, e.layers
    if not (size[weights] > 0).any():
        return weights[:0]
    top = weights[np.nanargmax(size[weights])]
    low = weights[(size[weights] < APART * size[top]) & (weights < top)]
    if not (size[low] > 0).any():
        low = low[:0]  # exactly 0, and nothing small between: dead, not vanishing
    far = weights[size[weights] < FAR_APART * np.nanmax(size)]
    far = far if (size[far] > 0).any() else far[:0]
    far = far[far < int(np.nanargmax(size))]
    return np.union1d(low, far)


def _grows_from_zero(e: Evidence) -> NDArray[np.bool_]:
    """Return for each parameter whether its gradient was exactly 0 at first, and has been growing since.

    What is multiplied by a part that begins at 0, such as a residual branch, has a small gradient for no longer than
    that part is small.
    """
    norm = e.norm[~e.nonfinite.any(axis=1)]
    if not 1 < len(norm) <= STARTING:
        return np.zeros(len(e.names), dtype=np.bool_)
    half = len(norm) // 2
    rises = nan_medians(norm[half:], axis=0) > RISES * nan_medians(norm[:half], axis=0)
    return np.asarray((norm[0] == 0) & rises)


def detect_dead(e: Evidence) -> GradientFinding | None:
    """Detect layers, or most units of a layer, whose gradient is exactly 0 step after step."""
    if not len(e.window):
        return None
    # Where nothing at all has a gradient any more, the last steps say enough: what has just died is no less dead.
    just = _is_over(e) and np.nansum(e.norm[e.window]) > 0
    latest = e.window[-DEAD_STEPS:] if just else e.window
    silent = np.flatnonzero((e.norm[latest] == 0).all(axis=0) & e.filled)
    small = _vanished_weights(e)  # what is 0 below these is too small for its precision, not dead
    silent = silent[silent > small.max()] if len(small) else silent
    units = [] if len(small) else _count_dead_units(e)
    if not len(silent) and not units:
        return None
    steps, words = e.step_numbers(latest), []
    if len(silent):
        words.append(
            f"the gradient of {join_names(e.names_of(silent))} was exactly 0 in {describe_steps(steps)} "
            f"({len(silent)} of {len(e.names)} parameters)."
        )
    if units:
        shares = join_names([f"{count} of {size} in {e.names[i]}" for i, count, size in units])
        layers, steps_seen = (
            "1 layer" if len(units) == 1 else f"{len(units)} layers",
            describe_steps(e.looks[-DEAD_STEPS:]),
        )
        words.append(f"Most units of {layers} had no gradient in any of {steps_seen}: {shares}.")
    where = sorted({*silent.tolist(), *(i for i, _, _ in units)})
    return GradientFinding("dead", " ".join(words) + e.short_history_note, _advise_on_dead(e), e.names_of(where), steps)


def _is_over(e: Evidence) -> bool:
    """Return whether no parameter had a gradient in any of the last steps."""
    return not np.nansum(e.norm[e.window[-DEAD_STEPS:]]) > 0


def _advise_on_dead(e: Evidence) -> str:
    """Return advice for gradients that are exactly 0."""
    if not _is_over(e):
        return (
            "Units whose ReLU is closed for every example do not learn: lower the learning rate, start biases at 0, or "
            "use a leaky ReLU or GELU."
        )
    return (  # a bias after the last ReLU would have one
        "No gradient is left anywhere, and closed units are not the usual cause: either the loss is flat here, as a "
        "hinge is once every example is beyond its margin, or step() was called after zero_grad(set_to_none=False). "
        "Call it right after backward()."
    )


def _count_dead_units(e: Evidence) -> list[tuple[int, int, int]]:
    """Return biases most of whose elements had a gradient of exactly 0 all along: which, how many, of how many."""
    if len(e.looks) < DEAD_STEPS:
        return []
    biases = [(i, seen) for i, seen in sorted(e.last_seen.items()) if is_bias(e, i)]
    found = [(i, int((seen < e.looks[-DEAD_STEPS]).sum()), len(seen)) for i, seen in biases]
    return [(i, n, size) for i, n, size in found if size > 1 and DEAD_UNITS * size <= n < size]


def is_bias(e: Evidence, i: int) -> bool:
    """Return whether a vector is a layer's bias, by its name and its weight's: rows of other tables are not units."""
    module, dot, name = e.names[i].lower().rpartition(".")
    wanted = {module + dot + name.replace("bias", "weight"), f"{module}{dot}w{name[1:]}"} - {module + dot + name}
    beside = (shape for other, shape in zip(e.names, e.shapes, strict=True) if other.lower() in wanted)
    return name == "bias" or (name[:1] == "b" and any(e.shapes[i][0] in shape[:2] for shape in beside))
