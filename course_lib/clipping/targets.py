"""Find the gradients in what the caller passed, and whose they are."""

import sys
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any

import numpy as np

from course_lib.autograd import Tensor, nn
from course_lib.clipping.gradients import Gradients
from course_lib.clipping.on_arrays import AutogradGradients, NumpyGradients
from course_lib.clipping.on_jax import JaxGradients, is_jax
from course_lib.clipping.on_torch import TorchGradients
from course_lib.errors import InputError

__all__ = ["find"]

CONTAINERS = (list, tuple, Mapping)  # what holds gradients and is given back in its form


def find(target: Any, axis_name: Any = None) -> Gradients | JaxGradients:
    """Return the gradients of a target, ready to be clipped."""
    if isinstance(target, (Iterator, ValuesView, ItemsView)):
        target = list(target)  # a generator can be read only once
    if not is_torch(target) and is_jax(target):
        return JaxGradients(target, axis_name)
    if axis_name is not None:
        raise InputError(
            f"axis_name is for JAX arrays, but it is {axis_name!r} and the target holds none. Leave it out."
        )
    if isinstance(target, Iterable) and not isinstance(target, (*CONTAINERS, *leaf_types())):
        target = list(target)
    if flat_of_torch(target):
        return TorchGradients((f"target[{i}]", p) for i, p in enumerate(target))
    named = list(leaves(target, "target"))
    kinds = {kind_of(name, leaf) for name, leaf in named}
    if not kinds:
        raise InputError(
            "there must be something to clip, but the target is empty. Pass model.parameters() anew: "
            "a generator can be read once."
        )
    if len(kinds) > 1:
        raise InputError(
            f"gradients must all be from one library, but these are from {' and '.join(sorted(kinds))}. Clip them "
            "as one tree of arrays of one library."
        )
    kind = kinds.pop()
    if kind == "NumPy":
        return NumpyGradients(target, named)
    return TorchGradients(named) if kind == "torch" else AutogradGradients(named)


def is_torch(target: Any) -> bool:
    """Tell whether torch's parameters or modules were passed, without JAX: torch.compile cannot trace into it."""
    torch = sys.modules.get("torch")
    first = next(iter(target), None) if isinstance(target, (list, tuple)) else target
    return torch is not None and isinstance(first, (torch.Tensor, torch.nn.Module))


def flat_of_torch(target: Any) -> bool:
    """Tell whether the target is a list of torch's tensors alone, in which nothing has to be looked for."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(target, (list, tuple)) or not target:
        return False
    return all(isinstance(p, torch.Tensor) for p in target)


def leaf_types() -> tuple[type[Any], ...]:
    """Return the types that are iterable but count as one gradient."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    theirs = (torch.Tensor, torch.nn.Module) if torch else ()
    return (str, bytes, np.ndarray, np.generic, Tensor, *theirs, *((jax.Array,) if jax else ()))


def leaves(target: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Go through tensors and arrays by name: a module's own names, or the place in lists and dicts."""
    if target is None:
        return
    if is_module(target):
        prefix = "" if path == "target" else f"{path}."
        yield from ((prefix + name, p) for name, p in target.named_parameters())
    elif isinstance(target, leaf_types()):
        yield path, target
    elif isinstance(target, Mapping):
        for key, value in target.items():
            yield from leaves(value, f"{path}[{key!r}]")
    elif isinstance(target, tuple) and len(target) == 2 and isinstance(target[0], str):
        yield from leaves(target[1], target[0])
    elif isinstance(target, Iterable):
        for i, value in enumerate(target):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, target


def is_module(x: Any) -> bool:
    """Tell whether it is a module of torch or of this course's engine."""
    torch = sys.modules.get("torch")
    return isinstance(x, nn.Module) or (torch is not None and isinstance(x, torch.nn.Module))


def kind_of(name: str, leaf: Any) -> str:
    """Return the library of a tensor or an array, or refuse what is neither."""
    if isinstance(leaf, (np.ndarray, np.generic)):
        return "NumPy"
    if isinstance(leaf, Tensor):
        return "course_lib.autograd"
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(leaf, torch.Tensor):
        return "torch"
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(leaf, jax.Array):
        raise InputError(
            f"JAX arrays must be in a pytree, but {name} is not: JAX looks into lists, tuples and dicts whose keys "
            "can be sorted, and into classes that are registered. Pass one of these, such as list(...) or dict(...)."
        )
    raise InputError(
        f"gradients must be arrays, or belong to tensors or modules, but {name} is {leaf!r:.60}. "
        "Pass model.parameters(), or arrays such as np.array([3.0, 4.0])."
    )
