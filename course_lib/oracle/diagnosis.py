"""From wrong numbers to the mistake that makes them: only what reproduces the numbers is named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from course_lib.oracle.closeness import EPS, is_close, norm, rounded_to, scale_of
from course_lib.oracle.engines import Arrays
from course_lib.oracle.mistakes import mistakes
from course_lib.oracle.scales import cut, scaled, unclipped
from course_lib.oracle.shapes import holed, ratio, reordered, reshaped, totalled
from course_lib.oracle.tape import Tape

__all__ = ["CAUSES", "Case", "Suspect", "Verdict", "diagnose"]

CAUSES = (
    "missing unbroadcast",
    "overwritten instead of accumulated",
    "wrong order",
    "missing transpose",
    "mean vs sum",
    "missing mask",
    "detached path",
    "clipped before unscaled",
)

UNLIKELY, SAME, NEARLY = 20, 1e-6, 0.999
LOST = ("overwritten instead of accumulated", "detached path")
Verdict = tuple[str | None, str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Cause, evidence, equally, also, unexplained, as in a Difference."""


@dataclass(frozen=True)
class Case:
    """What is known: the right and the found gradients, their order and precision, the graph, and their scaling."""

    right: Arrays
    found: Arrays
    names: list[str]
    eps: Mapping[str, float]
    tape: Tape | None
    learned: list[str]
    max_norm: float | None = None
    loss_scale: float | None = None

    @property
    def scale(self) -> float:
        """The largest right entry of all."""
        return scale_of(self.right)

    def same(self, name: str, one: Any, other: Any) -> bool:
        """Whether two arrays agree in the precision that the found gradient came in."""
        return is_close(one, other, self.eps[name], self.scale)


@dataclass(frozen=True)
class Suspect:
    """A cause that would make some of the numbers.

    Attributes
    ----------
    cause : str or None
    words : str
    explains : tuple of str
        The tensors it gets right.
    misses : int
        How many tensors it would have changed that are as they should be.
    rank : float
        Among equals, the lowest is the likeliest.
    """

    cause: str | None
    words: str
    explains: tuple[str, ...]
    misses: int
    rank: float


def diagnose(differing: list[str], case: Case) -> Verdict:
    """Name the likeliest cause of the first difference and why, what is as likely or possible, and what is left."""
    found = [s for s in suspects(differing, case) if differing[0] in s.explains]
    if not found:
        return None, described(differing[0], case), (), (), ()  # what comes later may follow from the first
    found.sort(key=lambda s: (-len(s.explains), s.misses, s.rank))
    best = found[0]
    equals = [s for s in found if (len(s.explains), s.misses) == (len(best.explains), best.misses)]
    also = dict.fromkeys(s.cause for s in equals if s.cause not in (None, best.cause))
    nameless = [lowered(s.words) for s in equals if s.cause is None and best.cause is not None]
    rest = tuple(name for name in differing if name not in best.explains)
    words, equally = told_apart(best, equals)
    return best.cause, words, equally, (*(a for a in also if a), *nameless[:1]), rest


def told_apart(best: Suspect, equals: list[Suspect]) -> tuple[str, tuple[str, ...]]:
    """Say of a lost path whether it was overwritten or detached, or that both are equally likely."""
    twins = [s for s in equals if s.cause in LOST and s.cause != best.cause] if best.cause in LOST else []
    if not twins:
        return best.words, ()
    if twins[0].rank == best.rank:
        other = next((f" Or {lowered(s.words)}." for s in twins if s.words != best.words), "")
        return best.words + other, (str(twins[0].cause),)
    if best.cause == "detached path":
        return f"{best.words} Overwriting would have left the last to arrive, which is not what is left here.", ()
    return best.words, ()


def lowered(words: str) -> str:
    """Turn a sentence into a phrase."""
    return f"{words[0].lower()}{words[1:].removesuffix('.')}"


