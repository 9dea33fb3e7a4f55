"""Say what each part of the drawing shows from which step on."""

from course_lib.figures.brief import Array, brief
from course_lib.figures.layers import place
from course_lib.figures.stepper.steps import Script, equals
from course_lib.figures.svg import Box, Edge, Line

__all__ = ["arrows", "boxes"]

LABEL, IN_BOX, ON_EDGE, SUM_IN_BOX = 24, 12, 10, 16  # characters


def boxes(script: Script) -> tuple[Box, ...]:
    """Return every node's box, with what it says from which step on."""
    graph = script.graph
    layout = place(len(graph.nodes), graph.edges)
    kinds = ["leaf" if graph.is_leaf(i) else "op" if i else "result" for i in range(len(graph.nodes))]
    return tuple(
        Box(x, y, kinds[i], _fitting(script.labels.title(i)), tuple(_notes(script, i)), script.turn.get(i))
        for i, (x, y) in enumerate(layout.nodes)
    )


def arrows(script: Script) -> tuple[Edge, ...]:
    """Return the seed and every edge, with what travels along it and when."""
    graph = script.graph
    routes = place(len(graph.nodes), graph.edges).routes
    sent = {(visit.node, slot): v for visit in script.visits for slot, v in enumerate(visit.sent)}
    drawn = [Edge(None, 0, carries=_carried(_arrived(script, 0)), since=0)]
    for (source, to), slot in zip(graph.edges, graph.slots, strict=True):
        carries = _carried(sent.get((source, slot)))
        drawn.append(Edge(source, to, routes[source, to], carries, script.turn.get(source)))
    return tuple(drawn)


def _fitting(title: str) -> str:
    """Shorten what would make every box wide; the step's heading has it in full."""
    return title if len(title) <= LABEL else f"{title[: LABEL - 3]}..."


def _carried(v: Array | None) -> str:
    return "" if v is None else brief(v, room=ON_EDGE)


def _arrived(script: Script, i: int) -> Array | None:
    if i not in script.turn:
        return None
    return next((v for v in script.visits[script.turn[i] - 1].arrived if v is not None), None)


def _notes(script: Script, i: int) -> list[Line]:
    """Return what stands under the title, one line after the other."""
    states = _grad(script, i) if script.graph.is_leaf(i) else _collecting(script, i)
    untils = [since for since, _ in states[1:]] + [None]
    return [Line(text, since, until) for (since, text), until in zip(states, untils, strict=True)]


def _grad(script: Script, i: int) -> list[tuple[int, str]]:
    """Return a leaf's ``.grad`` before and after its turn."""
    if i not in script.turn:
        return [(0, "not reached")]
    visit = script.visits[script.turn[i] - 1]
    before, after = (
        equals("grad", "None" if g is None else brief(g, room=IN_BOX)) for g in (visit.grad_before, visit.grad_after)
    )
    return [(0, before), (script.turn[i], after)]


def _collecting(script: Script, i: int) -> list[tuple[int, str]]:
    """Return the engine's name for the node, until its cotangent begins to come together."""
    states = {0: script.labels.operation(i)}
    whole = _arrived(script, i)
    if whole is None:
        return list(states.items())
    complete = equals(script.v, brief(whole, room=IN_BOX))
    if i == 0:  # the seed is all it gets
        return [(0, complete)]
    outputs = script.graph.used_outputs(i)
    if len(outputs) > 1:  # each collects its own
        last = max(step for k in outputs for step, _ in script.received.get((i, k), [(0, None)]))
        return [*states.items(), (last, f"{script.v} for {len(outputs)} outputs")]
    parts = script.received[i, outputs[0]]
    for k, (step, _) in enumerate(parts, 1):
        said = equals(script.v, " + ".join(brief(v, room=ON_EDGE) for _, v in parts[:k]))
        waiting = f"{said} + ?" if len(said) <= SUM_IN_BOX else f"{script.v} = ... + ?"
        full = f"{said} = {brief(whole, room=IN_BOX)}"
        states[step] = (
            waiting if k < script.expected[i, outputs[0]] else full if k > 1 and len(full) <= SUM_IN_BOX else complete
        )
    return list(states.items())
