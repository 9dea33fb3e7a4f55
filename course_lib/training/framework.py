"""Call torch and ``course_lib.autograd`` where a training loop must call them by different names."""

from collections import UserDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_engine_module, is_engine_tensor, is_torch_module, is_torch_tensor
from course_lib.training.data_parallel import add_over_processes

__all__ = ["AutogradFramework", "Framework", "TorchFramework", "framework_of"]


class Framework(Protocol):
    """The framework that a model is made with."""

    name: str

    def no_grad(self) -> AbstractContextManager[Any]:
        """Record nothing inside."""

    def device(self, device: Any, model: Any) -> Any:
        """Return the device, or refuse one that is not there or that holds nothing of the model."""

    def move(self, value: Any, device: Any) -> Any:
        """Turn arrays into tensors on the device, even inside tuples, lists and dicts."""

    def read(self, columns: Sequence[Sequence[Any]]) -> list[list[float]]:
        """Bring columns of single numbers to the host, waiting for the device at most once."""

    def finite(self, tensor: Any) -> bool:
        """Say whether a tensor holds no NaN and no infinity."""

    def noted(self, number: Any) -> Any:
        """Return a number to be read later: without a graph, and with memory of its own."""

    def weights_changed(self) -> None:
        """Forget what was computed from the weights as they were."""

    def add_up(self, numbers: Sequence[float], model: Any) -> list[float]:
        """Add numbers up over the processes that train the model together."""


def framework_of(model: Any) -> Framework:
    """Return the framework of a model, or refuse anything else.

    Examples
    --------
    >>> type(framework_of(autograd.nn.Linear(2, 1))).__name__
    'AutogradFramework'
    >>> framework_of(print)
    Traceback (most recent call last):
    course_lib.errors.InputError: the model must be a torch.nn.Module or a course_lib.autograd.nn.Module, but got \
a builtin_function_or_method; wrap a function in a Module, and use make_jax_step for JAX
    """
    if isinstance(model, type):
        raise InputError(f"the model must be an object, but got the class {model.__name__}; make an instance, with ()")
    if is_engine_module(model):
        return AutogradFramework()
    if is_torch_module(model):
        return TorchFramework()
    raise InputError(
        "the model must be a torch.nn.Module or a course_lib.autograd.nn.Module, but got a "
        f"{type(model).__name__}; wrap a function in a Module, and use make_jax_step for JAX"
    )


