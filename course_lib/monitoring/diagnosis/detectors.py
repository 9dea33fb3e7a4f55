"""Detectors of trouble in gradients: each looks at the evidence, and returns a finding or None."""

from collections.abc import Callable

import numpy as np

from course_lib.monitoring.diagnosis.evidence import (
    Evidence,
    GradientFinding,
    describe_steps,
    join_names,
    nan_medians,
)
from course_lib.monitoring.diagnosis.exploding import describe_large_unit, detect_exploding
from course_lib.monitoring.diagnosis.vanishing import detect_dead, detect_vanishing

__all__ = ["DETECTORS", "describe_healthy", "detect_barely_moving"]

BARELY = 1e-6  # of a weight's norm a step: a hundred thousand such steps change it by a tenth
LOW = 1e-3  # a step over its gradient: of SGD, the learning rate


def _detect_nonfinite(e: Evidence) -> GradientFinding | None:
    """Detect infinite and NaN gradients: when first, where, and whether the parameters were still finite."""
    bad = np.flatnonzero(e.nonfinite.any(axis=1))
    if not len(bad):
        return None
    first = bad[0]
    where = np.flatnonzero(e.nonfinite[first])
    nearest, value = where[-1], e.norm[first, where[-1]]
    words = (
        f"at step {e.steps[first]}, {len(where)} of {len(e.names)} gradients were not finite, and {len(bad)} of "
        f"{len(e.steps)} steps have some. The one nearest to the loss was {e.names[nearest]}, with a norm of {value}."
    )
    advice = (
        "Look for log(0), sqrt(0), 0/0, or exp of a large number in the forward pass and the loss, and at that batch; "
        "with torch, first_nonfinite(step) names the operation."
    )
    known = bool(np.isfinite(e.weight_norm).any())
    spoiled = np.flatnonzero(known & ~np.isfinite(e.weight_norm[first]))
    if len(spoiled):
        words += f" The parameters were no longer finite either ({join_names(e.names_of(spoiled))})."
        advice = "The update before spoiled them: lower the learning rate, or clip the gradients."
    elif frozen := e.spoiled.frozen:
        words += f" Frozen parameters were not finite either ({join_names(frozen)})."
        advice = "No update made them so: look at what was loaded into them, and at where else they are trained."
    elif known:
        words += " The parameters were still finite."
        advice = "The gradients had exploded before." if detect_exploding(e) else advice
    if buffers := e.spoiled.buffers:
        words += f" There is NaN in buffers, too ({join_names(buffers)}), where it stays until they are set anew."
    if not len(spoiled) and bad[-1] < len(e.steps) - 1:  # an update that uses such a gradient spoils them for good
        words += f" After step {e.steps[bad[-1]]} all gradients were finite again, so no update used the others."
        advice = "If a GradScaler scales the loss, that is how it finds a scale, and it is harmless. If not: " + (
            advice[0].lower() + advice[1:]
        )
    return GradientFinding("non-finite", words, advice, e.names_of(where), e.step_numbers(bad))


def _detect_not_zeroed(e: Evidence) -> GradientFinding | None:
    """Detect gradients that are added to what is left of the step before."""
    if not (kept := e.accumulating):
        return None
    looks = np.isin(e.watched, kept)
    left = np.flatnonzero(looks & (e.left_over > 0))
    others = sorted({*e.watched.tolist()} - {-1, *kept})
    steps, some = (
        e.step_numbers(left),
        f" (those of {join_names(e.names_of(kept))}, not of {join_names(e.names_of(others))})",
    )
    words = (
        f"gradients still held those of the step before when backward() began{some if others else ''}, in {len(left)} "
        f"of {int(looks.sum())} steps ({describe_steps(steps)}), so they add up. The norm of all together went from "
        f"{e.total[0]:.3g} at step {e.steps[0]} to {e.total[-1]:.3g} at step {e.steps[-1]}."
    )
    if len(left) < looks.sum():
        words += " They were emptied in between, as they are if you accumulate on purpose."
    advice = (
        "Call zero_grad() of every optimizer once for each of its steps. If you accumulate on purpose, nothing is "
        "wrong, but call the monitor's step() once for each optimizer.step(), too."
    )
    return GradientFinding("not zeroed", words, advice, e.names_of(kept) if others else (), steps)


def _detect_unreached(e: Evidence) -> GradientFinding | None:
    """Detect parameters that never got a gradient."""
    never = np.flatnonzero((np.isnan(e.norm) & ~e.nonfinite).all(axis=0))
    if not len(never):
        return None
    seen = describe_steps(e.step_numbers(range(len(e.steps))))
    words = f"{join_names(e.names_of(never))} had no gradient at all (None) in {seen}."
    advice = (
        "They are not connected to the loss: look for a detach(), a no_grad(), or a layer that forward() leaves out."
    )
    return GradientFinding("unreached", words, advice, e.names_of(never), e.step_numbers(range(len(e.steps))))


def detect_barely_moving(e: Evidence, *, stepped: bool = False) -> GradientFinding | None:
    """Detect steps that change no weight by anything to speak of, while gradients are as they should be."""
    moved = e.update_ratio[:, e.weights]
    with np.errstate(divide="ignore", invalid="ignore"):
        moves = np.nansum(moved, axis=0) / (~np.isnan(moved)).sum(axis=0)  # means: rounding leaves many steps at 0
        rates = nan_medians(moved * e.weight_norm[:, e.weights] / e.norm[:, e.weights], axis=0)
    if np.isnan(moves).all() or not (most := np.nanmax(moves)) < BARELY or not (most or stepped):
        return None
    if not np.nanmax(rates) < LOW:  # the gradients are small themselves, as where a run has converged
        return None
    steps = e.step_numbers(range(len(e.steps)))
    words = (
        f"in {describe_steps(steps)} the gradients look healthy, but a step changed no weight by more than {most:.1e} "
        f"of its norm (mean; {e.names[e.weights[np.nanargmax(moves)]]} moved most)."
        if most
        else f"in {describe_steps(steps)} the gradients look healthy, but no step changed any weight: all round to 0."
    )
    advice = (
        "Raise the learning rate: about 1e-3 of a weight's norm a step is usual. If it is not low, look at what a "
        "schedule multiplies it by, and at whether clipping leaves anything of the gradient."
    )
    return GradientFinding("barely moves", words, advice, steps=steps)


def describe_healthy(e: Evidence) -> GradientFinding:
    """Describe a history in which nothing stands out, in numbers."""
    steps, total, rms = e.step_numbers(range(len(e.steps))), e.total, e.rms[e.weights[e.filled[e.weights]]]
    recent = describe_steps(e.step_numbers(e.window))
    words = (
        f"in {describe_steps(steps)}, the norm of all gradients was between {total.min():.3g} and {total.max():.3g}; "
    )
    if np.isfinite(rms).any():
        words += (
            f"the rms in the weights was between {np.nanmin(rms):.2g} and {np.nanmax(rms):.2g} (medians of {recent})."
        )
    else:
        words += f"the weights had no gradient (None) in {recent}."
    updates = e.update_ratio[e.window][:, e.weights]
    if np.isfinite(updates).any():
        words += f" A step changed a weight by {np.nanmedian(updates):.2g} of its norm (median)."
    words += describe_large_unit(e)
    return GradientFinding("healthy", words + e.short_history_note, steps=steps)


DETECTORS: tuple[Callable[[Evidence], GradientFinding | None], ...] = (
    _detect_nonfinite,
    _detect_not_zeroed,
    detect_exploding,
    detect_vanishing,
    detect_dead,
    _detect_unreached,
)
