"""Log every storage of torch from the operation that allocates it to the moment it is freed; measure peak memory."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from course_lib.extras import load
from course_lib.instrument.dispatch_mode import intercept_operations
from course_lib.instrument.saved_tensors import dense_parts

if TYPE_CHECKING:
    import torch
    from torch._ops import OpOverload

__all__ = ["Storage", "StorageLog", "log_storages", "peak_bytes"]


@dataclass
class Storage:
    """A storage of a log: its size, the first tensor seen on it, and from which operation to which it was alive.

    Attributes
    ----------
    bytes : int
    shape : tuple of int
        Of the tensor that was seen first on it.
    dtype : str
        Such as ``float32``.
    op : str
        The operation that made it; empty if it was there before.
    note : str
        The caller's note at that moment.
    born : int
        The number of that operation; -1 if it was there before.
    died : int or None
        The number of the operation before which it was freed; None if it was alive at the end.
    kind : str
        What it is to the training step, if someone marked it.
    """

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    op: str
    note: str
    born: int
    died: int | None = None
    kind: str = ""

    def is_alive(self, at: int) -> bool:
        """Return whether it was in memory after operation number ``at``."""
        return self.born <= at and (self.died is None or self.died > at)


@dataclass
class StorageLog:
    """Log of the operations of a step, and of all storages that they made or read.

    Attributes
    ----------
    ops, notes : list of str
        The operations' names in order, such as ``addmm``, and the caller's note at each.
    storages : list of Storage
        In the order in which they were seen.
    """

    ops: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    _alive: dict[int, tuple[Storage, weakref.ref["torch.UntypedStorage"]]] = field(default_factory=dict, repr=False)

    def live_bytes(self, kind: str | None = None) -> list[int]:
        """Return the bytes that were alive before the first operation, and after each: of all storages, or one kind."""
        changes = [0] * (len(self.ops) + 2)
        for entry in (entry for entry in self.storages if kind in (None, entry.kind)):
            changes[entry.born + 1] += entry.bytes
            if entry.died is not None:
                changes[entry.died + 1] -= entry.bytes
        return list(accumulate(changes))[:-1]

    def add(self, tree: object, op: str = "", note: str = "") -> None:
        """Log the storages of what an operation made, or was given: what none has made was there all along."""
        leaves = load("torch.utils._pytree", extra="torch").tree_leaves(tree)
        for tensor in (part for leaf in leaves if hasattr(leaf, "untyped_storage") for part in dense_parts(leaf)):
            storage = tensor.untyped_storage()
            key, size = id(storage), storage.nbytes()
            if key not in self._alive:
                entry = _describe_storage(tensor, op, note, len(self.ops) - 1 if op else -1)
                self._alive[key] = entry, weakref.ref(storage, partial(self._forget, key))
            elif self._alive[key][0].bytes != size:  # resized, as by resize_ or for a result that is written to it
                old, ref = self._alive[key]
                old.died = now = len(self.ops) - bool(op)
                entry = replace(old, bytes=size, born=now, died=None)
                self._alive[key] = entry, ref
            else:
                continue
            self.storages.append(entry)

    def mark(self, tree: object, kind: str) -> None:
        """Mark the storages of tensors as of one kind; what no operation has made or read is not in the log."""
        leaves = load("torch.utils._pytree", extra="torch").tree_leaves(tree)
        for tensor in (part for leaf in leaves if hasattr(leaf, "untyped_storage") for part in dense_parts(leaf)):
            if found := self._alive.get(id(tensor.untyped_storage())):
                found[0].kind = kind

    def _forget(self, key: int, _: object) -> None:
        self._alive.pop(key)[0].died = len(self.ops)


def log_storages(
    step: Callable[[], object], *, note: Callable[[], str] = lambda: "", log: StorageLog | None = None
) -> StorageLog:
    """Run a function once, and log the storages that its operations make, read and free.

    Parameters
    ----------
    step : callable
        Takes nothing.
    note : callable
        Called after each operation; what it returns is kept with the operation, and with the storages that it made.
    log : StorageLog, optional
        A new one to write to, for a caller that marks storages while the step runs.

    Returns
    -------
    StorageLog

    Raises
    ------
    MissingExtraError
        Without torch. What ``step`` raises is passed on.

    Examples
    --------
    >>> import torch
    >>> x = torch.ones(1000)
    >>> log = log_storages(lambda: (x + 1).sum())
    >>> log.ops, [(s.op, s.bytes, s.born, s.died) for s in log.storages]
    (['add', 'sum'], [('', 4000, -1, None), ('add', 4000, 0, 2), ('sum', 4, 1, 2)])
    """
    log = StorageLog() if log is None else log

    def call(op: "OpOverload", args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        name = getattr(op, "overloadpacket", op).__name__
        if name != "lift_fresh":  # as torch.tensor does with what it has made
            log.add((args, kwargs))
        out, place = op(*args, **kwargs), note()
        log.ops.append(name)
        log.notes.append(place)
        log.add(out, name, place)
        return out

    with intercept_operations(call):
        step()
    return log


def _describe_storage(tensor: "torch.Tensor", op: str, note: str, born: int) -> Storage:
    """Describe the new storage of a tensor."""
    shape = (tensor.numel(),) if tensor.is_nested else tuple(tensor.shape)  # a nested one has no shape
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Storage(tensor.untyped_storage().nbytes(), shape, dtype, op, note, born)


def peak_bytes(step: Callable[[], object]) -> int:
    """Measure the peak memory of a function: the most bytes of tensors alive at once in one run.

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
    return max(log_storages(step).live_bytes())
