"""Types and checks of the arguments of clipping: targets, bounds, and what to do with gradients that are not finite.

Nothing here loads torch or JAX when the program runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from course_lib.autograd import Tensor, nn
from course_lib.errors import InputError, NonFiniteError
from course_lib.frameworks import is_jax_tracer

if TYPE_CHECKING:
    import jax
    import torch

__all__ = [
    "AxisName",
    "BareArray",
    "Bound",
    "EngineTarget",
    "Nonfinite",
    "TorchTarget",
    "check_bound",
    "check_nonfinite",
    "nonfinite_error",
]

Nonfinite = Literal["error", "skip", "zero"]
"""What to do if an entry is infinite or NaN: raise, leave everything as it is, or set every gradient to zero."""

Bound: TypeAlias = "float | jax.Array"
AxisName: TypeAlias = str | tuple[str, ...] | None
EngineTarget: TypeAlias = (
    Tensor | nn.Module | Mapping[str, Tensor] | Iterable[Tensor] | Iterable[nn.Module] | Iterable[tuple[str, Tensor]]
)
TorchTarget: TypeAlias = (
    "torch.Tensor | torch.nn.Module | Mapping[str, torch.Tensor] | Iterable[torch.Tensor] | Iterable[torch.nn.Module]"
    " | Iterable[tuple[str, torch.Tensor]]"
)

NAMED = 3  # how many gradients a message names; the first is where to look


class BareArray(Protocol):
    """An array of NumPy or JAX, whose size is a number, where a tensor's is a method; both pass for iterables."""

    @property
    def size(self) -> int:
        """The number of entries."""


def check_bound(name: str, bound: Any) -> Bound:
    """Return a bound as a float, or refuse it; what JAX traces has no value yet, and is returned as it is."""
    if is_jax_tracer(bound):
        if bound.shape:
            raise InputError(f"{name} must be a number, but it has shape {bound.shape}. Pass one above 0, such as 1.0.")
        traced: jax.Array = bound
        return traced
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


def check_nonfinite(nonfinite: Nonfinite) -> Nonfinite:
    """Return what to do with gradients that are not finite, or refuse an unknown word."""
    if nonfinite not in get_args(Nonfinite):
        raise InputError(f'nonfinite must be "error", "skip" or "zero", but it is {nonfinite!r}.')
    return nonfinite


def nonfinite_error(names: Sequence[str], scales: Sequence[float]) -> NonFiniteError:
    """Name the gradients that are not finite: those whose scale is NaN or infinite."""
    bad = [
        (name, "NaN" if scale != scale else "inf")
        for name, scale in zip(names, scales, strict=True)
        if scale - scale != 0
    ]
    (first, what), others = bad[0], [name for name, _ in bad[1:NAMED]]
    more = f" (and {', '.join(others)}{', ...' if len(bad) > NAMED else ''}; {len(bad)} in all)" if others else ""
    return NonFiniteError(
        f"gradients must be finite to have a norm, but that of {first} holds {what}{more}. Nothing was changed. "
        'Find what made it, or pass nonfinite="skip" to leave the gradients as they are and skip the step yourself, '
        'or nonfinite="zero" to give the optimizer zeros.'
    )
