"""Mistakes that show as one factor on every gradient: a mean for a sum, a clip before the unscaling."""

from collections.abc import Iterator
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from course_lib.oracle.closeness import norm
from course_lib.oracle.shapes import ratio

if TYPE_CHECKING:
    from course_lib.oracle.diagnosis import Case

__all__ = ["cut", "scaled", "unclipped"]

MOST_PASSES = 16  # more are not added up by mistake

Found = tuple[str | None, str, tuple[str, ...], float]

SCALES = (
    *(2.0**k for k in (16, 15, 14, 13, 12, 11, 10, 9, 8, *range(17, 25), *range(7, 0, -1))),
    *(10.0**k for k in range(2, 7)),
)
NORMS = (
    1.0,
    0.5,
    5.0,
    0.1,
    2.0,
    10.0,
    0.25,
    0.2,
    0.3,
    0.4,
    0.6,
    0.7,
    0.75,
    0.8,
    0.9,
    1.5,
    3.0,
    4.0,
    15.0,
    20.0,
    0.05,
    0.01,
)


def scaled(differing: list[str], case: "Case") -> Iterator[Found]:
    """Look for one factor between all that was found and all that is right."""
    factors = [ratio(name, case) for name in differing]
    factor, eps = factors[0], max(case.eps.values())
    if factor is None or any(f is None or abs(f / factor - 1) > eps for f in factors):
        return
    same = tuple(differing)
    told = case.loss_scale or 1.0
    for wrong, done in ((told, "is still in {}"), (1 / told, "was divided out of {} twice")) if told != 1 else ():
        if abs(factor / wrong - 1) <= eps:
            these = "all gradients" if set(same) == set(case.found) else ", ".join(same)
            yield None, f"The loss scale, {told:g}, {done.format(these)}.", same, 2.5
    if not [n for n in case.found if n not in differing and case.right[n].any()]:
        yield from clipped_early(factor, same, case, eps)
    for n, what in sizes(case).items():
        for c, done in ((float(n), "multiplied by"), (1 / n, "divided by")):
            if abs(factor / c - 1) <= eps:
                text = f"All gradients that differ are {done} {n}, which is {what}."
                yield "mean vs sum", text, same, 21 if case.tape else 3.5
    passes, everything = round(factor), {n for n in case.found if case.right[n].any()} <= set(same)
    if 2 <= passes <= MOST_PASSES and everything and abs(factor / passes - 1) <= eps:
        text = f"All gradients are {passes} times the right ones: one factor too many, or {passes} passes added up."
        yield None, text, same, 21.5


def clipped_early(factor: float, same: tuple[str, ...], case: "Case", eps: float) -> Iterator[Found]:
    """Clip to max_norm while the loss scale is still in, then divide by it: the norm is max_norm / scale."""
    size = norm(case.found, [n for n in case.learned if n in case.found])
    for limit in NORMS if case.max_norm is None else ():
        if abs(size / limit - 1) <= eps and limit >= 0.1:
            text = f"The global norm is {limit:g}, as if clipped to it. If that is meant, pass max_norm={limit:g}."
            yield None, text, same, 14
            return
    for limit, scale in product(known(case.max_norm, NORMS), known(case.loss_scale, SCALES)):
        if abs(size * scale / limit - 1) <= eps and factor < 1:
            text = (
                f"The direction is right, but the global norm is {size:.4g} = {limit:g} / {scale:g}: clipped to "
                f"{limit:g} with the loss scale {scale:g} still in the gradients, then divided by it. "
                f"Unscale, then clip." + ("" if case.loss_scale else " (Others with that quotient would do too.)")
            )
            yield "clipped before unscaled", text, same, 2
            return
    for scale in known(case.loss_scale, SCALES):
        if abs(factor / scale - 1) <= eps and scale >= 128:
            yield None, f"All are {scale:g} times too large: the loss scale was not divided out.", same, 14


def cut(differing: list[str], case: "Case") -> Iterator[Found]:
    """Clip each gradient by itself: its norm, or its entries."""
    raw = case.right if case.max_norm is None or case.tape is None else case.tape.walk()
    names = [n for n in case.found if n in raw and case.found[n].shape == raw[n].shape and case.found[n].size]
    if not set(differing) <= set(names) or not all(np.isfinite(case.found[n]).all() for n in names):
        return
    same, sizes_of = tuple(differing), [norm(case.found, [n]) for n in names]
    if not any(sizes_of):  # all are zero, which clipping cannot cause
        return
    limit = case.max_norm or max(sizes_of)
    apart = {n: raw[n] * min(1.0, limit / (norm(raw, [n]) or limit)) for n in names}
    at_limit = sum(abs(size / limit - 1) < 1e-6 for size in sizes_of)
    if at_limit > 1 and all(case.same(n, case.found[n], apart[n]) for n in names):
        text = f"Each gradient is clipped to {limit:.4g} by its own norm. Clip all of them by the norm of all together."
        yield None, text, same, 13
    limit = max(float(np.max(np.abs(case.found[n]))) for n in names)
    at_limit = sum(int((np.abs(case.found[n]) >= limit * (1 - 1e-9)).sum()) for n in names)
    if at_limit > 1 and all(case.same(n, case.found[n], np.clip(raw[n], -limit, limit)) for n in names):
        yield None, f"Each entry is cut to between {-limit:.4g} and {limit:.4g}: clipped by value.", same, 13


def unclipped(differing: list[str], case: "Case") -> Iterator[Found]:
    """Do not clip at all, clip even below the limit, or by another power of the norm."""
    if case.max_norm is None or case.tape is None:
        return
    raw = case.tape.walk()
    names = [n for n in case.found if n in raw and case.found[n].shape == raw[n].shape]
    size, limit = norm(raw, [n for n in case.learned if n in raw]), case.max_norm
    for factor, text in (
        (1.0, f"They are right, but for the clipping: their global norm is {size:.4g}, and max_norm is {limit:g}."),
        (limit / (size or 1), f"A norm of {size:.4g} is enlarged to {limit:g}: scale by min(1, max_norm / norm)."),
        (limit / (size**2 or 1), "They are scaled by max_norm over the square of the norm: its root is missing."),
        (limit / (size + 1e-6), "They are right, but for the 1e-6 that is added to the norm, as in PyTorch."),
    ):
        if names and all(case.same(n, case.found[n], raw[n] * factor) for n in names):
            yield None, text, tuple(differing), 1
            return


def known(told: float | None, usual: tuple[float, ...]) -> tuple[float, ...]:
    """Use the number that was given, or try the usual ones."""
    return usual if told is None else (told,)


def sizes(case: "Case") -> dict[int, str]:
    """Name the sizes that a mean could have divided by: axes of results, or, if these are not known, of inputs."""
    found: dict[int, str] = {}
    shapes = {f"{name} {case.right[name].shape}": case.right[name].shape for name in case.names}
    if case.tape:  # a mean over an axis that only weights have is not a mean over results
        tape, leaves = case.tape, set(case.tape.leaves.values())
        of_results = [arrived[0].shape for k, arrived in tape.arrived.items() if k not in leaves]
        shapes = {f"a result {shape}": shape for shape in dict.fromkeys(of_results)}
    for r, (said, shape) in product((1, 2, 3), shapes.items()):
        for some in combinations([a for a, n in enumerate(shape) if n > 1], r):
            found.setdefault(prod(shape[a] for a in some), f"axis {', '.join(map(str, some))} of {said}")
    return found
