"""List the tensors that torch's autograd saves for the backward pass, each storage once."""

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from course_lib.extras import load
from course_lib.rendering import ReadableResult, Section

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "RecordedForward",
    "SavedTensor",
    "SavedTensors",
    "alive",
    "dense_parts",
    "record_forward",
    "record_saved_tensors",
    "saved_tensors",
    "storage_key",
]

SHOWN = 12


@dataclass(frozen=True, repr=False)
class SavedTensors(ReadableResult):
    """Saved tensors of a forward pass, as autograd held them when it was over.

    Attributes
    ----------
    bytes : int
        Of all storages, each counted once, parameters left out.
    naive_bytes : int
        The sum over all saved tensors: a storage counts twice where two operations save the same tensor, and
        parameters count too.
    tensors : tuple of (tuple of int, str, int)
        Shape, dtype and bytes of the storage of the first tensor on each counted storage, in the order of saving.
    """

    bytes: int
    naive_bytes: int
    tensors: tuple[tuple[tuple[int, ...], str, int], ...]

    def sections(self) -> list[Section]:
        """Return a table of the largest, and the bytes of all."""
        largest = sorted(self.tensors, key=lambda tensor: -tensor[2])[:SHOWN]
        rows = [("shape", "dtype", "bytes"), *((str(shape), dtype, f"{size:,}") for shape, dtype, size in largest)]
        more = [f"and {len(self.tensors) - SHOWN} smaller"] if len(self.tensors) > SHOWN else []
        whole = f"{self.bytes:,} bytes in {len(self.tensors)} storages; added up by tensor, {self.naive_bytes:,}"
        return [Section(rows=tuple(rows), caption="Saved for the backward pass", notes=(*more, whole), word_columns=2)]


def saved_tensors(forward: Callable[[], object], *, parameters: "Iterable[Tensor]" = ()) -> SavedTensors:
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
    itself, or one in Python as an attribute of ``ctx`` instead of with ``save_for_backward``. Inside a checkpointed
    region only the region's inputs are saved, and only they are listed.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> saved = saved_tensors(lambda: model(torch.ones(8, 256)), parameters=model.parameters())
    >>> saved.bytes, saved.naive_bytes, [shape for shape, _, _ in saved.tensors]
    (16384, 34816, [(8, 256), (8, 256)])
    """
    own = {storage_key(part): part for p in parameters for part in dense_parts(p)}  # alive, so their keys stay valid
    seen: dict[int, tuple[tuple[int, ...], str, int]] = {}
    recorded = record_forward(forward)
    tensors = [part for saved in recorded.saved for part in dense_parts(saved.tensor)]
    for tensor in tensors:
        if (key := storage_key(tensor)) not in own and key not in seen:
            seen[key] = (tuple(tensor.shape), str(tensor.dtype), tensor.untyped_storage().nbytes())
    naive = sum(tensor.nbytes for tensor in tensors)
    return SavedTensors(sum(size for _, _, size in seen.values()), naive, tuple(seen.values()))


@dataclass(eq=False)
class SavedTensor:
    """A tensor that one node saved, and the caller's note about that moment."""

    tensor: "Tensor"
    note: str


@dataclass(frozen=True)
class RecordedForward:
    """A forward pass that is over: its result, the tensors its graph holds, and those read from the graph since."""

    result: object
    saved: tuple[SavedTensor, ...]
    read: list[SavedTensor]


def record_forward(
    forward: Callable[[], object], *, note: "Callable[[Tensor], str]" = lambda tensor: ""
) -> RecordedForward:
    """Run a forward pass, and record the tensors that are saved for its backward pass when it is over.

    The graph owns what it saves, and only weak references are kept here: what belonged to a result that was dropped
    on the way is gone, as it is in training.

    Parameters
    ----------
    forward : callable
        Takes nothing.
    note : callable
        Called with each tensor when it is saved; what it returns is kept with it.
    """
    read = list[SavedTensor]()
    with record_saved_tensors(note, on_read=read.append) as owned:
        result = forward()
    read.clear()  # what a backward pass within it has read is free to go
    return RecordedForward(result, alive(owned), read)


@contextmanager
def record_saved_tensors(
    note: "Callable[[Tensor], str]", *, on_read: Callable[[SavedTensor], object] = lambda saved: None
) -> "Iterator[list[weakref.ref[SavedTensor]]]":
    """Record the tensors that are saved inside, with the caller's notes; ``on_read`` is told of each that is read."""
    torch, owned = load("torch", extra="torch"), list[weakref.ref[SavedTensor]]()

    def pack(tensor: "Tensor") -> SavedTensor:
        saved = SavedTensor(tensor.detach(), note(tensor))
        owned.append(weakref.ref(saved))
        return saved

    def unpack(saved: SavedTensor) -> "Tensor":
        on_read(saved)
        return saved.tensor

    hooks = (pack, unpack)
    if "torch._dynamo" in sys.modules:  # it would compile them where it has left a function to Python
        hooks = tuple(map(torch.compiler.disable, hooks))
    with torch.autograd.graph.saved_tensors_hooks(*hooks):
        yield owned


def alive(owned: "Iterable[weakref.ref[SavedTensor]]") -> tuple[SavedTensor, ...]:
    """Return what the graphs still hold of what was saved."""
    return tuple(saved for ref in owned if (saved := ref()) is not None)


def storage_key(tensor: "Tensor") -> int:
    """Identify the storage of a tensor while it is alive, even one without memory, as that of a meta tensor."""
    return int(tensor.untyped_storage()._cdata)


def dense_parts(tensor: "Tensor") -> "list[Tensor]":
    """List the tensors whose storages hold a tensor's numbers: itself, unless it is sparse or jagged.

    Examples
    --------
    >>> import torch
    >>> [part.shape for part in dense_parts(torch.eye(3).to_sparse())]
    [torch.Size([2, 3]), torch.Size([3])]
    """
    torch = load("torch", extra="torch")
    if torch.utils._python_dispatch.is_traceable_wrapper_subclass(tensor):
        parts = [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]  # type: ignore[attr-defined] # of subclasses
        return [part for inner in parts for part in dense_parts(inner)]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor]
