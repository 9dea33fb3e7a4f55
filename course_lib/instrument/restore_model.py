"""Restore what calls and training steps change in torch: tensors, gradients, optimizers, random numbers."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from course_lib.extras import load

if TYPE_CHECKING:
    import torch

__all__ = [
    "is_concrete",
    "optimizer_parameters",
    "restore_buffers_at_exit",
    "restore_random_states",
    "restore_training",
    "snapshot_random_states",
    "snapshot_tensor",
    "stash_gradients",
]

Undo: TypeAlias = Callable[[], None]


def restore_buffers_at_exit(stack: ExitStack, module: "torch.nn.Module") -> None:
    """Restore the values of a module's own buffers when a stack is left.

    Its dict of buffers is left alone: inside ``functional_call`` it holds what is to be gone afterwards.
    """
    modes = load("torch.utils._python_dispatch", extra="torch")
    with modes._disable_current_modes():  # a copy is neither work to be counted nor a fake tensor
        for buffer in filter(is_concrete, module.buffers(recurse=False)):
            stack.callback(snapshot_tensor(buffer))


def is_concrete(tensor: "torch.Tensor") -> bool:
    """Return whether a tensor has values of its own: neither lazy nor wrapped by ``torch.func``."""
    torch = load("torch", extra="torch")
    return not torch.nn.parameter.is_lazy(tensor) and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def snapshot_tensor(tensor: "torch.Tensor") -> Undo:
    """Return a function that restores a tensor: its values, its requires_grad, and its count of changes in place.

    With the count restored, a graph that was recorded earlier and saved the tensor can still be walked. The copy of an
    accelerator's tensor is kept on the host.
    """
    place = tensor.device if tensor.is_meta else "cpu"
    before, wanted = _without_repeats(tensor.detach()).to(place, copy=True), tensor.requires_grad
    version = None if tensor.is_inference() else tensor._version

    def undo() -> None:
        now = _without_repeats(tensor.detach())
        if not _are_equal(now, before):  # an unchanged one may be where nobody can write, as in a mapped file
            now.copy_(before)
        if tensor.is_leaf:
            tensor.requires_grad_(wanted)
        elif not wanted:
            tensor.detach_()  # what was written to it has made it part of a graph
        if version is not None:
            load("torch", extra="torch")._C._autograd._unsafe_set_version_counter((tensor,), (version,))

    return undo


def _are_equal(tensor: "torch.Tensor", before: "torch.Tensor") -> bool:
    """Return whether two tensors hold equal values, false where torch cannot tell."""
    try:
        return tensor.to(before.device).equal(before)
    except RuntimeError:  # it has no values, as on meta, or is of a kind that torch does not compare
        return False


def _without_repeats(tensor: "torch.Tensor") -> "torch.Tensor":
    """Return the part of an expanded tensor that is in memory once: torch writes to no other."""
    strided = load("torch", extra="torch").strided
    if tensor.layout is not strided or tensor.is_nested or 0 not in tensor.stride():
        return tensor
    return tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]


def _snapshot_dict(owner: dict[Any, Any]) -> Undo:
    """Return a function that restores a dict's entries."""
    before = dict(owner)

    def undo() -> None:
        owner.clear()
        owner.update(before)

    return undo


def stash_gradients(leaves: "Iterable[torch.Tensor]") -> Iterator[Undo]:
    """Take gradients away, and the hooks that would run when new ones are complete; yield functions that restore both.

    So nothing is added to them meanwhile, and an optimizer that steps inside the backward pass does not.
    """
    for leaf in {id(leaf): leaf for leaf in leaves}.values():
        before, leaf.grad = leaf.grad, None
        yield partial(setattr, leaf, "grad", before)
        yield from _stash_hooks(leaf._post_accumulate_grad_hooks)


def _stash_hooks(*registries: dict[Any, Any] | None) -> Iterator[Undo]:
    """Take hooks out of torch's registries, and yield functions that restore them."""
    for hooks in filter(None, registries):
        undo = _snapshot_dict(hooks)
        hooks.clear()
        yield undo


def snapshot_random_states() -> Iterator[Undo]:
    """Yield functions that reset the random generators of Python, NumPy and torch, on the host and on every device.

    ``torch.random.fork_rng(devices=())`` would reset that of the host alone.
    """
    torch = load("torch", extra="torch")
    python, numpy, host = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield lambda: random.setstate(python)
    yield lambda: np.random.set_state(numpy)
    yield lambda: torch.set_rng_state(host)
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    device = None if accelerator is None else torch.get_device_module(accelerator)
    every = "_all" if hasattr(device, "get_rng_state_all") else ""  # Metal has one device only
    if hasattr(device, f"get_rng_state{every}") and getattr(device, "is_initialized", lambda: True)():
        states = getattr(device, f"get_rng_state{every}")()
        yield lambda: getattr(device, f"set_rng_state{every}")(states)


