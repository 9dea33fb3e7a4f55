"""Find the gradients in what the caller passed, and choose what clips them: torch, the engine, NumPy or JAX."""

import sys
from collections.abc import ItemsView, Iterable, Iterator, Mapping, MappingView, Sequence, ValuesView
from typing import TYPE_CHECKING, Any, TypeGuard

from course_lib.clipping.arguments import AxisName
from course_lib.clipping.array_clipper import EngineClipper, NumpyClipper
from course_lib.clipping.clipper import Clipper
from course_lib.clipping.jax_clipper import JaxClipper
from course_lib.clipping.torch_clipper import TorchClipper
from course_lib.errors import InputError
from course_lib.frameworks import (
    framework_name,
    is_jax_array,
    is_module,
    is_torch_module,
    is_torch_tensor,
    parameter_names,
)

if TYPE_CHECKING:
    import torch

__all__ = ["choose_clipper"]

CONTAINERS = (list, tuple, Mapping)  # what holds gradients and is given back in its form


def choose_clipper(target: object, axis_name: AxisName = None) -> Clipper:
    """Return the gradients of a target, ready to be clipped."""
    if isinstance(target, (Iterator, ValuesView, ItemsView)):
        target = list(target)  # a generator can be read only once
    if not _is_torch_target(target) and _is_jax_target(target):
        return JaxClipper(target, axis_name)
    if axis_name is not None:
        raise InputError(
            f"axis_name is for JAX arrays, but it is {axis_name!r} and the target holds none. Leave it out."
        )
    if isinstance(target, Iterable) and not (isinstance(target, CONTAINERS) or _is_leaf(target)):
        target = list(target)
    if _is_list_of_torch(target):
        return TorchClipper(target, _Places(len(target)))
    named = list(_leaves(target, "target"))
    kinds = {_check_framework(name, leaf) for name, leaf in named}
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
        return NumpyClipper(target, named)
    if kind == "torch":
        return TorchClipper([p for _, p in named], [name for name, _ in named])
    return EngineClipper(named)


class _Places(Sequence[str]):
    """The names of what has none but its place, made where one is asked for."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < self._count:
            raise IndexError(i)
        return f"target[{i}]"


def _is_torch_target(target: object) -> bool:
    """Return whether torch's parameters or modules were passed, without JAX: torch.compile cannot trace into it."""
    first = next(iter(target), None) if isinstance(target, (list, tuple)) else target
    return is_torch_tensor(first) or is_torch_module(first)


def _is_jax_target(target: object) -> bool:
    """Return whether a target is a pytree with a JAX array in it, without importing JAX."""
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    try:
        leaves = jax.tree_util.tree_leaves(target, is_leaf=lambda x: isinstance(x, (Iterator, MappingView)))
    except ValueError:  # keys that cannot be sorted, so it is not a pytree; it may still be torch's or NumPy's
        return False
    return any(map(is_jax_array, leaves))


def _is_list_of_torch(target: object) -> TypeGuard["list[torch.Tensor]"]:
    """Return whether the target is a list of torch's tensors alone, in which nothing has to be looked for."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(target, (list, tuple)):
        return False
    return bool(target) and all(isinstance(p, torch.Tensor) for p in target)


def _is_leaf(x: object) -> bool:
    """Return whether it counts as one gradient, or one owner of gradients, even if it is iterable."""
    return isinstance(x, (str, bytes)) or framework_name(x) is not None


def _leaves(target: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Go through tensors and arrays by name: a module's own names, or the place in lists and dicts."""
    if target is None:
        return
    if is_module(target):
        prefix = "" if path == "target" else f"{path}."
        yield from ((prefix + name, p) for name, p in parameter_names(target))
    elif _is_leaf(target):
        yield path, target
    elif isinstance(target, Mapping):
        for key, value in target.items():
            yield from _leaves(value, f"{path}[{key!r}]")
    elif isinstance(target, tuple) and len(target) == 2 and isinstance(target[0], str):
        yield from _leaves(target[1], target[0])
    elif isinstance(target, Iterable):
        for i, value in enumerate(target):
            yield from _leaves(value, f"{path}[{i}]")
    else:
        yield path, target


def _check_framework(name: str, leaf: object) -> str:
    """Return the framework of a tensor or an array, or refuse what is neither."""
    framework = framework_name(leaf)
    if framework == "JAX":
        raise InputError(
            f"JAX arrays must be in a pytree, but {name} is not: JAX looks into lists, tuples and dicts whose keys "
            "can be sorted, and into classes that are registered. Pass one of these, such as list(...) or dict(...)."
        )
    if framework is None:
        raise InputError(
            f"gradients must be arrays, or belong to tensors or modules, but {name} is {leaf!r:.60}. "
            "Pass model.parameters(), or arrays such as np.array([3.0, 4.0])."
        )
    return framework
