"""Put one loss through every engine, and say what differs first."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from course_lib.errors import CourseError, InputError
from course_lib.oracle.checks import check_arguments, check_loss, one_sentence
from course_lib.oracle.closeness import EPS, error, is_close, norm, worst
from course_lib.oracle.diagnosis import Case, diagnose
from course_lib.oracle.engines import DIFFERENCES, ENGINES, Arrays, Engine, by_differences, floats
from course_lib.oracle.namespaces import as_float64
from course_lib.oracle.report import Difference, Report
from course_lib.oracle.tape import Tape, record

__all__ = ["compare"]

KNOWN = (*ENGINES, DIFFERENCES)
Loss = Callable[..., Any]
Manual = Mapping[str, Any] | Sequence[Any] | Callable[..., Any]


def compare(
    loss: Loss | Mapping[str, Loss],
    arrays: Mapping[str, Any],
    manual: Manual | None = None,
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
    check_arguments(loss, arrays, engines, KNOWN, {"max_norm": max_norm, "loss_scale": loss_scale})
    inputs = as_float64(arrays)
    if not any(a.dtype.kind == "f" for a in inputs.values()):
        raise InputError(
            f"at least one array must hold floating numbers to differentiate, but none of {[*inputs]} does."
        )
    with ExitStack() as stack:
        found, failed, probes, tape, value = run_all(loss, inputs, engines, stack)
    names = backward_order(tape, [name for name, _ in floats(inputs, probes)])
    reference = most_agreed(found)
    if DIFFERENCES in found:  # what was not sampled is not compared
        sampled = found[DIFFERENCES].items()
        found[DIFFERENCES] = {n: np.where(np.isnan(g), found[reference][n], g) for n, g in sampled}
    mine, precision = by_hand(manual, inputs, found) if manual is not None else ({}, {})
    learned = [n for n in mine or names if n not in probes]
    if max_norm is not None:
        found = {engine: clipped(grads, learned, max_norm) for engine, grads in found.items()}
    right, columns = found[reference], {**found, **({"manual": mine} if manual is not None else {})}
    errors, wrong = {}, {}
    for column, grads in columns.items():
        eps = {n: EPS[DIFFERENCES] if column == DIFFERENCES else precision.get(n, EPS["float64"]) for n in names}
        case = Case(right, grads, names, eps, tape, learned, max_norm, loss_scale)
        errors.update({(column, n): error(grads[n], right[n]) for n in names if n in grads})
        # A difference of two losses is no more precise than these are.
        scale = max(case.scale, abs(value)) if column == DIFFERENCES else case.scale
        if differing := [n for n in names if n in grads and not is_close(grads[n], right[n], eps[n], scale)]:
            wrong[column] = describe(column, differing, case)
    return Report(tuple(names), tuple(columns), reference, errors, wrong, failed, columns)


def run_all(
    loss: Loss | Mapping[str, Loss], inputs: Arrays, names: Sequence[str], stack: ExitStack
) -> tuple[dict[str, Arrays], dict[str, str], Arrays, Tape | None, float]:
    """Run each engine; one that cannot says why and is left out. The last result is the loss."""
    found: dict[str, Arrays] = {}
    failed: dict[str, str] = {}
    probes: Arrays = {}
    tape, runner = None, None
    for name in names:
        own = loss.get(name) if isinstance(loss, Mapping) else loss
        if name == DIFFERENCES or own is None:
            continue
        try:
            engine: Engine = ENGINES[name](own)
            engine.leave_untouched(stack)
            check_loss(partial(engine.value, inputs, {}), inputs)
            probes = probes or engine.watched(inputs)
            found[name] = engine.grads(inputs, probes)
            runner = runner or engine
            tape = record(engine, inputs, probes) if name == "autograd" else tape
        except Exception as why:
            failed[name] = str(why) if isinstance(why, CourseError) else f"{type(why).__name__}: {why}"
    if runner is None:
        said = one_sentence(failed) or f"None of {[*names]} has one; pass autograd, torch or jax as well."
        raise InputError(f"no engine could run the loss. {said}")
    if DIFFERENCES in names:
        found[DIFFERENCES] = by_differences(runner, inputs, probes)
    return found, failed, probes, tape, runner.value(inputs, {})


def backward_order(tape: Tape | None, names: list[str]) -> list[str]:
    """Sort by when a gradient is complete; without a graph, the last argument first."""
    done = tape.completed() if tape else {}
    last_first = names[::-1]
    return sorted(last_first, key=lambda name: done.get(name, len(done)))


def by_hand(manual: Manual, inputs: Arrays, found: Mapping[str, Arrays]) -> tuple[Arrays, dict[str, float]]:
    """Turn what the reader gave into float64 arrays by name, and the precision each came in."""
    known = next(iter(found.values()))
    given = called(manual, inputs) if callable(manual) else manual
    if given is None or (isinstance(given, Mapping) and not given):
        raise InputError(f"there is no gradient to compare: manual gave {given}. Return those of {sorted(known)}.")
    if not isinstance(given, Mapping):
        order = [name for name, a in inputs.items() if a.dtype.kind == "f"]
        given = [given] if hasattr(given, "shape") else given  # an array alone
        if not isinstance(given, Iterable):
            raise InputError(
                f"manual must be gradients by name or in the order {order}, or a function that returns them, but it "
                f"is {given!r}. Pass arrays."
            )
        if len(given := list(given)) != len(order):
            raise InputError(
                f"gradients without names are taken in the order {order}, but got {len(given)}. Name them."
            )
        given = dict(zip(order, given, strict=True))
    if unknown := set(given) - set(known):
        raise InputError(f"there are gradients of {sorted(known)}, but not of {sorted(unknown)}. Rename or drop them.")
    given = {n: np.zeros(known[n].shape) if g is None else g for n, g in given.items()}
    precision = {n: EPS.get(dtype_of(g), EPS["float64"]) for n, g in given.items()}
    return {n: g.astype(np.float64) for n, g in as_float64(given).items()}, precision


def dtype_of(g: Any) -> str:
    """Name the dtype of an array of any library, or of a list."""
    return str(getattr(g, "dtype", "float64")).removeprefix("torch.")


def called(manual: Callable[..., Any], inputs: Arrays) -> Any:
    """Call the reader's function by name, or in order if its parameters have other names."""
    copies = {n: a.copy() for n, a in inputs.items()}
    try:
        inspect.signature(manual).bind(**copies)
    except TypeError:
        return manual(*copies.values())
    return manual(**copies)


