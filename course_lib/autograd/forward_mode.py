"""Forward mode: derivatives that travel along with the values, in one pass and without a graph."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.arguments import Inputs, alike, direction, pulled
from course_lib.autograd.creation import zeros_like
from course_lib.autograd.function import Call
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import listed, new_tensor
from course_lib.errors import AutogradError

__all__ = ["by_columns", "jvp"]


def jvp(func: Callable[..., Any], inputs: Inputs, v: Any = None) -> tuple[Any, Any]:
    r"""Multiply the Jacobian by a vector: :math:`J v`, in one forward pass that keeps no graph.

    Each tensor carries its tangent along. The rule of an operation is its vjp transposed: a vjp is linear in the
    cotangent, and differentiating it with respect to the cotangent gives :math:`J` where it was :math:`J^T`.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one or several.
    inputs : Tensor or sequence of Tensor
        Where to take the Jacobian.
    v : Tensor or sequence of Tensor, optional
        Of the shapes of the inputs; 1 if the input is a single number.

    Returns
    -------
    tuple
        The outputs of ``func``, and the product, of the shapes of the outputs.

    Raises
    ------
    AutogradError
        If ``v`` does not have the shapes of the inputs, or ``func`` itself calls jvp or walks a graph.

    Examples
    --------
    >>> from course_lib.autograd import jvp, tensor
    >>> jvp(lambda x: x**2, tensor([1.0, 2.0]), tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    if push_forward in grad_mode.observers:
        raise AutogradError(
            "forward mode cannot be nested, but jvp() was called inside jvp(). Use hvp() or vjp() for one of them."
        )
    xs = [Tensor(x.value, True) for x in listed(inputs)]
    for x, t in zip(xs, direction(v, xs, "inputs"), strict=True):
        x.node.tangent = new_tensor(t.value.astype(x.dtype))
    grad_mode.observers.insert(0, push_forward)  # before anyone packs what was saved
    try:
        with grad_mode.enable_grad():
            out = func(*xs)
    finally:
        grad_mode.observers.remove(push_forward)
    ys = listed(out)
    tangents = [getattr(y.node, "tangent", zeros_like(y)) for y in ys]
    return alike([y.detach() for y in ys], out), alike(tangents, out)


def push_forward(tensor: Tensor) -> None:
    """Give a new tensor its tangent, and forget how it was computed."""
    node, g = tensor.node, zeros_like(tensor, requires_grad=True)
    watching, grad_mode.observers = grad_mode.observers, []
    try:
        with np.errstate(all="ignore"):
            pairs = pulled_through(node, g)
        if pairs:
            cotangents, tangents = zip(*pairs, strict=True)
            node.tangent = pulled(cotangents, [g], tangents, create_graph=False)[0]
    finally:
        grad_mode.observers = watching
    node.parents, node.saved = (None,), None


def pulled_through(node: Any, g: Any) -> list[tuple[Any, Tensor]]:
    """Return the cotangent of each input of an operation that has a tangent, and that tangent."""
    source = node.parents[0]
    if source is not None and isinstance(source.op, Call) and len(source.op.forms) > 1:  # the node is one output of it
        return pulled_through(source, node.op.vjps[0](g))
    rules = zip(node.parents, node.op.vjps, strict=True)
    return [(vjp(g, *node.saved), parent.tangent) for parent, vjp in rules if hasattr(parent, "tangent")]


def by_columns(push: Callable[..., Any], xs: Sequence[Tensor], ys: Sequence[Tensor]) -> list[list[Tensor]]:
    """Push a unit step along each element of each input forward: it makes a column of the block of each output."""
    blocks = [[new_tensor(np.empty(y.shape + x.shape, y.dtype)) for x in xs] for y in ys]
    for i, x in enumerate(xs):
        for at in np.ndindex(x.shape):
            v = [*map(zeros_like, xs)]
            v[i].value[at] = 1
            for row, column in zip(blocks, push(v), strict=True):
                row[i].value[..., *at] = column.value
    return blocks
