"""Look at modules without changing them: what a call would change is noted before it, and can be undone."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import RLock
from typing import Any

from course_lib.extras import load

__all__ = [
    "ALONE",
    "Undo",
    "around_calls",
    "first_calls",
    "hooks_aside",
    "keep_buffers",
    "lasting",
    "restore_dict",
    "restore_values",
    "set_aside",
]

Undo = Callable[[], None]

ALONE = RLock()  # of the thread that has switched something for the whole process, and will switch it back


@contextmanager
def around_calls(before: Callable[..., None], after: Callable[..., None] | None = None) -> Iterator[None]:
    """Run functions before and after each call of any module of torch, as torch's global hooks do.

    Hooks, filters of warnings and what else is switched here belong to the process: a second thread waits its turn.
    """
    hooks = load("torch.nn.modules.module", extra="torch")
    with ALONE, ExitStack() as stack, warnings.catch_warnings():
        # Our hooks fire for what torch.compile wraps around a module as well, which is a module of its own here.
        warnings.filterwarnings("ignore", message="Using `torch.compile", category=UserWarning)
        stack.callback(hooks.register_module_forward_pre_hook(before).remove)
        if after is not None:
            stack.callback(hooks.register_module_forward_hook(after, always_call=True).remove)
        yield


@contextmanager
def first_calls(seen: Callable[[Any], None]) -> Iterator[None]:
    """Run a function on each module before its first call, and on every module inside it; once on each."""
    known: dict[int, Any] = {}  # alive, so that no other module gets the same id

    def before(module: Any, args: Any) -> None:
        for part in module.modules() if id(module) not in known else ():
            if id(part) not in known:
                known[id(part)] = part
                seen(part)

    with around_calls(before):
        yield


def keep_buffers(stack: ExitStack, module: Any) -> None:
    """Put the values of a module's own buffers back at the end.

    Its dict of buffers is left alone: inside ``functional_call`` it holds what is to be gone afterwards.
    """
    torch = load("torch", extra="torch")
    modes = load("torch.utils._python_dispatch", extra="torch")
    with modes._disable_current_modes():  # a copy is neither work to be counted nor a fake tensor
        for buffer in filter(lasting, module.buffers(recurse=False)):
            stack.callback(restore_values(torch, buffer))


def lasting(tensor: Any) -> bool:
    """Say whether a module's tensor has values, and will be there when transforms of ``torch.func`` are over."""
    torch = load("torch", extra="torch")
    return not torch.nn.parameter.is_lazy(tensor) and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def restore_dict(owner: dict[Any, Any]) -> Undo:
    """Return a function that puts a dict's entries back."""
    before = dict(owner)

    def undo() -> None:
        owner.clear()
        owner.update(before)

    return undo


def restore_values(torch: Any, tensor: Any) -> Undo:
    """Return a function that restores a tensor: its values, its requires_grad, and its count of changes in place.

    With the count restored, a graph that was recorded earlier and saved the tensor can still be walked. The copy of an
    accelerator's tensor is kept on the host.
    """
    place = tensor.device if tensor.is_meta else "cpu"
    before, wanted = unrepeated(torch, tensor.detach()).to(place, copy=True), tensor.requires_grad
    version = None if tensor.is_inference() else tensor._version

    def undo() -> None:
        now = unrepeated(torch, tensor.detach())
        if not same(torch, now, before):  # an unchanged one may be where nobody can write, as in a mapped file
            now.copy_(before)
        if tensor.is_leaf:
            tensor.requires_grad_(wanted)
        elif not wanted:
            tensor.detach_()  # what was written to it has made it part of a graph
        if version is not None:
            torch._C._autograd._unsafe_set_version_counter((tensor,), (version,))

    return undo


def same(torch: Any, tensor: Any, before: Any) -> bool:
    """Say whether a tensor has the values that it had, if that can be said."""
    try:
        return bool(torch.equal(tensor.to(before.device), before))
    except RuntimeError:  # it has no values, as on meta, or is of a kind that torch does not compare
        return False


def unrepeated(torch: Any, tensor: Any) -> Any:
    """Return the part of an expanded tensor that is in memory once: torch writes to no other."""
    if tensor.layout is not torch.strided or tensor.is_nested or 0 not in tensor.stride():
        return tensor
    return tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]


def set_aside(leaves: Iterable[Any]) -> Iterator[Undo]:
    """Take gradients away, and the hooks that would run when new ones are complete; yield functions that put both back.

    So nothing is added to them meanwhile, and an optimizer that steps inside the backward pass does not.
    """
    for leaf in {id(leaf): leaf for leaf in leaves}.values():
        before, leaf.grad = leaf.grad, None
        yield partial(setattr, leaf, "grad", before)
        yield from hooks_aside(leaf._post_accumulate_grad_hooks)


def hooks_aside(*registries: dict[Any, Any] | None) -> Iterator[Undo]:
    """Take hooks out of where torch keeps them, and yield functions that put them back."""
    for hooks in filter(None, registries):
        undo = restore_dict(hooks)
        hooks.clear()
        yield undo
