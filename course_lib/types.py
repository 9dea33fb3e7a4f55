"""Types that signatures of several packages share: arrays and tensors of any framework, modules, optimizers, trees."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = [
    "AnyArray",
    "AnyDevice",
    "AnyModule",
    "AnyOptimizer",
    "AnyTensor",
    "Array",
    "LossFunction",
    "Number",
    "NumericArray",
    "Tree",
]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""A NumPy array of any shape and dtype."""


class AnyArray(Protocol):
    """An array of NumPy or JAX, or a tensor of PyTorch or of this course's engine."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the length of each dimension."""

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""

    @property
    def dtype(self) -> Any:
        """Return the type of its elements, as its framework says it."""

    def __getitem__(self, index: Any, /) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...


class AnyTensor(AnyArray, Protocol):
    """A tensor that records what is computed from it: PyTorch's or the engine's."""

    @property
    def requires_grad(self) -> bool:
        """Return whether gradients with respect to it are recorded."""

    @property
    def is_leaf(self) -> bool:
        """Return whether no recorded operation computed it."""

    @property
    def grad_fn(self) -> Any:
        """Return the node of the operation that computed it, or ``None``."""

    @property
    def grad(self) -> Any:
        """Return the gradient accumulated in it, or ``None``."""

    def detach(self) -> Any:
        """Return its values without their history."""

    def backward(self) -> Any:
        """Accumulate its gradient in the leaves."""


@runtime_checkable
class AnyModule(Protocol):
    """A module of PyTorch or of the engine."""

    training: bool

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run its forward pass."""

    def named_parameters(self) -> Iterable[tuple[str, Any]]:
        """Yield each parameter with its name."""

    def parameters(self) -> Iterable[Any]:
        """Yield each parameter."""

    def modules(self) -> Iterable[Any]:
        """Yield itself and each module inside it."""

    def train(self, mode: bool = True) -> Any:
        """Switch between training and evaluation."""


@runtime_checkable
class AnyOptimizer(Protocol):
    """An optimizer of PyTorch or of the engine."""

    param_groups: list[dict[str, Any]]

    def step(self) -> Any:
        """Update the parameters by their gradients."""

    def zero_grad(self) -> None:
        """Forget the gradients."""


LossFunction: TypeAlias = Callable[..., AnyArray]
"""Computes one number from outputs and targets."""

Tree: TypeAlias = "AnyArray | Mapping[str, Tree] | Sequence[Tree] | None"
"""A nest of mappings and sequences with arrays at its leaves, such as JAX's parameters."""

Number: TypeAlias = "float | AnyArray"
"""One number: Python's, or that of an array or tensor without dimensions."""

AnyDevice: TypeAlias = "str | int | torch.device | None"
"""A device as PyTorch names it; the engine knows the CPU alone."""


class NumericArray(AnyArray, Protocol):
    """An array of NumPy or JAX, or a tensor of PyTorch: what all three spell alike."""

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """Return the transpose of a matrix."""

    @property
    def nbytes(self) -> int:
        """Return how many bytes its elements take."""

    @property
    def clip(self) -> Callable[..., Any]:
        """Return the method that moves elements into a range."""

    @property
    def mean(self) -> Callable[..., Any]:
        """Return the method that takes the mean over an axis."""

    @property
    def reshape(self) -> Callable[..., Any]:
        """Return the method that gives it another shape."""

    @property
    def sum(self) -> Callable[..., Any]:
        """Return the method that adds up over an axis."""

    def __gt__(self, other: Any, /) -> Any: ...
