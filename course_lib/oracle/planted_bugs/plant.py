"""Plant every known bug, at every place of a graph where it can be made, and at all its places at once."""

from collections import defaultdict
from collections.abc import Hashable, Iterator

from course_lib.oracle.bug_ranking import BugKind
from course_lib.oracle.planted_bugs.detached_paths import detach_paths
from course_lib.oracle.planted_bugs.edge_bug import BackwardStep, EdgeBug
from course_lib.oracle.planted_bugs.replay import Edge, PlantedBug, Tape, send_nothing
from course_lib.oracle.planted_bugs.wrong_accumulation import accumulate_wrongly
from course_lib.oracle.planted_bugs.wrong_order import visit_in_wrong_order
from course_lib.oracle.planted_bugs.wrong_reductions import wrong_reductions
from course_lib.oracle.planted_bugs.wrong_vjps import wrong_vjps

__all__ = ["plant_bugs"]

MOST_NODE_VISITS = 200_000


def plant_bugs(tape: Tape) -> Iterator[PlantedBug]:
    """Plant bugs that concern several edges, then bugs at edges: first at all alike, then one by one.

    Of a long graph, only as many as the time allows.
    """
    yield from accumulate_wrongly(tape)
    yield from visit_in_wrong_order(tape)
    yield from detach_paths(tape)
    left = MOST_NODE_VISITS // len(tape.nodes)
    alone, groups = _group_edge_bugs(tape)
    planted: set[tuple[int, ...]] = set()
    for group in groups:
        if len(group) > 1 and (these := tuple(map(id, group))) not in planted:
            planted.add(these)
            left -= 1
            yield _plant(tape, group)
    for bug in alone[: max(left, 0)]:
        yield _plant(tape, [bug])


def _group_edge_bugs(tape: Tape) -> tuple[list[EdgeBug], list[list[EdgeBug]]]:
    """List the bugs that can be made at single edges, group by group, and the groups of those that are alike.

    Alike are all of one kind at one operation; and of these, those that lead to the same operand, and those whose
    other operands are the same.
    """
    groups: dict[Hashable, list[EdgeBug]] = defaultdict(list)
    own: dict[Hashable, list[EdgeBug]] = defaultdict(list)
    leaves = set(tape.leaves.values())
    for edge in tape.edges():
        to, leaf_siblings = tape.name(tape.parent(edge)), tape.siblings(edge, among=leaves)
        detached = _detach(tape, edge)
        for key in (
            (*detached.group, to, leaf_siblings),
            detached.group,  # the same operation everywhere, whatever it leads to
            (*detached.group, "with", tape.siblings(edge)),
        ):
            groups[key].append(detached)
        own[*detached.group, to, leaf_siblings].append(detached)
        step = BackwardStep.at(tape, edge)
        for bug in (*wrong_vjps(step), *wrong_reductions(step)):
            for key in (bug.group, (*bug.group, to), (*bug.group, "with", leaf_siblings)):
                groups[key].append(bug)
            own[bug.group].append(bug)
    return [bug for same in own.values() for bug in same], list(groups.values())


def _detach(tape: Tape, edge: Edge) -> EdgeBug:
    """Detach one edge."""
    parent, op = tape.parent(edge), tape.name(edge[0])
    is_twin = tape.parents[edge[0]].count(parent) > 1
    return EdgeBug(
        BugKind.ONE_OF_TWO_EQUAL_PATHS_DETACHED if is_twin else BugKind.DETACHED,
        f"Nothing is sent from {op} {tape.arrived[edge[0]][0].shape} to {tape.name(parent)}.",
        edge,
        send_nothing,
        ("detached", op, edge[1]),
    )


def _plant(tape: Tape, bugs: list[EdgeBug]) -> PlantedBug:
    """Make bugs of one group together, and replay the backward pass."""
    first = bugs[0]
    others = list(dict.fromkeys(bug.words for bug in bugs if bug.words != first.words))
    where = f" The same at each of {len(bugs)} places." if len(bugs) > 1 else ""
    if others and first.send is send_nothing:
        where = " ".join(["", *others[:2], f"In all, {len(bugs)} paths are cut."])
    grads = tape.replay({bug.edge: bug.send for bug in bugs})
    return PlantedBug(first.kind, first.words + where, grads, repeated=len(bugs) > 1)
