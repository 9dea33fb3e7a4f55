"""List the saved activations of a forward pass: by module, by operation, in bytes."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.graph_walk import graph_leaves, graph_nodes
from course_lib.instrument.module_calls import ModuleStack, track_module_calls, visit_called_modules
from course_lib.instrument.restore_model import restore_buffers_at_exit, restore_random_states
from course_lib.instrument.saved_tensors import RecordedForward, dense_parts, record_forward, storage_key
from course_lib.profiling.formatting import format_bytes
from course_lib.rendering import ReadableResult, Section

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["SavedActivation", "SavedActivations", "saved_activations"]

SHOWN = 12


@dataclass(frozen=True)
class SavedActivation:
    """A storage that the graph holds for the backward pass.

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
class SavedActivations(ReadableResult):
    """Saved activations when a forward pass is over, each storage once.

    Attributes
    ----------
    total_bytes : int
        Parameters left out, which are in memory anyway.
    parameter_bytes : int
        Of the parameters and buffers among what is saved.
    activations : tuple of Entry
        In the order of saving, without parameters and buffers.
    """

    total_bytes: int
    parameter_bytes: int
    activations: tuple[SavedActivation, ...]

    def by_module(self) -> dict[str, int]:
        """Return the bytes that each module left, most first."""
        found = Counter[str]()
        for entry in self.activations:
            found[entry.module] += entry.bytes
        return dict(found.most_common())

    def sections(self) -> list[Section]:
        """Return a table of the largest, and the bytes of all."""
        largest = sorted(self.activations, key=lambda entry: -entry.bytes)[:SHOWN]
        rows = [("module", "operation", "shape", "dtype", "size")]
        rows += [(e.module, e.op, str(e.shape), e.dtype, format_bytes(e.bytes)) for e in largest]
        more = [f"and {len(self.activations) - SHOWN} smaller"] if len(self.activations) > SHOWN else []
        held, own = format_bytes(self.total_bytes), format_bytes(self.parameter_bytes)
        whole = f"{held} in {len(self.activations)} storages; besides, {own} of parameters"
        return [Section(rows=tuple(rows), caption="Saved for the backward pass", notes=(*more, whole), word_columns=4)]


def saved_activations(fn: Callable[[], object]) -> SavedActivations:
    """Run a forward pass once, and list the activations saved for its backward pass.

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
    Nothing is computed but the forward pass; the random numbers of Python, NumPy and torch, on every device in use, and
    the buffers that modules change in place, are afterwards what they were.

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
        ExitStack() as at_exit,
        restore_random_states(),
        visit_called_modules(partial(restore_buffers_at_exit, at_exit)),
        track_module_calls() as stack,
    ):
        recorded = record_forward(fn, note=lambda tensor: stack.innermost)
        results = [t for t in torch.utils._pytree.tree_leaves(recorded.result) if isinstance(t, torch.Tensor)]
        if not results:
            raise InputError(
                "fn must return the loss, so that its graph is still there, but it returned "
                f"{type(recorded.result).__name__}. Return what you would call backward() on."
            )
        names = _saving_operations(recorded, results)  # in here, as it runs checkpointed regions again
    return _count_storages(recorded, _parameter_storages(stack, results), names)


def _parameter_storages(stack: ModuleStack, results: "list[Tensor]") -> set[int]:
    """Return the keys of the storages of parameters and buffers."""
    own = [t for module in stack.modules.values() for t in (*module.parameters(), *module.buffers())]
    return {storage_key(part) for tensor in own + graph_leaves(*results) for part in dense_parts(tensor)}


def _saving_operations(recorded: RecordedForward, results: "list[Tensor]") -> dict[int, str]:
    """Find which operation saved each tensor, by reading from each node what it saved."""
    torch, found = load("torch", extra="torch"), {}
    for node in graph_nodes(*results):
        for name in dir(node):
            if name == "saved_tensors" or (name.startswith("_saved_") and "_sym_" not in name):
                recorded.read.clear()
                try:
                    getattr(node, name)
                except torch.OutOfMemoryError:  # reading may run a checkpointed region again
                    raise
                except RuntimeError:  # changed in place since: the backward pass will say so
                    continue
                found.update({id(saved): _operation_name(node.name()) for saved in recorded.read})
    return found


def _operation_name(node: str) -> str:
    """Convert the name of a node to the name of its operation.

    Examples
    --------
    >>> _operation_name("NativeLayerNormBackward0"), _operation_name("MyFunctionBackward")
    ('native_layer_norm', 'MyFunction')
    >>> [_operation_name(f"{name}Backward0") for name in ("MaxPool2DWithIndices", "SmoothL1Loss", "Im2Col")]
    ['max_pool2d_with_indices', 'smooth_l1_loss', 'im2col']
    """
    if not (built_in := re.fullmatch(r"(\w+?)Backward\d+", node)):
        return node.removesuffix("Backward")
    # A digit goes with the letter after it, as in 2d, unless it ends a word of its own, as in l1.
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\d[A-Z])(?=[A-Z])|(?<=[A-Z]\d)(?=[A-Z][a-z])", "_", built_in[1]).lower()


def _count_storages(recorded: RecordedForward, own: set[int], names: dict[int, str]) -> SavedActivations:
    """List each saved storage once, parameters apart."""
    found: dict[int, SavedActivation] = {}
    parameters: dict[int, int] = {}
    for saved in recorded.saved:
        for part in dense_parts(saved.tensor):
            key, size = storage_key(part), part.untyped_storage().nbytes()
            if key in own:
                parameters[key] = size
            elif size and key not in found:
                found[key] = _describe_storage(part, saved.note, names.get(id(saved), "unknown"), size)
    activations = tuple(found.values())
    return SavedActivations(sum(e.bytes for e in activations), sum(parameters.values()), activations)


def _describe_storage(tensor: "Tensor", module: str, op: str, size: int) -> SavedActivation:
    """Describe one storage by the tensor that was saved first."""
    return SavedActivation(module, op, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), size)
