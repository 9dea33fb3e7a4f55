"""Make a training step for JAX: a pure, jitted function of parameters and optimizer state."""

from collections.abc import Callable
from inspect import Parameter, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

from course_lib.extras import load
from course_lib.training.jax_step_checks import (
    check_arguments,
    check_arrays,
    check_loss,
    check_optimizer_state,
    check_pair,
    check_traceable,
    check_trainable,
)

if TYPE_CHECKING:
    from jax import Array
    from optax import GradientTransformation

__all__ = ["JaxStep", "JaxStepWithAux", "make_jax_step"]

_Params = TypeVar("_Params")
_State = TypeVar("_State")
_Tree = TypeVar("_Tree")


class JaxStep(Protocol):
    """A compiled training step: new parameters, new optimizer state, and the loss, from the old ones and a batch."""

    def __call__(self, params: _Params, opt_state: _State, /, *batch: object) -> "tuple[_Params, _State, Array]":
        """Take one step."""


class JaxStepWithAux(Protocol):
    """The same, with what the loss function returned beside the loss as a fourth result."""

    def __call__(self, params: _Params, opt_state: _State, /, *batch: object) -> "tuple[_Params, _State, Array, Any]":
        """Take one step."""


@overload
def make_jax_step(
    loss_fn: "Callable[..., Array]",
    optimizer: "GradientTransformation",
    *,
    donate: bool = ...,
    has_aux: Literal[False] = ...,
) -> JaxStep: ...
@overload
def make_jax_step(
    loss_fn: "Callable[..., tuple[Array, Any]]",
    optimizer: "GradientTransformation",
    *,
    donate: bool = ...,
    has_aux: Literal[True],
) -> JaxStepWithAux: ...
def make_jax_step(
    loss_fn: "Callable[..., Any]", optimizer: "GradientTransformation", *, donate: bool = False, has_aux: bool = False
) -> JaxStep | JaxStepWithAux:
    r"""Make a jitted ``step(params, opt_state, *batch) -> (params, opt_state, loss)``.

    Nothing is changed in place and nothing is zeroed: each call makes new parameters from old ones,
    :math:`(\theta, s) \mapsto (\theta + u, s')` with :math:`(u, s')` from optax, and the loss at the old ones.

    Parameters
    ----------
    loss_fn : callable
        ``loss_fn(params, *batch)``, one number; pure, so that it can be traced.
    optimizer : optax.GradientTransformation
        Such as ``optax.sgd(0.1)``. One that needs the loss itself (``optax.contrib.reduce_on_plateau``) gets it, and
        one that calls the loss function again (``optax.lbfgs``) gets that of the batch.
    donate : bool
        Let XLA reuse the memory of ``params`` and ``opt_state``, which must then not be used again: half the memory,
        and no second look at the old parameters.
    has_aux : bool
        Whether ``loss_fn`` returns a pair, the loss and a pytree, as for ``jax.value_and_grad``. The step then returns
        the pytree as well: the new statistics of batch norm, which go into the next call as part of the batch, or the
        logits. So does the key of dropout go in.

    Returns
    -------
    callable
        Compiled once for each new shape or dtype of a batch, so again for a smaller last one; and again for the
        second step if a parameter starts as a Python number, or a JAX array made from one, which is weakly typed.

    Raises
    ------
    InputError
        If ``optimizer`` is not optax's; when the step is called, if the parameters have no leaves, one of them is no
        array, or not real and floating point (for a complex one JAX's gradient is the conjugate of the one to step
        against), the state is not the optimizer's for these, or the loss is not one real number in a JAX array.
    MissingExtraError
        Without JAX or optax.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import optax
    >>> sgd = optax.sgd(0.25)
    >>> step = make_jax_step(lambda w, x: (w * x) ** 2, sgd)
    >>> w = jnp.array(1.0)
    >>> w, state, loss = step(w, sgd.init(w), 1.0)
    >>> float(w), float(loss)
    (0.5, 1.0)

    With statistics that the loss function keeps, and returns beside the loss:

    >>> step = make_jax_step(lambda w, mean, x: ((w * x) ** 2, 0.9 * mean + 0.1 * x), sgd, has_aux=True)
    >>> w, state, loss, mean = step(w, state, 0.0, 1.0)
    >>> w, state, loss, mean = step(w, state, mean, 1.0)
    >>> f"{float(mean):.2f}"
    '0.19'
    """
    jax, optax = load("jax", extra="jax"), load("optax", extra="jax")
    check_arguments(loss_fn, optimizer)
    step = _make_step(jax, optax, loss_fn if has_aux else _without_aux(loss_fn), optimizer)
    compiled = jax.jit(step, donate_argnums=(0, 1) if donate else ())

    def compiled_step(params: object, opt_state: object, *batch: object) -> Any:
        try:
            old = _copy_repeats(jax, (params, opt_state)) if donate else (params, opt_state)
            *new, aux = compiled(*old, *batch)
        except TypeError:  # JAX's own, before anything of ours is traced, would not say what to do
            check_arrays(jax, params)
            check_traceable(jax, params=params, batch=batch)
            raise
        return (*new, aux) if has_aux else tuple(new)

    compiled_step.lower = compiled.lower  # type: ignore[attr-defined] # to be inspected like what jax.jit returns
    return compiled_step


