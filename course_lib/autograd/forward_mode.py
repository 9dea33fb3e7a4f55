"""Forward mode: derivatives that travel along with the values, in one pass and without a graph."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.arguments import Inputs, alike, direction, leaves
from course_lib.autograd.differentiate import grad
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
    xs = leaves(inputs, create_graph=False)
    for x, t in zip(xs, direction(v, xs, "inputs"), strict=True):
        x.node.tangent = t.value.astype(x.dtype)
    grad_mode.observers.insert(0, push_forward)  # before anyone packs what was saved
    try:
        with grad_mode.enable_grad():
            out = func(*xs)
    finally:
        grad_mode.observers.remove(push_forward)
    ys = listed(out)
    tangents = [getattr(y.node, "tangent", None) for y in ys]
    tangents = [new_tensor(np.zeros(y.shape, y.dtype) if t is None else t) for y, t in zip(ys, tangents, strict=True)]
    return alike([y.detach() for y in ys], out), alike(tangents, out)


def push_forward(tensor: Tensor) -> None:
    """Give a new tensor its tangent, the sum over the inputs of the operation, and forget how it was computed."""
    node, total = tensor.node, None
    saved, rules = node.saved, [*zip(node.parents, node.op.vjps, strict=False)]
    behind = node.parents[0]
    if behind is not None and isinstance(behind.op, Call) and not hasattr(behind, "tangent"):  # one of its outputs
        part, saved = node.op.vjps[0], behind.saved
        calls = zip(behind.parents, behind.op.vjps, strict=True)
        rules = [(parent, lambda g, *saved, rule=rule: rule(part(g), *saved)) for parent, rule in calls]
    watching, grad_mode.observers[:] = grad_mode.observers[:], []
    try:
        with np.errstate(all="ignore"):
            for parent, rule in rules:
                if getattr(parent, "tangent", None) is not None:
                    pushed = transposed(rule, saved, tensor, parent.tangent)
                    total = pushed if total is None else total + pushed
    finally:
        grad_mode.observers[:] = watching
    node.tangent = total
    node.parents, node.saved = (None,), None


def transposed(rule: Any, saved: Any, out: Tensor, tangent: Any) -> Any:
    """Run a vjp backwards: from the tangent of an input to that of the output."""
    g = Tensor(np.zeros(out.shape, out.dtype), True)
    x = rule(g, *saved)
    return (
        grad(x, g, new_tensor(tangent))[0].value
        if getattr(x, "requires_grad", False)
        else np.zeros(out.shape, out.dtype)
    )


def by_columns(func: Callable[..., Any], inputs: Inputs) -> Any:
    """Push the tangent of each element of each input forward."""
    xs, out = listed(inputs), func(*listed(inputs))
    blocks = [[new_tensor(np.empty(y.shape + x.shape, y.dtype)) for x in xs] for y in listed(out)]
    for i, x in enumerate(xs):
        for at in np.ndindex(x.shape):
            v = [new_tensor(np.zeros(z.shape, z.dtype)) for z in xs]
            v[i].value[at] = 1
            for row, column in zip(blocks, listed(jvp(func, xs, v)[1]), strict=True):
                row[i].value[..., *at] = column.value
    return alike([alike(row, inputs) for row in blocks], out)
