"""Find the trainable parameters of a model of torch or of the engine, and refuse what cannot be watched."""

import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from course_lib.autograd import Tensor
from course_lib.errors import InputError, MonitorError
from course_lib.frameworks import is_engine_tensor, is_torch_tensor, parameter_names
from course_lib.instrument.backward_hooks import explain_missing_gradients
from course_lib.monitoring.reading.gradient_measures import Float64
from course_lib.monitoring.reading.tree_names import jax_arrays
from course_lib.types import AnyModule, AnyTensor

__all__ = [
    "check_gradients",
    "check_same_parameters",
    "check_shapes",
    "find_nonfinite",
    "parameters_with_gradient",
    "shape_tuple",
    "to_float64",
    "trainable_parameters",
]

BEFORE_ZEROING = "Call this after loss.backward(), and before optimizer.zero_grad()."


def trainable_parameters(model: AnyModule) -> dict[str, Any]:
    """Return the parameters that require grad by their dotted names, in the order in which the model defines them.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module
        Anything whose ``named_parameters()`` yields tensors of one of the two libraries.

    Raises
    ------
    InputError
        If it is not a model, or nothing in it is to be trained, or a lazy layer has no shape yet.
    """
    if isinstance(model, type):
        raise InputError(
            f"a model is needed, but got the class {model.__name__}. Make an instance first: {model.__name__}(...)."
        )
    if not hasattr(model, "named_parameters"):
        if jax_arrays(model):
            raise InputError(
                "a model of torch or course_lib.autograd is needed, but these are arrays of JAX. Watch them by "
                "JaxGradientMonitor(params), or ask compute_grad_norm(grads)."
            )
        raise InputError(
            f"a model with named_parameters() is needed, such as a torch.nn.Module, but got a {type(model).__name__}. "
            "Pass the model, not its parameters or its output."
        )
    found = {name: p for name, p in parameter_names(model) if p.requires_grad}
    if not found:
        raise InputError(
            f"there must be a parameter that requires grad, but {type(model).__name__} has none. "
            "If its layers are frozen, call requires_grad_(True) on those that are to be trained."
        )
    for name, p in found.items():
        if not is_engine_tensor(p) and not is_torch_tensor(p):
            raise InputError(
                f"parameters must be tensors of torch or course_lib.autograd, but {name} is a {type(p).__name__}."
            )
        if getattr(p, "_fsdp_flattened", False):
            raise InputError(
                f"parameters must be whole, or DTensors, but this process holds only a part of {name}, which "
                "FullyShardedDataParallel flattened. Shard the model with fully_shard (FSDP2)."
            )
        if is_torch_tensor(p) and sys.modules["torch"].nn.parameter.is_lazy(p):
            raise InputError(f"{name} has no shape yet. Run a batch through the model once, then watch it.")
        if is_torch_tensor(p) and p.is_meta:
            raise InputError(
                f"parameters must hold numbers, but {name} is on the meta device, which has none. Move the model to a "
                "device first, as with to_empty(), and initialise or load it."
            )
    return found


def parameters_with_gradient(model: AnyModule) -> dict[str, Any]:
    """Return the trainable parameters, of which at least one has a gradient; see :func:`trainable_parameters`.

    Raises
    ------
    MonitorError
        If none has.
    """
    found = trainable_parameters(model)
    check_gradients(found)
    return found


def check_gradients(parameters: dict[str, Any]) -> None:
    """Raise an error if no parameter has a gradient."""
    if all(p.grad is None for p in parameters.values()):
        raise MonitorError(
            f"at least one parameter must have a gradient, but the .grad of all {len(parameters)} parameters is None. "
            + (explain_missing_gradients(parameters.values()) or BEFORE_ZEROING)
        )


def check_same_parameters(
    parameters: dict[str, Any], shapes: list[tuple[int, ...]], model: AnyModule, told: set[str]
) -> None:
    """Raise an error if a parameter was replaced or reshaped; an unused one's gradient would never change.

    Of others that require grad now, it warns once: their names are in ``told`` from then on.
    """
    current = {id(p): (name, p.requires_grad) for name, p in parameter_names(model)}
    if gone := [name for name, p in parameters.items() if id(p) not in current]:
        raise MonitorError(
            f"the model must have the parameters that it had when it was first watched, but {gone[0]} is another one "
            f"now, or gone{f', and {len(gone) - 1} more' if len(gone) > 1 else ''}. After a layer is replaced, or its "
            "parameters are, as by load_state_dict(assign=True), make a new GradientMonitor(model)."
        )
    check_shapes(parameters, shapes)
    watched = {id(p) for p in parameters.values()}
    new = [name for i, (name, trained) in current.items() if trained and i not in watched and name not in told]
    if new:
        told.update(new)
        warnings.warn(
            f"{new[0]} requires grad now and is not watched{f', nor are {len(new) - 1} more' if new[1:] else ''}: a "
            "monitor watches what requires grad when it is made. Make a new GradientMonitor(model).",
            stacklevel=4,  # whoever called step()
        )


def check_shapes(parameters: dict[str, Any], shapes: list[tuple[int, ...]]) -> None:
    """Raise an error if a parameter has another shape than when it was first watched."""
    for (name, p), shape in zip(parameters.items(), shapes, strict=True):
        if tuple(p.shape) != shape:
            raise MonitorError(
                f"the parameters must keep their shapes, but {name} had shape {shape} when it was first watched and "
                f"has {shape_tuple(p)} now. After a layer is resized, make a new GradientMonitor(model)."
            )


def find_nonfinite(tensors: Iterable[tuple[str, Any]], *, nan_alone: bool = False) -> list[str]:
    """Return names of tensors that hold NaN or, unless ``nan_alone``, infinities; skip those without numbers here."""
    wanted = [
        (name, t) for name, t in tensors if not is_torch_tensor(t) or not (t.is_meta or hasattr(t, "device_mesh"))
    ]
    floating = [(name, t.detach()) for name, t in wanted if any(kind in str(t.dtype) for kind in ("float", "complex"))]
    return [name for name, t in floating if bool((t != t).any() or not (nan_alone or (t - t == 0).all()))]


def shape_tuple(p: AnyTensor) -> tuple[int, ...]:
    """Return a tensor's shape as plain numbers."""
    return tuple(int(n) for n in p.shape)


def to_float64(tensor: Tensor) -> Float64:
    """Return the elements of one of this course's tensors in double precision."""
    return np.asarray(tensor.detach().numpy(), dtype=np.float64)
