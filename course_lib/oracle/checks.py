"""What must hold before gradients can be compared. Each message says what came and what to do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.errors import InputError

__all__ = ["check_arguments", "check_loss", "check_value", "numbers", "one_sentence"]

Arrays = Mapping[str, np.ndarray[Any, Any]]


def check_arguments(
    loss: Any, arrays: Any, engines: Sequence[str], known: Sequence[str], limits: Mapping[str, float | None]
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
        raise InputError(f"engines must be a sequence of names, such as {[*known]}, but it is {engines!r}.")
    unknown = {*engines, *(losses if isinstance(loss, Mapping) else ())} - set(known)
    if unknown or not engines:
        found = f"{sorted(unknown)} are not" if unknown else "there are none"
        raise InputError(f"engines must be among {[*known]}, but {found}. Name at least one.")
    for name, limit in limits.items():
        if limit is not None and not (hasattr(limit, "__float__") and 0 < limit < float("inf")):
            raise InputError(f"{name} must be positive and finite, but it is {limit!r}. Leave it out if there is none.")


def numbers(name: str, array: Any) -> np.ndarray[Any, Any]:
    """Copy to NumPy; refuse anything but real numbers."""
    if isinstance(array, Mapping):
        raise InputError(
            f"arrays must be named one by one, but {name} is a {type(array).__name__} of {[*array]}. Trees are not "
            f'taken: pass a flat dict, as in {{"{name}_{next(iter(array), "w")}": ...}}.'
        )
    try:
        copy = np.array(array)
    except ValueError as why:
        raise InputError(f"{name} must be an array of numbers, but NumPy cannot make one from it: {why}") from why
    if copy.dtype.kind in "cOUSmM":
        raise InputError(f"{name} must be an array of real numbers, but its dtype is {copy.dtype}. Convert it first.")
    return copy


def check_value(value: Any) -> None:
    """Refuse a loss that is not one number."""
    if value is None:
        raise InputError("a loss must be one number, but this one returned None. Is a return missing?")
    if tuple(getattr(value, "shape", ())):
        raise InputError(
            f"a loss must be one number, but this one has shape {tuple(value.shape)}. Add .sum() or .mean() to it."
        )


def check_loss(value: Callable[[], float], arrays: Arrays) -> None:
    """Refuse a loss that is not finite, or that differs from call to call: neither has a gradient to compare."""
    first, second = value(), value()
    if not np.isfinite(first):
        broken = [name for name, a in arrays.items() if a.dtype.kind == "f" and not np.isfinite(a).all()]
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


def one_sentence(failed: Mapping[str, str]) -> str:
    """List engines that fail for the same reason together."""
    reasons: dict[str, list[str]] = {}
    for engine, why in failed.items():
        reasons.setdefault(why, []).append(engine)
    return " ".join(f"{', '.join(engines)}: {why}" for why, engines in reasons.items())
