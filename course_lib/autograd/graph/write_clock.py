"""Version counter: date in-place writes, and refuse saved tensors that were written to since.

torch counts the writes to each tensor, and every node remembers the counts it saw. Here one counter dates both nodes
and writes, so "was this array changed after it was saved?" is one comparison: it costs the forward pass nothing, and
the backward pass a look-up only for nodes older than the latest write.
"""

from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from course_lib.autograd.variable import Tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

if TYPE_CHECKING:
    from course_lib.autograd.graph.node import Node

__all__ = ["check_unchanged", "last_write", "latest_write", "next_seq", "record_view", "record_write", "views"]

# Counts down, because heapq pops the smallest: the latest node is the next to be visited.
next_seq = count(0, -1).__next__
latest_write = 1  # the date of the latest write of all; no node is older than "never"
last_write: dict[int, list[Any]] = {}  # id of a buffer -> date of its latest write, what wrote, a guard
views: dict[int, tuple[Any, Any]] = {}  # id of a tensor -> what it is a view of, a guard; both are weak references


def _find_owner(x: Array) -> Array:
    """Find the array that owns the memory of a view."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def record_view(tensor: Tensor, source: Tensor) -> None:
    """Record which tensor another is a view of, if it is one; a view of a view is a view of the first."""
    if isinstance(source.value, np.ndarray) and _find_owner(tensor.value) is _find_owner(source.value):
        key, whole = id(tensor), views[id(source)][0] if id(source) in views else ref(source)
        views[key] = whole, ref(tensor, partial(views.pop, key))


def record_write(what: str, *tensors: Tensor) -> None:
    """Record an in-place write to the memory of tensors by the method ``what``."""
    global latest_write
    latest_write = next_seq()
    for tensor in tensors:
        x = tensor.value
        buffer = x if x.base is None else _find_owner(x)
        key = id(buffer)
        entry = last_write.get(key)
        if entry is None:  # the guard drops it when the buffer is no more, because another may get the id
            last_write[key] = [latest_write, what, ref(buffer, partial(last_write.pop, key))]
        else:
            entry[0], entry[1] = latest_write, what


def check_unchanged(node: "Node", saved: tuple[Any, ...]) -> None:
    """Raise if an array that ``node`` saved was changed in place since."""
    for i, x in enumerate(saved):
        date, what, _ = (
            last_write.get(id(_find_owner(x)), (1, "", None)) if isinstance(x, np.ndarray) else (1, "", None)
        )
        if date < node.seq:
            raise AutogradError(
                f"what {node.name()} saved in the forward pass must still be there in the backward pass, but its "
                f"{node.op.saves[i]}, of shape {x.shape}, was changed in place by {what} afterwards. Write the change "
                "out of place (x = x + 1, not x.add_(1)), change a .clone(), or make the change before the tensor is "
                "used."
            )
