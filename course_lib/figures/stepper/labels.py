"""Name every value in a graph, and format its rules with names and numbers."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from course_lib.figures.graphs.recorded_graph import RecordedGraph
from course_lib.figures.short_numbers import Array, convert_to_array, format_briefly, format_elements
from course_lib.figures.stepper.backward_run import BackwardRun
from course_lib.figures.stepper.fitted_rules import find_rule
from course_lib.figures.stepper.rule_table import SAVED_WORDS, Rule
from course_lib.types import AnyArray

__all__ = ["Labels"]

ROOM = 16  # characters for numbers inside a formula


class Labels:
    """Names, formulas and rules of one backward pass; unnamed values are ``t1``, ``t2``, ... in forward order."""

    def __init__(self, graph: RecordedGraph, walked: BackwardRun) -> None:
        self.graph = graph
        self.saved = walked.saved
        self.names = _name_nodes(graph, [visit.node for visit in walked.visits])
        self.cotangent = next(v for v in ("v", "g", "cotangent") if v not in self.names)
        self.rules = [
            find_rule(graph.nodes[i].name(), len(graph.nodes[i].next_functions), walked.saved[i])
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
            return f"{self._format_left_side(i)} = {self.rules[i].forward.format(*self.input_names(i))}"
        tensor = self.graph.tensor(i)
        if tensor is None:
            return self.names[i]
        value = format_elements(convert_to_array(tensor), room=ROOM)
        return f"{self.names[i]} = {value}" if value else f"{self.names[i]} ({'x'.join(map(str, tensor.shape))})"

    def value_title(self, i: int) -> str:
        """Return the title with the value from the forward pass, where that is one known number: ``a = x ** 2 = 9``."""
        if self.graph.is_leaf(i):
            return self.title(i)
        value = self._find_value(i, "out")
        is_one_number = value is not None and not getattr(value, "shape", ())
        return f"{self.title(i)} = {format_briefly(convert_to_array(value))}" if is_one_number else self.title(i)

    def output_name(self, i: int, output: int) -> str:
        """Return the name of one output of node ``i``: the node's own, if no other is used."""
        if self.graph.is_leaf(i) or self.graph.used_outputs(i) in ([0], []):
            return self.names[i]
        return self.graph.name(i, output) or f"{self.names[i]}[{output}]"

    def _format_left_side(self, i: int) -> str:
        """Format the left side of a node's equation."""
        outputs = self.graph.used_outputs(i)
        named = any(self.graph.name(i, k) for k in outputs)
        return ", ".join(self.output_name(i, k) for k in outputs) if named else self.names[i]

    def input_names(self, i: int) -> list[str]:
        """Return the name of each input of node ``i``; one without gradient has a name, its numbers or "constant"."""
        return [
            self._name_constant(i, slot) if child is None else self.output_name(self.graph.nodes.index(child), output)
            for slot, (child, output) in enumerate(self.graph.nodes[i].next_functions)
        ]

    def format_sent(self, i: int, slot: int, v: Array, sent: Array) -> tuple[str, str | None]:
        """Return what node ``i`` sends to an input, as a formula, and with its numbers put in where they are short."""
        template = self.rules[i].gives[slot]
        names = self.input_names(i)
        n = max(sent.size // max(v.size, 1), 1)
        formula = template.format(*names, v=self.cotangent, out=self.names[i], count=n)
        values = [self._format_value(i, key) for key in range(len(names))]
        numbers = dict(enumerate(values)) | {
            "v": format_elements(v, room=ROOM),
            "out": self._format_value(i, "out"),
            "count": str(n),
        }
        needed = {key for key in numbers if f"{{{key}}}" in template}
        if not needed or any(numbers[key] is None for key in needed) or slot in self.rules[i].in_words:
            return formula, None
        bracketed = {key: f"({said})" if str(said).startswith("-") else said for key, said in numbers.items()}
        numeric = template.format(*(bracketed[k] for k in range(len(names))), **{
            key: bracketed[key] for key in ("v", "out", "count")
        })  # fmt: skip
        return formula, numeric

    def describe_saved(self, i: int) -> list[str]:
        """Name or describe the arrays that node ``i`` saved in the forward pass; names are between backticks."""
        arrays = [key for key, value in self.saved[i].items() if hasattr(value, "shape")]
        return list(dict.fromkeys(self._describe_saved_array(i, key) for key in arrays))

    def _describe_saved_array(self, i: int, key: str) -> str:
        """Name or describe one saved array."""
        if key in ("out", "result"):
            return f"`{self.names[i]}`"
        if key.startswith("result") and "Norm" not in self.operation(i):
            return "the results of its kernel"
        slots = zip(self.input_names(i), self.rules[i].saved, strict=False)
        name = next((name for name, aliases in slots if key in aliases.split("|")), None)
        return SAVED_WORDS.get(key, f"`{key}`") if name is None else f"`{name}`"

    def _find_value(self, i: int, key: int | str) -> Any:
        """Return input number ``key`` of node ``i``, or its output, where node or caller has kept it."""
        graph, saved = self.graph, self.saved[i]
        aliases = "out|result" if key == "out" else dict(enumerate(self.rules[i].saved)).get(int(key), "")
        kept = next((saved[alias] for alias in aliases.split("|") if saved.get(alias) is not None), None)
        if kept is not None:
            return kept
        node, output = (graph.nodes[i], 0) if key == "out" else graph.nodes[i].next_functions[int(key)]
        return None if node is None else graph.tensor(graph.nodes.index(node), output)

    def _format_value(self, i: int, key: int | str) -> str | None:
        """Format an input or the output of a node, where it is known and short."""
        found = self._find_value(i, key)
        return None if found is None else format_elements(convert_to_array(found), room=ROOM)

    def _name_constant(self, i: int, slot: int) -> str:
        """Name an input without a gradient."""
        found = self._find_value(i, slot)
        if found is None:
            return "constant"
        name = next((name for name, tensor in self.graph.names.items() if _share_memory(tensor, found)), None)
        return name or format_elements(convert_to_array(found), room=8) or "constant"


def _name_nodes(graph: RecordedGraph, visited: list[int]) -> list[str]:
    """Name each node by the caller's name of its result, or by a number in forward order."""
    single = [i for i in range(len(graph.nodes)) if graph.is_leaf(i) or graph.used_outputs(i) in ([0], [])]
    names: dict[int, str] = {i: name for i in single if (name := graph.name(i)) is not None}
    fresh = {kind: _unused_names(prefix, graph.names) for kind, prefix in ((True, "leaf"), (False, "t"))}
    unvisited = [i for i in range(len(graph.nodes)) if i not in visited]
    for i in [*visited, *unvisited][::-1]:  # the walk goes backwards, so its reverse is the forward order
        if i not in names:
            names[i] = next(fresh[graph.is_leaf(i)])
    return [names[i] for i in range(len(graph.nodes))]


def _unused_names(prefix: str, names: Mapping[str, Any]) -> Iterator[str]:
    """Generate numbered names that are not taken."""
    return (name for i in count(1) if (name := f"{prefix}{i}") not in names)


def _share_memory(tensor: AnyArray, saved: AnyArray) -> bool:
    """Return whether a saved array is this tensor's own memory, in the same shape."""
    return _memory_address(tensor) == _memory_address(saved) and tuple(tensor.shape) == tuple(saved.shape)


def _memory_address(value: Any) -> int:
    """Return where the first element lies in memory."""
    if hasattr(value, "data_ptr"):
        return int(value.data_ptr())
    array = value if hasattr(value, "__array_interface__") else value.detach().numpy()
    return int(array.__array_interface__["data"][0])
