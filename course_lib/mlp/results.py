"""Results of a pass by hand: gradients, steps, and the cache of saved arrays, which counts its bytes."""

from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple, TypeVar

from course_lib.rendering import ReadableResult, Section
from course_lib.types import NumericArray

__all__ = ["Cache", "MlpGrads", "MlpResult", "Step"]

A = TypeVar("A", bound=NumericArray)


class MlpGrads(NamedTuple):
    """Gradients of a loss; a tuple, so that ``jax.jit`` can return it.

    Attributes
    ----------
    x : array, shape (b, d)
        None with ``input_grad=False``.
    weights : tuple of array, shapes (d, f), (f, f), ..., (f, c)
    biases : tuple of array, shapes (f,), ..., (c,)
        Empty without biases.
    """

    x: NumericArray | None
    weights: tuple[NumericArray, ...]
    biases: tuple[NumericArray, ...]


@dataclass(frozen=True)
class Step:
    """One line of the calculation.

    Attributes
    ----------
    phase : str
        ``forward``, ``recompute`` or ``backward``; recomputing is part of the backward pass.
    formula : str
        What was computed, such as ``z_0 = h_0 @ w_0``.
    shape : tuple of int
        Of the result.
    flops : int
        2 m n k for a product of (m, k) and (k, n). Element-wise work is left out, as in torch's ``FlopCounterMode``.
    kept_bytes : int
        What this step put aside for the backward pass.
    """

    phase: str
    formula: str
    shape: tuple[int, ...]
    flops: int = 0
    kept_bytes: int = 0


@dataclass(frozen=True, repr=False)
class MlpResult(ReadableResult):
    """Loss and gradients of :func:`mlp_grad`, and the steps to them, as a table when printed.

    Attributes
    ----------
    loss : array, shape ()
    grads : MlpGrads
    steps : tuple of Step
        Forward, then backward, in the order they were done.
    kept_bytes : int
        What the forward pass left in memory for the backward pass: the input, what was kept of each hidden layer, and
        the residual of the loss. Parameters and target are not counted: they stay anyway.
    peak_bytes : int
        The most that was kept at once, including what the backward pass recomputed.
    """

    loss: NumericArray
    grads: MlpGrads
    steps: tuple[Step, ...]
    kept_bytes: int
    peak_bytes: int

    def flops(self, phase: str) -> int:
        """Add up the FLOPs of one phase: ``forward``, ``recompute`` or ``backward`` (without what was recomputed)."""
        return sum(step.flops for step in self.steps if step.phase == phase)

    @property
    def ratio(self) -> float:
        """FLOPs of the backward pass, recomputing included, over those of the forward pass; NaN for an empty batch."""
        forward = self.flops("forward")
        return (self.flops("backward") + self.flops("recompute")) / forward if forward else nan

    def sections(self) -> list[Section]:
        """Return a table of the steps, and the totals."""
        rows, phase = [("", "shape", "FLOPs", "kept")], None
        for s in self.steps:
            rows += [(s.phase, "", "", "")] * (s.phase != phase)
            rows.append((f"  {s.formula}", str(s.shape), f"{s.flops:,}", f"{s.kept_bytes:,}"))
            phase = s.phase
        totals = f"kept {self.kept_bytes:,} bytes, at most {self.peak_bytes:,} at once"
        notes = totals, f"backward / forward = {self.ratio:.3f}"
        return [Section(rows=tuple(rows), caption="Steps of the calculation", notes=notes, word_columns=2)]


@dataclass
class Cache:
    """Arrays kept by name, with the bytes they take now and the most they took, and the steps that made them."""

    arrays: dict[str, NumericArray] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    peak_bytes: int = 0

    def put(self, name: str, array: NumericArray) -> int:
        """Keep an array, and return its bytes."""
        self.arrays[name] = array
        self.peak_bytes = max(self.peak_bytes, self.bytes)
        return int(array.nbytes)

    @property
    def bytes(self) -> int:
        """The bytes kept now."""
        return sum(int(array.nbytes) for array in self.arrays.values())

    def note(self, phase: str, formula: str, result: A, *, flops: int = 0, kept_bytes: int = 0) -> A:
        """Write a step down, and return its result."""
        self.steps.append(Step(phase, formula, tuple(result.shape), flops, kept_bytes))
        return result
