"""Call every value in a graph by a short name, and know its numbers where the graph or the caller has kept them."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from course_lib.figures.brief import array_of, exact
from course_lib.figures.nodes import Graph
from course_lib.figures.stepper.rules import rule_for
from course_lib.figures.stepper.vocabulary import KEPT, Rule
from course_lib.figures.stepper.walk import Walk

__all__ = ["Labels"]

ROOM = 16  # characters for numbers inside a formula
IN_WORDS = (" of {", " it was ")  # rules that say where or how are not formulas to put numbers into


class Labels:
    """Names, formulas and rules of one walk; what the caller did not name is ``t1``, ``t2``, ... in forward order."""

    def __init__(self, graph: Graph, walked: Walk) -> None:
        self.graph = graph
        self.saved = walked.saved
        self.names = _names(graph, [visit.node for visit in walked.visits])
        self.cotangent = next(v for v in ("v", "g", "cotangent") if v not in self.names)
        self.rules = [
            rule_for(graph.nodes[i].name(), len(graph.nodes[i].next_functions), walked.saved[i])
            if not graph.is_leaf(i)
            else Rule("", ())
            for i in range(len(graph.nodes))
        ]

    def operation(self, i: int) -> str:
        """Return what the engine calls node ``i``."""
        return "AccumulateGrad" if self.graph.is_leaf(i) else str(self.graph.nodes[i].name())

    def title(self, i: int) -> str:
        """Return the name with its formula, or a leaf's with its value."""
        if not self.graph.is_leaf(i):
            return f"{self._left_side(i)} = {self.rules[i].forward.format(*self.inputs(i))}"
        tensor = self.graph.tensor(i)
        if tensor is None:
            return self.names[i]
        value = exact(array_of(tensor), room=ROOM)
        return f"{self.names[i]} = {value}" if value else f"{self.names[i]} ({'x'.join(map(str, tensor.shape))})"

    def output(self, i: int, output: int) -> str:
        """Return the name of one output of node ``i``: the node's own, if no other is used."""
        if self.graph.is_leaf(i) or self.graph.used_outputs(i) in ([0], []):
            return self.names[i]
        return self.graph.name(i, output) or f"{self.names[i]}[{output}]"

    def _left_side(self, i: int) -> str:
        outputs = self.graph.used_outputs(i)
        named = any(self.graph.name(i, k) for k in outputs)
        return ", ".join(self.output(i, k) for k in outputs) if named else self.names[i]

    def inputs(self, i: int) -> list[str]:
        """Return the name of each input of node ``i``; one without gradient has a name, its numbers or "constant"."""
        return [
            self._constant(i, slot) if child is None else self.output(self.graph.nodes.index(child), output)
            for slot, (child, output) in enumerate(self.graph.nodes[i].next_functions)
        ]

    def given(self, i: int, slot: int, v: Any, sent: Any) -> tuple[str, str | None]:
        """Return what node ``i`` sends to an input, as a formula, and with its numbers put in where they are short."""
        template = self.rules[i].gives[slot]
        names = self.inputs(i)
        n = max(sent.size // max(v.size, 1), 1)
        formula = template.format(*names, v=self.cotangent, out=self.names[i], count=n)
        values = [self._value(i, key) for key in range(len(names))]
        numbers = dict(enumerate(values)) | {"v": exact(v, room=ROOM), "out": self._value(i, "out"), "count": str(n)}
        needed = {key for key in numbers if f"{{{key}}}" in template}
        if not needed or any(numbers[key] is None for key in needed) or any(said in template for said in IN_WORDS):
            return formula, None
        bracketed = {key: f"({said})" if str(said).startswith("-") else said for key, said in numbers.items()}
        numeric = template.format(*(bracketed[k] for k in range(len(names))), **{
            key: bracketed[key] for key in ("v", "out", "count")
        })  # fmt: skip
        return formula, numeric

    def kept(self, i: int) -> list[str]:
        """Return the names of the arrays that node ``i`` saved in the forward pass."""
        arrays = [key for key, value in self.saved[i].items() if hasattr(value, "shape")]
        return list(dict.fromkeys(self._saved_name(i, key) for key in arrays))

    def _saved_name(self, i: int, key: str) -> str:
        if key in ("out", "result"):
            return self.names[i]
        if key.startswith("result") and "Norm" not in self.operation(i):
            return "the results of its kernel"
        inputs = self.inputs(i)
        slots = zip(inputs, self.rules[i].saved, strict=False)
        return next((name for name, aliases in slots if key in aliases.split("|")), KEPT.get(key, key))

    def _found(self, i: int, key: int | str) -> Any:
        """Return input number ``key`` of node ``i``, or its output, where node or caller has kept it."""
        graph, saved = self.graph, self.saved[i]
        aliases = "out|result" if key == "out" else dict(enumerate(self.rules[i].saved)).get(int(key), "")
        kept = next((saved[alias] for alias in aliases.split("|") if saved.get(alias) is not None), None)
        if kept is not None:
            return kept
        node, output = (graph.nodes[i], 0) if key == "out" else graph.nodes[i].next_functions[int(key)]
        return None if node is None else graph.tensor(graph.nodes.index(node), output)

    def _value(self, i: int, key: int | str) -> str | None:
        found = self._found(i, key)
        return None if found is None else exact(array_of(found), room=ROOM)

    def _constant(self, i: int, slot: int) -> str:
        found = self._found(i, slot)
        if found is None:
            return "constant"
        name = next((name for name, tensor in self.graph.names.items() if _same(tensor, found)), None)
        return name or exact(array_of(found), room=8) or "constant"


def _names(graph: Graph, visited: list[int]) -> list[str]:
    single = [i for i in range(len(graph.nodes)) if graph.is_leaf(i) or graph.used_outputs(i) in ([0], [])]
    names: dict[int, str] = {i: name for i in single if (name := graph.name(i)) is not None}
    fresh = {kind: _unused(prefix, graph.names) for kind, prefix in ((True, "leaf"), (False, "t"))}
    unvisited = [i for i in range(len(graph.nodes)) if i not in visited]
    for i in [*visited, *unvisited][::-1]:  # the walk goes backwards, so its reverse is the forward order
        if i not in names:
            names[i] = next(fresh[graph.is_leaf(i)])
    return [names[i] for i in range(len(graph.nodes))]


def _unused(prefix: str, names: Mapping[str, Any]) -> Iterator[str]:
    return (name for i in count(1) if (name := f"{prefix}{i}") not in names)


def _same(tensor: Any, saved: Any) -> bool:
    """Say whether a saved array is this tensor's own memory, in the same shape."""
    return _address(tensor) == _address(saved) and tuple(tensor.shape) == tuple(saved.shape)


def _address(value: Any) -> int:
    if hasattr(value, "data_ptr"):
        return int(value.data_ptr())
    array = value if hasattr(value, "__array_interface__") else value.detach().numpy()
    return int(array.__array_interface__["data"][0])
