"""Differentiate one loss by every engine, and name the first gradient that differs."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from course_lib.errors import CourseError, InputError
from course_lib.oracle.arguments import ManualGrads, check_arguments, check_loss, read_inputs, read_manual_grads
from course_lib.oracle.arrays import Arrays, select_floating
from course_lib.oracle.closeness import EPS, clip_by_norm, relative_error, worst_index
from course_lib.oracle.diagnosis import Comparison, diagnose
from course_lib.oracle.engines import DIFFERENCES, ENGINES, Engine, Loss, estimate_grads
from course_lib.oracle.planted_bugs import Tape, record_tape
from course_lib.oracle.report import Difference, Report

__all__ = ["compare"]


def compare(
    loss: Loss | Mapping[str, Loss],
    arrays: Mapping[str, Any],
    manual: ManualGrads | None = None,
    *,
    engines: Sequence[str] = ("autograd", "torch", "jax", DIFFERENCES),
    max_norm: float | None = None,
    loss_scale: float | None = None,
) -> Report:
    r"""Differentiate one loss by several engines and by hand, in float64, and name the first gradient that differs.

    Parameters
    ----------
    loss : callable or mapping of str to callable
        Takes the arrays by name and returns one number, written in operators and methods that all engines share: JAX's
        own ``.std()`` and ``.var()`` divide by n. If it has a parameter ``xp``, it gets the engine's functions under
        torch's names, ``xp.relu(x @ w)``, with torch's meaning; ``xp.watch("h", h)`` returns h and lists its gradient
        as well. A mapping gives an engine a loss of its own.
    arrays : mapping of str to array
        Inputs of any library and shape; labels and other integers are passed on and not differentiated.
    manual : mapping, sequence or callable, optional
        Your gradients: by name, or in the order of ``arrays`` (of the floating ones), or a function of the same arrays
        that returns either. A name may be left out; None means that nothing arrived.
    engines : sequence of str
        Any of ``autograd``, ``torch``, ``jax`` and ``differences`` (central differences of the first engine that runs).
    max_norm : float, optional
        Clip the right gradients to this global norm, taken over those that you pass, if yours are clipped.
    loss_scale : float, optional
        The factor by which you multiplied your loss against underflow; your gradients should be divided by it again.

    Returns
    -------
    Report
        Prints as a table. ``report.first`` is the difference to look at, with its likely cause; None if all agree.

    Raises
    ------
    InputError
        If no engine can run the loss, if it is not finite or differs from call to call, or if arguments do not fit.

    Notes
    -----
    Central differences with :math:`h = \epsilon^{1/3}` err by about :math:`h^2`. A cause is named because making that
    mistake on purpose, somewhere in the graph that the loss records in ``course_lib.autograd``, gives your numbers; so
    it is a proof of possibility, and ``also`` lists what else would give them. Where no known mistake does, the cause
    is None.

    The loss runs many times, and what it closes over stays as it was: gradients are asked for, so that no ``.grad`` is
    added to, and the buffers of torch's modules, such as the averages of a batch norm, are put back.

    Examples
    --------
    >>> import numpy as np
    >>> x, w = np.array([[1.0, -2.0]]), np.array([[3.0, -1.0], [0.5, 2.0]])
    >>> def loss(x, w, xp):
    ...     return xp.relu(x @ w).sum()
    >>> report = compare(loss, {"x": x, "w": w}, {"w": x.T @ np.ones((1, 2))}, engines=["autograd", "differences"])
    >>> report.first.name, report.first.cause
    ('w', 'missing mask')
    >>> compare(loss, {"x": x, "w": w}, {"w": x.T @ [[1.0, 0.0]]}, engines=["autograd", "differences"]).agrees
    True
    """
    engines = [engines] if isinstance(engines, str) else engines
    limits = {"max_norm": max_norm, "loss_scale": loss_scale}
    check_arguments(loss, arrays, engines, (*ENGINES, DIFFERENCES), limits)
    inputs = read_inputs(arrays)
    with ExitStack() as stack:
        runs = _run_engines(loss, inputs, engines, stack)
    names = _sort_backward(runs.tape, [*select_floating(inputs), *runs.probes])
    grads, reference = runs.grads, _choose_reference(runs.grads)
    if DIFFERENCES in grads:
        grads[DIFFERENCES] = _fill_unsampled(grads[DIFFERENCES], grads[reference])
    mine, eps = read_manual_grads(manual, inputs, grads[reference]) if manual is not None else ({}, {})
    learned = [n for n in mine or names if n not in runs.probes]
    if max_norm is not None:
        grads = {engine: clip_by_norm(found, learned, max_norm) for engine, found in grads.items()}
    columns = {**grads, **({"manual": mine} if manual is not None else {})}
    errors, wrong = {}, {}
    for column, found in columns.items():
        is_sampled = column == DIFFERENCES
        tolerances = {n: EPS[DIFFERENCES] if is_sampled else eps.get(n, EPS["float64"]) for n in names}
        loss_size = abs(runs.loss) if is_sampled else 0.0
        comparison = Comparison(
            grads[reference], found, names, tolerances, runs.tape, learned, max_norm, loss_scale, loss_size
        )
        errors.update({(column, n): relative_error(found[n], grads[reference][n]) for n in names if n in found})
        if comparison.differing:
            wrong[column] = _describe_first(column, comparison)
    return Report(tuple(names), tuple(columns), reference, errors, wrong, runs.failed, columns)


@dataclass
class _Runs:
    """Gradients by each engine, why others failed, zeros for what is watched, the graph, and the loss."""

    grads: dict[str, Arrays] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    probes: Arrays = field(default_factory=dict)
    tape: Tape | None = None
    loss: float = 0.0


def _run_engines(loss: Loss | Mapping[str, Loss], inputs: Arrays, names: Sequence[str], stack: ExitStack) -> _Runs:
    """Run each engine; one that cannot says why and is left out."""
    runs, runner = _Runs(), None
    for name in names:
        own = loss.get(name) if isinstance(loss, Mapping) else loss
        if name == DIFFERENCES or own is None:
            continue
        try:
            engine: Engine = ENGINES[name](own)
            engine.restore_buffers(stack)
            check_loss(partial(engine.evaluate, inputs, {}), inputs)
            runs.probes = runs.probes or engine.make_probes(inputs)
            runs.grads[name] = engine.differentiate(inputs, runs.probes)
            runner = runner or engine
            runs.tape = record_tape(engine, inputs, runs.probes) if name == "autograd" else runs.tape
        except Exception as why:
            runs.failed[name] = str(why) if isinstance(why, CourseError) else f"{type(why).__name__}: {why}"
    if runner is None:
        said = _join_reasons(runs.failed) or f"None of {[*names]} has one; pass autograd, torch or jax as well."
        raise InputError(f"no engine could run the loss. {said}")
    if DIFFERENCES in names:
        runs.grads[DIFFERENCES] = estimate_grads(runner, inputs, runs.probes)
    runs.loss = runner.evaluate(inputs, {})
    return runs


def _join_reasons(failed: Mapping[str, str]) -> str:
    """Join the reasons why engines failed; those with the same reason stand together."""
    reasons: dict[str, list[str]] = {}
    for engine, why in failed.items():
        reasons.setdefault(why, []).append(engine)
    return " ".join(f"{', '.join(engines)}: {why}" for why, engines in reasons.items())


def _sort_backward(tape: Tape | None, names: list[str]) -> list[str]:
    """Sort by when a gradient is complete; without a graph, the last argument first."""
    done = tape.last_contributors() if tape else {}
    last_first = names[::-1]
    return sorted(last_first, key=lambda name: done.get(name, len(done)))


def _choose_reference(grads: Mapping[str, Arrays]) -> str:
    """Choose the engine that most others agree with, finite differences among them; the first of equals."""

    def agree(one: Arrays, other: Arrays) -> bool:
        return all(
            relative_error(np.where(np.isnan(other[n]), g, other[n]), g) < EPS[DIFFERENCES] for n, g in one.items()
        )

    engines = [engine for engine in grads if engine != DIFFERENCES]
    return max(engines, key=lambda engine: sum(agree(grads[engine], other) for other in grads.values()))


def _fill_unsampled(found: Arrays, right: Arrays) -> Arrays:
    """Replace NaN, where finite differences took no sample, by the right entries, so that nothing differs there."""
    return {n: np.where(np.isnan(g), right[n], g) for n, g in found.items()}


def _describe_first(column: str, comparison: Comparison) -> Difference:
    """Measure the first difference, and find its cause."""
    name = comparison.differing[0]
    wrong, right = comparison.found[name], comparison.right[name]
    diagnosis = diagnose(comparison)
    if wrong.shape != right.shape:
        return Difference(column, name, np.nan, np.nan, None, wrong.shape, right.shape, *diagnosis)
    index = worst_index(wrong, right)
    found, expected = float(wrong[index]), float(right[index])
    error = relative_error(wrong, right)
    return Difference(column, name, abs(found - expected), error, index, found, expected, *diagnosis)
