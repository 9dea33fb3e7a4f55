"""Count FLOPs in torch, forward and backward separately, where torch's own counter has gaps or errors."""

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.aten_flops import flop_formulas
from course_lib.instrument.dispatch_mode import intercept_operations
from course_lib.instrument.graph_walk import graph_leaves
from course_lib.instrument.module_calls import PROCESS_LOCK, visit_called_modules
from course_lib.instrument.restore_model import is_concrete, restore_buffers_at_exit, stash_gradients

if TYPE_CHECKING:
    import torch
    from torch._ops import OpOverload

__all__ = ["Flops", "count_flops"]

# Operations that make, fill, copy or move numbers and compute none: nothing to count. Views are known by their tag.
MOVES = frozenset(
    {"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros"}
    | {"ones", "ones_like", "new_ones", "full", "full_like", "new_full", "scalar_tensor", "arange", "fill_", "zero_"}
    | {"clone", "copy_", "_to_copy", "cat", "stack", "constant_pad_nd", "embedding", "resize_", "set_", "lift_fresh"}
    | {"unsafe_split", "select_backward", "slice_backward", "transpose_", "squeeze_", "detach_"}
    | {"_unsafe_view", "_reshape_alias", "_local_scalar_dense"}
)


@dataclass(frozen=True)
class Flops:
    """FLOPs of a step, forward and backward, by operation.

    Attributes
    ----------
    forward, backward : int
        What checkpointing recomputes is part of the backward pass.
    forward_by_op, backward_by_op : dict of str to int
        The same by operation, such as ``aten.mm``.
    uncounted : dict of str to int
        Operations that computed something and have no formula, and how often each ran: element-wise work,
        reductions, normalization, and whatever else the counter does not know.
    """

    forward: int
    backward: int
    forward_by_op: dict[str, int]
    backward_by_op: dict[str, int]
    uncounted: dict[str, int]

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
        return self.backward / self.forward

    def __str__(self) -> str:
        names = self.by_operator
        width = max(map(len, [*names, "operation"]))
        lines = [f"{'operation':{width}}  {'forward':>16}  {'backward':>16}"]
        for name in names:
            f, b = self.forward_by_op.get(name, 0), self.backward_by_op.get(name, 0)
            lines.append(f"{name:{width}}  {f:>16,}  {b:>16,}")
        lines.append(f"{'all':{width}}  {self.forward:>16,}  {self.backward:>16,}")
        if self.uncounted:
            rest = ", ".join(f"{name} ({n})" for name, n in self.uncounted.items())
            lines.append(fill(f"not counted: {rest}", 80, subsequent_indent="  ", break_on_hyphens=False))
        return "\n".join(lines)


