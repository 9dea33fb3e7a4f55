"""``Tensor``, with torch's interface: gradient, graph and conversions. Its operations are in ``ops``."""

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from course_lib.autograd import differentiate, ops, printing
from course_lib.autograd.graph import hooks
from course_lib.autograd.graph.node import LEAF, Node
from course_lib.autograd.ops import methods
from course_lib.autograd.ops.broadcasting import cast_to
from course_lib.autograd.variable import Variable, new_tensor
from course_lib.errors import AutogradError
from course_lib.types import Array

__all__ = ["Tensor"]


class Tensor(
    methods.Arithmetic,
    methods.ElementaryFunctions,
    methods.Comparisons,
    methods.Products,
    methods.Reductions,
    methods.Shapes,
    methods.InPlace,
    Variable,
):
    """Tensor: a NumPy array that records how it was computed. Make one with :func:`tensor`.

    Attributes
    ----------
    grad : Tensor or None
        The gradient that :meth:`backward` accumulated for a leaf, or after :meth:`retain_grad` for any tensor.
    grad_fn : Node or None
        The node of the operation that made the tensor; None for a leaf.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (x**2).sum()
    >>> loss.backward()
    >>> x.grad, loss.grad_fn.name()
    (tensor([2., 4.]), 'SumBackward0')
    """

    __slots__ = ()
    __array_ufunc__ = None  # array * tensor is for the tensor to answer

    def __init__(self, value: Array, requires_grad: builtins.bool = False) -> None:
        self.value, self.dims, self.node, self.stored_grad = value, value.shape, None, None
        if requires_grad:
            self.requires_grad_()

    # graph

    @property
    def requires_grad(self) -> builtins.bool:
        """Whether gradients flow to this tensor; setting it is :meth:`requires_grad_`."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, on: builtins.bool) -> None:
        self.requires_grad_(on)

    @property
    def is_leaf(self) -> builtins.bool:
        """Whether no recorded operation computed this tensor."""
        return self.node is None or self.node.op is LEAF

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that computed this tensor; None for a leaf."""
        return None if self.is_leaf else self.node

    @property
    def grad(self) -> "Tensor | None":
        """The gradient accumulated so far."""
        return self.stored_grad

    @grad.setter
    def grad(self, g: "Tensor | None") -> None:
        if g is not None and (g.shape, g.dtype) != (self.shape, self.dtype):
            ours, theirs = (f"{x.shape} and {x.dtype}" for x in (self, g))
            raise AutogradError(f"a gradient must have its tensor's shape and dtype, {ours}, not {theirs}. Convert it.")
        self.stored_grad = g

    def requires_grad_(self, requires_grad: builtins.bool = True) -> "Tensor":
        """Require gradients of this leaf, or stop requiring them."""
        if not (requires_grad or self.is_leaf):
            raise AutogradError(
                f"only a leaf can stop requiring grad, but this tensor was computed by {self.node.name()}. Use "
                ".detach()."
            )
        if not requires_grad:
            self.node = None
        elif self.node is None:
            if self.value.dtype.kind != "f":
                raise AutogradError(
                    f"only floating point tensors can require gradients, but the dtype is {self.value.dtype}. Make it "
                    "floating point first: tensor([1., 2.]) or x.float()."
                )
            self.node = Node(LEAF)
            hooks.retain_grad(self)
        return self

    def retain_grad(self) -> None:
        """Fill ``.grad`` of this tensor too, although it is not a leaf."""
        if self.node is None:
            raise AutogradError("only a tensor that requires grad has one to retain, but requires_grad is False.")
        hooks.retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether :meth:`retain_grad` was called."""
        return not self.is_leaf and self.node.variable is self

    def register_hook(self, hook: "Callable[[Tensor], Tensor | None]") -> hooks.RemovableHandle:
        """Call ``hook(grad)`` when the gradient of this tensor is complete; what it returns replaces the gradient."""
        if self.node is None:
            raise AutogradError("a hook needs a tensor that requires grad, but requires_grad is False.")
        return hooks.RemovableHandle(hooks.hooks_of(self.node).on_tensor, hook)

    def register_post_accumulate_grad_hook(self, hook: "Callable[[Tensor], None]") -> hooks.RemovableHandle:
        """Call ``hook(tensor)`` after the ``.grad`` of this leaf has been filled."""
        if self.node is None or not self.is_leaf:
            raise AutogradError("this hook needs a leaf that requires grad. Use register_hook() on other tensors.")
        return hooks.RemovableHandle(hooks.hooks_of(self.node).on_accumulate, hook)

    backward = differentiate.backward_from

    def detach(self) -> "Tensor":
        """Return the same elements, in the same memory, as a constant."""
        return new_tensor(self.value)

    @property
    def data(self) -> "Tensor":
        """The same elements as a constant; setting it replaces the elements behind the graph's back."""
        return self.detach()

    @data.setter
    def data(self, new: "Tensor") -> None:
        self.value, self.dims = new.value, new.dims

    # arrays and numbers

    @property
    def T(self) -> "Tensor":  # noqa: N802 - torch's name
        """The tensor with its dimensions in reverse order."""
        return ops.permute(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> "Tensor":  # noqa: N802 - torch's name
        """The transposes of a stack of matrices."""
        return ops.transpose(self, -2, -1)

    def numpy(self, *, force: builtins.bool = False) -> Array:
        """Return the array itself, not a copy; with ``force`` also of a tensor that requires grad."""
        if self.node is not None and not force:
            raise AutogradError(
                "numpy() takes a tensor out of the graph, which it does only for tensors that do not require grad. "
                "Use .detach().numpy() to say that no gradient is to flow through the result."
            )
        return self.value

    def __array__(self, dtype: DTypeLike | None = None, copy: builtins.bool | None = None) -> Array:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def item(self) -> Any:
        """Return the only element as a Python number."""
        if self.value.size != 1:
            raise AutogradError(f"item() needs exactly one element, but the shape is {self.shape}. Use .tolist().")
        return self.value.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self.value.tolist()

    def numel(self) -> int:
        """Count the elements."""
        return int(self.value.size)

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or one size of it."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Count the dimensions."""
        return int(self.value.ndim)

    def to(self, dtype: DTypeLike, *, copy: builtins.bool = False) -> "Tensor":
        """Convert to another dtype, or ``copy`` what has it; the gradient is converted back."""
        out = cast_to(self, np.dtype(dtype))
        return ops.clone(out) if copy and out is self else out

    def __getstate__(self) -> "tuple[Array, builtins.bool, Tensor | None]":
        """Return the state of a copy or a pickle: a leaf with its gradient, without its graph."""
        if not self.is_leaf:
            raise AutogradError(
                f"only a leaf can be copied or pickled, but this tensor was computed by {self.node.name()}. Use "
                ".detach() or .clone()."
            )
        return self.value, self.requires_grad, self.grad

    def __setstate__(self, state: "tuple[Array, builtins.bool, Tensor | None]") -> None:
        value, requires_grad, grad = state
        Tensor.__init__(self, value, requires_grad)
        self.grad = grad

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        return operator.index(self.value[()])

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> "Iterator[Tensor]":
        return (self[i] for i in range(len(self.value)))

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.value.ndim == 0 else format(repr(self), spec)

    __repr__ = printing.tensor_repr
    __hash__ = object.__hash__

    # conversions last: their names hide Python's own

    type_as = lambda self, other: self.to(other.dtype)  # noqa: E731 - def would hide the type's name
    float = lambda self: self.to(np.float32)  # noqa: E731 - def would hide the type's name
    double = lambda self: self.to(np.float64)  # noqa: E731 - def would hide the type's name
    long = lambda self: self.to(np.int64)  # noqa: E731 - def would hide the type's name
    bool = lambda self: self.to(np.bool_)  # noqa: E731 - def would hide the type's name
