"""Follow every storage of torch from the operation that made it to the moment it is freed."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Any

from course_lib.costs.dispatch import each_operation
from course_lib.costs.kept import dense_parts
from course_lib.extras import load

__all__ = ["Block", "Watched", "peak_bytes", "watch"]


@dataclass
class Block:
    """One storage: its size, the tensor that was seen first on it, and from which operation to which it was alive."""

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    op: str  # that made it; empty if it was there before
    note: Any
    born: int  # the number of that operation; -1 if it was there before
    died: int | None = None  # the number of the operation before which it was freed

    def alive(self, at: int) -> bool:
        """Say whether it was in memory when operation number ``at`` was done."""
        return self.born <= at and (self.died is None or self.died > at)


@dataclass
class Watched:
    """What a step did to memory: its operations, and all storages that they made or read."""

    ops: list[str] = field(default_factory=list)
    notes: list[Any] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    _alive: dict[int, tuple[Block, weakref.ref[Any]]] = field(default_factory=dict, repr=False)

    def live_bytes(self) -> list[int]:
        """Return the bytes that were alive before the first operation, and after each."""
        changes = [0] * (len(self.ops) + 2)
        for block in self.blocks:
            changes[block.born + 1] += block.bytes
            if block.died is not None:
                changes[block.died + 1] -= block.bytes
        return list(accumulate(changes))[:-1]

    def see(self, tree: Any, op: str = "", about: Any = None) -> None:
        """Look at what an operation has made, or was given: what none has made was there all along."""
        leaves = load("torch.utils._pytree", extra="torch").tree_leaves(tree)
        for tensor in (part for leaf in leaves if hasattr(leaf, "untyped_storage") for part in dense_parts(leaf)):
            storage = tensor.untyped_storage()
            key, size = id(storage), storage.nbytes()
            if key not in self._alive:
                block = described(tensor, op, about, len(self.ops) - 1 if op else -1)
                self._alive[key] = block, weakref.ref(storage, partial(self._forget, key))
            elif self._alive[key][0].bytes != size:  # resized, as by resize_ or for a result that is written to it
                old, ref = self._alive[key]
                old.died = now = len(self.ops) - bool(op)
                block = replace(old, bytes=size, born=now, died=None)
                self._alive[key] = block, ref
            else:
                continue
            self.blocks.append(block)

    def _forget(self, key: int, _: Any) -> None:
        self._alive.pop(key)[0].died = len(self.ops)


def watch(step: Callable[[], Any], *, note: Callable[[], Any] = lambda: None) -> Watched:
    """Run a function once, and follow the storages that its operations make, read and free.

    Parameters
    ----------
    step : callable
        Takes nothing.
    note : callable
        Called after each operation; what it returns is kept with the operation, and with the storages that it made.
    """
    watched = Watched()

    def call(op: Any, args: Any, kwargs: Any) -> Any:
        name = getattr(op, "overloadpacket", op).__name__
        if name != "lift_fresh":  # as torch.tensor does with what it has made
            watched.see((args, kwargs))
        out, about = op(*args, **kwargs), note()
        watched.ops.append(name)
        watched.notes.append(about)
        watched.see(out, name, about)
        return out

    with each_operation(call):
        step()
    return watched


def described(tensor: Any, op: str, about: Any, born: int) -> Block:
    """Describe the storage of a tensor, which is new."""
    shape = (tensor.numel(),) if tensor.is_nested else tuple(tensor.shape)  # a nested one has no shape
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Block(tensor.untyped_storage().nbytes(), shape, dtype, op, about, born)


def peak_bytes(step: Callable[[], Any]) -> int:
    """Run a function once, and return the most bytes of tensors that were alive at once.

    Every storage that an operation makes is counted from then until it is freed, and one that was there
    before, from the beginning: parameters, optimizer state, the batch, activations, gradients. What a kernel uses for
    itself is not counted. It works on any device, and does not depend on the allocator. What ``torch.compile`` has
    made runs uncompiled meanwhile.

    Parameters
    ----------
    step : callable
        Takes nothing: a forward pass, or a whole training step.

    Raises
    ------
    MissingExtraError
        Without torch.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(1000)
    >>> peak_bytes(lambda: (x + 1) + 1)
    12000
    """
    return max(watch(step).live_bytes())
