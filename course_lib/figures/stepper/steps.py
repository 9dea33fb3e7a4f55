"""Say what happens at each step of a walk."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from course_lib.figures.brief import Array, brief
from course_lib.figures.nodes import Graph
from course_lib.figures.stepper.labels import Labels
from course_lib.figures.stepper.rules import UNKNOWN
from course_lib.figures.stepper.walk import Visit, Walk

__all__ = ["Script", "Step", "equals"]

NOTHING = "nothing"


@dataclass(frozen=True)
class Step:
    """One step: a heading, the engine's name for the node, and what happens, as pairs of a term and a sentence.

    Code in a sentence is between backticks.
    """

    heading: str
    operation: str
    rows: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        said = " ".join(f"{term}: {sentence}" for term, sentence in self.rows)
        return f"{self.heading} ({self.operation}). {said}".replace("`", "")


class Script:
    """The steps of a walk: step 0 is the seed, and each visit is one more.

    Attributes
    ----------
    steps : list of Step
        What is said.
    turn : dict of int to int
        The step at which each node is visited.
    received : dict of (int, int) to list of (int, array)
        What each output of each node is sent, in order, and at which step.
    expected : Counter
        How many cotangents each output of each node waits for.
    """

    def __init__(self, graph: Graph, walked: Walk) -> None:
        self.graph = graph
        self.visits = walked.visits
        self.labels = Labels(graph, walked)
        self.v = self.labels.cotangent
        self.targets = [(to, output) for (_, to), output in zip(graph.edges, graph.outputs, strict=True)]
        self.expected = Counter(self.targets)
        self.turn = {visit.node: step for step, visit in enumerate(walked.visits, 1)}
        self.received: dict[tuple[int, int], list[tuple[int, Array]]] = {target: [] for target in self.targets}
        self.steps = [self._seed(), *map(self._step, walked.visits)]

    def _seed(self) -> Step:
        name, v = self.labels.names[0], _whole(self.visits[0])
        why = f"`d{name}/d{name} = 1`" if v == "1" else "the gradient that `backward()` was given"
        return Step("The seed", "backward", (("Starts", f"`{name}` is given `{equals(self.v, v)}`, {why}."),))

    def _step(self, visit: Visit) -> Step:
        i = visit.node
        arrives = ("Arrives", f"`{equals(self.v, _whole(visit))}`.")
        if self.graph.is_leaf(i):
            rows = [arrives, *self._hooked(visit), ("Adds up", self._deposit(visit))]
        else:
            rows = [
                arrives,
                *self._hooked(visit),
                *self._sends(visit),
                *self._gathers(visit),
                ("Frees", self._frees(i)),
            ]
        return Step(self.labels.title(i), self.labels.operation(i), tuple(rows))

    def _hooked(self, visit: Visit) -> list[tuple[str, str]]:
        """Say what was sent, where something else arrives: a hook came between."""
        sent = [v for _, v in self.received.get((visit.node, 0), [])]
        whole, found = sum(sent[1:], sent[0]) if sent else None, visit.arrived[0] if visit.arrived else None
        if whole is None or found is None or whole.shape != found.shape or np.allclose(whole, found, equal_nan=True):
            return []
        return [("Hook", f"`{brief(whole)}` was sent; a hook on the way replaced it.")]

    def _sends(self, visit: Visit) -> list[tuple[str, str]]:
        """Say what the rule is, and what it gives with these numbers."""
        rules: list[str] = []
        products: list[str] = []
        inputs = self.labels.inputs(visit.node)
        for slot, (child, _) in enumerate(self.graph.nodes[visit.node].next_functions):
            sent = visit.sent[slot] if slot < len(visit.sent) else None
            if child is None:
                continue
            if sent is None:
                products.append(f"{NOTHING} to `{inputs[slot]}`")
                continue
            rule, product = self._sent(visit, slot, sent)
            if not rule.startswith(UNKNOWN) or not rules:  # which is the same for each input
                rules.append(f"{rule} `{inputs[slot]}`{self._shrunk(visit, slot, sent)}")
            else:
                rules.append(f"`{inputs[slot]}`")
            products.append(f"{product} `{inputs[slot]}`")
        return ([("Rule", f"{_list(rules)}.")] if rules else []) + [("Sends", f"{_list(products)}.")]

    def _sent(self, visit: Visit, slot: int, sent: Array) -> tuple[str, str]:
        """Say what goes to one input, as a formula and in numbers, up to the input's name."""
        v = next(v for v in visit.arrived if v is not None)
        formula, numbers = self.labels.given(visit.node, slot, v, sent)
        result, to = brief(sent), "to"
        if self.labels.rules[visit.node].spreads and v.size == 1:
            result, to = brief(sent.reshape(-1)[0]), "to every element of"
        elif self.labels.rules[visit.node].spreads:
            formula, numbers = f"{formula}, repeated", None
        product = result if numbers in (None, result) else f"{numbers} = {result}"
        return f"{formula if formula.startswith(UNKNOWN) else f'`{formula}`'} {to}", f"`{product}` {to}"

    def _shrunk(self, visit: Visit, slot: int, sent: Array) -> str:
        """Say that a broadcast input gets the sum over its copies."""
        shapes = {v.shape for v in visit.arrived if v is not None}
        if slot not in self.labels.rules[visit.node].broadcasts or sent.shape in shapes:
            return ""
        return f", summed to its shape {sent.shape}" if sent.ndim else ", summed to one number"

    def _gathers(self, visit: Visit) -> list[tuple[str, str]]:
        """Note what the receivers hold by now, and say so for those that wait for more than one contribution."""
        i, now = visit.node, self.turn[visit.node]
        slots = zip(self.graph.edges, self.targets, self.graph.slots, strict=True)
        sent = [(to, visit.sent[slot]) for (source, _), to, slot in slots if source == i and slot < len(visit.sent)]
        for to, v in sent:
            if v is not None:
                self.received[to].append((now, v))
        shared = dict.fromkeys(to for to, v in sent if v is not None and self.expected[to] > 1)
        return [("Adds up", " ".join(self._gathered(to, now) for to in shared))] if shared else []

    def _gathered(self, to: tuple[int, int], now: int) -> str:
        name, parts = f"`{self.labels.output(*to)}`", self.received[to]
        total = _running([v for step, v in parts if step < now], [v for step, v in parts if step == now])
        if missing := self.expected[to] - len(parts):
            return f"{name} holds `{total}` and waits for {missing} more."
        return f"{name} now has all it waited for: `{total}`."

    def _deposit(self, visit: Visit) -> str:
        name = f"{self.labels.names[visit.node]}.grad"
        if visit.grad_after is None:
            return "nowhere; nobody holds this leaf any more, and what arrived is dropped."
        if visit.grad_before is None:
            return f"`{name}` was `None` and is now `{brief(visit.grad_after)}`."
        return f"`{name}` is now `{brief(visit.grad_before)} + {_whole(visit)} = {brief(visit.grad_after)}`."

    def _frees(self, i: int) -> str:
        kept = self.labels.kept(i)
        if not kept:
            return "nothing; this rule needs no value of the forward pass."
        return (
            f"{_list([name if name.startswith('the ') else f'`{name}`' for name in kept])}, saved in the forward pass."
        )


def equals(name: str, said: str) -> str:
    """Write what is said of an array: an equation if the elements are shown."""
    return f"{name}: {said}" if "norm" in said else f"{name} = {said}"


def _whole(visit: Visit) -> str:
    """Write what arrived: one cotangent for each output that was used."""
    return " and ".join(brief(v) for v in visit.arrived if v is not None) or NOTHING


def _running(before: list[Array], now: list[Array]) -> str:
    """Write a sum in which what came before is added up already."""
    terms = ([sum(before[1:], before[0])] if before else []) + now
    total = brief(sum(terms[1:], terms[0]))
    return total if len(terms) == 1 else f"{' + '.join(map(brief, terms))} = {total}"


def _list(items: list[str]) -> str:
    return ", ".join(items[:-1]) + (" and " if items[1:] else "") + "".join(items[-1:])
