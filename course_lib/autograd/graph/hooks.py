"""Hooks: on tensors, nodes and saved tensors; accumulation into ``.grad``."""

from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph import write_clock
from course_lib.autograd.graph.references import IN_A_CALL
from course_lib.autograd.variable import Tensor, Value, Variable, as_tensor, new_tensor
from course_lib.errors import AutogradError

if TYPE_CHECKING:
    from course_lib.autograd.graph.node import Node

__all__ = ["Hook", "NodeHooks", "RemovableHandle", "hooks_of", "retain_grad", "run_hooks", "saved_tensors_hooks"]

Hook: TypeAlias = Callable[..., Any]
_Hooks: TypeAlias = "dict[RemovableHandle, Hook]"


class RemovableHandle:
    """Handle of a registered hook; :meth:`remove` unregisters it.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor(3.0, requires_grad=True)
    >>> handle = x.register_hook(lambda g: 10 * g)
    >>> (x * x).backward()
    >>> handle.remove()
    >>> (x * x).backward()
    >>> x.grad  # 60, and 6 without the hook
    tensor(66.)
    """

    def __init__(self, hooks: _Hooks, hook: Hook) -> None:
        self.hooks = hooks
        hooks[self] = hook

    def remove(self) -> None:
        """Forget the hook."""
        self.hooks.pop(self, None)


class NodeHooks:
    """Hooks of one node, and the tensor whose ``.grad`` its cotangent is added to."""

    __slots__ = ("on_accumulate", "on_enter", "on_leave", "on_tensor", "tensor")

    def __init__(self) -> None:
        # or a weak reference: a graph does not keep its leaves alive
        self.tensor: Callable[[], Tensor | None] = lambda: None
        self.on_tensor: _Hooks = {}
        self.on_accumulate: _Hooks = {}
        self.on_enter: _Hooks = {}
        self.on_leave: _Hooks = {}

    def receive(self, g: Value | None, *, accumulate: bool, last: bool) -> Value | None:
        """Run the hooks on a complete cotangent, and add it to ``.grad``; a ``last`` one is not passed on."""
        if self.on_tensor:
            for hook in tuple(self.on_tensor.values()):
                g = _replace_gradient(g, hook(as_tensor(g)))
        if self.on_enter and last and accumulate:
            (g,) = run_hooks(self.on_enter, [g])
        tensor = self.tensor()
        if accumulate and tensor is not None:
            new = last and tensor.stored_grad is None
            if new and type(g) is np.ndarray and getrefcount(g) == IN_A_CALL and g.base is None:
                tensor.stored_grad = new_tensor(g)
            else:
                _accumulate_grad(tensor, as_tensor(g))
            if self.on_accumulate:
                for hook in tuple(self.on_accumulate.values()):
                    hook(tensor)
            if self.on_leave and last:
                run_hooks(self.on_leave, [], (as_tensor(g),))
        return g


def run_hooks(hooks: _Hooks, gs: list[Value | None], *given: tuple[Tensor | None, ...]) -> list[Value | None]:
    """Run hooks on the gradients that enter or leave a node: each receives what the one before returned."""
    for hook in tuple(hooks.values()):
        new = hook(tuple(map(as_tensor, gs)), *given)
        if new is not None:
            new = tuple(new) if isinstance(new, (tuple, list)) else (new,)
            if len(new) != len(gs):
                raise AutogradError(
                    f"a hook on a node must return one gradient for each of the {len(gs)} that it may replace, or "
                    f"None, but it returned {len(new)}. Put None where one is to stay."
                )
            gs = [_replace_gradient(g, n) for g, n in zip(gs, new, strict=True)]
    return gs


def _replace_gradient(g: Value | None, new: Tensor | None) -> Value | None:
    """Replace ``g`` by what a hook returned, an array if ``g`` is one; None leaves ``g`` as it is."""
    if new is None:
        return g
    if not isinstance(new, Variable):
        raise AutogradError(f"a hook must return a tensor, or None, but it returned a {type(new).__name__}.")
    if g is not None and (new.shape, new.dtype) != (g.shape, g.dtype):
        raise AutogradError(
            f"what a hook returns must have the shape and dtype of the gradient, {g.shape} and {g.dtype}, but it has "
            f"{new.shape} and {new.dtype}. Return None to leave the gradient as it is."
        )
    return new if isinstance(g, Variable) else new.value


def _accumulate_grad(tensor: Tensor, g: Tensor) -> None:
    """Add ``g`` to ``tensor.grad``, or put a copy there."""
    old = tensor.stored_grad
    if old is None:
        tensor.stored_grad = new_tensor(g.value.copy(), g.node)
    elif old.node is not None or grad_mode.is_grad_enabled():
        tensor.stored_grad = old + g
    else:
        old.value += g.value
        write_clock.record_write("a second backward()", old)


def hooks_of(node: "Node") -> NodeHooks:
    """Return the hooks of a node, made at the first call."""
    found: NodeHooks = node.hooks or NodeHooks()
    node.hooks = found
    return found


def retain_grad(tensor: Tensor) -> None:
    """Accumulate the gradient of a tensor in its ``.grad`` when its node is visited."""
    hooks_of(tensor.node).tensor = ref(tensor)


class saved_tensors_hooks:  # noqa: N801 - torch's name
    """Pack saved tensors with ``pack_hook`` in the forward pass, and unpack them with ``unpack_hook`` in the backward.

    Examples
    --------
    >>> from course_lib.autograd import saved_tensors_hooks, tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> with saved_tensors_hooks(lambda t: print("saved", t) or t, lambda t: t):
    ...     y = x.exp()
    saved tensor([2.7183, 7.3891])
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        here = grad_mode.here.mode
        here.change(here.recording, (*here.observers, self.pack_saved))

    def __exit__(self, *_: object) -> None:
        here = grad_mode.here.mode
        here.change(here.recording, here.observers[:-1])

    def pack_saved(self, tensor: Tensor) -> None:
        """Replace what the node of a new tensor has saved, unless an inner block does so."""
        node = tensor.node
        if grad_mode.here.mode.observers[-1] != self.pack_saved or node.saved is None:
            return
        with grad_mode.no_grad():
            node.saved = tuple(map(self.pack_array, node.saved))
        hooks_of(node)  # which unpacks

    def pack_array(self, x: object) -> object:
        """Replace a saved array by the call that gets it back."""
        return partial(self.unpack_hook, self.pack_hook(new_tensor(x))) if isinstance(x, np.ndarray) else x
