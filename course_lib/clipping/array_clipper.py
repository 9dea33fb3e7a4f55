"""Clip NumPy arrays, which are copied, and gradients of this course's engine, which are changed in place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from course_lib.autograd import Tensor
from course_lib.autograd.graph import write_clock
from course_lib.autograd.variable import new_tensor
from course_lib.clipping.clipper import FLOATS, EagerClipper, missing_gradient_error, unsupported_error
from course_lib.errors import InputError
from course_lib.norms import Magnitude, array_norm
from course_lib.types import Array

__all__ = ["EngineClipper", "NumpyClipper"]


class _ArrayClipper(EagerClipper):
    """Arrays; ``self.arrays`` are replaced, never written to: two gradients can share memory."""

    def __init__(self, named: Iterable[tuple[str, Array]]) -> None:
        self.names, self.arrays = [], []
        for name, array in named:
            if array.dtype.name not in FLOATS:
                raise unsupported_error(name, array.dtype.name, "Convert it with .astype(np.float32), or leave it out.")
            if isinstance(array, np.ma.MaskedArray):
                raise unsupported_error(name, "masked", "Say what the masked entries are: g.filled(0).")
            if isinstance(array, np.matrix):
                raise unsupported_error(name, "a matrix, which always has two dimensions", "Pass np.asarray(g).")
            self.names.append(name)
            self.arrays.append(array)

    def measure(self, p: float) -> list[Magnitude]:
        """Return the p-norm of each array."""
        return [array_norm(array, p) for array in self.arrays]

    def multiply(self, norm: Magnitude, bound: float) -> None:
        """Multiply all by ``bound / norm``, in float64, if that is below 1."""
        factors = norm.factors(bound)
        if factors:
            self.arrays = [_scale(array, factors) for array in self.arrays]

    def clamp(self, bound: float, norms: Sequence[Magnitude]) -> None:
        """Move all entries into ``[-bound, bound]``."""
        self.arrays = [np.asarray(np.clip(a.astype(np.float64), -bound, bound), a.dtype) for a in self.arrays]

    def zero(self) -> None:
        """Make zeros."""
        self.arrays = [np.zeros_like(array) for array in self.arrays]


class NumpyClipper(_ArrayClipper):
    """A tree of arrays: lists, tuples and dicts."""

    def __init__(self, tree: object, named: Iterable[tuple[str, Array]]) -> None:
        super().__init__(named)
        self.tree = tree

    def answer(self, norm: float) -> tuple[object, np.float64]:
        """Return the tree with new arrays, and the norm."""
        return _rebuild(self.tree, iter([array.copy() for array in self.arrays])), np.float64(norm)


class EngineClipper(_ArrayClipper):
    """The ``.grad`` of parameters of :mod:`course_lib.autograd`."""

    def __init__(self, named: Iterable[tuple[str, Tensor]]) -> None:
        parameters = {id(p): (name, p) for name, p in named}
        with_grad = [(name, p.grad) for name, p in parameters.values() if p.grad is not None]
        if not with_grad:
            raise missing_gradient_error(len(parameters))
        super().__init__((name, grad.value) for name, grad in with_grad)
        self.grads = [grad for _, grad in with_grad]

    def answer(self, norm: float) -> Tensor:
        """Put the arrays into the gradients, and return the norm as a tensor."""
        for grad, array in zip(self.grads, self.arrays, strict=True):
            if grad.value is not array:
                write_clock.record_write("clipping", grad)
                grad.value = array
        return new_tensor(np.float64(norm))


def _scale(array: Array, factors: tuple[float, ...]) -> Array:
    """Multiply in float64, and round once."""
    product = array.astype(np.float64)
    for factor in factors:
        product *= factor
    return np.asarray(product.astype(array.dtype))


def _rebuild(tree: object, arrays: Iterator[Array]) -> object:
    """Put arrays in the places of a tree's, in order."""
    if tree is None or isinstance(tree, str):  # no gradient, or the name of one
        return tree
    if isinstance(tree, Mapping):
        new = copy(tree) if isinstance(tree, dict) else {}
        new.update((key, _rebuild(value, arrays)) for key, value in tree.items())
        return new
    if isinstance(tree, tuple):
        parts: list[Any] = [_rebuild(part, arrays) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [_rebuild(part, arrays) for part in tree]
    if not isinstance(tree, (np.ndarray, np.generic)):
        raise InputError(
            f"arrays must be in lists, tuples and dicts to be returned in the same form, but a {type(tree).__name__} "
            "holds some. Make a list of it: list(...)."
        )
    return next(arrays)
