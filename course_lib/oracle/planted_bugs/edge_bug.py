"""Describe one edge of the backward pass, and a bug in what is sent down it."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.replay import Edge, Send, Tape, sum_cotangents
from course_lib.types import Array

__all__ = ["MATRIX_PRODUCTS", "PERMUTATIONS", "BackwardStep", "EdgeBug"]

PERMUTATIONS = ("permute", "transpose", "t", "mt")
MATRIX_PRODUCTS = ("mm", "bmm", "mv", "addmm")


@dataclass(frozen=True)
class EdgeBug:
    """Bug at one edge: the wrong cotangent that is sent down it.

    Attributes
    ----------
    kind : BugKind
    words : str
        What is done, for the reader.
    edge : tuple of int
    send : callable
        Computes the wrong cotangent.
    group : tuple
        Bugs at several edges with the same group may be made together, as one line of code in an engine would.
    """

    kind: BugKind
    words: str
    edge: Edge
    send: Send
    group: tuple[Hashable, ...]


@dataclass(frozen=True)
class BackwardStep:
    """Step of the backward pass along one edge: the operation, and the cotangents of its output and its input."""

    tape: Tape
    edge: Edge
    op: str
    upstream: Array
    downstream: Array

    @classmethod
    def at(cls, tape: Tape, edge: Edge) -> "BackwardStep":
        """Compute what arrives at an edge and what is sent down it."""
        upstream = sum_cotangents(tape.arrived[edge[0]])
        return cls(tape, edge, tape.name(edge[0]), upstream, tape.vjp(edge, upstream))

    @property
    def leads_to_leaf(self) -> bool:
        """Return whether the operand is a leaf."""
        return not self.tape.parents[self.tape.parent(self.edge)]

    def slope(self) -> Array:
        """Return the vector-Jacobian product of ones: of an elementwise operation, its derivative."""
        return self.tape.vjp(self.edge, np.ones_like(self.upstream))

    def bug(self, kind: BugKind, words: str, send: Send, *variant: Hashable) -> EdgeBug:
        """Describe a bug at this edge; the same kind and variant at other edges of the operation are the same bug."""
        return EdgeBug(kind, words, self.edge, send, (kind.cause, self.op, self.edge[1], *variant))

    def scaled_bug(self, kind: BugKind, words: str, factor: float | Array, *variant: Hashable) -> EdgeBug:
        """Describe a bug that multiplies the cotangent by a factor, or a mask, before the right rule is applied."""
        return self.bug(kind, words, partial(_apply_rule_to_multiple, self.tape, self.edge, factor), *variant)


def _apply_rule_to_multiple(tape: Tape, edge: Edge, factor: float | Array, arrived: Sequence[Array]) -> Array:
    """Compute the vector-Jacobian product of a multiple, or a part, of the cotangent."""
    return tape.vjp(edge, factor * sum_cotangents(arrived))