def _without_aux(loss_fn: Callable[..., object]) -> "Callable[..., tuple[Any, None]]":
    """Return a function that returns nothing beside the loss."""
    return lambda params, *batch: (loss_fn(params, *batch), None)


def _make_step(
    jax: ModuleType, optax: ModuleType, loss_fn: "Callable[..., tuple[Any, Any]]", optimizer: "GradientTransformation"
) -> JaxStepWithAux:
    """Make the step that is to be compiled, of a function that returns the loss and a pytree."""
    update = optax.with_extra_args_support(optimizer).update

    def step(params: _Params, opt_state: _State, *batch: object) -> "tuple[_Params, _State, Array, Any]":
        def with_aux(params: _Params) -> "tuple[Array, Any]":
            loss, aux = check_pair(loss_fn(params, *batch))
            return check_loss(jax, loss), aux

        def of_batch(params: _Params) -> "Array":
            return with_aux(params)[0]

        check_trainable(jax, params)
        (loss, aux), grads = jax.value_and_grad(with_aux, has_aux=True)(params)
        offered = {"value": loss, "grad": grads, "value_fn": of_batch}
        asked_for = _select_update_arguments(update, offered, grad_fn=lambda params, _: jax.grad(of_batch)(params))
        try:
            updates, opt_state = update(grads, opt_state, params, **asked_for)
        except Exception:  # optax's own would not say what to do
            check_optimizer_state(jax, optimizer, params, opt_state)
            raise
        return optax.apply_updates(params, updates), opt_state, loss, aux

    return step


def _select_update_arguments(update: Callable[..., Any], offered: dict[str, Any], **by_name: object) -> dict[str, Any]:
    """Select the arguments that an optimizer's update takes: all offered if it has ``**kwargs``; ``by_name`` if named.

    An update with ``**kwargs`` may hand them on to others: a line search refuses what it does not know.
    """
    parameters = signature(update).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return offered
    return {name: value for name, value in (offered | by_name).items() if name in parameters}


def _copy_repeats(jax: ModuleType, tree: _Tree) -> _Tree:
    """Copy each repeat of an array in a tree: memory can be donated only once."""
    seen = set[int]()

    def copy_if_seen(leaf: object) -> object:
        if id(leaf) in seen and isinstance(leaf, jax.Array):
            return jax.numpy.copy(leaf)
        seen.add(id(leaf))
        return leaf

    copied: _Tree = jax.tree.map(copy_if_seen, tree)
    return copied
