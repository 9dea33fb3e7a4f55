"""Write the script of a backward pass: what happens at each step, in sentences."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.figures.graphs.recorded_graph import RecordedGraph
from course_lib.figures.short_numbers import Array, format_briefly, format_elements
from course_lib.figures.stepper.backward_run import BackwardRun, Visit
from course_lib.figures.stepper.labels import Labels

__all__ = ["Script", "Step", "write_equation"]

NOTHING = "nothing"
ROOM = 44  # characters for numbers in a sentence
FEW = 8  # nodes whose values are listed


@dataclass(frozen=True)
class Step:
    """One step: a heading, the engine's name for the node, and what happens, as pairs of a term and a sentence.

    Code in a sentence is between backticks. A step that comes to one number asks for it, its ``answer``.
    """

    heading: str
    operation: str
    rows: tuple[tuple[str, str], ...]
    question: str = ""
    answer: float | None = None

    def __str__(self) -> str:
        said = " ".join(f"{term}: {sentence}" for term, sentence in self.rows)
        return f"{self.heading} ({self.operation}). {said}".replace("`", "")


class Script:
    """Script of a backward pass: step 0 is the seed, and each visit is one more.

    Attributes
    ----------
    steps : list of Step
        What is said.
    turns : dict of int to list of int
        The steps at which each node is visited: one, unless the walk is a wrong one.
    sent : dict of (int, int) to (int, array)
        What each node sends to each of its inputs, and at which step.
    received : dict of (int, int) to list of (int, array)
        What each output of each node is sent, in order, and at which step.
    expected : Counter
        How many cotangents each output of each node waits for.
    """

    def __init__(self, graph: RecordedGraph, walked: BackwardRun) -> None:
        self.graph = graph
        self.visits = walked.visits
        self.labels = Labels(graph, walked)
        self.v = self.labels.cotangent
        self.targets = [(to, output) for (_, to), output in zip(graph.edges, graph.outputs, strict=True)]
        self.expected = Counter(self.targets)
        self.depth_first = walked.depth_first
        self.turns: dict[int, list[int]] = {}
        self.sent: dict[tuple[int, int], tuple[int, Array]] = {}
        for step, visit in enumerate(walked.visits, 1):
            self.turns.setdefault(visit.node, []).append(step)
            self.sent |= {(visit.node, slot): (step, v) for slot, v in enumerate(visit.sent) if v is not None}
        self.received: dict[tuple[int, int], list[tuple[int, Array]]] = {target: [] for target in self.targets}
        self.steps = [self._make_seed_step(), *(self._make_step(*item) for item in enumerate(walked.visits, 1))]

    def _make_seed_step(self) -> Step:
        """Describe the gradient that the backward pass starts from."""
        name, v = self.labels.names[0], _format_arrived(self.visits[0])
        why = f"`d{name}/d{name} = 1`" if v == "1" else "the gradient that `backward()` was given"
        seed = write_equation(self.v, _arrived(self.visits[0]), joiner=" and ")
        rows = [("Forward", self._describe_forward())] if len(self.graph.nodes) <= FEW else []
        return Step("The seed", "backward", (*rows, ("Starts", f"`{name}` receives `{seed}`, {why}.")))

    def _describe_forward(self) -> str:
        """List what the forward pass computed, each value after those that it was computed from."""
        computed: list[int] = []

        def add(i: int) -> None:
            for source, needed in self.graph.edges:
                if source == i and needed not in computed:
                    add(needed)
            computed.append(i)

        add(0)
        return f"{_join_words([f'`{self.labels.value_title(i)}`' for i in computed])}."

    def _make_step(self, now: int, visit: Visit) -> Step:
        """Describe the visit of one node at step ``now``."""
        i, is_leaf = visit.node, self.graph.is_leaf(visit.node)
        returns = now > self.turns[i][0]  # as only a depth-first walk does
        arrives = write_equation(self.v, _arrived(visit), joiner=" and ")
        rows = [("Holds" if returns and not is_leaf else "Arrives", f"`{arrives}`.")]
        rows += [] if returns else self._describe_hook(visit)
        if is_leaf:
            rows += [("Adds up", self._describe_grad(visit))]
        else:
            rows += self._describe_rule(visit) + self._describe_sums(now, visit)
            rows += [] if self.depth_first else [("Frees", self._describe_freed(i))]
        heading = f"{'Back at ' if returns else ''}{self.labels.title(i)}"
        return Step(heading, self.labels.operation(i), tuple(rows), *self._ask(visit))

    def _ask(self, visit: Visit) -> tuple[str, float | None]:
        """Ask for a leaf's ``.grad``, or for what a node sends to the first of its inputs, if that is one number."""
        if self.graph.is_leaf(visit.node):
            question, value = f"What is {self.labels.names[visit.node]}.grad now?", visit.grad_after
        else:
            slot, value = next(((slot, v) for slot, v in enumerate(visit.sent) if v is not None), (0, None))
            question = f"What does it send to {self.labels.input_names(visit.node)[slot]}?"
        return (question, float(value)) if value is not None and value.shape == () else ("", None)

    def _describe_hook(self, visit: Visit) -> list[tuple[str, str]]:
        """Describe what a hook replaced, where something else arrives than was sent."""
        sent = [v for _, v in self.received.get((visit.node, 0), [])]
        whole, found = sum(sent[1:], sent[0]) if sent else None, visit.arrived[0] if visit.arrived else None
        if whole is None or found is None or whole.shape != found.shape or np.allclose(whole, found, equal_nan=True):
            return []
        return [("Hook", f"`{format_briefly(whole)}` was sent; a hook on the way replaced it.")]

    def _describe_rule(self, visit: Visit) -> list[tuple[str, str]]:
        """Describe the rule, and what it gives with these numbers."""
        rules: list[str] = []
        products: list[str] = []
        inputs = self.labels.input_names(visit.node)
        for slot, (child, _) in enumerate(self.graph.nodes[visit.node].next_functions):
            sent = visit.sent[slot] if slot < len(visit.sent) else None
            if child is None or (sent is None and (visit.node, slot) in self.sent):  # sent at another visit
                continue
            if sent is None:
                products.append(f"{NOTHING} to `{inputs[slot]}`")
                continue
            rule, product = self._describe_sent(visit, slot, sent)
            if self.labels.rules[visit.node].known or not rules:  # an unknown one is called the same for each input
                rules.append(f"{rule} `{inputs[slot]}`{self._describe_unbroadcast(visit, slot, sent)}")
            else:
                rules.append(f"`{inputs[slot]}`")
            products.append(f"{product} `{inputs[slot]}`")
        return ([("Rule", f"{_join_words(rules)}.")] if rules else []) + [("Sends", f"{_join_words(products)}.")]

    def _describe_sent(self, visit: Visit, slot: int, sent: Array) -> tuple[str, str]:
        """Describe what is sent to one input, as a formula and in numbers, up to the input's name."""
        v = next(v for v in visit.arrived if v is not None)
        formula, numbers = self.labels.format_sent(visit.node, slot, v, sent)
        rule, result, to = self.labels.rules[visit.node], format_briefly(sent), "to"
        if rule.spreads and v.size == 1:
            result, to = format_briefly(sent.reshape(-1)[0]), "to every element of"
        elif rule.spreads:
            formula, numbers = f"{formula}, repeated", None
        product = result if numbers in (None, result) else f"{numbers} = {result}"
        return f"{f'`{formula}`' if rule.known else formula} {to}", f"`{product}` {to}"

    def _describe_unbroadcast(self, visit: Visit, slot: int, sent: Array) -> str:
        """Describe the sum over the copies of a broadcast input."""
        shapes = {v.shape for v in visit.arrived if v is not None}
        if slot not in self.labels.rules[visit.node].broadcasts or sent.shape in shapes:
            return ""
        return f", summed to its shape {sent.shape}" if sent.ndim else ", summed to one number"

    def _describe_sums(self, now: int, visit: Visit) -> list[tuple[str, str]]:
        """Record what the receivers have by now; describe the sums of those with more than one contribution."""
        i = visit.node
        slots = zip(self.graph.edges, self.targets, self.graph.slots, strict=True)
        sent = [(to, visit.sent[slot]) for (source, _), to, slot in slots if source == i and slot < len(visit.sent)]
        for to, v in sent:
            if v is not None:
                self.received[to].append((now, v))
        shared = dict.fromkeys(to for to, v in sent if v is not None and self.expected[to] > 1)
        if self.depth_first:  # leaves only add up
            shared = {to: None for to in shared if not self.graph.is_leaf(to[0])}
        return [("Adds up", " ".join(self._describe_sum(to, now) for to in shared))] if shared else []

    def _describe_sum(self, to: tuple[int, int], now: int) -> str:
        """Describe the sum of the contributions to one output so far."""
        name, parts = f"`{self.labels.output_name(*to)}`", self.received[to]
        total = _format_running_sum([v for step, v in parts if step < now], [v for step, v in parts if step == now])
        missing = self.expected[to] - len(parts)
        if self.depth_first:
            if self.turns[to[0]][0] < now:
                return f"{name} has already run. `{format_briefly(parts[-1][1])}` arrives late and stays there."
            return f"{name} holds `{total}` and runs at once; {missing} more will come too late."
        if missing:
            return f"{name} holds `{total}` and waits for {missing} more."
        return f"{name} now has all it waited for: `{total}`."

    def _describe_grad(self, visit: Visit) -> str:
        """Describe how the ``.grad`` of a leaf changes."""
        name = f"{self.labels.names[visit.node]}.grad"
        if visit.grad_after is None:
            return "nowhere; nobody holds this leaf any more, and what arrived is dropped."
        if visit.grad_before is None:
            return f"`{name}` was `None` and is now `{format_briefly(visit.grad_after)}`."
        before, after = format_briefly(visit.grad_before), format_briefly(visit.grad_after)
        return f"`{name}` is now `{before} + {_format_arrived(visit)} = {after}`."

    def _describe_freed(self, i: int) -> str:
        """Describe the saved arrays that a node frees."""
        saved = self.labels.describe_saved(i)
        if not saved:
            return "nothing; this rule needs no value of the forward pass."
        return f"{_join_words(saved)}, saved in the forward pass."


def write_equation(name: str, values: Sequence[Array], *, joiner: str = " + ", room: int = ROOM) -> str:
    """Write an equation if the elements of all values are shown, else what the values are like."""
    said = joiner.join(format_briefly(v, room=room) for v in values) or NOTHING
    is_exact = all(format_elements(v, room=room) is not None for v in values)
    return f"{name} = {said}" if is_exact else f"{name}: {said}"


def _arrived(visit: Visit) -> list[Array]:
    """List what arrived: one cotangent for each output that was used."""
    return [v for v in visit.arrived if v is not None]


def _format_arrived(visit: Visit) -> str:
    """Write what arrived."""
    return " and ".join(map(format_briefly, _arrived(visit))) or NOTHING


def _format_running_sum(before: list[Array], now: list[Array]) -> str:
    """Write a sum in which what came before is added up already."""
    terms = ([sum(before[1:], before[0])] if before else []) + now
    total = format_briefly(sum(terms[1:], terms[0]))
    return total if len(terms) == 1 else f"{' + '.join(map(format_briefly, terms))} = {total}"


def _join_words(items: list[str]) -> str:
    """Join words by commas and "and"."""
    return ", ".join(items[:-1]) + (" and " if items[1:] else "") + "".join(items[-1:])
