"""Define elementwise operations, with type promotion, broadcasting, and gradients summed back (unbroadcast)."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any

import numpy as np

from course_lib.autograd.fast.elementwise import fast_binary, fast_unary
from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.ops.broadcasting import as_tensor_like, cast_to_floating, mismatch_error, promote, sum_to
from course_lib.autograd.ops.examples import add_example
from course_lib.autograd.ops.primitive import Op, Primitive, no_tensor_error
from course_lib.autograd.variable import Operand, Shape, Tensor, Value, Variable
from course_lib.types import Array

__all__ = ["binary", "set_name", "unary"]


class _Elementwise(Primitive):
    """Elementwise operation on one tensor, or on two that broadcast."""

    def compute(self, values: list[Any]) -> Array:
        """Run the forward function, and say of two shapes why they do not broadcast."""
        try:
            return quiet_context.copy().run(self.forward, *values)
        except (TypeError, ValueError) as error:
            raise mismatch_error(self.torch_name, values[0].shape, values[-1].shape, error=error) from None


def unary(name: str, forward: Callable[..., Any], vjp: Callable[..., Any], doc: str, *, floating: bool = True) -> Op:
    """Define a function of one tensor, whose vjp reads ``x`` or ``out`` or neither."""
    primitive = _Elementwise(name, forward, vjp, takes="x")

    def plain(input: Tensor) -> Tensor:
        if not isinstance(input, (Variable, np.ndarray, np.generic, float, int)):
            raise no_tensor_error(name, input)
        return primitive(cast_to_floating(input) if floating and isinstance(input, Variable) else input)

    return fast_unary(primitive)(set_name(plain, name, doc, home=vjp.__module__))


def binary(name: str, forward: Callable[..., Any], *vjps: Callable[..., Any], doc: str, floating: bool = False) -> Op:
    """Define a function of two tensors that broadcast, whose vjps read ``x`` and ``y`` or neither."""
    primitive = _Elementwise(name, forward, *map(_unbroadcast, vjps, (0, 1)), takes="x y")

    def plain(input: Operand, other: Operand) -> Tensor:
        if not isinstance(input, Variable) and not isinstance(other, Variable):
            return forward(input, other)  # type: ignore[no-any-return] # a vjp at work on arrays
        x, y = as_tensor_like(input, other), as_tensor_like(other, input)
        return primitive(*promote(x, y, floating=floating))

    of_one_shape = _Elementwise(name, forward, *vjps, takes="x y")
    return fast_binary(primitive, of_one_shape, floating=floating)(set_name(plain, name, doc, home=vjps[0].__module__))


def _unbroadcast(vjp: Callable[..., Any], i: int) -> Callable[..., Any]:
    """Sum what a vjp returns down to the shape of input ``i``, over the dimensions that were broadcast."""

    def summed(g: Value, x_shape: Shape, y_shape: Shape, *saved: Value) -> Value:
        return sum_to(vjp(g, *saved), (x_shape, y_shape)[i])

    g, *reads = signature(vjp).parameters.values()
    shapes = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("x_shape", "y_shape")]
    summed.__signature__ = Signature([g, *shapes, *reads])  # type: ignore[attr-defined] # what inspect looks for
    return summed


def set_name(op: Op, name: str, doc: str, *, home: str = "") -> Op:
    """Give a function its name, the module in which pickle finds it, and its docstring with its example."""
    op.__name__ = op.__qualname__ = name
    op.__module__ = home or op.__module__
    op.__doc__ = doc
    return add_example(op)
