"""Vector-Jacobian and Jacobian-vector products: ``vjp`` in reverse mode, ``jvp`` in forward mode."""

from collections.abc import Callable, Iterable, Sequence
from threading import local
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.creation import ones_like, zeros_like
from course_lib.autograd.differentiate import grad
from course_lib.autograd.function import FunctionCall
from course_lib.autograd.graph.node import Node
from course_lib.autograd.ops.shape import view_as
from course_lib.autograd.tensor import Tensor
from course_lib.autograd.variable import Value, new_tensor
from course_lib.errors import AutogradError

__all__ = ["Inputs", "call_on_leaves", "check_vector", "jvp", "list_outputs", "pull_back", "unwrap_like", "vjp"]

Inputs = Tensor | Sequence[Tensor]


class _Tangents(local):
    """Tangents of the nodes in the latest call of jvp in this thread."""

    def __init__(self) -> None:
        self.of: WeakKeyDictionary[Any, Tensor] = WeakKeyDictionary()


_tangents = _Tangents()


def unwrap_like(results: Sequence[Any], given: Tensor | Sequence[Any]) -> Any:
    """Return one result if one tensor was given, and a tuple for several."""
    return results[0] if isinstance(given, Tensor) else tuple(results)


def _require_tensors(x: object, what: str, fix: str = "Make a tensor of it first: tensor(...).") -> list[Tensor]:
    """List one tensor or several, and refuse anything else, such as an array, whose rows would be listed."""
    found: list[Any] = list(x) if isinstance(x, Iterable) and not hasattr(x, "shape") else [x]
    for one in found:
        if not isinstance(one, Tensor):
            kind = f"{type(one).__module__}.{type(one).__name__}".removeprefix("builtins.")
            raise AutogradError(
                f"{what} must be a tensor of course_lib.autograd, or several in a list, but got a {kind}. {fix}"
            )
    return found


def list_outputs(out: object) -> list[Tensor]:
    """List the outputs of a function, and refuse anything that is not a tensor."""
    fix = "Compute it with this engine's operations, without .numpy() and .item(), and look for a missing return."
    return _require_tensors(out, "what the function returns", fix)


def check_vector(v: Inputs | None, like: Sequence[Tensor], what: str) -> list[Tensor]:
    """Check the vector of a product; if there is none, use 1 for a single number."""
    shapes = [x.shape for x in like]
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(f"without v, the {what} must be a single number, but the shapes are {shapes}. Pass v.")
        return [ones_like(like[0])]
    vs = _require_tensors(v, "v")
    if [x.shape for x in vs] != shapes:
        raise AutogradError(
            f"v must have the shapes of the {what}, {shapes}, but it has {[x.shape for x in vs]}. Pass one tensor for "
            f"each of the {what}."
        )
    return vs


def call_on_leaves(func: Callable[..., Any], inputs: Inputs, create_graph: bool) -> tuple[list[Tensor], Any]:
    """Call a function on new leaves, or, to be differentiated through, on views of the given tensors."""
    leaves = _require_tensors(inputs, "inputs")
    with grad_mode.enable_grad():
        xs = [view_as(x, x.shape) if create_graph and x.requires_grad else Tensor(x.value, True) for x in leaves]
        return xs, func(*xs)


def vjp(
    func: Callable[..., Any], inputs: Inputs, v: Inputs | None = None, create_graph: bool = False
) -> tuple[Any, Any]:
    r"""Multiply a vector by the Jacobian: :math:`v^T J`, in one forward and one backward pass.

    Parameters
    ----------
    func : callable
        Takes tensors and returns one or several.
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
        If ``v`` does not have the shapes of the outputs, or what is given or returned is not a tensor.

    Examples
    --------
    >>> from course_lib.autograd import tensor, vjp
    >>> vjp(lambda x: x**2, tensor([1.0, 2.0]), tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    xs, out = call_on_leaves(func, inputs, create_graph)
    ys = list_outputs(out)
    found = pull_back(ys, xs, check_vector(v, ys, "outputs"), create_graph)
    return out if create_graph else unwrap_like([y.detach() for y in ys], out), unwrap_like(found, inputs)


def pull_back(
    ys: Sequence[Any], xs: Sequence[Tensor], vs: Sequence[Any], create_graph: bool, *, again: bool = False
) -> list[Tensor]:
    """Pull cotangents back from outputs to inputs; zeros for an unused input. ``again`` retains the graph."""
    used = [(y, v) for y, v in zip(ys, vs, strict=True) if y is not None and y.requires_grad]
    found = grad([y for y, _ in used], xs, [v for _, v in used], again or None, create_graph, allow_unused=True)
    return [zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True)]


def jvp(func: Callable[..., Any], inputs: Inputs, v: Inputs | None = None) -> tuple[Any, Any]:
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
    mode = grad_mode.here.mode
    if _push_forward in mode.observers:
        raise AutogradError(
            "forward mode cannot be nested, but jvp() was called inside jvp(). Use hvp() or vjp() for one of them."
        )
    xs = [Tensor(x.value, True) for x in _require_tensors(inputs, "inputs")]
    _tangents.of.clear()
    for x, t in zip(xs, check_vector(v, xs, "inputs"), strict=True):
        _tangents.of[x.node] = new_tensor(t.value.astype(x.dtype))
    mode.change(mode.recording, (_push_forward, *mode.observers))  # first, before anyone packs what was saved
    try:
        with grad_mode.enable_grad():
            out = func(*xs)
    finally:
        mode.change(mode.recording, mode.observers[1:])
    ys = list_outputs(out)
    found = [_tangents.of[y.node] if y.node in _tangents.of else zeros_like(y) for y in ys]
    return unwrap_like([y.detach() for y in ys], out), unwrap_like(found, out)


def _push_forward(tensor: Tensor) -> None:
    """Compute the tangent of a new tensor by forward mode, and drop its graph."""
    node, g = tensor.node, zeros_like(tensor, requires_grad=True)
    mode, watching = grad_mode.here.mode, grad_mode.here.mode.observers
    mode.change(mode.recording, ())
    try:
        with np.errstate(all="ignore"):
            pairs = _pull_through_node(node, g)
        if pairs:
            cotangents, directions = zip(*pairs, strict=True)
            _tangents.of[node] = pull_back(cotangents, [g], directions, create_graph=False)[0]
    finally:
        mode.change(mode.recording, watching)
    node.parents, node.saved = (None,), None


def _pull_through_node(node: Node, g: Value) -> list[tuple[Value, Tensor]]:
    """Return the cotangent of each input of an operation that has a tangent, and that tangent."""
    source = node.parents[0]
    if source is not None and isinstance(source.op, FunctionCall) and len(source.op.output_forms) > 1:  # one output
        return _pull_through_node(source, node.op.vjps[0](g))
    rules = zip(node.parents, node.op.vjps, strict=True)
    return [(vjp(g, *(node.saved or ())), _tangents.of[parent]) for parent, vjp in rules if parent in _tangents.of]
