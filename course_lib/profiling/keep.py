"""Look without touching: a model, its optimizer and all random numbers are afterwards what they were before."""

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np

from course_lib.costs.untouched import Undo, hooks_aside, restore_dict, restore_values, set_aside
from course_lib.extras import load

__all__ = ["kept", "random_states", "updated"]


@contextmanager
def kept(modules: Sequence[Any], optimizer: Any) -> Iterator[ExitStack]:
    """Put everything back that training steps would change, even if one of them raises.

    Parameters and buffers, gradients, the optimizer's state and settings, the modules' own attributes (training mode
    among them; what an attribute refers to is not copied), and the random numbers of Python, NumPy and torch on every
    device. Objects stay the same objects. Inside, gradients start as None, learning rates are 0, so that repeated
    steps do the same work on the same weights, and no hook runs on the optimizer's step or on a complete gradient:
    what it changes, such as an average of the weights, is anywhere.

    Yields
    ------
    ExitStack
        Takes what else is to be undone, such as :func:`set_aside` of leaves that a loss turns out to have.
    """
    torch = load("torch", extra="torch")
    with ExitStack() as stack:
        for undo in random_states(torch):
            stack.callback(undo)
        for undo in (*attributes(modules), *tensors(torch, modules, optimizer), *optimizer_state(torch, optimizer)):
            stack.callback(undo)
        for undo in set_aside([*(p for module in modules for p in module.parameters()), *updated(optimizer)]):
            stack.callback(undo)
        for undo in step_hooks(optimizer):
            stack.callback(undo)
        for group in optimizer.param_groups:
            if isinstance(group.get("lr"), (int, float, torch.Tensor)):  # the arithmetic stays, and so do the weights
                group["lr"] = group["lr"] * 0
        yield stack


def random_states(torch: Any) -> Iterator[Undo]:
    """Yield functions that reset the generators of random numbers."""
    python, numpy, host = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield lambda: random.setstate(python)
    yield lambda: np.random.set_state(numpy)
    yield lambda: torch.set_rng_state(host)
    if torch.cuda.is_initialized():
        devices = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(devices)
    if "torch.mps" in sys.modules and torch.backends.mps.is_available():
        metal = torch.mps.get_rng_state()
        yield lambda: torch.mps.set_rng_state(metal)


def attributes(modules: Sequence[Any]) -> Iterator[Undo]:
    """Yield functions that restore each module's attributes, and its own dicts of parameters and buffers."""
    for part in (part for module in modules for part in module.modules()):
        for owned in (part.__dict__, part._parameters, part._buffers):
            if isinstance(owned, dict):  # the last two of a scripted module only look like one, and cannot be changed
                yield restore_dict(owned)


def tensors(torch: Any, modules: Sequence[Any], optimizer: Any) -> Iterator[Undo]:
    """Yield functions that put the values of parameters and buffers back."""
    own = [t for module in modules for t in (*module.parameters(), *module.buffers())] + updated(optimizer)
    for tensor in {id(t): t for t in own}.values():
        yield restore_values(torch, tensor)


def optimizer_state(torch: Any, optimizer: Any) -> Iterator[Undo]:
    """Yield functions that put an optimizer's settings and its state for each parameter back."""
    yield restore_dict(optimizer.__dict__)
    yield restore_dict(optimizer.state)
    for group in optimizer.param_groups:
        yield restore_dict(group)
        yield from nest(torch, [value for name, value in group.items() if name != "params"])
    yield from nest(torch, list(optimizer.state.values()))


def step_hooks(optimizer: Any) -> Iterator[Undo]:
    """Take the hooks on an optimizer's step away, those on every optimizer's among them, and put them back."""
    everywhere = load("torch.optim.optimizer", extra="torch")
    own = (getattr(optimizer, f"_optimizer_step_{when}_hooks", None) for when in ("pre", "post"))
    yield from hooks_aside(*own, everywhere._global_optimizer_pre_hooks, everywhere._global_optimizer_post_hooks)


def nest(torch: Any, owned: Any) -> Iterator[Undo]:
    """Yield functions that put tensors back, and the lists and dicts that they are in."""
    if isinstance(owned, torch.Tensor):
        yield restore_values(torch, owned)
    elif isinstance(owned, dict):
        yield restore_dict(owned)
        yield from nest(torch, tuple(owned.values()))
    elif isinstance(owned, (list, tuple)):
        if isinstance(owned, list):
            yield partial(owned.__setitem__, slice(None), owned.copy())
        for part in owned:
            yield from nest(torch, part)


def updated(optimizer: Any) -> list[Any]:
    """List the tensors that an optimizer updates."""
    return [p for group in optimizer.param_groups for p in group["params"]]
