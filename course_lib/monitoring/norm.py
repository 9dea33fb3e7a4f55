"""The norm of all gradients of a model together."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.monitoring.parameters import Array, array_of, is_torch, with_gradient

__all__ = ["combined", "compute_grad_norm"]


def compute_grad_norm(model: Any, norm_type: float = 2) -> float:
    r"""Return the norm of all gradients of a model together, as if they were one vector.

    .. math:: \|g\|_p = \Bigl( \sum_i |g_i|^p \Bigr)^{1/p}, \qquad \|g\|_\infty = \max_i |g_i|

    Each gradient is divided by its largest absolute value first, so that powers of finite numbers neither overflow nor
    vanish. On a device, everything is read in one transfer.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module, or iterable of their parameters
        After ``backward()``. A parameter listed twice counts once. One that is frozen does not count, even if an
        earlier pass left it a gradient, which clipping counts and an optimizer steps by: set it to None.
    norm_type : float
        Any p above 0, or ``math.inf``; ``"inf"`` is one, too.

    Returns
    -------
    float
        ``nan`` if an element is NaN, else ``inf`` if one is infinite, or the norm is beyond double precision, as it
        soon is for a p near 0. A complex element counts as its absolute value.

    Raises
    ------
    MonitorError
        If no parameter has a gradient.
    InputError
        If p is not above 0, or this is not a model with trainable parameters.

    Examples
    --------
    >>> from course_lib.autograd import nn, tensor
    >>> model = nn.Linear(2, 1, bias=False)
    >>> model(tensor([[3e19, 4e19]])).sum().backward()
    >>> f"{compute_grad_norm(model):.3g}", f"{compute_grad_norm(model, math.inf):.3g}"
    ('5e+19', '4e+19')
    """
    p = power(norm_type)
    grads = [g.grad.detach() for g in with_gradient(as_model(model)).values() if g.grad is not None]
    if p == 2 and is_torch(grads[0]) and (norms := wide_norms(grads)):
        return combined(norms, p)
    scaled = scaled_sums(grads, p) if is_torch(grads[0]) else [scaled_array(array_of(g), p) for g in grads]
    return combined([m * root(total, p) if math.isfinite(m) and m > 0 else m for m, total in scaled], p)


class Parameters:
    """Parameters alone, each once, in the place of a model; their names are their places."""

    def __init__(self, parameters: Iterable[Any]) -> None:
        self.listed = list({id(p): p for p in parameters}.values())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((f"parameter {i}", p) for i, p in enumerate(self.listed))


def as_model(model: Any) -> Any:
    """Put an iterable in which there are parameters to be trained in the place of their model; return all else."""
    if hasattr(model, "named_parameters") or hasattr(model, "shape") or not isinstance(model, Iterable):
        return model
    given = list(model)
    if not given:
        raise InputError(
            "there must be parameters, but the list is empty. Pass the model, or model.parameters() anew: a generator "
            "can be read once."
        )
    return Parameters(given) if any(getattr(p, "requires_grad", False) for p in given) else model


def power(norm_type: Any) -> float:
    """Return p as a number."""
    try:
        p = float(norm_type)
    except (TypeError, ValueError):
        p = math.nan
    if not p > 0:
        raise InputError(f"norm_type must be above 0, or math.inf, but it is {norm_type!r}: below 0 there is no norm.")
    return p


def wide_norms(grads: Sequence[Any]) -> list[float]:
    """Return the Euclidean norms of torch tensors by one call for all, in double precision, which their squares fit.

    An empty list, if one is not dense, is wider itself, is complex, or lies on another device or in another precision.
    """
    torch, first = load("torch", extra="torch"), grads[0]
    narrow = first.dtype in (torch.float16, torch.bfloat16, torch.float32) and first.device.type != "mps"
    alike = all(
        g.layout is torch.strided and not g.is_nested and (g.dtype, g.device) == (first.dtype, first.device)
        for g in grads
    )
    if not (narrow and alike):
        return []
    norms: list[float] = torch.stack(torch._foreach_norm(grads, 2, dtype=torch.float64)).tolist()
    return norms


def scaled_sums(grads: Sequence[Any], p: float) -> list[tuple[float, float]]:
    """Return the largest absolute value m of each torch tensor, and the sum of the powers of the tensor over m."""
    torch = load("torch", extra="torch")
    found: dict[Any, list[Any]] = {}
    for grad in grads:
        g = elements(torch, grad).abs()
        g = g.reshape(-1).to(torch.promote_types(g.dtype, torch.float32))
        if len(g):
            m = g.max()
            scaled = g / torch.where((m > 0) & (m < math.inf), m, 1)
            total = scaled.pow(p).sum() if p < math.inf else torch.ones_like(m)
            found.setdefault((g.device, g.dtype), []).append(torch.stack([m, total]))
    return [(m, total) for place in found.values() for m, total in torch.stack(place).tolist()]


def elements(torch: Any, grad: Any) -> Any:
    """Return a gradient as a dense tensor; of a sparse one only the elements that are there, since a 0 adds nothing."""
    if grad.layout is torch.sparse_coo:
        return grad.coalesce().values()
    return grad if grad.layout is torch.strided else grad.to_dense()


def scaled_array(g: Array, p: float) -> tuple[float, float]:
    """Return the same for a NumPy array."""
    m = float(np.abs(g).max(initial=0))
    scaled = np.abs(g) / (m if 0 < m < math.inf else 1)
    return m, float((scaled**p).sum()) if p < math.inf else 1.0


def combined(norms: Sequence[float], p: float) -> float:
    """Return the p-norm of non-negative numbers."""
    largest = max(norms, default=0.0)
    if any(math.isnan(n) for n in norms):
        return math.nan
    if largest in (0.0, math.inf) or p == math.inf:
        return largest
    return largest * root(sum((n / largest) ** p for n in norms), p)


def root(x: float, p: float) -> float:
    """Return the p-th root, or infinity where it is beyond double precision."""
    with np.errstate(over="ignore"):
        return float(np.float64(x) ** (1 / p))
