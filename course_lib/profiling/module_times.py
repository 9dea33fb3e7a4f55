"""Time each module in a step, forward by module hooks and backward by hooks on the graph's nodes."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from course_lib.extras import load
from course_lib.instrument.graph_walk import graph_nodes
from course_lib.instrument.module_calls import OUTSIDE_MODULES, ModuleStack, track_module_calls
from course_lib.profiling.device_clocks import Clock
from course_lib.profiling.formatting import format_seconds

if TYPE_CHECKING:
    from torch import Tensor
    from torch.autograd.graph import Node
    from torch.utils.hooks import RemovableHandle

__all__ = ["ModuleTime", "ModuleTimer", "module_rows"]

NOTCH = 1.57  # medians whose notches do not overlap differ, at about 95%
UNCERTAIN = 0.1  # of a median


@dataclass(frozen=True)
class ModuleTime:
    r"""Time of one module in a step, in seconds, the modules that it calls included: medians over the steps.

    Attributes
    ----------
    name : str
        As in ``named_modules()``; the outermost module has the name of its class. Where a second outermost module
        brings a name that is taken, all its names begin with its own: ``Sequential#2.0``.
    kind : str
        The name of its class.
    calls : int
        In one forward pass, the mean rounded; 0 if it was called in a few steps only. Times are of steps that call it.
    forward_seconds, backward_seconds : float
        The backward time is that of the nodes that the module's forward pass recorded.
    self_forward_seconds, self_backward_seconds : float
        The same without the modules that it calls.
    forward_quartiles, backward_quartiles : tuple of float
        A quarter of the steps took less than the first, and a quarter more than the second.
    noisy : bool
        The steps are so few, and so different, that the forward or backward median may be off by a tenth: its notch in
        a box plot, :math:`1.57 \cdot \mathrm{IQR} / \sqrt{n}`, is wider (McGill, Tukey and Larsen, 1978).
    """

    name: str
    kind: str
    calls: int
    forward_seconds: float
    backward_seconds: float
    self_forward_seconds: float
    self_backward_seconds: float
    forward_quartiles: tuple[float, float] = (nan, nan)
    backward_quartiles: tuple[float, float] = (nan, nan)
    noisy: bool = False

    @classmethod
    def from_steps(cls, name: str, kind: str, rows: Sequence[Sequence[float]], *, steps: int) -> "ModuleTime":
        """Summarize a module's rows: calls, forward, backward, own forward and own backward, of each step with it."""
        calls, *columns = zip(*rows, strict=True)
        quantiles = np.quantile(np.array(columns), [0.25, 0.5, 0.75], axis=1).T.tolist()
        forward, backward, own_forward, own_backward = (median for _, median, _ in quantiles)
        (low, _, high), (backward_low, _, backward_high) = quantiles[:2]
        allowed = UNCERTAIN * sqrt(len(rows)) / NOTCH
        return cls(
            name,
            kind,
            round(sum(calls) / steps),
            forward,
            backward,
            own_forward,
            own_backward,
            (low, high),
            (backward_low, backward_high),
            high - low > allowed * forward or backward_high - backward_low > allowed * backward,
        )


def module_rows(modules: Iterable[ModuleTime], *, has_backward: bool) -> list[tuple[str, ...]]:
    """Return a table of modules: calls, and medians with half the distance between their quartiles, where known."""
    rows: list[tuple[str, ...]] = [("module", "calls", "forward", *(["backward"] if has_backward else []))]
    for m in modules:
        name = m.name if m.kind in ("", m.name) else f"{m.name} {m.kind}"
        both = (m.forward_seconds, m.forward_quartiles), (m.backward_seconds, m.backward_quartiles)
        rows.append((name, str(m.calls), *(_with_spread(*time) for time in both[: 1 + has_backward])))
    return rows


def _with_spread(seconds: float, quartiles: tuple[float, float]) -> str:
    """Format a median, with half the distance between its quartiles if it is known."""
    half = (quartiles[1] - quartiles[0]) / 2
    return format_seconds(seconds) + (f" ±{half / seconds:3.0%}" if seconds and not isnan(half) else "")


class ModuleTimer:
    """Timer of all modules in one step.

    Forward, by hooks before and after each call. Backward, by hooks before and after each node of the graph: a node
    belongs to the modules in which it was recorded, which its sequence number tells. No module gets a backward hook,
    which would put nodes of its own into the graph and forbid in-place operations.
    """

    def __init__(self, clock: Clock[Any]) -> None:
        self.clock = clock
        self.forward: list[tuple[tuple[str, ...], Any, Any]] = []
        self.backward: list[tuple[tuple[str, ...], Any, Any]] = []
        self.changes: list[tuple[int, tuple[str, ...]]] = [(0, ())]  # from which sequence number on, where we were
        self.starts: list[Any] = []
        self.calls = ModuleStack()

    @contextmanager
    def time_forward(self) -> Iterator[None]:
        """Time the forward passes in a ``with`` block that has run before."""
        number = load("torch._C", extra="torch")._autograd._get_sequence_nr

        def on_enter(now: ModuleStack) -> None:
            self.changes.append((number(), now.stack))
            self.starts.append(self.clock.mark())

        def on_leave(now: ModuleStack) -> None:
            self.forward.append((now.stack, self.starts.pop(), self.clock.mark()))
            self.changes.append((number(), now.stack[:-1]))

        with track_module_calls(on_enter, on_leave, warm=True) as self.calls:
            yield

    @contextmanager
    def time_backward(self, loss: "Tensor") -> Iterator[None]:
        """Time each node behind the loss in the backward pass inside."""
        numbers = [number for number, _ in self.changes]
        owners = {
            id(p): name for i, name in self.calls.names.items() for p in self.calls.modules[i]._parameters.values()
        }
        where = {stack[-1]: stack for _, stack in self.changes if stack}
        with ExitStack() as handles:
            for node in graph_nodes(loss):
                if hasattr(node, "variable"):  # a leaf's node may be older than this graph, and outlive it
                    stack = where.get(owners.get(id(node.variable), ""), ())
                else:
                    stack = self.changes[bisect_right(numbers, node._sequence_nr()) - 1][1]
                for handle in self.hook_node(node, stack):
                    handles.callback(handle.remove)
            yield

    def hook_node(self, node: "Node", stack: tuple[str, ...]) -> "tuple[RemovableHandle, RemovableHandle]":
        """Time one node by two hooks."""
        starts: list[Any] = []

        def before(grad_outputs: object) -> None:
            starts.append(self.clock.mark())

        def after(grad_inputs: object, grad_outputs: object = None) -> None:
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
            for name in set(stack) or {OUTSIDE_MODULES}:
                found.setdefault(name, [0.0] * 5)[2] += took
            found[stack[-1] if stack else OUTSIDE_MODULES][4] += took
        if OUTSIDE_MODULES in found:
            found[OUTSIDE_MODULES][1] = found[OUTSIDE_MODULES][3] = forward_seconds - sum(
                row[3] for row in found.values()
            )
        order = dict.fromkeys(name for _, stack in self.changes for name in stack)
        return {name: found[name] for name in [*order, OUTSIDE_MODULES] if name in found}
