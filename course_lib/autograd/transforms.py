"""Derivatives of functions: products with the Jacobian from either side, and the matrices themselves."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.differentiate import grad
from course_lib.autograd.ops.shape import reshape, stack, viewed
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import new_tensor
from course_lib.errors import AutogradError

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vjp"]

Inputs = Tensor | Sequence[Tensor]


def listed(x: Any) -> list[Tensor]:
    """Take one tensor and several alike."""
    return [x] if isinstance(x, Tensor) else list(x)


def alike(results: Sequence[Any], given: Any) -> Any:
    """Return one tensor for one, and a tuple for several."""
    return results[0] if isinstance(given, Tensor) else tuple(results)


def leaves(inputs: Inputs, create_graph: bool) -> list[Tensor]:
    """Make inputs that require grad: new leaves, or, to be differentiated through, views of the given tensors."""
    return [viewed(x, x.shape) if create_graph and x.requires_grad else Tensor(x.value, True) for x in listed(inputs)]


def direction(v: Any, like: Sequence[Tensor], what: str) -> list[Tensor]:
    """Check the vector of a product; without one, 1 for a single number."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(
                f"without v, the {what} must be a single number, but the shapes are {[x.shape for x in like]}. Pass v."
            )
        return [new_tensor(np.ones(like[0].shape, like[0].dtype))]
    vs = listed(v)
    if [x.shape for x in vs] != [x.shape for x in like]:
        raise AutogradError(
            f"v must have the shapes of the {what}, {[x.shape for x in like]}, but it has {[x.shape for x in vs]}. "
            f"Pass one tensor for each {what}."
        )
    return vs


def zeros_if_none(g: Tensor | None, x: Tensor) -> Tensor:
    """Make the gradient of what was not used."""
    return new_tensor(np.zeros(x.shape, x.dtype)) if g is None else g


def vjp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    r"""Multiply a vector with the Jacobian: :math:`v^T J`, in one forward and one backward pass.

    Parameters
    ----------
    func : callable
        From tensors to a tensor or several.
    inputs : Tensor or sequence of Tensor
        Where to take the Jacobian.
    v : Tensor or sequence of Tensor, optional
        Of the shapes of the outputs; 1 if the output is a single number.
    create_graph : bool
        Let the results be differentiated.

    Returns
    -------
    tuple
        The outputs of ``func``, and the product, of the shapes of the inputs.

    Raises
    ------
    AutogradError
        If ``v`` does not have the shapes of the outputs.

    Examples
    --------
    >>> from course_lib.autograd import tensor, vjp
    >>> vjp(lambda x: x**2, tensor([1.0, 2.0]), tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    xs = leaves(inputs, create_graph)
    with grad_mode.enable_grad():
        out = func(*xs)
    ys = listed(out)
    vs = direction(v, ys, "outputs")
    used = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
    found = grad([y for y, _ in used], xs, [v for _, v in used], create_graph=create_graph, allow_unused=True)
    results = [zeros_if_none(g, x) for g, x in zip(found, xs, strict=True)]
    return out if create_graph else alike([y.detach() for y in ys], out), alike(results, inputs)


def jvp(func: Callable[..., Any], inputs: Inputs, v: Any = None) -> tuple[Any, Any]:
    r"""Multiply the Jacobian with a vector: :math:`J v`, in one forward pass that keeps no graph.

    Each tensor carries its tangent along. The rule of an operation is its vjp transposed: a vjp is linear in the
    cotangent, and differentiating it with respect to the cotangent gives :math:`J` where it was :math:`J^T`.

    Parameters
    ----------
    func : callable
        From tensors to a tensor or several.
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
    grad_mode.observers.append(push_forward)
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
    watching, grad_mode.observers[:] = grad_mode.observers[:], []
    try:
        with np.errstate(all="ignore"):
            for parent, rule in zip(node.parents, node.op.vjps, strict=False):
                if getattr(parent, "tangent", None) is not None:
                    part = transposed(rule, node.saved, tensor, parent.tangent)
                    total = part if total is None else total + part
    finally:
        grad_mode.observers[:] = watching
    node.tangent = total
    node.parents, node.saved = (None,), None


def transposed(rule: Any, saved: Any, out: Tensor, tangent: Any) -> Any:
    """Run a vjp backwards: from the tangent of an input to that of the output."""
    g = Tensor(np.zeros(out.shape, out.dtype), True)
    x = rule(g, *saved)
    return grad(x, g, new_tensor(tangent))[0].value if x.requires_grad else np.zeros(out.shape, out.dtype)


