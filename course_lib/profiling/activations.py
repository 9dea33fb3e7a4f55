"""List what a forward pass leaves in memory for its backward pass: by whom, from which operation, how much."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from course_lib.costs.calls import Calls, calls
from course_lib.costs.graph import leaves_below, nodes_below
from course_lib.costs.kept import Holding, dense_parts, hold, storage_key
from course_lib.costs.untouched import first_calls, keep_buffers
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.profiling.text import bytes_text, columns

__all__ = ["Entry", "Inventory", "saved_activations"]

SHOWN = 12


@dataclass(frozen=True)
class Entry:
    """One storage that the graph holds.

    Attributes
    ----------
    module : str
        The innermost module in whose forward pass it was first saved, by its name in the outermost one.
    op : str
        The operation that saved it, such as ``addmm``; for a custom function the name of its class.
    shape : tuple of int
        Of the tensor that was saved first; a sparse or jagged one has a storage for each of its parts.
    dtype : str
        Such as ``float32``.
    bytes : int
        Of the whole storage: a slice keeps all of it alive.
    """

    module: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    bytes: int


@dataclass(frozen=True, repr=False)
class Inventory:
    """What autograd holds when a forward pass is over, each storage once.

    Attributes
    ----------
    total_bytes : int
        Parameters left out, which are in memory anyway.
    parameter_bytes : int
        Of the parameters and buffers among what is saved.
    entries : tuple of Entry
        In the order of saving, without parameters and buffers.
    """

    total_bytes: int
    parameter_bytes: int
    entries: tuple[Entry, ...]

    def by_module(self) -> dict[str, int]:
        """Return the bytes that each module left, most first."""
        found = Counter[str]()
        for entry in self.entries:
            found[entry.module] += entry.bytes
        return dict(found.most_common())

    def __repr__(self) -> str:
        largest = sorted(self.entries, key=lambda entry: -entry.bytes)[:SHOWN]
        rows = [("module", "operation", "shape", "dtype", "size")]
        rows += [(e.module, e.op, str(e.shape), e.dtype, bytes_text(e.bytes)) for e in largest]
        more = f"\nand {len(self.entries) - SHOWN} smaller" if len(self.entries) > SHOWN else ""
        held, own = bytes_text(self.total_bytes), bytes_text(self.parameter_bytes)
        return f"{columns(rows)}{more}\n{held} in {len(self.entries)} storages; besides, {own} of parameters"


def saved_activations(fn: Callable[[], Any]) -> Inventory:
    """Run a forward pass once, and list what is held for its backward pass.

    Parameters
    ----------
    fn : callable
        Takes nothing, and returns the loss, or whatever tensors the backward pass would start from. What belongs to
        a result that it drops is not held, and not listed.

    Returns
    -------
    Inventory

    Raises
    ------
    InputError
        If no tensor is returned.

    Notes
    -----
    Parameters are the parameters and buffers of the modules that are called, and every leaf that requires grad. What a
    custom C++ function keeps for itself is not seen, nor what one in Python keeps as an attribute of ``ctx`` instead of
    with ``save_for_backward``. Of a checkpointed region only its inputs are held, and listed.
    Where the forward pass has hooks of its own for what is saved, as under ``save_on_cpu``, nothing is seen there.
    Nothing is computed but the forward pass; torch's random numbers on the CPU, and the buffers that modules change in
    place, are afterwards what they were.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    >>> saved_activations(lambda: model(torch.ones(8, 256)).sum())
    module  operation     shape    dtype      size
    0           addmm  (8, 256)  float32  8.00 KiB
    1            relu  (8, 256)  float32  8.00 KiB
    16.0 KiB in 2 storages; besides, 10.0 KiB of parameters
    """
    torch = load("torch", extra="torch")
    if not callable(fn):
        raise InputError(
            f"fn must be a function that runs the forward pass, but got a {type(fn).__name__}: that pass is over. "
            "Pass lambda: loss_fn(model(x), y)."
        )
    with (
        ExitStack() as kept,
        torch.random.fork_rng(devices=()),
        first_calls(partial(keep_buffers, kept)),
        calls() as now,
    ):
        holding = hold(fn, note=lambda tensor: now.innermost)
        results = [t for t in torch.utils._pytree.tree_leaves(holding.result) if isinstance(t, torch.Tensor)]
        if not results:
            raise InputError(
                "fn must return the loss, so that its graph is still there, but it returned "
                f"{type(holding.result).__name__}. Return what you would call backward() on."
            )
        names = operations(holding, results)  # in here, as it runs checkpointed regions again
    return inventory(holding, own_keys(now, results), names)


def own_keys(now: Calls, results: list[Any]) -> set[Any]:
    """Return the storages of parameters and buffers."""
    own = [t for module in now.modules.values() for t in (*module.parameters(), *module.buffers())]
    return {storage_key(part) for tensor in own + leaves_below(*results) for part in dense_parts(tensor)}


def operations(holding: Holding, results: list[Any]) -> dict[int, str]:
    """Say which operation saved each tensor, by reading from each node what it saved."""
    found = {}
    for node in nodes_below(*results):
        for name in dir(node):
            if name == "saved_tensors" or (name.startswith("_saved_") and "_sym_" not in name):
                holding.read.clear()
                try:
                    getattr(node, name)
                except RuntimeError:  # changed in place since: the backward pass will say so
                    continue
                found.update({id(saved): operation(node.name()) for saved in holding.read})
    return found


def operation(node: str) -> str:
    """Turn the name of a node into the name of its operation.

    Examples
    --------
    >>> operation("NativeLayerNormBackward0"), operation("MyFunctionBackward")
    ('native_layer_norm', 'MyFunction')
    >>> operation("MaxPool2DWithIndicesBackward0"), operation("SmoothL1LossBackward0"), operation("Im2ColBackward0")
    ('max_pool2d_with_indices', 'smooth_l1_loss', 'im2col')
    """
    if not (built_in := re.fullmatch(r"(\w+?)Backward\d+", node)):
        return node.removesuffix("Backward")
    # A digit goes with the letter after it, as in 2d, unless it ends a word of its own, as in l1.
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\d[A-Z])(?=[A-Z])|(?<=[A-Z]\d)(?=[A-Z][a-z])", "_", built_in[1]).lower()


def inventory(holding: Holding, own: set[Any], names: dict[int, str]) -> Inventory:
    """Count each storage once."""
    entries: dict[Any, Entry] = {}
    parameters: dict[Any, int] = {}
    for saved in holding.saved:
        for part in dense_parts(saved.tensor):
            key, size = storage_key(part), part.untyped_storage().nbytes()
            if key in own:
                parameters[key] = size
            elif size and key not in entries:
                entries[key] = entry(part, saved.note, names.get(id(saved), "unknown"), size)
    listed = tuple(entries.values())
    return Inventory(sum(e.bytes for e in listed), sum(parameters.values()), listed)


def entry(tensor: Any, module: str, op: str, size: int) -> Entry:
    """Describe one storage by the tensor that was saved first."""
    return Entry(module, op, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), size)
