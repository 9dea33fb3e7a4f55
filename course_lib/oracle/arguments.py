"""Check and convert the arguments of a comparison. Each message says what must hold, what came and what to do."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from course_lib.errors import InputError
from course_lib.oracle.arrays import Arrays, convert_to_float64, is_floating, select_floating
from course_lib.oracle.closeness import EPS

__all__ = ["ManualGrads", "check_arguments", "check_loss", "check_value", "read_inputs", "read_manual_grads"]

ManualGrads: TypeAlias = Mapping[str, Any] | Sequence[Any] | Callable[..., Any]
"""Gradients by hand: by name, in the order of the arrays, or a function that returns either."""


def check_arguments(
    loss: object,
    arrays: object,
    engines: Sequence[str],
    known_engines: Sequence[str],
    limits: Mapping[str, float | None],
) -> None:
    """Refuse anything but a loss, arrays by name, known engines and positive limits."""
    losses = loss if isinstance(loss, Mapping) else {"loss": loss}
    if not losses or not all(map(callable, losses.values())):
        raise InputError(
            f"loss must be a function of the arrays, or a mapping of engines to such functions, but it is {loss!r}."
        )
    if not isinstance(arrays, Mapping):
        raise InputError(
            f'arrays must be a mapping of names to arrays, as in {{"x": x, "w": w}}, but it is a '
            f"{type(arrays).__name__}. The loss gets them under these names."
        )
    if not isinstance(engines, Collection):
        raise InputError(f"engines must be a sequence of names, such as {[*known_engines]}, but it is {engines!r}.")
    unknown = {*engines, *(losses if isinstance(loss, Mapping) else ())} - set(known_engines)
    if unknown or not engines:
        found = f"{sorted(unknown)} are not" if unknown else "there are none"
        raise InputError(f"engines must be among {[*known_engines]}, but {found}. Name at least one.")
    for name, limit in limits.items():
        if limit is not None and not (hasattr(limit, "__float__") and 0 < limit < float("inf")):
            raise InputError(f"{name} must be positive and finite, but it is {limit!r}. Leave it out if there is none.")


def check_value(value: object) -> None:
    """Refuse a loss that is not one number."""
    if value is None:
        raise InputError("a loss must be one number, but this one returned None. Is a return missing?")
    if shape := tuple(getattr(value, "shape", ())):
        raise InputError(f"a loss must be one number, but this one has shape {shape}. Add .sum() or .mean() to it.")


def check_loss(evaluate: Callable[[], float], arrays: Arrays) -> None:
    """Refuse a loss that is not finite, or that differs from call to call: neither has a gradient to compare."""
    first, second = evaluate(), evaluate()
    if not np.isfinite(first):
        broken = [name for name, a in select_floating(arrays).items() if not np.isfinite(a).all()]
        where = f"there is NaN or infinity in {' and '.join(broken)}" if broken else "all arrays are finite"
        raise InputError(
            f"a loss must be finite to have gradients that can be compared, but it is {first}, and {where}. Look at "
            f"its divisions, logarithms and exponentials."
        )
    if first != second:
        raise InputError(
            f"a loss must give the same number for the same arrays, but it gave {first:.6g} and then {second:.6g}. "
            f"Draw random numbers, as for a dropout mask, outside, and pass them with the arrays."
        )


def read_inputs(arrays: Mapping[str, Any]) -> Arrays:
    """Convert the arguments of the loss to float64; refuse them if none can be differentiated."""
    inputs = convert_to_float64(arrays)
    if not select_floating(inputs):
        raise InputError(
            f"at least one array must hold floating numbers to differentiate, but none of {[*inputs]} does."
        )
    return inputs


def read_manual_grads(manual: ManualGrads, inputs: Arrays, known: Arrays) -> tuple[Arrays, dict[str, float]]:
    """Convert the reader's gradients to float64 arrays by name; return them and the tolerance of each one's dtype."""
    given = _call_by_name_or_order(manual, inputs) if callable(manual) else manual
    if given is None or (isinstance(given, Mapping) and not given):
        raise InputError(f"there is no gradient to compare: manual gave {given}. Return those of {sorted(known)}.")
    if not isinstance(given, Mapping):
        given = _name_in_order(given, [name for name, a in inputs.items() if is_floating(a)])
    if unknown := set(given) - set(known):
        raise InputError(f"there are gradients of {sorted(known)}, but not of {sorted(unknown)}. Rename or drop them.")
    given = {n: np.zeros(known[n].shape) if g is None else g for n, g in given.items()}
    tolerances = {n: EPS.get(_dtype_name(g), EPS["float64"]) for n, g in given.items()}
    return {n: g.astype(np.float64) for n, g in convert_to_float64(given).items()}, tolerances


def _name_in_order(given: object, order: list[str]) -> dict[str, Any]:
    """Name gradients that came as a sequence, or one array alone."""
    given = [given] if hasattr(given, "shape") else given
    if not isinstance(given, Iterable):
        raise InputError(
            f"manual must be gradients by name or in the order {order}, or a function that returns them, but it "
            f"is {given!r}. Pass arrays."
        )
    if len(grads := list(given)) != len(order):
        raise InputError(f"gradients without names are taken in the order {order}, but got {len(grads)}. Name them.")
    return dict(zip(order, grads, strict=True))


def _dtype_name(g: object) -> str:
    """Name the dtype of an array of any library, or of a list."""
    return str(getattr(g, "dtype", "float64")).removeprefix("torch.")


def _call_by_name_or_order(manual: Callable[..., Any], inputs: Arrays) -> Any:
    """Call the reader's function by name, or in order if its parameters have other names."""
    copies = {n: a.copy() for n, a in inputs.items()}
    try:
        inspect.signature(manual).bind(**copies)
    except TypeError:
        return manual(*copies.values())
    return manual(**copies)
