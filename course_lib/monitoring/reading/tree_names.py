"""Name the arrays of a JAX pytree: dotted names, in the order of the forward pass where it can be known."""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_jax_array

if TYPE_CHECKING:
    import jax

__all__ = ["NamedLeaf", "Path", "jax_arrays", "leaves_by_path", "name_leaves"]

Path: TypeAlias = tuple[Any, ...]


class NamedLeaf(NamedTuple):
    """An array of a tree, its dotted name, and the keys that lead to it."""

    name: str
    path: Path
    value: "jax.Array"


def name_leaves(tree: object) -> list[NamedLeaf]:
    """Return the floating-point arrays of a tree, those of each dict in the order in which it was filled.

    JAX sorts the keys of dicts whenever it rebuilds them. Where they are sorted, numbers in them count as numbers, so
    that ``Dense_2`` comes before ``Dense_10``.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> w = jnp.ones(2)
    >>> [leaf.name for leaf in name_leaves({"layers": [{"w": w, "b": w}], "head": w})]
    ['layers.0.w', 'layers.0.b', 'head']
    >>> [leaf.name for leaf in name_leaves({"layer_1": w, "layer_10": w, "layer_2": w})]
    ['layer_1', 'layer_2', 'layer_10']
    """
    jax = load("jax", extra="jax")
    found = [
        NamedLeaf(jax.tree_util.keystr(path, simple=True, separator=".") or "params", path, leaf)
        for path, leaf in _walk(tree, ())
        if _is_floating(leaf)
    ]
    if not found:
        raise InputError(
            f"params must be a pytree with floating-point arrays, but this {type(tree).__name__} holds none. Pass what "
            "the gradients are taken with respect to."
        )
    return found


def leaves_by_path(tree: object) -> dict[Path, Any]:
    """Return the floating-point arrays of a tree by the keys that lead to them."""
    flat = load("jax", extra="jax").tree_util.tree_flatten_with_path(tree)[0]
    return {_without_box(path): leaf for path, leaf in flat if _is_floating(leaf)}


def jax_arrays(tree: object) -> "list[jax.Array]":
    """Return the floating-point arrays of a tree if an array of JAX is among its leaves; none are without JAX.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> jax_arrays({"w": jnp.ones(2), "steps": 3}), jax_arrays([1.0])
    ([Array([1., 1.], dtype=float32)], [])
    """
    jax = sys.modules.get("jax")
    if jax is None or hasattr(tree, "named_parameters") or isinstance(tree, Iterator):
        return []
    leaves = jax.tree.leaves(tree)
    return [x for x in leaves if _is_floating(x)] if any(map(is_jax_array, leaves)) else []


def _walk(tree: object, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield leaves with their paths, the children of a dict in its own order."""
    one_level = load("jax", extra="jax").tree_util.tree_flatten_with_path(tree, is_leaf=lambda node: node is not tree)[
        0
    ]
    if len(one_level) == 1 and not one_level[0][0]:
        yield _without_box(path), tree
        return
    if isinstance(tree, Mapping):
        one_level = _order(tree, one_level)
    for keys, child in one_level:
        yield from _walk(child, path + tuple(keys))


def _order(tree: "Mapping[Any, Any]", children: list[tuple[Path, Any]]) -> list[tuple[Path, Any]]:
    """Return the children of a dict as it was filled, or, if that is just sorted, with numbers as numbers."""
    keys = list(tree)
    if keys == sorted(keys, key=str):
        keys.sort(key=lambda key: [(part.isdigit(), int(part) if part.isdigit() else part) for part in _parts(key)])
    rank = {key: i for i, key in enumerate(keys)}
    return sorted(children, key=lambda child: rank.get(getattr(child[0][0], "key", None), 0))


def _parts(key: object) -> list[str]:
    return [part for part in re.split(r"(\d+)", str(key)) if part]


def _without_box(path: Path) -> Path:
    """Return the path without the last step into a variable of flax.nnx, which an optimizer does not see."""
    return path[:-1] if path and getattr(path[-1], "name", None) == "value" else path


def _is_floating(leaf: object) -> bool:
    """Return whether it is an array, of real or complex floating-point numbers."""
    dtype = getattr(leaf, "dtype", None)
    jnp = load("jax.numpy", extra="jax")
    return dtype is not None and hasattr(leaf, "shape") and bool(jnp.issubdtype(dtype, jnp.inexact))
