"""Tell arrays, tensors and modules of NumPy, PyTorch, JAX and this course's engine apart.

No framework is imported: whatever belongs to one has been made by it, so that it is loaded already.
"""

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeGuard

import numpy as np

if TYPE_CHECKING:
    import jax
    import torch

    from course_lib.autograd import Tensor, nn

__all__ = [
    "FrameworkName",
    "array_namespace",
    "framework_name",
    "is_engine_module",
    "is_engine_tensor",
    "is_jax_array",
    "is_jax_tracer",
    "is_module",
    "is_numpy_array",
    "is_torch_module",
    "is_torch_tensor",
    "parameter_names",
]

FrameworkName: TypeAlias = Literal["NumPy", "torch", "JAX", "course_lib.autograd"]
"""The name of a framework, as errors and tables print it."""


def framework_name(x: object) -> FrameworkName | None:
    """Name the framework of an array, a tensor or a module; None if it belongs to none of the four.

    Examples
    --------
    >>> framework_name(np.ones(2)), framework_name([1.0, 2.0])
    ('NumPy', None)
    """
    if is_numpy_array(x):
        return "NumPy"
    if is_torch_tensor(x) or is_torch_module(x):
        return "torch"
    if is_engine_tensor(x) or is_engine_module(x):
        return "course_lib.autograd"
    return "JAX" if is_jax_array(x) else None


def is_numpy_array(x: object) -> TypeGuard["np.ndarray[Any, np.dtype[Any]]"]:
    """Return whether it is an array of NumPy, or one of its scalars."""
    return isinstance(x, (np.ndarray, np.generic))


def is_torch_tensor(x: object) -> TypeGuard["torch.Tensor"]:
    """Return whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_torch_module(x: object) -> TypeGuard["torch.nn.Module"]:
    """Return whether it is a module of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.nn.Module)


def is_jax_array(x: object) -> TypeGuard["jax.Array"]:
    """Return whether it is an array of JAX, traced or not."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.Array)


def is_jax_tracer(x: object) -> bool:
    """Return whether JAX traces it, so that it has a shape and no values yet."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(x, jax.core.Tracer)


def is_engine_tensor(x: object) -> TypeGuard["Tensor"]:
    """Return whether it is a tensor of this course's engine."""
    engine = sys.modules.get("course_lib.autograd")
    return engine is not None and isinstance(x, engine.Tensor)


def is_engine_module(x: object) -> TypeGuard["nn.Module"]:
    """Return whether it is a module of this course's engine."""
    engine = sys.modules.get("course_lib.autograd")
    return engine is not None and isinstance(x, engine.nn.Module)


def is_module(x: object) -> bool:
    """Return whether it is a module of torch or of this course's engine."""
    return is_torch_module(x) or is_engine_module(x)


def parameter_names(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield a model's parameters by the names that its author gave them, without those that `torch.compile` adds.

    Examples
    --------
    >>> import torch
    >>> [name for name, _ in parameter_names(torch.compile(torch.nn.Linear(2, 1), backend="eager"))]
    ['weight', 'bias']
    """
    return ((name.replace("_orig_mod.", ""), p) for name, p in model.named_parameters())


def array_namespace(x: Any) -> ModuleType:
    """Return the module that has the functions for an array: ``numpy``, ``jax.numpy`` or ``torch``.

    Examples
    --------
    >>> array_namespace(np.ones(2)).__name__
    'numpy'
    """
    namespace: ModuleType = sys.modules["torch"] if is_torch_tensor(x) else x.__array_namespace__()
    return namespace
