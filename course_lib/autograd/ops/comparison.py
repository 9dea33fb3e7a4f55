"""Comparisons and tests: their results are booleans, and have no gradient."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd.ops.broadcasting import as_tensor_like, mismatch_error
from course_lib.autograd.ops.elementwise_primitive import set_name
from course_lib.autograd.ops.primitive import Op
from course_lib.autograd.variable import Operand, Tensor, new_tensor

__all__ = [
    "allclose", "bitwise_and", "bitwise_not", "bitwise_or", "eq", "equal", "ge", "gt", "isfinite", "isnan", "le",
    "logical_and", "logical_not", "logical_or", "lt", "ne",
]  # fmt: skip


def _comparison(name: str, compare: Callable[..., Any], doc: str) -> Op:
    """Define a function of two tensors that returns booleans."""

    def op(input: Tensor, other: Operand) -> Tensor:
        x, y = input.value, as_tensor_like(other, input).value
        try:
            return new_tensor(compare(x, y))
        except (TypeError, ValueError) as error:
            raise mismatch_error(name, x.shape, y.shape, error=error) from None

    return set_name(op, name, doc)


def _predicate(name: str, examine: Callable[..., Any], doc: str) -> Op:
    """Define a function of one tensor that returns booleans."""
    return set_name(lambda input: new_tensor(examine(input.value)), name, doc)


eq: Op = _comparison("eq", np.equal, "Compare: :math:`x = y`")
ne: Op = _comparison("ne", np.not_equal, r"Compare: :math:`x \ne y`")
lt: Op = _comparison("lt", np.less, "Compare: :math:`x < y`")
le: Op = _comparison("le", np.less_equal, r"Compare: :math:`x \le y`")
gt: Op = _comparison("gt", np.greater, "Compare: :math:`x > y`")
ge: Op = _comparison("ge", np.greater_equal, r"Compare: :math:`x \ge y`")
bitwise_and: Op = _comparison("bitwise_and", np.bitwise_and, "And, bit by bit")
bitwise_or: Op = _comparison("bitwise_or", np.bitwise_or, "Or, bit by bit")
bitwise_not: Op = _predicate("bitwise_not", np.invert, "Negate each bit")
logical_and: Op = _comparison("logical_and", np.logical_and, "Logical and")
logical_or: Op = _comparison("logical_or", np.logical_or, "Logical or")
isnan: Op = _predicate("isnan", np.isnan, "Find elements that are not a number")
isfinite: Op = _predicate("isfinite", np.isfinite, "Find elements that are finite numbers")
logical_not: Op = _predicate("logical_not", np.logical_not, "Logical not")


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    r"""Return whether :math:`|x - y| \le atol + rtol\,|y|` everywhere; with ``equal_nan`` NaN is close to NaN.

    Examples
    --------
    >>> from course_lib.autograd import allclose, tensor
    >>> allclose(tensor(1.0), tensor(1.000001)), allclose(tensor(1.0), tensor(1.001))
    (True, False)
    """
    return bool(np.allclose(input.value, other.value, rtol, atol, equal_nan))


def equal(input: Tensor, other: Tensor) -> bool:
    """Return whether shapes and elements are equal.

    Examples
    --------
    >>> from course_lib.autograd import equal, tensor, zeros
    >>> equal(zeros(2), tensor([0.0, 0.0])), equal(zeros(2), zeros(2, 1))
    (True, False)
    """
    return bool(np.array_equal(input.value, other.value))
