"""Rank everything that would give the first wrong gradient, and name the likeliest cause."""

from collections.abc import Iterator
from typing import NamedTuple

from course_lib.oracle.arrays import Arrays
from course_lib.oracle.bug_ranking import OVERWRITTEN_OR_DETACHED, Cause
from course_lib.oracle.closeness import clip_by_norm
from course_lib.oracle.diagnosis.comparison import Comparison, Suspect
from course_lib.oracle.diagnosis.describe import describe_gradient
from course_lib.oracle.diagnosis.factor_suspects import suspect_clipping, suspect_factors
from course_lib.oracle.diagnosis.tensor_suspects import suspect_tensors
from course_lib.oracle.planted_bugs import PlantedBug, plant_bugs

__all__ = ["Diagnosis", "diagnose"]

EXACT = 1e-6


class Diagnosis(NamedTuple):
    """Diagnosis of a difference: the likeliest cause, as in a :class:`course_lib.oracle.Difference`."""

    cause: Cause | None
    evidence: str
    equally: tuple[Cause, ...] = ()
    also: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()


def diagnose(comparison: Comparison) -> Diagnosis:
    """Name the likeliest cause of the first difference and why, what is as likely or possible, and what is left."""
    differing = comparison.differing
    suspects = [s for s in _suspect(comparison) if differing[0] in s.explains]
    if not suspects:  # what comes later may follow from the first
        return Diagnosis(None, describe_gradient(differing[0], comparison))
    suspects.sort(key=lambda s: (-len(s.explains), s.misses, s.likelihood))
    best, cause = suspects[0], suspects[0].kind.cause
    rivals = [s for s in suspects if (len(s.explains), s.misses) == (len(best.explains), best.misses)]
    causes = dict.fromkeys(s.kind.cause for s in rivals if s.kind.cause not in (None, cause))
    nameless = [_as_phrase(s.words) for s in rivals if s.kind.cause is None and cause is not None]
    evidence, equally = _tell_overwritten_from_detached(best, rivals)
    unexplained = tuple(name for name in differing if name not in best.explains)
    return Diagnosis(cause, evidence, equally, (*(c for c in causes if c), *nameless[:1]), unexplained)


def _tell_overwritten_from_detached(best: Suspect, rivals: list[Suspect]) -> tuple[str, tuple[Cause, ...]]:
    """Tell a path that was overwritten from one that was detached, or name both as equally likely."""
    cause = best.kind.cause
    others = [s for s in rivals if s.kind.cause in OVERWRITTEN_OR_DETACHED and s.kind.cause != cause]
    if cause not in OVERWRITTEN_OR_DETACHED or not others:
        return best.words, ()
    if others[0].likelihood == best.likelihood:
        other = next((f" Or {_as_phrase(s.words)}." for s in others if s.words != best.words), "")
        return best.words + other, tuple(c for c in (others[0].kind.cause,) if c)
    if cause == "detached path":
        return f"{best.words} Overwriting would have left the last to arrive, which is not what is left here.", ()
    return best.words, ()


def _as_phrase(sentence: str) -> str:
    """Turn a sentence into a phrase."""
    return f"{sentence[0].lower()}{sentence[1:].removesuffix('.')}"


def _suspect(comparison: Comparison) -> Iterator[Suspect]:
    """Yield everything that would give some of the wrong gradients."""
    yield from suspect_tensors(comparison)
    yield from suspect_factors(comparison)
    yield from suspect_clipping(comparison)
    for bug in plant_bugs(comparison.tape) if comparison.tape else ():
        if suspect := _match_planted_bug(bug, comparison):
            yield suspect


def _match_planted_bug(bug: PlantedBug, comparison: Comparison) -> Suspect | None:
    """Compare the gradients of a planted bug with those found; None if it does not give the first wrong one."""
    differing, found, right, is_same = comparison.differing, comparison.found, comparison.right, comparison.is_same
    first, grads, words = differing[0], _clip_as_found(bug.grads, comparison), bug.words
    if first not in grads or not is_same(first, found[first], grads[first]):
        return None
    if is_same(first, grads[first], right[first]):
        return None
    explains = tuple(n for n in differing if n in grads and is_same(n, found[n], grads[n]))
    misses = sum(not is_same(n, grads[n], right[n]) for n in found if n not in differing and n in grads)
    origin = _first_wrong_before_clipping(bug.grads, comparison)
    if origin is not None and origin != first:  # the first differs only because of the norm
        if origin not in explains:
            return None
        words = f"{words} That is in {origin}; one norm clips all, so {first} differs, too."
    rarer = bug.kind.rarer_than_a_factor_of_two and _are_doubled_or_halved(explains, comparison)
    return Suspect(bug.kind, words, explains, misses, rarer, bug.repeated)


def _are_doubled_or_halved(names: tuple[str, ...], comparison: Comparison) -> bool:
    """Return whether a missing or an extra factor of 2 would explain them too, by far the commoner mistake."""
    factors = [comparison.factor(name) for name in names]
    return any(all(f is not None and abs(f / two - 1) < EXACT for f in factors) for two in (2.0, 0.5))


def _clip_as_found(grads: Arrays, comparison: Comparison) -> Arrays:
    """Clip wrong gradients to max_norm by their own norm, as an optimizer would."""
    if comparison.max_norm is None:
        return grads
    return clip_by_norm(grads, [n for n in comparison.learned if n in grads], comparison.max_norm)


def _first_wrong_before_clipping(grads: Arrays, comparison: Comparison) -> str | None:
    """Name the first gradient that is wrong before all are clipped by one norm."""
    raw = comparison.right_before_clipping
    if raw is None or comparison.max_norm is None:
        return None
    compared = [n for n in comparison.names if n in raw and n in comparison.found]
    return next((n for n in compared if not comparison.is_same(n, grads[n], raw[n])), None)
