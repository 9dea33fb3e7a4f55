"""Compare gradients with the right ones, tensor by tensor, and describe a suspect."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from course_lib.oracle.arrays import Arrays
from course_lib.oracle.bug_ranking import BugKind, Likelihood
from course_lib.oracle.closeness import is_close, is_rounding, largest_entry
from course_lib.oracle.planted_bugs import Tape
from course_lib.types import Array

__all__ = ["Comparison", "Suspect"]


@dataclass(frozen=True)
class Suspect:
    """Suspect: a bug that would give some of the wrong gradients.

    Attributes
    ----------
    kind : BugKind
    words : str
        What was done, and where, for the reader.
    explains : tuple of str
        The tensors whose wrong gradients it gives.
    misses : int
        How many tensors it would have changed that are as they should be.
    rarer : bool
        Whether a missing or an extra factor of 2 is likelier.
    repeated : bool
        Whether it takes the same at several places.
    """

    kind: BugKind
    words: str
    explains: tuple[str, ...]
    misses: int = 0
    rarer: bool = False
    repeated: bool = False

    @property
    def likelihood(self) -> Likelihood:
        """Return the sort key among suspects that explain as much."""
        return self.kind.likelihood(rarer=self.rarer, repeated=self.repeated)


@dataclass(frozen=True)
class Comparison:
    """Comparison of the gradients of one engine, or by hand, with the right ones.

    Attributes
    ----------
    right, found : dict of str to array
    names : list of str
        All tensors, in backward order.
    eps : mapping of str to float
        For each tensor, the relative tolerance of the precision that its gradient came in.
    tape : Tape or None
        The graph, if the course's autograd could record one.
    learned : list of str
        Tensors whose gradients count for the norm of a clip.
    max_norm, loss_scale : float or None
        As the caller passed them.
    loss_size : float
        For finite differences, the size of the losses that they are differences of, which limits their precision.
    """

    right: Arrays
    found: Arrays
    names: list[str]
    eps: Mapping[str, float]
    tape: Tape | None
    learned: list[str]
    max_norm: float | None = None
    loss_scale: float | None = None
    loss_size: float = 0.0

    @cached_property
    def scale(self) -> float:
        """Return the largest right entry of all."""
        return largest_entry(self.right)

    @cached_property
    def differing(self) -> list[str]:
        """Return the tensors whose gradients are wrong, in backward order."""
        scale = max(self.scale, self.loss_size)
        compared = [n for n in self.names if n in self.found]
        return [n for n in compared if not is_close(self.found[n], self.right[n], self.eps[n], scale)]

    @cached_property
    def right_before_clipping(self) -> Arrays | None:
        """Return the right gradients before they are clipped; None if only clipped ones are known."""
        if self.max_norm is None:
            return self.right
        return None if self.tape is None else self.tape.replay()

    def is_same(self, name: str, one: Array, other: Array) -> bool:
        """Return whether two arrays agree in the precision that the found gradient came in."""
        return is_close(one, other, self.eps[name], self.scale)

    def factor(self, name: str) -> float | None:
        """Return the one factor between the found and the right gradient, or None if there is none."""
        wrong, right = self.found[name], self.right[name]
        if wrong.shape != right.shape or is_rounding(right, self.scale) or not np.isfinite(wrong).all():
            return None
        factor = float(np.sum(wrong * right)) / float(np.sum(right * right))
        return factor if factor and self.is_same(name, wrong / factor, right) else None
