"""The signs of trouble in gradients: each looks at the evidence, and returns what it finds."""

from collections.abc import Callable

import numpy as np

from course_lib.monitoring.diagnosis.evidence import Evidence, Finding, listed, span
from course_lib.monitoring.diagnosis.exploding import exploding, large_unit
from course_lib.monitoring.diagnosis.vanishing import dead, vanishing

__all__ = ["SIGNS", "healthy"]


def non_finite(e: Evidence) -> Finding | None:
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
        words += f" The parameters were no longer finite either ({listed(e.named(spoiled))})."
        advice = "The update before spoiled them: lower the learning rate, or clip the gradients."
    elif frozen := e.spoiled.frozen:
        words += f" Frozen parameters were not finite either ({listed(frozen)})."
        advice = "No update made them so: look at what was loaded into them, and at where else they are trained."
    elif known:
        words += " The parameters were still finite."
        advice = "The gradients had exploded before." if exploding(e) else advice
    if buffers := e.spoiled.buffers:
        words += f" There is NaN in buffers, too ({listed(buffers)}), where it stays until they are set anew."
    if not len(spoiled) and bad[-1] < len(e.steps) - 1:  # an update that uses such a gradient spoils them for good
        words += f" After step {e.steps[bad[-1]]} all gradients were finite again, so no update used the others."
        advice = "If a GradScaler scales the loss, that is how it finds a scale, and it is harmless. If not: " + (
            advice[0].lower() + advice[1:]
        )
    return Finding("non-finite", words, advice, e.named(where), e.numbers(bad))


def not_zeroed(e: Evidence) -> Finding | None:
    """Detect gradients that are added to what is left of the step before."""
    if not (kept := e.adds_up):
        return None
    looks = np.isin(e.watched, kept)
    left = np.flatnonzero(looks & (e.left_over > 0))
    others = sorted({*e.watched.tolist()} - {-1, *kept})
    steps, some = e.numbers(left), f" (those of {listed(e.named(kept))}, not of {listed(e.named(others))})"
    words = (
        f"gradients still held those of the step before when backward() began{some if others else ''}, in {len(left)} "
        f"of {int(looks.sum())} steps ({span(steps)}), so they add up. The norm of all together went from "
        f"{e.total[0]:.3g} at step {e.steps[0]} to {e.total[-1]:.3g} at step {e.steps[-1]}."
    )
    if len(left) < looks.sum():
        words += " They were emptied in between, as they are if you accumulate on purpose."
    advice = (
        "Call zero_grad() of every optimizer once for each of its steps. If you accumulate on purpose, nothing is "
        "wrong, but call the monitor's step() once for each optimizer.step(), too."
    )
    return Finding("not zeroed", words, advice, e.named(kept) if others else (), steps)


def unreached(e: Evidence) -> Finding | None:
    """Detect parameters that never got a gradient."""
    never = np.flatnonzero((np.isnan(e.norm) & ~e.nonfinite).all(axis=0))
    if not len(never):
        return None
    words = f"{listed(e.named(never))} had no gradient at all (None) in {span(e.numbers(range(len(e.steps))))}."
    advice = (
        "They are not connected to the loss: look for a detach(), a no_grad(), or a layer that forward() leaves out."
    )
    return Finding("unreached", words, advice, e.named(never), e.numbers(range(len(e.steps))))


def healthy(e: Evidence) -> Finding:
    """Say in numbers that nothing stands out."""
    steps, total, rms = e.numbers(range(len(e.steps))), e.total, e.rms[e.weights[e.filled[e.weights]]]
    recent = span(e.numbers(e.window))
    words = f"in {span(steps)}, the norm of all gradients was between {total.min():.3g} and {total.max():.3g}; "
    if np.isfinite(rms).any():
        words += (
            f"the rms in the weights was between {np.nanmin(rms):.2g} and {np.nanmax(rms):.2g} (medians of {recent})."
        )
    else:
        words += f"the weights had no gradient (None) in {recent}."
    updates = e.update_ratio[e.window][:, e.weights]
    if np.isfinite(updates).any():
        words += f" A step changed a weight by {np.nanmedian(updates):.2g} of its norm (median)."
    words += large_unit(e)
    return Finding("healthy", words + e.too_short, steps=steps)


SIGNS: tuple[Callable[[Evidence], Finding | None], ...] = (
    non_finite,
    not_zeroed,
    exploding,
    vanishing,
    dead,
    unreached,
)
