"""Operations as methods and operators of a tensor, by topic: ``x.sum()`` is ``sum(x)``, and ``x * y`` is ``mul(x, y)``.

Operators with an ``i``, such as ``__iadd__``, and names that end in an underscore write in place.
"""

from collections.abc import Callable
from typing import Any

from course_lib.autograd.ops import (
    activations,
    comparison,
    elementwise,
    indexing,
    inplace,
    linalg,
    normalizers,
    reductions,
    shape,
)
from course_lib.autograd.ops.primitive import Op
from course_lib.autograd.variable import Tensor

__all__ = ["Arithmetic", "Comparisons", "ElementaryFunctions", "InPlace", "Products", "Reductions", "Shapes"]


def _reflect(op: Op) -> Callable[[Tensor, Any], Tensor]:
    """Swap the operands: Python asks the right one where the left does not know what to do."""
    return lambda self, other: op(other, self)


class Arithmetic:
    """Sums, differences, products, quotients and powers, element by element."""

    __slots__ = ()

    __add__ = __radd__ = elementwise.plus
    __sub__ = elementwise.minus
    __mul__ = __rmul__ = elementwise.mul
    __truediv__ = elementwise.divide
    __pow__ = elementwise.pow
    __neg__ = elementwise.neg
    __abs__ = elementwise.abs
    __rsub__ = _reflect(elementwise.minus)
    __rtruediv__ = _reflect(elementwise.divide)
    __rpow__ = _reflect(elementwise.pow)
    add = elementwise.add
    sub = elementwise.sub
    mul = elementwise.mul
    div = elementwise.div
    pow = elementwise.pow
    neg = elementwise.neg
    abs = elementwise.abs
    reciprocal = elementwise.reciprocal
    square = elementwise.square


class ElementaryFunctions:
    """Exponentials, roots, trigonometric functions, activations, and choices between numbers, element by element."""

    __slots__ = ()

    exp = elementwise.exp
    expm1 = elementwise.expm1
    log = elementwise.log
    log1p = elementwise.log1p
    sqrt = elementwise.sqrt
    rsqrt = elementwise.rsqrt
    sin = elementwise.sin
    cos = elementwise.cos
    tan = elementwise.tan
    sinh = elementwise.sinh
    cosh = elementwise.cosh
    tanh = elementwise.tanh
    atan = elementwise.atan
    erf = elementwise.erf
    sigmoid = activations.sigmoid
    relu = activations.relu
    sign = elementwise.sign
    clamp = elementwise.clamp
    maximum = elementwise.maximum
    minimum = elementwise.minimum


class Comparisons:
    """Comparisons and tests, whose results are booleans."""

    __slots__ = ()

    __eq__: Any = lambda self, x: NotImplemented if x is None else comparison.eq(self, x)
    __ne__: Any = lambda self, x: NotImplemented if x is None else comparison.ne(self, x)
    __lt__ = comparison.lt
    __le__ = comparison.le
    __gt__ = comparison.gt
    __ge__ = comparison.ge
    __and__ = comparison.bitwise_and
    __or__ = comparison.bitwise_or
    __invert__ = comparison.bitwise_not
    eq = comparison.eq
    ne = comparison.ne
    lt = comparison.lt
    le = comparison.le
    gt = comparison.gt
    ge = comparison.ge
    bitwise_and = comparison.bitwise_and
    bitwise_or = comparison.bitwise_or
    bitwise_not = comparison.bitwise_not
    logical_and = comparison.logical_and
    logical_or = comparison.logical_or
    logical_not = comparison.logical_not
    isnan = comparison.isnan
    isfinite = comparison.isfinite
    allclose = comparison.allclose
    equal = comparison.equal


class Products:
    """Products of matrices and vectors."""

    __slots__ = ()

    __matmul__ = linalg.matmul
    __rmatmul__ = _reflect(linalg.matmul)
    matmul = linalg.matmul
    mm = linalg.mm
    bmm = linalg.bmm
    mv = linalg.mv
    dot = linalg.dot
    outer = linalg.outer
    addmm = linalg.addmm


class Reductions:
    """Sums and their relatives, and functions that normalize along a dimension."""

    __slots__ = ()

    sum = reductions.sum
    mean = reductions.mean
    var = reductions.var
    std = reductions.std
    prod = reductions.prod
    amax = reductions.amax
    amin = reductions.amin
    argmax = reductions.argmax
    cumsum = reductions.cumsum
    logsumexp = normalizers.logsumexp
    softmax = normalizers.softmax
    log_softmax = normalizers.log_softmax


class Shapes:
    """Rearranging elements, and picking some of them."""

    __slots__ = ()

    __getitem__ = indexing.getitem
    gather = indexing.gather
    index_select = indexing.index_select
    reshape = shape.reshape
    view = shape.view
    flatten = shape.flatten
    ravel = shape.ravel
    permute = shape.permute
    transpose = shape.transpose
    t = shape.t
    squeeze = shape.squeeze
    unsqueeze = shape.unsqueeze
    expand = shape.expand
    split = shape.split
    clone = shape.clone


class InPlace:
    """Writing to a tensor's memory, recorded where it can be."""

    __slots__ = ()

    __setitem__ = inplace.set_item
    __iadd__ = inplace.add_
    __isub__ = inplace.sub_
    __imul__ = inplace.mul_
    __itruediv__ = inplace.div_
    add_ = inplace.add_
    sub_ = inplace.sub_
    mul_ = inplace.mul_
    div_ = inplace.div_
    fill_ = inplace.fill_
    zero_ = inplace.zero_
    copy_ = inplace.copy_
