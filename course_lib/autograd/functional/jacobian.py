"""Jacobians and Hessians, and the product of a Hessian with a vector."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.creation import zeros, zeros_like
from course_lib.autograd.functional.products import (
    Inputs,
    call_on_leaves,
    check_vector,
    jvp,
    list_outputs,
    pull_back,
    unwrap_like,
)
from course_lib.autograd.ops.shape import reshape, stack
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import list_tensors, new_tensor
from course_lib.errors import AutogradError

__all__ = ["hessian", "hvp", "jacobian", "pull_rows", "push_columns"]


def jacobian(
    func: Callable[..., Any], inputs: Inputs, create_graph: bool = False, *, strategy: str = "reverse-mode"
) -> Any:
    r"""Compute :math:`J_{ij} = \partial y_i / \partial x_j`, a row (reverse mode) or a column (forward mode) at a time.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one or several.
    inputs : Tensor or sequence of Tensor
        Where to take the Jacobian.
    create_graph : bool
        Let the result be differentiated; in reverse mode only.
    strategy : {"reverse-mode", "forward-mode"}
        Forward mode is the faster one if there are fewer inputs than outputs.

    Returns
    -------
    Tensor or tuple
        Of shape ``(*output.shape, *input.shape)``; a tuple for several inputs, a tuple of these for several outputs.

    Examples
    --------
    >>> from course_lib.autograd import jacobian, tensor
    >>> jacobian(lambda x: x**2, tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode") or (create_graph and strategy == "forward-mode"):
        raise AutogradError(
            f"strategy must be 'reverse-mode', or 'forward-mode' without create_graph, but it is {strategy!r} with "
            f"create_graph={create_graph}. Use reverse mode to differentiate the result."
        )
    xs, out = call_on_leaves(func, inputs, create_graph)
    ys = list_outputs(out)
    if strategy == "forward-mode":
        blocks = push_columns(lambda v: list_tensors(jvp(func, xs, v)[1]), xs, ys)
    else:
        with grad_mode.enable_grad():
            blocks = [[pull_rows(y, x, create_graph) for x in xs] for y in ys]
    return unwrap_like([unwrap_like(row, inputs) for row in blocks], out)


def pull_rows(y: Tensor, x: Tensor, create_graph: bool) -> Tensor:
    """Compute a block of the Jacobian row by row, with one backward pass for each element of the output."""
    basis = [new_tensor(v.reshape(y.shape)) for v in np.eye(y.numel(), dtype=y.dtype)]
    rows = [pull_back([y], [x], [v], create_graph, again=True)[0] for v in basis]
    return reshape(stack(rows), y.shape + x.shape) if rows else zeros(y.shape + x.shape, dtype=x.dtype)


def push_columns(push: Callable[..., Any], xs: Sequence[Tensor], ys: Sequence[Tensor]) -> list[list[Tensor]]:
    """Compute the Jacobian column by column, with one forward pass for each element of each input."""
    blocks = [[zeros(y.shape + x.shape, dtype=y.dtype) for x in xs] for y in ys]
    for i, x in enumerate(xs):
        for at in np.ndindex(x.shape):
            v = [*map(zeros_like, xs)]
            v[i].value[at] = 1
            for row, column in zip(blocks, push(v), strict=True):
                row[i].value[..., *at] = column.value
    return blocks


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
    return jacobian(lambda *xs: unwrap_like(_differentiable_gradient(func(*xs), xs), inputs), inputs, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Inputs, v: Inputs | None = None, create_graph: bool = False
) -> tuple[Any, Any]:
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
    xs, y = call_on_leaves(func, inputs, create_graph)
    product = pull_back(_differentiable_gradient(y, xs), xs, check_vector(v, xs, "inputs"), create_graph)
    return y if create_graph else y.detach(), unwrap_like(product, inputs)


def _differentiable_gradient(y: Tensor, xs: Sequence[Tensor]) -> list[Tensor]:
    """Differentiate a single number with ``create_graph``, so that the gradient can be differentiated."""
    if not isinstance(y, Tensor) or y.numel() != 1:
        came = f"its shape is {y.shape}" if isinstance(y, Tensor) else f"it returned a {type(y).__name__}"
        raise AutogradError(
            f"a Hessian needs a function that returns a single number, but {came}. Reduce it first, and "
            "return the tensor alone."
        )
    return pull_back([y], xs, [None], create_graph=True)
