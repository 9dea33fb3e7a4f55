"""What the caller may ask for: a bound above zero, and what to do with gradients that are not finite."""

import sys
from collections.abc import Sequence
from typing import Any, Literal, get_args

from course_lib.errors import InputError, NonFiniteError

__all__ = ["Nonfinite", "above_zero", "is_traced", "known_policy", "refusal"]

Nonfinite = Literal["error", "skip", "zero"]

NAMED = 3  # how many gradients a message names; the first is where to look


def above_zero(name: str, bound: Any) -> Any:
    """Return a bound as a float, or refuse it; what JAX traces has no value yet, and is returned as it is."""
    if is_traced(bound):
        if bound.shape:
            raise InputError(f"{name} must be a number, but it has shape {bound.shape}. Pass one above 0, such as 1.0.")
        return bound
    try:
        if isinstance(bound, (str, bytes)):  # float() would read them
            raise TypeError
        number = float(bound)
    except OverflowError:
        raise InputError(
            f"{name} must be a number that fits a float, but it does not. Pass float('inf') to measure only."
        ) from None
    except (TypeError, ValueError, RuntimeError):  # the last is torch's, where a tensor has no value
        raise InputError(f"{name} must be a number, but it is {bound!r}. Pass one above 0, such as 1.0.") from None
    if number > 0:
        return number
    why = {True: "it would turn every gradient around", False: "it would clip every gradient to nothing"}[number < 0]
    why = "no gradient can be compared with it" if number != number else why
    raise InputError(
        f"{name} must be above 0, but it is {number:g}: {why}. "
        "Pass the largest that a step may use, or float('inf') to measure and clip nothing."
    )


def is_traced(x: Any) -> bool:
    """Tell whether JAX traces a value, without importing JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def known_policy(nonfinite: Nonfinite) -> Nonfinite:
    """Return what to do with gradients that are not finite, or refuse an unknown word."""
    if nonfinite not in get_args(Nonfinite):
        raise InputError(f'nonfinite must be "error", "skip" or "zero", but it is {nonfinite!r}.')
    return nonfinite


def refusal(names: Sequence[str], units: Sequence[float]) -> NonFiniteError:
    """Say which gradients are not finite; ``units`` are NaN or infinite where they are."""
    bad = [
        (name, "NaN" if unit != unit else "inf") for name, unit in zip(names, units, strict=True) if unit - unit != 0
    ]
    (first, what), others = bad[0], [name for name, _ in bad[1:NAMED]]
    more = f" (and {', '.join(others)}{', ...' if len(bad) > NAMED else ''}; {len(bad)} in all)" if others else ""
    return NonFiniteError(
        f"gradients must be finite to have a norm, but that of {first} holds {what}{more}. Nothing was changed. "
        'Find what made it, or pass nonfinite="skip" to leave the gradients as they are and skip the step yourself, '
        'or nonfinite="zero" to give the optimizer zeros.'
    )
