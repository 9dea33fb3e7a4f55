"""Which module is being called, and what each costs, forward and backward."""

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from course_lib.costs.calls import OUTSIDE, Calls, calls
from course_lib.costs.graph import nodes_below
from course_lib.extras import load
from course_lib.profiling.clocks import Clock

__all__ = ["ModuleTime", "ModuleWatch"]


@dataclass(frozen=True)
class ModuleTime:
    """What one module took in a step, in seconds, the modules that it calls included.

    Attributes
    ----------
    name : str
        As in ``named_modules()``; the outermost module has the name of its class. Where a second outermost module
        brings a name that is taken, all its names begin with its own: ``Sequential#2.0``.
    kind : str
        The name of its class.
    calls : int
        In one forward pass, the mean rounded; 0 if it was called in a few steps only.
    forward_seconds, backward_seconds : float
        The backward time is that of the nodes that the module's forward pass recorded.
    self_forward_seconds, self_backward_seconds : float
        The same without the modules that it calls.
    """

    name: str
    kind: str
    calls: int
    forward_seconds: float
    backward_seconds: float
    self_forward_seconds: float
    self_backward_seconds: float


class ModuleWatch:
    """Times each module in one step.

    Forward, by hooks before and after each call. Backward, by hooks before and after each node of the graph: a node
    belongs to the modules in which it was recorded, which its sequence number tells. No module gets a backward hook,
    which would put nodes of its own into the graph and forbid in-place operations.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.forward: list[tuple[tuple[str, ...], Any, Any]] = []
        self.backward: list[tuple[tuple[str, ...], Any, Any]] = []
        self.changes: list[tuple[int, tuple[str, ...]]] = [(0, ())]  # from which sequence number on, where we were
        self.starts: list[Any] = []
        self.calls = Calls()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Time the forward passes in this stretch of code, which has run before."""
        number = load("torch._C", extra="torch")._autograd._get_sequence_nr

        def entered(now: Calls) -> None:
            self.changes.append((number(), now.stack))
            self.starts.append(self.clock.mark())

        def left(now: Calls) -> None:
            self.forward.append((now.stack, self.starts.pop(), self.clock.mark()))
            self.changes.append((number(), now.stack[:-1]))

        with calls(entered, left, warm=True) as self.calls:
            yield

    @contextmanager
    def hooked(self, loss: Any) -> Iterator[None]:
        """Put a clock on each node behind the loss, for the backward pass inside."""
        numbers = [number for number, _ in self.changes]
        owners = {
            id(p): name for i, name in self.calls.names.items() for p in self.calls.modules[i]._parameters.values()
        }
        where = {stack[-1]: stack for _, stack in self.changes if stack}
        with ExitStack() as handles:
            for node in nodes_below(loss):
                if hasattr(node, "variable"):  # a leaf's node may be older than this graph, and outlive it
                    stack = where.get(owners.get(id(node.variable), ""), ())
                else:
                    stack = self.changes[bisect_right(numbers, node._sequence_nr()) - 1][1]
                for handle in self.hook(node, stack):
                    handles.callback(handle.remove)
            yield

    def hook(self, node: Any, stack: tuple[str, ...]) -> tuple[Any, Any]:
        """Time one node."""
        starts: list[Any] = []

        def before(grad_outputs: Any) -> None:
            starts.append(self.clock.mark())

        def after(grad_inputs: Any, grad_outputs: Any = None) -> None:
            self.backward.append((stack, starts.pop(), self.clock.mark()))

        return node.register_prehook(before), node.register_hook(after)

    def seconds(self, forward_seconds: float) -> dict[str, list[float]]:
        """Return calls, forward, backward, own forward and own backward seconds by module, after a step."""
        found: dict[str, list[float]] = {}
        for stack, start, end in self.forward:
            took = self.clock.seconds(start, end)
            row = found.setdefault(stack[-1], [0.0] * 5)
            row[0] += 1
            row[1] += took if stack[-1] not in stack[:-1] else 0  # a module that calls itself is counted once
            row[3] += took
            if len(stack) > 1:
                found.setdefault(stack[-2], [0.0] * 5)[3] -= took
        for stack, start, end in self.backward:
            took = self.clock.seconds(start, end)
            for name in set(stack) or {OUTSIDE}:
                found.setdefault(name, [0.0] * 5)[2] += took
            found[stack[-1] if stack else OUTSIDE][4] += took
        if OUTSIDE in found:
            found[OUTSIDE][1] = found[OUTSIDE][3] = forward_seconds - sum(row[3] for row in found.values())
        order = dict.fromkeys(name for _, stack in self.changes for name in stack)
        return {name: found[name] for name in [*order, OUTSIDE] if name in found}
