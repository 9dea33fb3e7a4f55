"""Nodes of the computational graph: the operations that they record."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph import write_clock
from course_lib.autograd.graph.hooks import Hook, NodeHooks, RemovableHandle, hooks_of, run_hooks
from course_lib.autograd.graph.second_backward import second_backward_error
from course_lib.autograd.variable import Tensor, Value, as_tensor, new_tensor

__all__ = ["LEAF", "OUT", "Node", "Operation"]


Vjps: TypeAlias = tuple[Callable[..., Any], ...]


class Node:
    """Node of the graph: an operation ``op`` with a vjp for each of ``parents``, and the ``saved`` values they read.

    A node keeps arrays, never tensors, so a tensor that only the forward pass needed dies as soon as the forward pass
    drops it.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor(3.0, requires_grad=True)
    >>> node = (x * x + 1).grad_fn
    >>> node.name(), [parent and parent.name() for parent in node.parents]
    ('AddBackward0', ['MulBackward0', None])
    """

    __slots__ = ("__weakref__", "grad", "hooks", "op", "parents", "saved", "seq")

    op: "Operation"
    parents: tuple["Node | None", ...]  # empty for a leaf, None for an input without gradient
    saved: tuple[Any, ...] | None  # None once freed
    grad: Value | None  # the cotangent collected so far; set during a walk only
    hooks: NodeHooks | None  # hooks, and the tensor whose ``.grad`` is to be filled; None for most nodes

    def __init__(self, op: "Operation", parents: tuple["Node | None", ...] = (), saved: tuple[Any, ...] = ()) -> None:
        self.seq = write_clock.next_seq()
        self.op = op
        self.parents = parents
        self.saved = saved
        self.grad = self.hooks = None

    def name(self) -> str:
        """Name the operation, as torch does."""
        return self.op.name

    @property
    def next_functions(self) -> tuple[tuple["Node | None", int], ...]:
        """The parent nodes, each with the number of the output it stands for (here always 0)."""
        return tuple((parent, 0) for parent in self.parents)

    @property
    def variable(self) -> Tensor | None:
        """The tensor whose ``.grad`` is filled here, if it is still alive."""
        return None if self.hooks is None else self.hooks.tensor()

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after the vjps; a tuple it returns replaces ``grad_inputs``."""
        return RemovableHandle(hooks_of(self).on_leave, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before the vjps; a tuple it returns replaces ``grad_outputs``."""
        return RemovableHandle(hooks_of(self).on_enter, hook)

    def saved_values(self) -> tuple[Any, ...]:
        """Return the saved values; refuse a second backward pass, and values that were changed in place."""
        if self.saved is None:
            raise second_backward_error(self.name())
        saved = self.saved
        if self.hooks is not None:  # a pack hook may have put it away
            saved = tuple(s().value if isinstance(s, partial) else s for s in saved)
        if self.seq > write_clock.latest_write:  # something was written to since this node was made
            write_clock.check_unchanged(self, saved)
        return saved

    def prepare_vjps(self, g: Value, create_graph: bool) -> tuple[Value, tuple[Any, ...], Vjps]:
        """Return cotangent, saved values and vjps, after hooks, version checks and what ``create_graph`` needs."""
        saved, vjps, own = self.saved_values(), self.op.vjps, self.hooks
        if create_graph:
            saved = self.op.reconnect(self, saved)
        if own is not None and self.parents:  # at the end of a path the hooks have run
            (g,) = run_hooks(own.on_enter, [g])  # type: ignore[assignment] # as given
            if own.on_leave:  # which must see all results, so the rules only hand them out
                results = [None if p is None else vjp(g, *saved) for p, vjp in zip(self.parents, vjps, strict=False)]
                results = run_hooks(own.on_leave, results, (as_tensor(g),))
                vjps = tuple(lambda *_, r=r: r for r in results)
        return g, saved, vjps

    def __call__(self, grad_output: Value) -> Tensor | tuple[Tensor | None, ...] | None:
        """Apply the vjps to a cotangent, as torch's nodes do when called: one result per input, nothing freed."""
        saved, g = self.saved_values(), getattr(grad_output, "value", grad_output)
        with grad_mode.no_grad(), np.errstate(all="ignore"):
            found = tuple(
                new_tensor(vjp(g, *saved)) if p else None for p, vjp in zip(self.parents, self.op.vjps, strict=True)
            )
        return found[0] if len(found) == 1 else found

    def __repr__(self) -> str:
        return f"<{self.name()}>"


class Operation:
    """Operation of a node: a vjp for each parent, the names of the saved values, and where these came from.

    ``frees`` says whether the vjps read arrays, which are freed once the walk has passed, or only sizes and settings.
    ``origins`` has the number of the parent that each saved array was the value of, ``OUT`` if it was the result, and
    None if it is not part of the graph.
    """

    frees = False

    def __init__(
        self, name: str, vjps: Vjps = (), saves: Sequence[str] = (), origins: Sequence[int | None] = ()
    ) -> None:
        self.name, self.vjps, self.saves, self.origins = name, vjps, saves, origins

    def reconnect(self, node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """Reconnect saved arrays to the graph they came from, so that the vjps that read them can be differentiated."""
        nodes = (*node.parents, node)
        pairs = zip(saved, self.origins, strict=True)
        return tuple(s if s is None or origin is None else new_tensor(s, nodes[origin]) for s, origin in pairs)


OUT = -1
LEAF = Operation("AccumulateGrad")  # the end of a path in the graph, where ``.grad`` is filled
