"""Attribute FLOPs to their pass and their modules: where an operation runs, and who recorded the node that runs it."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import get_ident

from course_lib.extras import load
from course_lib.instrument.module_calls import OUTSIDE_MODULES, ModuleStack, track_module_calls

__all__ = ["ModuleFlops", "OwnerTracker", "PassFlops"]


@dataclass(frozen=True)
class ModuleFlops:
    """FLOPs of one module, those of the modules that it calls included.

    Attributes
    ----------
    name : str
        As in ``named_modules()``; the outermost module has the name of its class. ``(outside modules)`` is the rest.
    kind : str
        The name of its class.
    forward, backward : int
        The backward FLOPs are those of the nodes that the module's forward pass recorded, and of what it recomputes.
    self_forward, self_backward : int
        The same without the modules that it calls: over all modules they add up to the FLOPs of the pass.
    """

    name: str
    kind: str
    forward: int
    backward: int
    self_forward: int
    self_backward: int


@dataclass(frozen=True)
class _Owner:
    """Where an operation ran: in the function that is counted, in a node of a backward pass, in which modules."""

    inside: bool
    in_node: bool
    recomputed: bool
    stack: tuple[str, ...]


@dataclass(frozen=True)
class PassFlops:
    """FLOPs of both passes by operation, what of the backward pass was recomputed, and FLOPs by module."""

    forward: dict[str, int]
    backward: dict[str, int]
    recompute: int
    modules: dict[str, ModuleFlops]


class OwnerTracker(nullcontext[None]):
    """Tell torch's counter, in place of its own tracker of modules, whose an operation is.

    The counter's own would put nodes into the graph, which then cannot be differentiated twice. An operation of the
    backward pass belongs to the modules in which its node was recorded, which the node's sequence number tells.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls = ModuleStack()
        self.inside = True  # the function that is counted, not the backward pass that follows it
        self.accumulated = False  # whether backward() has run inside, which ends in the leaves' .grad
        self.differentiable = False  # whether a backward pass recorded a graph of its own
        self._order = dict[str, None]()
        self._thread = get_ident()
        self._changes: list[tuple[int, tuple[str, ...]]] = [(0, ())]  # from which sequence number on, in which modules
        self._torch = load("torch", extra="torch")
        self._number = self._torch._C._autograd._get_sequence_nr
        self._node = self._torch._C._current_autograd_node

    @contextmanager
    def track(self) -> Iterator[None]:
        """Follow the calls of modules inside."""

        def on_enter(now: ModuleStack) -> None:
            self._order.setdefault(now.innermost)
            self._note_change(now.stack)

        with track_module_calls(on_enter, lambda now: self._note_change(now.stack[:-1])) as self.calls:
            yield

    def _note_change(self, stack: tuple[str, ...]) -> None:
        if get_ident() == self._thread:  # a device's backward pass has a thread, and numbers, of its own
            self._changes.append((self._number(), stack))

    @property
    def parents(self) -> set[_Owner]:
        """The owner of the operation that runs now, which is the name under which the counter adds it up."""
        node, stack = self._node(), self.calls.stack
        if node is None:
            return {_Owner(self.inside, False, False, stack)}
        if not stack:  # else the backward pass is calling modules again
            at = bisect_right(self._changes, node._sequence_nr(), key=lambda change: change[0])
            stack = self._changes[at - 1][1]
        return {_Owner(self.inside, True, self._torch.is_grad_enabled(), stack)}

    def note_operation(self) -> None:
        """Note whether a gradient arrives at a leaf, as only ``backward()`` makes it do."""
        node = self._node()
        if self.inside and node is not None and node.name() == "torch::autograd::AccumulateGrad":
            self.accumulated = True
            self.differentiable |= self._torch.is_grad_enabled()

    def add_up(self, counts: Mapping[_Owner, Mapping[object, int]], *, ran_backward: bool) -> PassFlops:
        """Add up the counter's counts; if the function ran its own backward pass, the nodes in it are that pass."""
        passes, recompute, rows = (Counter[str](), Counter[str]()), 0, dict[str, list[int]]()
        for owner, by_op in counts.items():
            backward = owner.in_node if ran_backward else not owner.inside
            flops = sum(by_op.values())
            passes[backward].update({str(op): int(n) for op, n in by_op.items()})
            recompute += flops if backward and owner.recomputed and not self.differentiable else 0
            for name in set(owner.stack) or {OUTSIDE_MODULES}:
                rows.setdefault(name, [0] * 4)[backward] += flops
            rows[owner.stack[-1] if owner.stack else OUTSIDE_MODULES][2 + backward] += flops
        kinds, ordered = self.calls.kinds, [name for name in (*self._order, OUTSIDE_MODULES) if name in rows]
        modules = {name: ModuleFlops(name, kinds.get(name, ""), *rows[name]) for name in ordered}
        return PassFlops(dict(passes[0]), dict(passes[1]), int(recompute), modules)
