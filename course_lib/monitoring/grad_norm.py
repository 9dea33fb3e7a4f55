"""Compute the norm of all gradients of a model together."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.frameworks import is_jax_tracer, is_torch_tensor
from course_lib.jax_norm import jax_norm
from course_lib.monitoring.reading.trainable_parameters import parameters_with_gradient, to_float64
from course_lib.monitoring.reading.tree_names import jax_arrays
from course_lib.norms import Magnitude, array_norm, check_norm_type, combine_norms, tensor_norms
from course_lib.split_tensors import placed_gradient
from course_lib.types import AnyModule, AnyTensor

if TYPE_CHECKING:
    import jax

__all__ = ["compute_grad_norm"]


def compute_grad_norm(model: AnyModule | Iterable[AnyTensor], norm_type: float = 2) -> float:
    r"""Return the norm of all gradients of a model together, as if they were one vector.

    .. math:: \|g\|_p = \Bigl( \sum_i |g_i|^p \Bigr)^{1/p}, \qquad \|g\|_\infty = \max_i |g_i|

    Each gradient is divided by its largest absolute value first, so that powers of finite numbers neither overflow nor
    vanish. On a device, everything is read in one transfer. Of a model that FSDP2 splits (DTensors), it is the norm of
    the whole, and all processes must ask for it.

    Parameters
    ----------
    model : torch.nn.Module or course_lib.autograd.nn.Module, or iterable of their parameters, or pytree of JAX arrays
        After ``backward()``; of JAX the gradients themselves, inside a jitted function, too. A parameter listed twice
        counts once. One that is frozen does not count, even if an earlier pass left it a gradient, which clipping
        counts and an optimizer steps by: set it to None.
    norm_type : float
        Any p above 0, or ``math.inf``; ``"inf"`` is one, too.

    Returns
    -------
    float, or jax.Array where JAX traces
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
    >>> import math
    >>> from course_lib.autograd import nn, tensor
    >>> model = nn.Linear(2, 1, bias=False)
    >>> model(tensor([[3e19, 4e19]])).sum().backward()
    >>> f"{compute_grad_norm(model):.3g}", f"{compute_grad_norm(model, math.inf):.3g}"
    ('5e+19', '4e+19')
    """
    p = check_norm_type(norm_type)
    if arrays := jax_arrays(model):
        return _jax_tree_norm(arrays, p)
    found = parameters_with_gradient(_as_model(model))
    grads = [placed_gradient(g).detach() for g in found.values() if g.grad is not None]
    norms = tensor_norms(grads, p) if is_torch_tensor(grads[0]) else [array_norm(to_float64(g), p) for g in grads]
    return combine_norms(norms, p).value


def _jax_tree_norm(arrays: "list[jax.Array]", p: float) -> float:
    """Return the norm of all arrays together: a float, or what JAX traces."""
    jnp = load("jax.numpy", extra="jax")
    wide = jnp.result_type(jnp.float32, *(x.real.dtype for x in arrays))
    exponent, scaled, _ = jax_norm([jnp.abs(x) for x in arrays], wide, p=p)
    if is_jax_tracer(scaled):
        traced: float = jnp.ldexp(scaled, exponent)
        return traced
    return Magnitude(2.0 ** int(exponent), float(scaled)).value


class _Parameters:
    """Parameters alone, each once, in the place of a model; their names are their places."""

    def __init__(self, parameters: Iterable[Any]) -> None:
        self.listed = list({id(p): p for p in parameters}.values())

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        return ((f"parameter {i}", p) for i, p in enumerate(self.listed))


def _as_model(model: AnyModule | Iterable[AnyTensor]) -> Any:
    """Return a model, or an object with the given parameters in its place."""
    if hasattr(model, "named_parameters") or hasattr(model, "shape") or not isinstance(model, Iterable):
        return model
    given = list(model)
    if not given:
        raise InputError(
            "there must be parameters, but the list is empty. Pass the model, or model.parameters() anew: a generator "
            "can be read once."
        )
    return _Parameters(given) if any(getattr(p, "requires_grad", False) for p in given) else model
