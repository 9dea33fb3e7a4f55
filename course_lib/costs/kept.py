"""Measure memory in torch without a device's help: what autograd saves, and the most that is alive at once."""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from course_lib.extras import load

__all__ = ["SavedTensors", "peak_bytes", "saved_tensors"]


@dataclass(frozen=True)
class SavedTensors:
    """What autograd held when a forward pass was over.

    Attributes
    ----------
    bytes : int
        Of all storages, each counted once, parameters left out.
    naive_bytes : int
        What adding up every saved tensor gives: storages twice where two operations save one tensor, and parameters
        too.
    tensors : tuple of (tuple of int, str, int)
        Shape, dtype and bytes of the storage of the first tensor on each counted storage, in the order of saving.
    """

    bytes: int
    naive_bytes: int
    tensors: tuple[tuple[tuple[int, ...], str, int], ...]


def saved_tensors(forward: Callable[[], Any], *, parameters: Iterable[Any] = ()) -> SavedTensors:
    """Run a forward pass once, and list what autograd saves for the backward pass.

    Parameters
    ----------
    forward : callable
        Takes nothing; what it returns is kept until the end, so that nothing is freed in between.
    parameters : iterable of Tensor
        Left out of the count, by storage, because they are in memory anyway: ``model.parameters()``.

    Returns
    -------
    SavedTensors

    Raises
    ------
    MissingExtraError
        Without torch.

    Notes
    -----
    Read with ``torch.autograd.graph.saved_tensors_hooks``, which shows no tensors that a custom C++ function keeps for
    itself. Inside a checkpointed region only the region's inputs are saved, and only they are listed.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> saved = saved_tensors(lambda: model(torch.ones(8, 256)), parameters=model.parameters())
    >>> saved.bytes, saved.naive_bytes, [shape for shape, _, _ in saved.tensors]
    (16384, 34816, [(8, 256), (8, 256)])
    """
    own = {storage_key(part): part for p in parameters for part in dense_parts(p)}  # alive, as their keys are to hold
    seen: dict[int, tuple[tuple[int, ...], str, int]] = {}
    holding = hold(forward)
    tensors = [part for saved in holding.saved for part in dense_parts(saved.tensor)]
    for tensor in tensors:
        if (key := storage_key(tensor)) not in own and key not in seen:
            seen[key] = (tuple(tensor.shape), str(tensor.dtype), tensor.untyped_storage().nbytes())
    naive = sum(tensor.nbytes for tensor in tensors)
    return SavedTensors(sum(size for _, _, size in seen.values()), naive, tuple(seen.values()))


@dataclass(eq=False)
class Saved:
    """One tensor that one node saved, and what the caller noted about the moment."""

    tensor: Any
    note: Any


@dataclass(frozen=True)
class Holding:
    """A forward pass that is over: its result, what its graph holds, and what was read from the graph since."""

    result: Any
    saved: tuple[Saved, ...]
    read: list[Saved]


def hold(forward: Callable[[], Any], *, note: Callable[[Any], Any] = lambda tensor: None) -> Holding:
    """Run a forward pass, and find what is held for its backward pass when it is over.

    The graph owns what it saves, and only weak references are kept here: what belonged to a result that was dropped
    on the way is gone, as it is in training.

    Parameters
    ----------
    forward : callable
        Takes nothing.
    note : callable
        Called with each tensor when it is saved; what it returns is kept with it.
    """
    torch = load("torch", extra="torch")
    owned, read = [], list[Saved]()

    def pack(tensor: Any) -> Saved:
        saved = Saved(tensor.detach(), note(tensor))
        owned.append(weakref.ref(saved))
        return saved

    def unpack(saved: Saved) -> Any:
        read.append(saved)
        return saved.tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        result = forward()
    read.clear()  # what a backward pass within it has read is free to go
    return Holding(result, tuple(saved for ref in owned if (saved := ref()) is not None), read)


def storage_key(tensor: Any) -> int:
    """Name the storage that a tensor looks at, while it is alive: also one without memory, as of a meta tensor."""
    return int(tensor.untyped_storage()._cdata)


def dense_parts(tensor: Any) -> list[Any]:
    """List the tensors whose storages hold a tensor's numbers: itself, unless it is sparse or jagged.

    Examples
    --------
    >>> import torch
    >>> [part.shape for part in dense_parts(torch.eye(3).to_sparse())]
    [torch.Size([2, 3]), torch.Size([3])]
    """
    torch = load("torch", extra="torch")
    if torch.utils._python_dispatch.is_traceable_wrapper_subclass(tensor):
        parts = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
        return [part for inner in parts for part in dense_parts(inner)]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor]


def peak_bytes(step: Callable[[], Any]) -> int:
    """Run a function once, and return the most bytes of tensors that were alive at once.

    Every storage that an operation makes is counted from then until it is freed, and one that an operation reads and
    none has made, from the beginning: parameters, optimizer state, the batch, activations, gradients; not what a
    kernel uses for itself. It works on any device, and does not depend on the allocator.

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
    mode = load("torch.utils._python_dispatch", extra="torch").TorchDispatchMode
    leaves = load("torch.utils._pytree", extra="torch").tree_leaves
    live: dict[int, int] = {}
    peak = 0

    def newly_seen(tree: Any) -> int:
        found = 0
        for leaf in leaves(tree):
            for tensor in dense_parts(leaf) if hasattr(leaf, "untyped_storage") else ():
                storage = tensor.untyped_storage()
                if id(storage) not in live:
                    live[id(storage)] = storage.nbytes()
                    weakref.finalize(storage, live.pop, id(storage), None)
                    found += storage.nbytes()
        return found

    class Watcher(mode):  # type: ignore[misc, valid-type] # loaded late
        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal peak
            peak += newly_seen((args, kwargs))  # it was there all along, at the peak so far, too
            out = op(*args, **(kwargs or {}))
            newly_seen(out)
            peak = max(peak, sum(live.values()))
            return out

    with Watcher():
        step()
    return peak