def jacobian(
    func: Callable[..., Any], inputs: Inputs, create_graph: bool = False, *, strategy: str = "reverse-mode"
) -> Any:
    r"""Compute :math:`J_{ij} = \partial y_i / \partial x_j`, a row (reverse mode) or a column (forward mode) at a time.

    Parameters
    ----------
    func : callable
        From tensors to a tensor or several.
    inputs : Tensor or sequence of Tensor
        Where to take the Jacobian.
    create_graph : bool
        Let the result be differentiated; in reverse mode only.
    strategy : {"reverse-mode", "forward-mode"}
        Forward mode is the faster one if there are fewer inputs than outputs.

    Returns
    -------
    Tensor or tuple
        Of shape ``(*output.shape, *input.shape)``; a tuple for several inputs, and one of tuples for several outputs.

    Examples
    --------
    >>> from course_lib.autograd import jacobian, tensor
    >>> jacobian(lambda x: x**2, tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy == "forward-mode":
        return by_columns(func, inputs)
    xs = leaves(inputs, create_graph)
    with grad_mode.enable_grad():
        out = func(*xs)
        rows = [alike([row_block(y, x, create_graph) for x in xs], inputs) for y in listed(out)]
    return alike(rows, out)


def row_block(y: Tensor, x: Tensor, create_graph: bool) -> Tensor:
    """Walk back from each element of one output to one input."""
    rows = []
    for basis in np.eye(y.numel(), dtype=y.dtype):
        v = new_tensor(basis.reshape(y.shape))
        g = (
            grad(y, x, v, retain_graph=True, create_graph=create_graph, allow_unused=True)[0]
            if y.requires_grad
            else None
        )
        rows.append(zeros_if_none(g, x))
    return reshape(stack(rows), (*y.shape, *x.shape)) if rows else new_tensor(np.zeros((*y.shape, *x.shape), x.dtype))


def by_columns(func: Callable[..., Any], inputs: Inputs) -> Any:
    """Push the tangent of each element of each input forward."""
    xs, out, blocks = listed(inputs), func(*listed(inputs)), []
    for i, x in enumerate(xs):
        columns = []
        for basis in np.eye(x.numel(), dtype=x.dtype):
            v = [new_tensor(basis.reshape(x.shape) if j == i else np.zeros(z.shape, z.dtype)) for j, z in enumerate(xs)]
            columns.append(listed(jvp(func, xs, v)[1]))
        blocks.append(
            [np.stack([c[k].value for c in columns], -1).reshape(*y.shape, *x.shape) for k, y in enumerate(listed(out))]
        )
    return alike([alike([new_tensor(block[k]) for block in blocks], inputs) for k in range(len(listed(out)))], out)


def hessian(func: Callable[..., Any], inputs: Inputs, create_graph: bool = False) -> Any:
    r"""Compute the second derivatives :math:`H_{ij} = \partial^2 y / \partial x_i \partial x_j` of a single number.

    Returns
    -------
    Tensor or tuple of tuples
        Of shape ``(*input.shape, *input.shape)``.

    Examples
    --------
    >>> from course_lib.autograd import hessian, tensor
    >>> hessian(lambda x: (x**3).sum(), tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    def gradient(*xs: Tensor) -> Any:
        y = func(*xs)
        single_number(y)
        found = grad(y, xs, create_graph=True, allow_unused=True) if y.requires_grad else [None] * len(xs)
        return alike([zeros_if_none(g, x) for g, x in zip(found, xs, strict=True)], inputs)

    return jacobian(gradient, inputs, create_graph)


def hvp(func: Callable[..., Any], inputs: Inputs, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    r"""Multiply a vector by the Hessian of a single number: :math:`H v = \nabla (v^T \nabla y)`; H is never formed.

    Returns
    -------
    tuple
        The output of ``func``, and the product, of the shapes of the inputs (Pearlmutter, 1994).

    Examples
    --------
    >>> from course_lib.autograd import hvp, tensor
    >>> hvp(lambda x: (x**3).sum(), tensor([1.0, 2.0]), tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    out: list[Tensor] = []

    def gradient(*xs: Tensor) -> Any:
        out.append(func(*xs))
        single_number(out[0])
        found = grad(out[0], xs, create_graph=True, allow_unused=True)
        return tuple(zeros_if_none(g, x) for g, x in zip(found, xs, strict=True))

    direction(v, listed(inputs), "inputs")
    _, products = vjp(gradient, listed(inputs), v if v is None else listed(v), create_graph)
    return out[0] if create_graph else out[0].detach(), alike(products, inputs)


def single_number(y: Tensor) -> None:
    """Refuse what has no Hessian."""
    if y.numel() != 1:
        raise AutogradError(
            f"a Hessian needs a function that returns a single number, but its shape is {y.shape}. Reduce it first."
        )
