"""Convert arrays and tensors of any library to NumPy arrays in float64."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from course_lib.errors import InputError
from course_lib.types import Array

__all__ = ["Arrays", "convert_to_float64", "is_floating", "select_floating"]

Arrays: TypeAlias = dict[str, Array]
"""NumPy arrays by the names of tensors."""


def is_floating(array: Array) -> bool:
    """Return whether an array can have a gradient: labels, masks and other integers cannot."""
    return array.dtype.kind == "f"


def select_floating(arrays: Arrays) -> Arrays:
    """Select the arrays that are differentiated."""
    return {name: a for name, a in arrays.items() if is_floating(a)}


def convert_to_float64(arrays: Mapping[str, Any]) -> Arrays:
    """Copy arrays of any library to NumPy: floating ones to float64, others (labels, masks) as they are."""
    copies = {}
    for name, array in arrays.items():
        array = array.detach() if hasattr(array, "detach") else array
        if hasattr(array, "is_floating_point"):  # a torch tensor: NumPy knows no bfloat16, and no GPU
            array = _copy_to_host(name, array)
        copy = _copy_real_numbers(name, array)
        copies[name] = copy.astype(np.float64) if copy.dtype.kind not in "biu" else copy
    return copies


def _copy_to_host(name: str, tensor: Any) -> Array:
    """Copy a tensor of torch to NumPy, in float64 if it is floating, or say why it cannot be copied."""
    try:
        found: Array = (tensor.double() if tensor.is_floating_point() else tensor).cpu().numpy()
    except (TypeError, RuntimeError) as why:  # sparse, or on the meta device
        raise InputError(f"{name} must be dense, with numbers that NumPy can hold, but torch says: {why}") from why
    return found


def _copy_real_numbers(name: str, array: object) -> Array:
    """Copy to NumPy; refuse anything but real numbers."""
    if isinstance(array, Mapping):
        raise InputError(
            f"arrays must be named one by one, but {name} is a {type(array).__name__} of {[*array]}. Trees are not "
            f'taken: pass a flat dict, as in {{"{name}_{next(iter(array), "w")}": ...}}.'
        )
    try:
        copy = np.array(array)
    except ValueError as why:
        raise InputError(f"{name} must be an array of numbers, but NumPy cannot make one from it: {why}") from why
    if copy.dtype.kind in "cOUSmM":
        raise InputError(f"{name} must be an array of real numbers, but its dtype is {copy.dtype}. Convert it first.")
    return copy