def count_flops(fn: Callable[[], object]) -> Flops:
    """Run a forward pass and its backward pass once, and count the FLOPs of both.

    ``torch.utils.flop_counter.FlopCounterMode`` (torch 2.13) counts nothing for attention on CPU, for LSTMs that run
    as one kernel (float32 on CPU, cuDNN), for products with a vector, and for the fast path of
    ``TransformerEncoderLayer``; it counts too much for the backward pass of a grouped convolution and for a product
    with a sparse matrix, whose zeros it multiplies too. This function counts all of them correctly.
    Element-wise work and normalization stay uncounted, and are named.

    Parameters
    ----------
    fn : callable
        Takes nothing, runs the forward pass and returns the loss, a tensor of one element, whose ``backward()`` is
        called here. If it returns a tensor without a graph, the backward pass is 0.

    Returns
    -------
    Flops

    Raises
    ------
    InputError
        If what is returned is not one real number.
    MissingExtraError
        Without torch.

    Notes
    -----
    The ``.grad`` of every leaf of the loss, that of every parameter of the modules called, the buffers that these
    change in place, and the state of torch's random numbers on the CPU are afterwards what they were; only if
    ``fn`` itself calls ``backward()``, leaves that belong to no module keep the gradients. Hooks that run when a
    gradient is complete, such as an optimizer's step inside the backward pass, are not run. What ``torch.compile`` has
    made runs uncompiled here, and compiled again afterwards. Threads that count at once wait for each other. Jagged
    nested tensors stop torch's counter with an error of its own.

    Where W is trained, the backward pass of ``W @ v`` multiplies g and v element by element, which is not counted;
    that of ``torch.nn.functional.linear(v, W)`` does the same as a product, which is.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> counted = count_flops(lambda: model(torch.ones(8, 256)).sum())
    >>> counted.forward, round(counted.ratio, 3), list(counted.by_operator)
    (1089536, 1.038, ['aten.mm', 'aten.addmm'])
    """
    torch = load("torch", extra="torch")
    if not callable(fn):
        raise InputError(
            f"fn must be a function that returns the loss, but got a {type(fn).__name__}, which is computed "
            "already. Pass lambda: loss_fn(model(x), y)."
        )
    mha, seen = torch.backends.mha, Counter[str]()
    with PROCESS_LOCK, ExitStack() as stack:
        stack.callback(mha.set_fastpath_enabled, mha.get_fastpath_enabled())
        mha.set_fastpath_enabled(False)  # the fused layer is one operation, which cannot be looked into
        stack.enter_context(torch.random.fork_rng(devices=()))
        stack.enter_context(visit_called_modules(lambda module: _restore_module_at_exit(stack, module)))
        result, forward_by_op = _count_operations(fn, seen)
        loss = _check_loss(result)
        _restore_gradients_at_exit(stack, graph_leaves(loss))
        backward_by_op = _count_operations(loss.backward, seen)[1] if loss.requires_grad else {}
    totals = sum(forward_by_op.values()), sum(backward_by_op.values())
    return Flops(*totals, forward_by_op, backward_by_op, dict(seen.most_common()))


def _check_loss(loss: object) -> "torch.Tensor":
    """Return the loss, or refuse what is not one real number."""
    tensor: type[torch.Tensor] = load("torch", extra="torch").Tensor
    if isinstance(loss, tensor) and loss.is_complex():
        raise InputError(f"fn must return a real loss, but its dtype is {loss.dtype}. Take its .real or .abs().")
    if isinstance(loss, tensor) and loss.numel() == 1:
        return loss
    found = f"shape {tuple(loss.shape)}" if isinstance(loss, tensor) else type(loss).__name__
    raise InputError(f"fn must return the loss, a tensor of one element, but it returned {found}. Add .sum().")


def _restore_module_at_exit(stack: ExitStack, module: "torch.nn.Module") -> None:
    """Restore a module's own buffers, which its call may change, and its gradients, when a stack is left."""
    restore_buffers_at_exit(stack, module)
    _restore_gradients_at_exit(stack, [p for p in module.parameters(recurse=False) if is_concrete(p) and p.is_leaf])


def _restore_gradients_at_exit(stack: ExitStack, leaves: "list[torch.Tensor]") -> None:
    """Stash gradients, and the hooks that would run when new ones arrive; restore both when a stack is left."""
    for undo in stash_gradients(leaves):
        stack.callback(undo)


class _GlobalTracker(nullcontext[None]):
    """Replace the counter's tracker of modules, whose hooks on the graph prevent differentiating twice."""

    parents = frozenset({"Global"})


def _count_operations(step: Callable[[], object], seen: Counter[str]) -> tuple[object, dict[str, int]]:
    """Run a function; return its result and FLOPs by operation, and count in ``seen`` operations without a formula."""
    aten, counter = (
        load("torch", extra="torch").ops.aten,
        load("torch.utils.flop_counter", extra="torch").FlopCounterMode,
    )

    def note(op: "OpOverload", args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        name = op.overloadpacket.__name__
        if op.overloadpacket not in mode.flop_registry and not op.is_view and name not in MOVES:
            seen[str(op.overloadpacket)] += 1
        return op(*args, **kwargs)

    mode = counter(display=False, custom_mapping=flop_formulas(aten))
    mode.mod_tracker = _GlobalTracker()
    with intercept_operations(note), mode:  # the counter first, which takes composite operations apart
        result = step()
    return result, {str(op): int(flops) for op, flops in mode.get_flop_counts().get("Global", {}).items()}
