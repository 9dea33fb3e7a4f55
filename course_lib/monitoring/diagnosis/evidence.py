"""Evidence for a diagnosis: the history of a monitor, arranged in arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.gradient_history import GradientHistory, OtherNonfinite, weight_indices
from course_lib.monitoring.reading.gradient_measures import Float64

__all__ = ["FIRST", "WINDOW", "Evidence", "GradientFinding", "Indices", "describe_steps", "join_names", "nan_medians"]

Indices = NDArray[np.integer[Any]]
WINDOW = 20  # of the latest finite steps, that the detectors of vanishing and exploding look at
SPREAD = 10  # largest element of a gradient over its rms; dense ones are at 3 to 20
FEW = 3  # names that are listed
FIRST = 3  # steps; fewer show little


@dataclass(frozen=True)
class GradientFinding:
    """One thing that the gradients show.

    Attributes
    ----------
    kind : str
        ``"vanishing"``, ``"exploding"``, ``"dead"``, ``"non-finite"``, ``"not zeroed"``, ``"unreached"``,
        ``"barely moves"`` or ``"healthy"``.
    words : str
        What was seen, with the numbers.
    advice : str
        What to try.
    parameters : tuple of str
        Where.
    steps : tuple of int
        When.
    """

    kind: str
    words: str
    advice: str = ""
    parameters: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.words}" + (f" {self.advice}" if self.advice else "")


@dataclass(frozen=True)
class Evidence:
    """Arrays of shape (steps, parameters), or (steps,), and which of them count.

    Attributes
    ----------
    filled : numpy.ndarray of bool, shape (parameters,)
        Whether a parameter has elements.
    weights : sequence of int
        The parameters with two dimensions or more; all, if there are none.
    layers : sequence of int
        Of these, those whose gradients can be compared from layer to layer: neither single numbers nor empty.
    window : sequence of int
        The latest steps, at most ``WINDOW``, at which everything was finite.
    rms : numpy.ndarray, shape (parameters,)
        The root mean square of each gradient, the median of these steps.
    size : numpy.ndarray, shape (parameters,)
        The same, or a tenth of the largest element if that is more: in a long table few rows have a gradient, and a
        mean over all rows says nothing about these.
    """

    names: Sequence[str]
    shapes: Sequence[tuple[int, ...]]
    steps: Indices
    counts: Float64
    filled: NDArray[np.bool_]
    weights: Indices
    layers: Indices
    norm: Float64
    largest: Float64
    total: Float64
    nonfinite: NDArray[np.bool_]
    update_ratio: Float64
    weight_norm: Float64
    left_over: Float64
    watched: NDArray[np.int_]
    looks: Sequence[int]
    last_seen: Mapping[int, Indices]
    spoiled: OtherNonfinite
    window: Indices = field(init=False)
    rms: Float64 = field(init=False)
    size: Float64 = field(init=False)

    def __post_init__(self) -> None:
        finite = np.flatnonzero(~self.nonfinite.any(axis=1))
        object.__setattr__(self, "window", finite[-WINDOW:])
        object.__setattr__(self, "rms", self.median_of(self.norm) / np.sqrt(self.counts))
        object.__setattr__(self, "size", np.maximum(self.rms, self.median_of(self.largest) / SPREAD))

    @classmethod
    def from_history(
        cls, history: GradientHistory, *, looks: Sequence[int], last_seen: Mapping[int, Indices]
    ) -> "Evidence":
        """Arrange a history."""
        shapes, chosen = history.shapes, weight_indices(history.shapes)
        filled = np.array([0 not in shape for shape in shapes])
        return cls(
            names=history.names,
            shapes=shapes,
            steps=np.array(history.steps),
            counts=np.maximum([float(np.prod(shape)) for shape in shapes], 1),
            weights=np.array(chosen),
            filled=filled,
            layers=np.array([i for i in chosen if filled[i] and np.prod(shapes[i]) > (len(shapes[i]) < 2)], dtype=int),
            norm=history.array("norm"),
            largest=history.array("largest"),
            total=history.total(),
            nonfinite=history.array("nonfinite").astype(np.bool_),
            update_ratio=history.array("update_ratio"),
            weight_norm=history.array("weight_norm"),
            left_over=history.left_over(),
            watched=history.watched(),
            looks=looks,
            last_seen=last_seen,
            spoiled=history.spoiled,
        )

    @property
    def accumulating(self) -> list[int]:
        """The parameters whose gradient still held that of the step before, in half or more steps that show it."""
        seen = {i: self.left_over[self.watched == i] > 0 for i in np.unique(self.watched[self.watched >= 0]).tolist()}
        return [i for i, left in seen.items() if 2 * left.sum() >= len(left)]

    def median_of(self, measure: Float64) -> Float64:
        """Return the median of each parameter over the latest steps."""
        return nan_medians(measure[self.window], axis=0)

    @property
    def short_history_note(self) -> str:
        """A note for a history of very few steps, else an empty string."""
        return " These are few steps: watch more of them." if len(self.steps) < FIRST else ""

    def names_of(self, chosen: Sequence[int] | Indices) -> tuple[str, ...]:
        """Return the names of some parameters."""
        return tuple(self.names[i] for i in chosen)

    def step_numbers(self, rows: Sequence[int] | Indices) -> tuple[int, ...]:
        """Return the numbers of some steps."""
        return tuple(int(self.steps[row]) for row in rows)


def nan_medians(values: Float64, *, axis: int) -> Float64:
    """Return the medians of the rows or columns of a table, without what is NaN; NaN where nothing else is.

    ``np.nanmedian`` warns of that, as of a parameter without a gradient, and a filter of warnings is every thread's.

    Examples
    --------
    >>> nan_medians(np.array([[1.0, np.nan], [3.0, np.nan]]), axis=0).tolist()
    [2.0, nan]
    """
    rows = np.moveaxis(values, axis, -1)
    known = ~np.isnan(rows).all(axis=-1)
    found = np.full(len(rows), np.nan)
    if known.any():
        found[known] = np.nanmedian(rows[known], axis=-1)
    return found


def join_names(names: Sequence[str]) -> str:
    """Join a few names into words, and count the rest.

    Examples
    --------
    >>> join_names(["a", "b"]), join_names(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    if len(names) > FEW + 1:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def describe_steps(steps: Sequence[int]) -> str:
    """Put a range of steps into words.

    Examples
    --------
    >>> describe_steps([4]), describe_steps([4, 5, 6])
    ('step 4', 'steps 4 to 6')
    """
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