def _map_tree(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to the items of nested tuples, lists and dicts; what has its own ``to`` counts as one item."""
    if isinstance(value, dict) or (isinstance(value, UserDict) and not hasattr(value, "to")):
        return {key: _map_tree(function, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "to"):  # which torch's PackedSequence has
        items = [_map_tree(function, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return function(value)


def _to_native_byte_order(array: Any) -> Any:
    """Return an array in this machine's byte order: itself, or a copy, as for digits that were read from a file."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)


class TorchFramework:
    """torch, on any device."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = load("torch", extra="torch")

    def no_grad(self) -> AbstractContextManager[Any]:
        """Record nothing inside."""
        context: AbstractContextManager[Any] = self.torch.no_grad()
        return context

    def device(self, device: Any, model: Any) -> Any:
        """Return the device, or refuse one that is not there or that holds nothing of the model."""
        try:
            wanted = self.torch.empty(0, device=device).device  # "cuda" becomes "cuda:0"
        except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
            raise InputError(
                f"device must name one that torch {self.torch.__version__} can use here, but got {device!r}: "
                f"{str(error).splitlines()[0].rstrip('.')}. Pass device='cpu', or "
                "torch.accelerator.current_accelerator() where there is one."
            ) from error
        places = {p.device for p in model.parameters()}
        if places and wanted not in places:
            raise InputError(
                f"the model must be on the device of the batches, {wanted}, but its parameters are on "
                f"{', '.join(sorted(map(str, places)))}. Call model.to({str(device)!r}) before you make the optimizer."
            )
        return wanted

    def move(self, value: Any, device: Any) -> Any:
        """Turn arrays into tensors on the device; from pinned memory to CUDA the copy does not wait."""

        def moved(leaf: Any) -> Any:
            if isinstance(leaf, np.ndarray):
                leaf = self._tensor(leaf)
            if is_torch_tensor(leaf):
                # From CUDA, and to other devices, a copy that does not wait may be used before it is done.
                ordered = leaf.device.type == "cpu" and device.type == "cuda"
                return leaf.to(device, non_blocking=ordered)
            return leaf.to(device) if hasattr(leaf, "to") else leaf

        return _map_tree(moved, value)

    def _tensor(self, array: Any) -> Any:
        """Make a tensor from an array, on its memory unless that is reversed, read-only or of another byte order."""
        array = _to_native_byte_order(array)
        shareable = array.flags.writeable and min(array.strides, default=0) >= 0
        try:
            return self.torch.as_tensor(array if shareable else array.copy())
        except TypeError as error:
            raise InputError(
                f"arrays must be of a dtype that torch has too, but got {array.dtype} {array.shape}; convert it, as "
                "with .astype('float32'), or leave it out of the batch"
            ) from error

    def read(self, columns: Sequence[Sequence[Any]]) -> list[list[float]]:
        """Bring columns of single numbers to the host, waiting for the device at most once."""
        torch = self.torch
        on_device = [c for c in columns if any(isinstance(entry, torch.Tensor) for entry in c)]
        if not on_device:
            return [[float(entry) for entry in column] for column in columns]
        stacked = [self._stacked(column) for column in on_device]
        if stacked[0].is_meta:
            raise InputError(
                "the device must hold numbers, but 'meta' has none: no loss can be read there. Make the model on 'cpu'."
            )
        wide = self._wide(stacked[0].device)
        values = iter(torch.stack([column.to(stacked[0].device, wide) for column in stacked]).tolist())
        return [
            next(values) if any(column is c for c in on_device) else [float(entry) for entry in column]
            for column in columns
        ]

    def _wide(self, device: Any) -> Any:
        return self.torch.float32 if device.type == "mps" else self.torch.float64  # Metal has no float64

    def _stacked(self, column: Sequence[Any]) -> Any:
        """Join numbers, some of which may be Python's."""
        tensor = self.torch.Tensor
        like = next(entry for entry in column if isinstance(entry, tensor))
        number = {"dtype": self._wide(like.device), "device": like.device}
        return self.torch.stack(
            [entry if isinstance(entry, tensor) else self.torch.tensor(float(entry), **number) for entry in column]
        )

    def finite(self, tensor: Any) -> bool:
        """Say whether a tensor holds no NaN and no infinity."""
        tensor = tensor.detach()
        return bool(self.torch.isfinite(tensor.coalesce().values() if tensor.is_sparse else tensor).all())

    def noted(self, number: Any) -> Any:
        """Return a copy of a number, to be read later: a CUDA graph may write the next one in its place."""
        return number.detach().clone() if is_torch_tensor(number) else number

    def weights_changed(self) -> None:
        """Have autocast convert the weights anew: it keeps the converted ones until its ``with`` statement ends."""
        self.torch.clear_autocast_cache()

    def add_up(self, numbers: Sequence[float], model: Any) -> list[float]:
        """Add numbers up over the processes of DDP or FSDP2."""
        return add_over_processes(numbers, model)


class AutogradFramework:
    """``course_lib.autograd``, whose only device is the CPU."""

    name = "course_lib.autograd"

    def no_grad(self) -> AbstractContextManager[Any]:
        """Record nothing inside."""
        return autograd.no_grad()

    def device(self, device: Any, model: Any) -> Any:
        """Refuse anything but the CPU."""
        if device is not None and str(device) != "cpu":
            raise InputError(f"course_lib.autograd computes on the CPU only, but got device={device!r}; pass 'cpu'")
        return None

    def move(self, value: Any, device: Any) -> Any:
        """Turn arrays, and torch's CPU tensors, into tensors."""

        def moved(leaf: Any) -> Any:
            if is_engine_tensor(leaf) or not hasattr(leaf, "__array__"):
                return leaf
            return autograd.tensor(_to_native_byte_order(np.asarray(leaf)))

        return _map_tree(moved, value)

    def read(self, columns: Sequence[Sequence[Any]]) -> list[list[float]]:
        """Turn columns of single numbers into floats."""
        return [[float(entry) for entry in column] for column in columns]

    def finite(self, tensor: Any) -> bool:
        """Say whether a tensor holds no NaN and no infinity."""
        return bool(np.isfinite(tensor.detach().numpy()).all())

    def noted(self, number: Any) -> Any:
        """Return a number to be read later, without its graph."""
        return number.detach() if is_engine_tensor(number) else number

    def weights_changed(self) -> None:
        """Forget nothing: nothing is kept."""

    def add_up(self, numbers: Sequence[float], model: Any) -> list[float]:
        """Return the numbers of the one process there is."""
        return list(numbers)
