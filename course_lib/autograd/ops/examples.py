"""Examples for the docstrings of functions that a rule makes, and of short ones: values, and gradients of their sum."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, TypeVar

__all__ = ["add_example", "find_example"]

F = TypeVar("F", bound=Callable[..., Any])

# Of one tensor: its elements, and what comes out as (y, x.grad). A point where the derivative jumps is among them.
ONE = {
    "abs": ("-2.0, 0.0, 3.0", "(tensor([2., 0., 3.]), tensor([-1.,  0.,  1.]))"),
    "atan": ("0.0, 1.0", "(tensor([0.0000, 0.7854]), tensor([1.0000, 0.5000]))"),
    "clone": ("1.0, 2.0", "(tensor([1., 2.]), tensor([1., 1.]))"),
    "cos": ("0.0, 1.0", "(tensor([1.0000, 0.5403]), tensor([-0.0000, -0.8415]))"),
    "cosh": ("0.0, 1.0", "(tensor([1.0000, 1.5431]), tensor([0.0000, 1.1752]))"),
    "erf": ("0.0, 1.0", "(tensor([0.0000, 0.8427]), tensor([1.1284, 0.4151]))"),
    "exp": ("-1.0, 0.0, 1.0", "(tensor([0.3679, 1.0000, 2.7183]), tensor([0.3679, 1.0000, 2.7183]))"),
    "log": ("1.0, 2.0, 0.0", "(tensor([0.0000, 0.6931,   -inf]), tensor([1.0000, 0.5000,    inf]))"),
    "neg": ("1.0, -2.0", "(tensor([-1.,  2.]), tensor([-1., -1.]))"),
    "reciprocal": ("2.0, -0.5", "(tensor([ 0.5000, -2.0000]), tensor([-0.2500, -4.0000]))"),
    "relu": ("-2.0, 0.0, 3.0", "(tensor([0., 0., 3.]), tensor([0., 0., 1.]))"),
    "rsqrt": ("4.0, 1.0, 0.25", "(tensor([0.5000, 1.0000, 2.0000]), tensor([-0.0625, -0.5000, -4.0000]))"),
    "sigmoid": ("-4.0, 0.0, 4.0", "(tensor([0.0180, 0.5000, 0.9820]), tensor([0.0177, 0.2500, 0.0177]))"),
    "sign": ("-2.0, 0.0, 3.0", "(tensor([-1.,  0.,  1.]), tensor([0., 0., 0.]))"),
    "silu": ("-4.0, 0.0, 4.0", "(tensor([-0.0719,  0.0000,  3.9281]), tensor([-0.0527,  0.5000,  1.0527]))"),
    "sin": ("0.0, 1.0", "(tensor([0.0000, 0.8415]), tensor([1.0000, 0.5403]))"),
    "sinh": ("0.0, 1.0", "(tensor([0.0000, 1.1752]), tensor([1.0000, 1.5431]))"),
    "sqrt": ("4.0, 1.0, 0.0", "(tensor([2., 1., 0.]), tensor([0.2500, 0.5000,    inf]))"),
    "square": ("-1.0, 0.0, 3.0", "(tensor([1., 0., 9.]), tensor([-2.,  0.,  6.]))"),
    "tan": ("0.0, 1.0", "(tensor([0.0000, 1.5574]), tensor([1.0000, 3.4255]))"),
    "tanh": ("0.0, 1.0, 4.0", "(tensor([0.0000, 0.7616, 0.9993]), tensor([1.0000, 0.4200, 0.0013]))"),
}
# Of two: what comes out as (x.grad, y.grad) for x = [1, 2, 3] and y = [3, 2, 1].
TWO = {
    "maximum": "(tensor([0.0000, 0.5000, 1.0000]), tensor([1.0000, 0.5000, 0.0000]))",
    "minimum": "(tensor([1.0000, 0.5000, 0.0000]), tensor([0.0000, 0.5000, 1.0000]))",
    "mul": "(tensor([3., 2., 1.]), tensor([1., 2., 3.]))",
}
# Of reductions: the elements, the function's other arguments, and what comes out as (y, x.grad).
REDUCED = {
    "amax": ("1.0, 3.0, 3.0", "", "(tensor(3.), tensor([0.0000, 0.5000, 0.5000]))"),
    "amin": ("1.0, 3.0, 3.0", "", "(tensor(1.), tensor([1., 0., 0.]))"),
    "cumsum": ("1.0, 2.0, 3.0", ", 0", "(tensor([1., 3., 6.]), tensor([3., 2., 1.]))"),
    "mean": ("1.0, 2.0, 6.0", "", "(tensor(3.), tensor([0.3333, 0.3333, 0.3333]))"),
    "std": ("2.0, 2.0, 2.0", "", "(tensor(0.), tensor([0., 0., 0.]))"),
    "var": ("1.0, 2.0, 3.0, 6.0", "", "(tensor(4.6667), tensor([-1.3333, -0.6667,  0.0000,  2.0000]))"),
}
# Of the others: their arguments, and the value.
VALUE = {
    "argmax": ("tensor([1.0, 5.0, 3.0])", "tensor(1)"),
    "bitwise_and": ("tensor([12, 10]), 6", "tensor([4, 2])"),
    "bitwise_not": ("tensor([0, 5])", "tensor([-1, -6])"),
    "bitwise_or": ("tensor([12, 10]), 6", "tensor([14, 14])"),
    "eq": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([False,  True, False])"),
    "expm1": ("tensor(1e-8)", "tensor(1.0000e-08)"),
    "ge": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([False,  True,  True])"),
    "gt": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([False, False,  True])"),
    "isfinite": ('tensor([1.0, float("nan"), float("inf")])', "tensor([ True, False, False])"),
    "isnan": ('tensor([1.0, float("nan"), float("inf")])', "tensor([False,  True, False])"),
    "le": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([ True,  True, False])"),
    "log1p": ("tensor(1e-8)", "tensor(1.0000e-08)"),
    "logical_and": ("tensor([True, True]), tensor([True, False])", "tensor([ True, False])"),
    "logical_not": ("tensor([True, False])", "tensor([False,  True])"),
    "logical_or": ("tensor([True, False]), tensor([False, False])", "tensor([ True, False])"),
    "lt": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([ True, False, False])"),
    "ne": ("tensor([1.0, 2.0, 3.0]), 2", "tensor([ True, False,  True])"),
    "ones_like": ("tensor([1, 2])", "tensor([1, 1])"),
    "t": ("tensor([[1, 2], [3, 4]])", "tensor([[1, 3],\n        [2, 4]])"),
    "zeros_like": ("tensor([1, 2])", "tensor([0, 0])"),
}


def add_example(function: F) -> F:
    """Decorate a function with its example, at the end of its docstring."""
    function.__doc__ = cleandoc(function.__doc__ or "") + find_example(function.__name__)
    return function


def find_example(name: str) -> str:
    """Return the example of a function as a section of its docstring; nothing for one that has none here."""
    if lines := _lines(name):
        imported = f"from course_lib.autograd import {', '.join(sorted((name, 'tensor')))}"
        return "\n".join(["\n\nExamples\n--------", f">>> {imported}", *lines, ""])
    return ""


def _lines(name: str) -> list[str]:
    if name in VALUE:
        arguments, value = VALUE[name]
        return [f">>> {name}({arguments})", value]
    if name in TWO:
        x, y = (f"tensor([{numbers}], requires_grad=True)" for numbers in ("1.0, 2.0, 3.0", "3.0, 2.0, 1.0"))
        return [f">>> x = {x}", f">>> y = {y}", f">>> {name}(x, y).sum().backward()", ">>> x.grad, y.grad", TWO[name]]
    if name in ONE or name in REDUCED:
        numbers, *rest, out = ONE.get(name) or REDUCED[name]
        made = [f">>> x = tensor([{numbers}], requires_grad=True)", f">>> y = {name}(x{''.join(rest)})"]
        return [*made, ">>> y.sum().backward()", ">>> y.detach(), x.grad", out]
    return []
