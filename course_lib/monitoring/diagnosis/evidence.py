"""The history of a monitor, arranged for the signs to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.monitoring.history import History
from course_lib.monitoring.parameters import Array

__all__ = ["WINDOW", "Evidence", "Finding", "Indices", "listed", "span"]

Indices = NDArray[np.integer[Any]]
WINDOW = 20  # of the latest finite steps, that the signs about layers look at
FEW = 3  # names that are listed


@dataclass(frozen=True)
class Finding:
    """One thing that the gradients show.

    Attributes
    ----------
    kind : str
        ``"vanishing"``, ``"exploding"``, ``"dead"``, ``"non-finite"``, ``"not zeroed"``, ``"unreached"`` or
        ``"healthy"``.
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
    weights : sequence of int
        The parameters with two dimensions or more; all, if there are none.
    window : sequence of int
        The latest steps, at most ``WINDOW``, at which everything was finite.
    """

    names: Sequence[str]
    steps: Indices
    counts: Array
    weights: Indices
    norm: Array
    nonfinite: NDArray[np.bool_]
    update_ratio: Array
    weight_norm: Array
    left_over: Array
    looks: Sequence[int]
    last_seen: Mapping[int, Array]
    window: Indices = field(init=False)
    total: Array = field(init=False)
    rms: Array = field(init=False)

    def __post_init__(self) -> None:
        finite = np.flatnonzero(~self.nonfinite.any(axis=1))
        object.__setattr__(self, "window", finite[-WINDOW:])
        object.__setattr__(self, "total", np.sqrt(np.nansum(self.norm**2, axis=1)))
        recent = self.norm[self.window]
        typical = np.nanmedian(recent, axis=0) if len(recent) else np.full(len(self.counts), np.nan)
        object.__setattr__(self, "rms", typical / np.sqrt(self.counts))

    @classmethod
    def of(
        cls,
        history: History,
        shapes: Sequence[tuple[int, ...]],
        *,
        looks: Sequence[int],
        last_seen: Mapping[int, Array],
    ) -> "Evidence":
        """Arrange a history."""
        weights = [i for i, shape in enumerate(shapes) if len(shape) > 1] or list(range(len(shapes)))
        return cls(
            names=history.names,
            steps=np.array(history.steps),
            counts=np.maximum([float(np.prod(shape)) for shape in shapes], 1),
            weights=np.array(weights),
            norm=history.array("norm"),
            nonfinite=history.array("nonfinite").astype(np.bool_),
            update_ratio=history.array("update_ratio"),
            weight_norm=history.array("weight_norm"),
            left_over=history.left_over(),
            looks=looks,
            last_seen=last_seen,
        )

    @property
    def adds_up(self) -> bool:
        """Whether gradients still held those of the step before, in at least half of the steps."""
        left = int((self.left_over > 0).sum())
        return left > 0 and 2 * left >= len(self.steps) - 1

    def named(self, chosen: Sequence[int] | Indices) -> tuple[str, ...]:
        """Return the names of some parameters."""
        return tuple(self.names[i] for i in chosen)

    def numbers(self, rows: Sequence[int] | Indices) -> tuple[int, ...]:
        """Return the numbers of some steps."""
        return tuple(int(self.steps[row]) for row in rows)


def listed(names: Sequence[str]) -> str:
    """Name a few, and count the rest.

    Examples
    --------
    >>> listed(["a", "b"]), listed(["a", "b", "c", "d", "e"])
    ('a and b', 'a, b, c and 2 more')
    """
    if len(names) > FEW + 1:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def span(steps: Sequence[int]) -> str:
    """Say a stretch of steps.

    Examples
    --------
    >>> span([4]), span([4, 5, 6])
    ('step 4', 'steps 4 to 6')
    """
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
