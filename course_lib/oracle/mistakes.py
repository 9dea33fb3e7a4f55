"""Make every known mistake on purpose, at every place of a graph where it can be made."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from course_lib.oracle.cuts import cuts, nothing
from course_lib.oracle.joins import Mistake, at_joins
from course_lib.oracle.rules import miscounted, overwriting, rescaled, unmasked, unreduced, unselected, untransposed
from course_lib.oracle.tape import Edge, Send, Tape, add_up
from course_lib.oracle.walks import wrong_walks

__all__ = ["mistakes"]

MAXIMA = ("amax", "amin", "max", "min")
MOST_NODE_VISITS = 200_000


@dataclass(frozen=True)
class Slip:
    """One edge handled wrongly; slips of one kind may be made at every edge that admits them."""

    cause: str | None
    words: str
    kind: tuple[Any, ...]
    edge: Edge
    send: Send
    rank: float


def mistakes(tape: Tape) -> Iterator[Mistake]:
    """Make every known mistake at every place of a graph, then each kind at all its places at once."""
    left = MOST_NODE_VISITS // len(tape.nodes)
    kinds: dict[tuple[Any, ...], list[Slip]] = defaultdict(list)
    leaves = set(tape.leaves.values())
    for edge in tape.edges():
        for slip in slips(tape, edge):
            kinds[slip.kind].append(slip)
            if slip.kind[0] == "drop":  # the same operation everywhere, wherever it sends to
                kinds[slip.kind[:3]].append(slip)
                kinds[*slip.kind[:3], "with", beside(tape, edge)].append(slip)
            else:
                kinds[*slip.kind, tape.name(tape.parent(edge))].append(slip)
                kinds[*slip.kind, "with", beside(tape, edge, of=leaves)].append(slip)
    yield from at_joins(tape)
    yield from wrong_walks(tape)
    yield from cuts(tape)
    tried: set[tuple[int, ...]] = set()
    for same in kinds.values():
        if len(same) > 1 and (these := tuple(map(id, same))) not in tried:
            tried.add(these)
            left -= 1
            yield made(tape, same)
    for slip in (slip for kind, same in kinds.items() for slip in same if kind == slip.kind):
        left -= 1
        if left < 0:
            return
        yield made(tape, [slip])


def made(tape: Tape, same: list[Slip]) -> Mistake:
    """Make slips of one kind together."""
    one = same[0]
    others = list(dict.fromkeys(slip.words for slip in same if slip.words != one.words))
    where = f" The same at each of {len(same)} places." if len(same) > 1 else ""
    if others and one.kind[0] == "drop":
        where = " ".join(["", *others[:2], f"In all, {len(same)} paths are cut."])
    grads = tape.walk({slip.edge: slip.send for slip in same})
    return Mistake(one.cause, one.words + where, grads, one.rank + 0.01 * (len(same) > 1))


def slips(tape: Tape, edge: Edge) -> Iterator[Slip]:
    """List what can be done wrongly at one edge."""
    node, parent = tape.nodes[edge[0]], tape.parent(edge)
    op, to = tape.name(edge[0]), tape.name(parent)
    others = beside(tape, edge, of=set(tape.leaves.values()))
    twice = tape.parents[edge[0]].count(parent) > 1  # of two that are the same, who would forget one?
    g = add_up(tape.arrived[edge[0]])
    right = tape.vjp(edge, g)
    slip = partial(Slip, edge=edge)
    yield slip(
        "detached path",
        f"Nothing is sent from {op} {g.shape} to {to}.",
        ("drop", op, edge[1], to, others),
        send=nothing,
        rank=8 + 20 * twice,
    )
    for words, send, cause, rank in [
        *unmasked(tape, edge, g, right, op),
        *(unselected(tape, edge, g, right) if op in MAXIMA else ()),
        *untransposed(node, g, right, op),
        *rescaled(tape, edge, g, right, op),
        *unreduced(tape, edge, g, right, op),
        *overwriting(tape, edge, g, right, op),
        *miscounted(tape, edge, op),
    ]:
        kind = (cause, op, edge[1], words.partition(",")[0])  # sizes come after a comma
        yield slip(cause, words, kind, send=send, rank=rank)


Found = tuple[str, Send, str | None, float]


def beside(tape: Tape, edge: Edge, of: set[int] | None = None) -> tuple[str, ...]:
    """Name the other operands of the operation that an edge leads from, or those of them that are in ``of``."""
    here = tape.parent(edge)
    others = [p for p in tape.parents[edge[0]] if p is not None and p != here and (of is None or p in of)]
    return tuple(sorted(tape.name(p) for p in others))
