"""Run the backward pass: ``backward`` accumulates into ``.grad`` of the leaves, ``grad`` returns gradients."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.autograd import engine
from course_lib.autograd.graph import hooks
from course_lib.autograd.graph.node import Node
from course_lib.autograd.variable import Cotangents, Tensor, Value, as_tensor, list_tensors
from course_lib.errors import AutogradError

__all__ = ["backward", "backward_from", "grad"]


def _start_from(output: Tensor, gradient: Tensor | None, create_graph: bool) -> tuple[Node, Value]:
    """Pair the node of an output with its upstream gradient."""
    if output.node is None:
        raise AutogradError(
            "gradients start from a tensor that was computed from one that requires grad, but this one was not: its "
            "grad_fn is None. Make an input with requires_grad=True, and check that nothing on the way was in "
            "no_grad() or detached."
        )
    if output.node.parents == (None,):
        output.node.saved_values()  # which is refused inside jvp()
    x = output.value
    if gradient is None:
        if x.size != 1:
            raise AutogradError(
                f"without gradient=, the output must be a single number, but its shape is {x.shape}. Reduce it first, "
                "for instance with .sum(), or pass a gradient of that shape."
            )
        one = np.array(1, x.dtype, ndmin=x.ndim)  # as np.ones, in a quarter of the time
        return output.node, as_tensor(one) if create_graph else one
    g = as_tensor(gradient).to(x.dtype)
    if g.shape != x.shape:
        raise AutogradError(
            f"gradient must have the shape of the output, {x.shape}, but its shape is {g.shape}. Expand or sum it."
        )
    return output.node, g if create_graph else g.value


def _find_targets(inputs: list[Tensor]) -> set[Node]:
    """Find the nodes of the inputs, and refuse an input that does not require grad."""
    if not inputs:
        raise AutogradError("inputs must name a tensor, but it is empty. Pass those whose gradients you want.")
    for i, x in enumerate(inputs):
        if x.node is None:
            raise AutogradError(
                f"only tensors that require grad have gradients, but input {i}, of shape {x.shape}, does not. Call "
                "requires_grad_() on it before the output is computed."
            )
    return {x.node for x in inputs}


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    r"""Add the gradients of tensors to ``.grad`` of the leaves: :math:`\sum_k g_{y_k} \, \partial y_k / \partial x`.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
        Where to start: :meth:`Tensor.backward` starts from one, this from several, in one pass.
    grad_tensors : Tensor or sequence of Tensor, optional
        The cotangent of each; None stands for 1, if the tensor is a single number.
    retain_graph, create_graph, inputs
        As for :meth:`Tensor.backward`.

    Raises
    ------
    AutogradError
        As for :meth:`Tensor.backward`, or if there is not one cotangent for each tensor.

    Examples
    --------
    >>> from course_lib.autograd import backward, tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> backward([x.sum(), x * x], [None, tensor([1.0, 10.0])])
    >>> x.grad
    tensor([ 3., 41.])
    """
    _accumulate_into_leaves(
        _pair_with_cotangents(list_tensors(tensors), grad_tensors, "grad_tensors", create_graph),
        retain_graph,
        create_graph,
        inputs,
    )


def backward_from(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Add the gradient of this tensor with respect to every leaf of its graph to the leaf's ``.grad``.

    Parameters
    ----------
    gradient : Tensor, optional
        The cotangent to start from, of the shape of this tensor; 1 if this tensor is a single number.
    retain_graph : bool, optional
        Keep what was saved, so that the graph can be walked again. Default: as ``create_graph``.
    create_graph : bool
        Record the backward pass itself, so that gradients can be differentiated.
    inputs : Tensor or sequence of Tensor, optional
        Fill ``.grad`` of these only.

    Raises
    ------
    AutogradError
        If there is no graph, it was freed, what it saved was changed, or ``gradient`` is missing or misshapen.

    Examples
    --------
    >>> from course_lib.autograd import tensor
    >>> x = tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    _accumulate_into_leaves([_start_from(self, gradient, create_graph)], retain_graph, create_graph, inputs)


def _accumulate_into_leaves(
    roots: list[tuple[Node, Value]],
    retain_graph: bool | None,
    create_graph: bool,
    inputs: Tensor | Sequence[Tensor] | None,
) -> None:
    """Accumulate gradients into ``.grad`` of the leaves, or of ``inputs``."""
    xs = None if inputs is None else list_tensors(inputs)
    targets = None if xs is None else _find_targets(xs)
    for x in xs or ():
        hooks.retain_grad(x)  # as retain_grad() does, if x is not a leaf
    engine.backward(roots, retain_graph, create_graph, targets, catch=False)


def _pair_with_cotangents(
    ys: list[Tensor], given: Cotangents, name: str, create_graph: bool
) -> list[tuple[Node, Value]]:
    """Pair each output with its upstream gradient; None stands for 1."""
    gs = [None] * len(ys) if given is None else list_tensors(given)  # type: ignore[arg-type] # None stays
    if len(gs) != len(ys):
        raise AutogradError(
            f"{name} must have an entry for each of the {len(ys)} outputs, but has {len(gs)}. None stands for 1."
        )
    return [_start_from(y, g, create_graph) for y, g in zip(ys, gs, strict=True)]


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Cotangents = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    allow_unused: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    r"""Differentiate outputs with respect to inputs: :math:`g_x = \sum_k g_{y_k} \, \partial y_k / \partial x`.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
        Where to start and where to arrive; any tensors of the graph, not only leaves.
    grad_outputs : Tensor or sequence of Tensor, optional
        The cotangent of each output; None stands for 1.
    retain_graph, create_graph : bool
        As for :meth:`Tensor.backward`.
    allow_unused : bool
        Return None for an input that the outputs do not depend on, instead of an error.
    materialize_grads : bool
        Return zeros for it.

    Returns
    -------
    tuple of Tensor
        One for each input, of its shape. No ``.grad`` is touched.

    Raises
    ------
    AutogradError
        As for :meth:`Tensor.backward`, or if an input does not require grad or is not used.

    Examples
    --------
    >>> from course_lib.autograd import grad, tensor
    >>> x = tensor(3.0, requires_grad=True)
    >>> (dx,) = grad(x**3, x, create_graph=True)
    >>> dx.item(), grad(dx, x)[0].item()
    (27.0, 18.0)
    """
    ys, xs = list_tensors(outputs), list_tensors(inputs)
    targets = _find_targets(xs)
    roots = _pair_with_cotangents(ys, grad_outputs, "grad_outputs", create_graph)
    caught = engine.backward(roots, retain_graph, create_graph, targets, catch=True)
    found: list[Any] = [caught.get(x.node) for x in xs]
    if materialize_grads:
        zeros = [np.zeros(x.shape, x.dtype) for x in xs]
        zeros = [as_tensor(z).requires_grad_() for z in zeros] if create_graph else zeros
        found = [z if g is None else g for g, z in zip(found, zeros, strict=True)]
    for i, g in enumerate(found):
        if g is None and not allow_unused:
            raise AutogradError(
                f"every input must have been used to compute the outputs, but input {i}, of shape {xs[i].shape}, was "
                "not. Pass the tensor that was used, not a copy or a view made later, or allow_unused=True to get None "
                "for it."
            )
    return tuple(found) if create_graph else tuple(_unshare_memory(found, [g for _, g in roots]))


def _unshare_memory(found: list[Any], given: list[Any]) -> Iterator[Any]:
    """Copy gradients that share memory with each other or with the upstream gradients, and wrap all in tensors."""
    used = {id(g) for g in given}
    for g in found:
        if g is not None and (g.base is not None or id(g) in used):
            g = np.array(g)
        used.add(id(g))
        yield as_tensor(g)
