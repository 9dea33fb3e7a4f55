"""Rank the kinds of bugs by likelihood: where several give the same numbers, the first of this table is named."""

from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Literal, TypeAlias, get_args

__all__ = ["CAUSES", "OVERWRITTEN_OR_DETACHED", "BugKind", "Cause", "Likelihood"]

Cause: TypeAlias = Literal[
    "missing unbroadcast",
    "overwritten instead of accumulated",
    "wrong order",
    "missing transpose",
    "mean vs sum",
    "missing mask",
    "detached path",
    "clipped before unscaled",
]
CAUSES: tuple[Cause, ...] = get_args(Cause)
"""The causes that a diagnosis can name."""

OVERWRITTEN_OR_DETACHED: tuple[Cause, ...] = ("overwritten instead of accumulated", "detached path")

Likelihood: TypeAlias = tuple[bool, int, bool]
"""Sort key of a suspect, the likeliest first: rarer than a factor of two, rank of its kind, made at several places."""


@dataclass(frozen=True)
class _Entry:
    """Row of the table: the cause that the kind belongs to, and the reason for its rank.

    An entry that is ``tied`` is as likely as the one above it: the numbers cannot tell them apart.
    """

    cause: Cause | None
    reason: str
    tied: bool = False


class BugKind(Enum):
    """Kinds of bugs, the likeliest first. Those without a cause are named in words only."""

    AXIS_NOT_SUMMED = _Entry("missing unbroadcast", "An axis too many shows in the shape; nothing else adds one.")
    AXES_PERMUTED = _Entry("missing transpose", "All entries are right, in another order of the axes.")
    RESHAPED = _Entry(None, "All entries are right, and no order of the axes gives the shape.")
    GRADIENTS_SWAPPED = _Entry("wrong order", "All entries are those of another tensor whose own gradient is wrong.")
    ZERO_EVERYWHERE = _Entry("detached path", "One missing link is simpler than many entries that cancel.")
    NOT_CLIPPED = _Entry(None, "The limit is known, and the entries are the right ones before it.")
    CLIPPED_BEFORE_UNSCALED = _Entry("clipped before unscaled", "No norm is such a quotient by chance.")
    LOSS_SCALE_LEFT = _Entry(None, "The factor is the very loss scale that was passed.")
    AVERAGED_OR_SUMMED = _Entry("mean vs sum", "The factor is a size of 3 or more at that operation.")
    AVERAGED_OVER_WRONG_AXIS = _Entry("mean vs sum", "A fraction of two sizes of that operation, by no chance.")
    FACTOR_IS_INPUT_SIZE = _Entry("mean vs sum", "The factor is a size of some tensor; no graph to say where.")
    MASK_LEFT_OUT = _Entry("missing mask", "The cotangent is just what it was before the mask.")
    WRONG_AXIS_SUMMED = _Entry("missing unbroadcast", "Takes two axes of one size, which then are easy to confuse.")
    NOT_TRANSPOSED = _Entry("missing transpose", "The product fits by its shape, so nothing warned.")
    ONE_KEPT = _Entry("overwritten instead of accumulated", "= where += is due: the last that arrives is left.")
    OTHER_OF_TWO_DETACHED = _Entry("detached path", "Of two that arrive, the last is left this way, too.", tied=True)
    OVERLAP_OVERWRITTEN = _Entry("overwritten instead of accumulated", "Overlapping slices: an overwriting of parts.")
    AVERAGED_OR_SUMMED_TWO = _Entry("mean vs sum", "A factor of two has many other origins.")
    INDEX_AVERAGED = _Entry("mean vs sum", "Dividing by counts takes code; overwriting them, none.")
    SENT_AGAIN = _Entry("wrong order", "A walk that visits a node at each arrival sends partial sums again.")
    ARRIVALS_AVERAGED = _Entry("mean vs sum", "Of three or more, it gives numbers of its own.", tied=True)
    DETACHED = _Entry("detached path", "One path that ends: one detach() or one forgotten term.")
    LAYER_DETACHED = _Entry("detached path", "Two paths that end, though in one layer.")
    RESULT_DETACHED = _Entry("detached path", "All paths to a result end.")
    VISITED_ONCE = _Entry("wrong order", "Loses paths, as a detached result does.", tied=True)
    FIRST_KEPT = _Entry("overwritten instead of accumulated", "Takes a loop in the other direction.")
    OTHERS_DETACHED = _Entry("detached path", "Takes several detached paths at once.")
    NOT_LAST_KEPT = _Entry("overwritten instead of accumulated", "A loop that overwrites leaves the last.")
    SENT_EARLY = _Entry("wrong order", "Sent on once, before all arrived: no usual walk does it at one place only.")
    CLIPPED_SEPARATELY = _Entry(None, "Several tensors or entries stand at one limit.")
    CLIPPED_TO_UNKNOWN_LIMIT = _Entry(None, "The norm is a usual limit, and none was passed: clipping may be meant.")
    LOSS_NOT_UNSCALED = _Entry(None, "The factor is a usual loss scale, and none was passed.")
    SIGN_FLIPPED = _Entry(None, "Seen without the graph; a bug at one operation explains more.")
    MASK_FACTOR_LEFT_OUT = _Entry(None, "One number: other bugs may give it by chance.")
    DERIVATIVE_LEFT_OUT = _Entry(None, "It may be a wrong derivative that happens to be the same.")
    DIVIDED_NOT_MULTIPLIED = _Entry(None, "One number again, and a less common slip.")
    FACTOR_IS_RESULT_SIZE = _Entry("mean vs sum", "With a graph, a bug at one operation says more.")
    PASSES_ADDED_UP = _Entry(None, "Any whole factor.")
    AVERAGED_OVER_WRONG_AXIS_BY_WHOLE_FACTOR = _Entry("mean vs sum", "An extra factor is as likely.")
    MISCOUNTED = _Entry(None, "A factor of 2, 1/2 or -1 at one place: it explains almost anything.")
    TWO_ARRIVALS_AVERAGED = _Entry("mean vs sum", "A forgotten half is likelier.")
    ONE_OF_TWO_EQUAL_PATHS_DETACHED = _Entry("detached path", "In x * x, forgetting the 2 is likelier.")

    @property
    def cause(self) -> Cause | None:
        """Return the public cause of this kind of bug, or None if it has none."""
        return self.value.cause

    @property
    def rarer_than_a_factor_of_two(self) -> bool:
        """Return whether a missing or an extra factor of 2 is likelier, where it gives the same numbers."""
        averaged = (BugKind.ARRIVALS_AVERAGED, BugKind.TWO_ARRIVALS_AVERAGED)
        return self.cause in ("wrong order", *OVERWRITTEN_OR_DETACHED) or self in averaged

    def likelihood(self, *, rarer: bool, repeated: bool) -> Likelihood:
        """Return the sort key of a suspect of this kind."""
        return rarer, _RANKS[self], repeated


_RANKS = dict(zip(BugKind, accumulate(not kind.value.tied for kind in BugKind), strict=True))