@contextmanager
def restore_random_states() -> Iterator[None]:
    """Reset all random generators at the end to what they were at the beginning."""
    with ExitStack() as stack:
        for undo in snapshot_random_states():
            stack.callback(undo)
        yield


def optimizer_parameters(optimizer: "torch.optim.Optimizer") -> "list[torch.Tensor]":
    """List the tensors that an optimizer updates."""
    return [p for group in optimizer.param_groups for p in group["params"]]


@contextmanager
def restore_training(
    modules: "Sequence[torch.nn.Module]", optimizer: "torch.optim.Optimizer | None"
) -> Iterator[ExitStack]:
    """Restore everything that training steps change, even if one of them raises.

    Parameters and buffers, gradients, the optimizer's state and settings, the modules' own attributes (training mode
    among them; what an attribute refers to is not copied), and the random numbers of Python, NumPy and torch on every
    device. Objects stay the same objects. Inside, gradients start as None, learning rates are 0, so that repeated
    steps do the same work on the same weights, and no hook runs on the optimizer's step or on a complete gradient:
    what it changes, such as an average of the weights, is anywhere.

    Yields
    ------
    ExitStack
        Takes what else is to be undone, such as :func:`stash_gradients` of leaves that a loss turns out to have.
    """
    torch = load("torch", extra="torch")
    with ExitStack() as stack:
        updated = [] if optimizer is None else optimizer_parameters(optimizer)
        for undo in (
            *snapshot_random_states(),
            *_snapshot_attributes(modules),
            *_snapshot_tensors(modules, updated),
            *(() if optimizer is None else _snapshot_optimizer(optimizer)),
        ):
            stack.callback(undo)
        for undo in stash_gradients([*(p for module in modules for p in module.parameters()), *updated]):
            stack.callback(undo)
        for undo in () if optimizer is None else _stash_step_hooks(optimizer):
            stack.callback(undo)
        for group in [] if optimizer is None else optimizer.param_groups:
            if isinstance(group.get("lr"), (int, float, torch.Tensor)):  # the arithmetic stays, and so do the weights
                group["lr"] = group["lr"] * 0
        yield stack


def _snapshot_attributes(modules: "Sequence[torch.nn.Module]") -> Iterator[Undo]:
    """Yield functions that restore each module's attributes, and its own dicts of parameters and buffers."""
    for part in (part for module in modules for part in module.modules()):
        for owned in (part.__dict__, part._parameters, part._buffers):
            if isinstance(owned, dict):  # the last two of a scripted module only look like one, and cannot be changed
                yield _snapshot_dict(owned)


def _snapshot_tensors(modules: "Sequence[torch.nn.Module]", updated: "list[torch.Tensor]") -> Iterator[Undo]:
    """Yield functions that restore the values of parameters and buffers."""
    own = [t for module in modules for t in (*module.parameters(), *module.buffers())]
    for tensor in {id(t): t for t in own + updated}.values():
        yield snapshot_tensor(tensor)


def _snapshot_optimizer(optimizer: "torch.optim.Optimizer") -> Iterator[Undo]:
    """Yield functions that restore an optimizer's settings and its state for each parameter."""
    yield _snapshot_dict(optimizer.__dict__)
    yield _snapshot_dict(optimizer.state)
    for group in optimizer.param_groups:
        yield _snapshot_dict(group)
        yield from _snapshot_nest([value for name, value in group.items() if name != "params"])
    yield from _snapshot_nest(list(optimizer.state.values()))


def _stash_step_hooks(optimizer: "torch.optim.Optimizer") -> Iterator[Undo]:
    """Take away the hooks on an optimizer's step, and those on every optimizer's; yield functions that restore them."""
    everywhere = load("torch.optim.optimizer", extra="torch")
    own = (getattr(optimizer, f"_optimizer_step_{when}_hooks", None) for when in ("pre", "post"))
    yield from _stash_hooks(*own, everywhere._global_optimizer_pre_hooks, everywhere._global_optimizer_post_hooks)


def _snapshot_nest(owned: object) -> Iterator[Undo]:
    """Yield functions that restore tensors, and the lists and dicts that they are in."""
    if isinstance(owned, load("torch", extra="torch").Tensor):
        yield snapshot_tensor(owned)
    elif isinstance(owned, dict):
        yield _snapshot_dict(owned)
        yield from _snapshot_nest(tuple(owned.values()))
    elif isinstance(owned, (list, tuple)):
        if isinstance(owned, list):
            yield partial(owned.__setitem__, slice(None), owned.copy())
        for part in owned:
            yield from _snapshot_nest(part)
