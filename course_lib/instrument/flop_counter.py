"""Count FLOPs in torch, forward and backward separately and by module, where torch's own counter has gaps or errors."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.aten_flops import flop_formulas
from course_lib.instrument.dispatch_mode import intercept_operations
from course_lib.instrument.flop_owners import ModuleFlops, OwnerTracker
from course_lib.instrument.graph_walk import find_loss, graph_leaves
from course_lib.instrument.module_calls import PROCESS_LOCK, visit_called_modules
from course_lib.instrument.restore_model import (
    is_concrete,
    restore_buffers_at_exit,
    restore_random_states,
    stash_gradients,
)
from course_lib.rendering import ReadableResult, Section, format_table

if TYPE_CHECKING:
    import torch
    from torch._ops import OpOverload

__all__ = ["Flops", "count_flops"]

SHOWN = 12  # modules in the printed table
# Operations that make, fill, copy or move numbers and compute none: nothing to count. Views are known by their tag.
MOVES = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros"}
    | {"ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor", "arange", "fill_", "zero_"}
    | {"clone", "copy_", "_to_copy", "cat", "stack", "constant_pad_nd", "embedding", "resize_", "set_", "lift_fresh"}
    | {"unsafe_split", "select_backward", "slice_backward", "transpose_", "squeeze_", "detach_"}
    | {"_unsafe_view", "_reshape_alias", "_local_scalar_dense"}
)


@dataclass(frozen=True, repr=False)
class Flops(ReadableResult):
    """FLOPs of a step, forward and backward, by operation and by module.

    Attributes
    ----------
    forward, backward : int
        What checkpointing recomputes is part of the backward pass.
    forward_by_op, backward_by_op : dict of str to int
        The same by operation, such as ``aten.mm``.
    uncounted : dict of str to int
        Operations that computed something and have no formula, and how often each ran: element-wise work,
        reductions, normalization, and whatever else the counter does not know.
    recompute : int
        The part of ``backward`` that repeats the forward pass, as checkpointing does.
    has_backward : bool
        False if there was no backward pass, as in inference: ``backward`` is 0.
    modules : dict of str to ModuleFlops
        By name, in the order of the first call, without modules that have no FLOPs.
    """

    forward: int
    backward: int
    forward_by_op: dict[str, int]
    backward_by_op: dict[str, int]
    uncounted: dict[str, int]
    recompute: int = 0
    has_backward: bool = True
    modules: dict[str, ModuleFlops] = field(default_factory=dict)

    @property
    def by_operator(self) -> dict[str, int]:
        """FLOPs of both passes by operation, most first."""
        both = Counter(self.forward_by_op) + Counter(self.backward_by_op)
        return dict(both.most_common())

    @property
    def ratio(self) -> float:
        """FLOPs of the backward pass over FLOPs of the forward pass."""
        if not self.forward:
            raise InputError(
                "backward / forward needs a forward pass with FLOPs, but none were counted: only products, "
                "convolutions, attention and recurrent layers count. Call the model inside the function that you pass."
            )
        if not self.has_backward:
            raise InputError(
                "backward / forward needs a backward pass, but there was none: fn returned no loss, a tensor of one "
                "element with a graph. Add .sum(), or train some parameter."
            )
        return self.backward / self.forward

    def sections(self) -> list[Section]:
        """Return a table by operation, and what was not counted."""
        rows = [("operation", "forward", "backward")]
        for name in self.by_operator:
            rows.append((name, f"{self.forward_by_op.get(name, 0):,}", f"{self.backward_by_op.get(name, 0):,}"))
        rows.append(("all", f"{self.forward:,}", f"{self.backward:,}"))
        notes = list[str | tuple[str, str]]()
        if not self.has_backward:
            notes.append("forward pass only: no loss, a tensor of one element with a graph, was returned")
        if self.uncounted:
            notes.append(("not counted", ", ".join(f"{name} ({n})" for name, n in self.uncounted.items())))
        return [Section(rows=tuple(rows), caption="FLOPs", notes=tuple(notes))]

    def module_table(self) -> str:
        """Return a table of the modules with the most FLOPs of their own, and their shares of all FLOPs."""
        largest = sorted(self.modules.values(), key=lambda m: -(m.self_forward + m.self_backward))
        shown = [m for m in largest if m.self_forward + m.self_backward][:SHOWN]
        rows = [("module", "own forward", "own backward", "share")]
        for m in shown:
            label = m.name if m.kind in ("", m.name) else f"{m.name} {m.kind}"
            share = (m.self_forward + m.self_backward) / (self.forward + self.backward)
            rows.append((label, f"{m.self_forward:,}", f"{m.self_backward:,}", f"{share:.1%}"))
        rest = sum(bool(m.self_forward + m.self_backward) for m in largest) - len(shown)
        return "\n".join([format_table(rows), *([f"and {rest} smaller"] if rest else [])])


def count_flops(fn: Callable[[], object]) -> Flops:
    """Run a forward pass and its backward pass once, and count the FLOPs of both, by operation and by module.

    ``torch.utils.flop_counter.FlopCounterMode`` (torch 2.13) counts nothing for attention on CPU, for LSTMs that run
    as one kernel (float32 on CPU, cuDNN), for products with a vector, and for the fast path of
    ``TransformerEncoderLayer``; it counts too much for the backward pass of a grouped convolution and for a product
    with a sparse matrix, whose zeros it multiplies too. This function counts all of them correctly.
    Element-wise work and normalization stay uncounted, and are named.

    Parameters
    ----------
    fn : callable
        Takes nothing and runs the forward pass. If it returns the loss, a tensor of one element, alone or beside other
        results, as ``(logits, loss)`` or under the name ``loss``, its ``backward()`` is called here. A closure may call
        ``backward()`` itself, and return what it likes. Whatever else it returns, as a model's output, is inference:
        the backward pass is 0, and ``has_backward`` is False.

    Returns
    -------
    Flops

    Raises
    ------
    InputError
        If no tensor is returned and ``backward()`` was not called, if several tensors could be the loss, or if it is
        complex.
    MissingExtraError
        Without torch.

    Notes
    -----
    The ``.grad`` of every leaf of the loss, that of every parameter of the modules called, the buffers that these
    change in place, and the random numbers of Python, NumPy and torch, on every device in use, are afterwards what they
    were; only if ``fn`` itself calls ``backward()``, leaves that belong to no module keep the gradients, and if it
    steps an optimizer, that trains. Hooks that run when a gradient is complete, such as an optimizer's step inside the
    backward pass, are not run. What ``torch.compile`` has made runs uncompiled here, and compiled again afterwards.
    Threads that count at once wait for each other. Jagged nested tensors stop torch's counter with an error of its own.

    An operation of the backward pass counts for the modules whose forward pass recorded its node. Where ``fn``
    differentiates in its forward pass, as for a penalty on gradients, that is part of the forward pass, unless it calls
    ``backward()`` itself.

    Where W is trained, the backward pass of ``W @ v`` multiplies g and v element by element, which is not counted;
    that of ``torch.nn.functional.linear(v, W)`` does the same as a product, which is.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> counted = count_flops(lambda: model(torch.ones(8, 256)).sum())
    >>> counted.forward, round(counted.ratio, 3), list(counted.by_operator)
    (1089536, 1.038, ['aten.mm', 'aten.addmm'])
    >>> print(counted.module_table())
    module    own forward  own backward  share
    0 Linear    1,048,576     1,048,576  94.5%
    2 Linear       40,960        81,920   5.5%
    """
    torch = load("torch", extra="torch")
    if not callable(fn):
        raise InputError(
            f"fn must be a function that returns the loss, but got a {type(fn).__name__}, which is computed "
            "already. Pass lambda: loss_fn(model(x), y)."
        )
    mha, seen, tracker = torch.backends.mha, Counter[str](), OwnerTracker()
    with PROCESS_LOCK, ExitStack() as stack:
        stack.callback(mha.set_fastpath_enabled, mha.get_fastpath_enabled())
        mha.set_fastpath_enabled(False)  # the fused layer is one operation, which cannot be looked into
        stack.enter_context(restore_random_states())
        stack.enter_context(visit_called_modules(lambda module: _restore_module_at_exit(stack, module)))
        with _count_operations(tracker, seen) as counter:
            result = fn()
            loss, tracker.inside = find_loss(result), False
            differentiated = any(owner.in_node for owner in counter.flop_counts)
            ran_backward = tracker.accumulated or (loss is None and differentiated)
            if not ran_backward and loss is not None:
                _restore_gradients_at_exit(stack, graph_leaves(loss))
                loss.backward()
        if not ran_backward and loss is None:
            _check_inference(result)
    found = tracker.add_up(counter.flop_counts, ran_backward=ran_backward)
    totals = sum(found.forward.values()), sum(found.backward.values())
    has_backward, uncounted = ran_backward or loss is not None, dict(seen.most_common())
    return Flops(*totals, found.forward, found.backward, uncounted, found.recompute, has_backward, found.modules)


def _check_inference(result: object) -> None:
    """Refuse what no forward pass returns."""
    torch = load("torch", extra="torch")
    leaves = load("torch.utils._pytree", extra="torch").tree_leaves(result)
    if isinstance(result, torch.Tensor) and result.numel() == 1 and result.is_complex():
        raise InputError(f"fn must return a real loss, but its dtype is {result.dtype}. Take its .real or .abs().")
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise InputError(
            f"fn must return the loss, or what the model returns, but it returned {type(result).__name__}. Return it, "
            "or call backward() inside."
        )


def _restore_module_at_exit(stack: ExitStack, module: "torch.nn.Module") -> None:
    """Restore a module's own buffers, which its call may change, and its gradients, when a stack is left."""
    restore_buffers_at_exit(stack, module)
    _restore_gradients_at_exit(stack, [p for p in module.parameters(recurse=False) if is_concrete(p) and p.is_leaf])


def _restore_gradients_at_exit(stack: ExitStack, leaves: "list[torch.Tensor]") -> None:
    """Stash gradients, and the hooks that would run when new ones arrive; restore both when a stack is left."""
    for undo in stash_gradients(leaves):
        stack.callback(undo)


@contextmanager
def _count_operations(tracker: OwnerTracker, seen: Counter[str]) -> Iterator[Any]:
    """Count with torch's counter inside, which is yielded, and in ``seen`` the operations without a formula."""
    aten = load("torch", extra="torch").ops.aten
    counter = load("torch.utils.flop_counter", extra="torch").FlopCounterMode

    def note(op: "OpOverload", args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        tracker.note_operation()
        name = op.overloadpacket.__name__
        if op.overloadpacket not in mode.flop_registry and not op.is_view and name not in MOVES:
            seen[str(op.overloadpacket)] += 1
        return op(*args, **kwargs)

    mode = counter(display=False, custom_mapping=flop_formulas(aten))
    mode.mod_tracker = tracker
    with tracker.track(), intercept_operations(note), mode:  # the counter first, which takes composite operations apart
        yield mode