def clipped(grads: Arrays, learned: list[str], max_norm: float) -> Arrays:
    """Scale all gradients by min(1, max_norm / norm), where the norm is that of what is learned."""
    factor = min(1.0, max_norm / (norm(grads, learned) or max_norm))
    return {n: g * factor for n, g in grads.items()}


def most_agreed(found: Mapping[str, Arrays]) -> str:
    """Choose the engine that most others agree with, finite differences among them; the first of equals."""

    def agree(one: Arrays, other: Arrays) -> bool:
        return all(error(np.where(np.isnan(other[n]), g, other[n]), g) < EPS[DIFFERENCES] for n, g in one.items())

    engines = [engine for engine in found if engine != DIFFERENCES]
    return max(engines, key=lambda engine: sum(agree(found[engine], other) for other in found.values()))


def describe(column: str, differing: list[str], case: Case) -> Difference:
    """Measure the first difference, and find its cause."""
    name = differing[0]
    wrong, right = case.found[name], case.right[name]
    verdict = diagnose(differing, case)
    if wrong.shape != right.shape:
        return Difference(column, name, np.nan, np.nan, None, wrong.shape, right.shape, *verdict)
    index = worst(wrong, right)
    size = float(abs(wrong[index] - right[index]))
    return Difference(
        column, name, size, error(wrong, right), index, float(wrong[index]), float(right[index]), *verdict
    )
