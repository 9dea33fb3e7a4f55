"""Draw the boxes and arrows of a backward pass, with what each shows from which step on."""

from course_lib.figures.graphs.layout import place_nodes
from course_lib.figures.graphs.svg import Box, Edge, Line
from course_lib.figures.short_numbers import Array, format_briefly
from course_lib.figures.stepper.labels import Labels
from course_lib.figures.stepper.script import Script, write_equation

__all__ = ["draw_arrows", "draw_boxes"]

LABEL, IN_BOX, ON_EDGE, SUM_IN_BOX = 24, 12, 10, 16  # characters


def draw_boxes(script: Script) -> tuple[Box, ...]:
    """Return every node's box, with what it says from which step on."""
    graph = script.graph
    layout = place_nodes(len(graph.nodes), graph.edges)
    kinds = ["leaf" if graph.is_leaf(i) else "op" if i else "result" for i in range(len(graph.nodes))]
    labels = [_write_label(script.labels, i) for i in range(len(graph.nodes))]
    return tuple(
        Box(x, y, kinds[i], labels[i], tuple(_list_notes(script, i)), tuple(script.turns.get(i, ())))
        for i, (x, y) in enumerate(layout.nodes)
    )


def draw_arrows(script: Script) -> tuple[Edge, ...]:
    """Return the seed and every edge, with what travels along it and when."""
    graph = script.graph
    routes = place_nodes(len(graph.nodes), graph.edges).routes
    drawn = [Edge(None, 0, carries=_format_carried(_find_arrived(script, 0)), since=0)]
    for (source, to), slot in zip(graph.edges, graph.slots, strict=True):
        since, v = script.sent.get((source, slot), (None, None))
        drawn.append(Edge(source, to, routes[source, to], _format_carried(v), since))
    return tuple(drawn)


def _write_label(labels: Labels, i: int) -> str:
    """Write the equation of a node with its value; shorten what is too wide: the step's heading has it in full."""
    title, with_value = labels.title(i), labels.value_title(i)
    if len(with_value) <= LABEL:
        return with_value
    return title if len(title) <= LABEL else f"{title[: LABEL - 3]}..."


def _format_carried(v: Array | None) -> str:
    """Format what travels along an edge."""
    return "" if v is None else format_briefly(v, room=ON_EDGE)


def _find_arrived(script: Script, i: int) -> Array | None:
    """Find the first cotangent that arrived at a node."""
    if i not in script.turns:
        return None
    return next((v for v in script.visits[script.turns[i][0] - 1].arrived if v is not None), None)


def _list_notes(script: Script, i: int) -> list[Line]:
    """Return what stands under the title, one line after the other."""
    states = _list_grad_states(script, i) if script.graph.is_leaf(i) else _list_sum_states(script, i)
    untils = [since for since, _ in states[1:]] + [None]
    return [Line(text, since, until) for (since, text), until in zip(states, untils, strict=True)]


def _list_grad_states(script: Script, i: int) -> list[tuple[int, str]]:
    """Return a leaf's ``.grad`` before its first turn, and after each."""
    if i not in script.turns:
        return [(0, "not reached")]
    visits = [script.visits[step - 1] for step in script.turns[i]]
    grads = [visits[0].grad_before, *(visit.grad_after for visit in visits)]
    said = ["grad = None" if g is None else write_equation("grad", [g], room=IN_BOX) for g in grads]
    return list(zip([0, *script.turns[i]], said, strict=True))


def _list_sum_states(script: Script, i: int) -> list[tuple[int, str]]:
    """Return the engine's name for the node, until its cotangent begins to come together."""
    states = {0: script.labels.operation(i)}
    whole = _find_arrived(script, i)
    if whole is None:
        return list(states.items())
    complete = write_equation(script.v, [whole], room=IN_BOX)
    if i == 0:  # the seed is all it gets
        return [(0, complete)]
    outputs = script.graph.used_outputs(i)
    if len(outputs) > 1:  # each collects its own
        last = max(step for k in outputs for step, _ in script.received.get((i, k), [(0, None)]))
        return [*states.items(), (last, f"{script.v} for {len(outputs)} outputs")]
    if script.depth_first:
        return _list_late_states(script, i)
    parts = script.received[i, outputs[0]]
    for k, (step, _) in enumerate(parts, 1):
        said = write_equation(script.v, [v for _, v in parts[:k]], room=ON_EDGE)
        waiting = f"{said} + ?" if len(said) <= SUM_IN_BOX else f"{script.v} = ... + ?"
        full = f"{said} = {format_briefly(whole, room=IN_BOX)}"
        states[step] = (
            waiting if k < script.expected[i, outputs[0]] else full if k > 1 and len(full) <= SUM_IN_BOX else complete
        )
    return list(states.items())


def _list_late_states(script: Script, i: int) -> list[tuple[int, str]]:
    """Return what a node ran on in a depth-first walk, and what arrived after it had run."""
    (first, v), *late = script.received[i, 0]
    ran = write_equation(script.v, [v], room=IN_BOX)
    states = [(0, script.labels.operation(i)), (first, ran)]
    return states + [
        (step, f"{ran}, late: {', '.join(format_briefly(w, room=ON_EDGE) for _, w in late[: k + 1])}")
        for k, (step, _) in enumerate(late)
    ]
