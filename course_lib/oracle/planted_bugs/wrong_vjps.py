"""Plant bugs in the vector-Jacobian product of one operation: masks, derivatives, transposes, signs."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations, product

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.edge_bug import MATRIX_PRODUCTS, PERMUTATIONS, BackwardStep, EdgeBug
from course_lib.oracle.planted_bugs.replay import sum_cotangents
from course_lib.types import Array

__all__ = ["wrong_vjps"]

MAXIMA = ("amax", "amin", "max", "min")


def wrong_vjps(step: BackwardStep) -> Iterator[EdgeBug]:
    """Yield wrong vector-Jacobian products of one operation."""
    yield from _skip_derivative(step)
    if step.op in MAXIMA:
        yield from _send_to_all(step)
    yield from _skip_transpose(step)
    yield from _multiply_untransposed(step)


def _skip_derivative(step: BackwardStep) -> Iterator[EdgeBug]:
    """Pass the cotangent on as it came: past a mask, or past any other elementwise derivative."""
    op, g, right = step.op, step.upstream, step.downstream
    if right.shape != g.shape or op in (*PERMUTATIONS, *MATRIX_PRODUCTS) or np.array_equal(right, g):
        return
    slope = step.slope()
    levels = set(np.unique(slope[slope != 0]).tolist())
    if (slope == 0).any() and len(levels) == 1:
        yield from _skip_mask(step, *levels, closed=int((slope == 0).sum()))
        return
    yield step.bug(
        BugKind.DERIVATIVE_LEFT_OUT, f"The derivative of {op} is left out.", sum_cotangents, "derivative left out"
    )
    if len(levels) == 1:
        (level,) = levels
        words = f"What {op} should multiply by {level:.4g} is divided by it."
        yield step.scaled_bug(BugKind.DIVIDED_NOT_MULTIPLIED, words, 1 / level**2, "divided", level)


def _skip_mask(step: BackwardStep, level: float, *, closed: int) -> Iterator[EdgeBug]:
    """Pass the cotangent on everywhere, or only where the mask is open but without the mask's factor."""
    for factor in {1.0, level}:
        times = "" if factor == 1 else f" times {factor:.4g}"
        words = (
            f"The cotangent passes through {step.op} everywhere{times}, though {closed} of {step.upstream.size} places "
            f"are shut."
        )
        yield step.bug(BugKind.MASK_LEFT_OUT, words, partial(_pass_on, factor), "mask left out", factor)
    if level != 1:
        words = f"The mask of {step.op} is applied, but its factor {level:.4g} is left out."
        yield step.scaled_bug(BugKind.MASK_FACTOR_LEFT_OUT, words, 1 / level, "mask factor left out")


def _pass_on(factor: float, arrived: Sequence[Array]) -> Array:
    """Send the cotangent as it came, times a factor."""
    product: Array = factor * sum_cotangents(arrived)
    return product


def _send_to_all(step: BackwardStep) -> Iterator[EdgeBug]:
    """Send the cotangent of a maximum to all entries that took part, not to the largest alone."""
    g, right, slope = step.upstream, step.downstream, step.slope()
    if right.size <= g.size or not (slope == 0).any():
        return
    for axes in combinations(range(right.ndim), right.ndim - g.ndim):
        fits = all(n in (1, m) for n, m in zip(np.expand_dims(g, axes).shape, right.shape, strict=True))
        if fits and np.array_equal(_broadcast(axes, right.shape, [g]) * slope, right):
            words = "The cotangent of a maximum goes to all, though the largest alone was let through."
            yield step.bug(BugKind.MASK_LEFT_OUT, words, partial(_broadcast, axes, right.shape), "maximum to all")
            return


def _broadcast(axes: tuple[int, ...], shape: tuple[int, ...], arrived: Sequence[Array]) -> Array:
    """Send the same to all entries along some axes."""
    return np.broadcast_to(np.expand_dims(sum_cotangents(arrived), axes), shape).copy()


def _skip_transpose(step: BackwardStep) -> Iterator[EdgeBug]:
    """Pass the cotangent of a permutation on without permuting it back."""
    g, right = step.upstream, step.downstream
    if step.op in PERMUTATIONS and right.shape == g.shape and not np.array_equal(right, g):
        words = f"The cotangent passes through {step.op} without being transposed back."
        yield step.bug(BugKind.NOT_TRANSPOSED, words, sum_cotangents, "not permuted back")


def _multiply_untransposed(step: BackwardStep) -> Iterator[EdgeBug]:
    """Multiply by a matrix instead of its transpose, or from the other side."""
    if step.op not in MATRIX_PRODUCTS:
        return
    for letter, operand in zip("ab", step.tape.nodes[step.edge[0]].saved, strict=False):  # of the product a @ b
        if not isinstance(operand, np.ndarray) or operand.ndim < 2:
            continue
        for from_left, turn_g, turn_operand in product((False, True), repeat=3):
            send = partial(_multiply, operand, from_left, turn_g, turn_operand)
            try:
                sent = send([step.upstream])
            except ValueError:
                continue
            if sent.shape == step.downstream.shape and not np.allclose(sent, step.downstream):
                factors = ["g.T" if turn_g else "g", f"{letter}.T" if turn_operand else letter]
                written = " @ ".join(factors[::-1] if from_left else factors)
                words = f"{written} is sent back through a @ b, where {letter} is {operand.shape}, and its shape fits."
                yield step.bug(BugKind.NOT_TRANSPOSED, words, send, "product", letter, from_left, turn_g, turn_operand)


def _multiply(operand: Array, from_left: bool, turn_g: bool, turn_operand: bool, arrived: Sequence[Array]) -> Array:
    """Multiply the cotangent by an operand of the product, each transposed or not."""
    g = _transpose(sum_cotangents(arrived)) if turn_g else sum_cotangents(arrived)
    other = _transpose(operand) if turn_operand else operand
    product: Array = other @ g if from_left else g @ other
    return product


def _transpose(a: Array) -> Array:
    """Swap the last two axes, if there are two."""
    return np.swapaxes(a, -1, -2) if a.ndim > 1 else a
