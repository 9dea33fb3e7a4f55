"""Clip gradients that can be looked at: measure, multiply, clamp, and zero, decided in Python."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol

from course_lib.clipping.arguments import Bound, Nonfinite, nonfinite_error
from course_lib.errors import InputError
from course_lib.norms import Magnitude, combine_norms

__all__ = ["FLOATS", "Clipper", "EagerClipper", "missing_gradient_error", "unsupported_error"]

FLOATS = ("float16", "bfloat16", "float32", "float64")


class Clipper(Protocol):
    """Gradients, ready to be clipped."""

    def clip_norm(self, bound: Bound, nonfinite: Nonfinite, p: float) -> object:
        """Bound the global p-norm, and return what the caller gets."""

    def clip_value(self, bound: Bound, nonfinite: Nonfinite) -> object:
        """Bound each entry, and return what the caller gets."""


class EagerClipper(ABC):
    """Gradients with a name each. What is done with them is decided in Python, from one look at their norms."""

    names: Sequence[str]

    @abstractmethod
    def measure(self, p: float) -> list[Magnitude]:
        """Return the p-norm of each gradient; waits for the device once."""

    @abstractmethod
    def multiply(self, norm: Magnitude, bound: float) -> None:
        """Multiply all by ``bound / norm``, if that is below 1."""

    @abstractmethod
    def clamp(self, bound: float, norms: Sequence[Magnitude]) -> None:
        """Move all entries into ``[-bound, bound]``; a gradient whose norm is within needs no change."""

    @abstractmethod
    def zero(self) -> None:
        """Set all entries to 0."""

    @abstractmethod
    def answer(self, norm: float) -> object:
        """Return what the caller gets."""

    def clip_norm(self, bound: Bound, nonfinite: Nonfinite, p: float) -> object:
        """Bound the global p-norm."""
        return self._clip(nonfinite, lambda norm, _: self.multiply(norm, float(bound)), p)

    def clip_value(self, bound: Bound, nonfinite: Nonfinite) -> object:
        """Bound each entry."""
        return self._clip(nonfinite, lambda _, norms: self.clamp(float(bound), norms))

    def _clip(self, nonfinite: Nonfinite, change: Callable[[Magnitude, list[Magnitude]], None], p: float = 2) -> object:
        magnitudes = self.measure(p)
        norm = combine_norms(magnitudes, p)
        if norm.is_finite:
            change(norm, magnitudes)
        elif nonfinite == "error":
            raise nonfinite_error(self.names, [m.scale for m in magnitudes])
        elif nonfinite == "zero":
            self.zero()
        return self.answer(norm.value)


def missing_gradient_error(count: int, why: str = "") -> InputError:
    """Say that there is nothing to clip, and why, if that is known."""
    why = why or ("Call backward() first, and pass the parameters, not their gradients: model, or model.parameters().")
    return InputError(f"at least one parameter must have a gradient, but none of the {count} has. {why}")


def unsupported_error(name: str, what: str, instead: str) -> InputError:
    """Say that a gradient is of a kind that is not clipped here."""
    return InputError(
        f"the gradient of {name} must be dense and one of {', '.join(FLOATS)}, but it is {what}. {instead}"
    )