def suspects(differing: list[str], case: Case) -> Iterator[Suspect]:
    """List everything that would produce the first wrong gradient."""
    for cause, words, explains, rank in [
        *reshaped(differing, case),
        *scaled(differing, case),
        *cut(differing, case),
        *unclipped(differing, case),
    ]:
        yield Suspect(cause, words, explains, 0, rank)
    first = differing[0]
    for one in mistakes(case.tape) if case.tape else ():
        grads = clipped(one.grads, case)
        if first not in grads or not case.same(first, case.found[first], grads[first]):
            continue
        if case.same(first, grads[first], case.right[first]):
            continue
        explains = tuple(n for n in differing if n in grads and case.same(n, case.found[n], grads[n]))
        fine = [n for n in case.found if n not in differing and n in grads]
        misses = sum(not case.same(n, grads[n], case.right[n]) for n in fine)
        origin = before_clipping(one.grads, case)
        if origin is not None and origin != first:  # the first differs only because of the norm
            if origin not in explains:
                continue
            one = replace(one, words=f"{one.words} That is in {origin}; one norm clips all, so {first} differs, too.")
        rare = one.cause in ("wrong order", *LOST) or "averaged" in one.words
        rank = one.rank + UNLIKELY * (rare and doubled_or_halved(explains, case))
        yield Suspect(one.cause, one.words, explains, misses, rank)


def doubled_or_halved(names: tuple[str, ...], case: Case) -> bool:
    """Tell whether a missing or an extra factor of 2 would explain them too, by far the commoner mistake."""
    factors = [ratio(name, case) for name in names]
    return any(all(f is not None and abs(f / two - 1) < SAME for f in factors) for two in (2.0, 0.5))


def clipped(grads: Arrays, case: Case) -> Arrays:
    """Clip wrong gradients as their owner does: to max_norm, by their own norm."""
    if case.max_norm is None:
        return grads
    size = norm(grads, [n for n in case.learned if n in grads])
    factor = min(1.0, case.max_norm / size) if size else 1.0
    return {n: g * factor for n, g in grads.items()}


def before_clipping(grads: Arrays, case: Case) -> str | None:
    """Name the first gradient that is wrong before all are clipped by one norm."""
    if case.tape is None or case.max_norm is None:
        return None
    raw = case.tape.walk()
    return next((n for n in case.names if n in raw and n in case.found and not case.same(n, grads[n], raw[n])), None)


def described(name: str, case: Case) -> str:
    """Say what can be seen, where no mistake reproduces the numbers."""
    wrong, right = case.found[name], case.right[name]
    if wrong.shape != right.shape:
        return "The shape is wrong, and neither a sum nor another order of its axes gives the right gradient."
    if not np.isfinite(wrong).all():
        return f"{int((~np.isfinite(wrong)).sum())} of {wrong.size} entries are not finite."
    if not np.isfinite(right).all():
        return f"{int((~np.isfinite(right)).sum())} of {right.size} entries of the right gradient are not finite."
    if dtype := rounded_to(wrong, right):
        return f"Its entries are {dtype} numbers, and as exact as {dtype} allows. Compute them in float64."
    if factor := ratio(name, case):
        return f"Every entry is {factor:.6g} times the right one, and no size in this network is that number."
    if said := totalled(name, case) or holed(name, case) or reordered(name, case):
        return said
    gap = np.abs(wrong - right) > case.eps[name] * max(float(np.max(np.abs(right))), 1e-300)
    text = f"{int(gap.sum())} of {gap.size} entries differ"
    dot = float(np.sum(wrong * right)) / float(np.linalg.norm(wrong) * np.linalg.norm(right) or 1)
    text += f"; the cosine between found and right is {dot:.4g}."
    if case.eps[name] > EPS["float32"] and dot > NEARLY:
        return f"{text} The gradient has 16 bits, where rounding alone may open or close a ReLU. Repeat it in float32."
    return f"{text} No known mistake gives these numbers."
