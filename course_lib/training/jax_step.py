"""Make a training step for JAX: a pure, jitted function of parameters and optimizer state."""

from collections.abc import Callable
from inspect import Parameter, signature
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from course_lib.errors import InputError
from course_lib.extras import load

if TYPE_CHECKING:
    from jax import Array
    from optax import GradientTransformation

__all__ = ["JaxStep", "make_jax_step"]

_Params = TypeVar("_Params")
_State = TypeVar("_State")
_Tree = TypeVar("_Tree")


class JaxStep(Protocol):
    """A compiled training step: new parameters, new optimizer state, and the loss, from the old ones and a batch."""

    def __call__(self, params: _Params, opt_state: _State, /, *batch: object) -> "tuple[_Params, _State, Array]":
        """Take one step."""


def make_jax_step(
    loss_fn: "Callable[..., Array]", optimizer: "GradientTransformation", *, donate: bool = False
) -> JaxStep:
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
    """
    jax, optax = load("jax", extra="jax"), load("optax", extra="jax")
    _check_arguments(loss_fn, optimizer)
    step = _make_step(jax, optax, loss_fn, optimizer)
    compiled = jax.jit(step, donate_argnums=(0, 1) if donate else ())

    def compiled_step(params: _Params, opt_state: _State, *batch: object) -> "tuple[_Params, _State, Array]":
        try:
            old = _copy_repeats(jax, (params, opt_state)) if donate else (params, opt_state)
            new: tuple[_Params, _State, Array] = compiled(*old, *batch)
        except TypeError:  # JAX's own, before anything of ours is traced, would not say what to do
            _check_arrays(jax, params)
            _check_traceable(jax, params=params, batch=batch)
            raise
        return new

    compiled_step.lower = compiled.lower  # type: ignore[attr-defined] # to be inspected like what jax.jit returns
    return compiled_step


def _check_arguments(loss_fn: object, optimizer: object) -> None:
    """Refuse an optimizer that is not optax's, and a loss that is no function."""
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InputError(
            f"the optimizer must be an optax.GradientTransformation, but got a {type(optimizer).__name__}; use one "
            "such as optax.sgd(0.1) or optax.adamw(1e-3)"
        )
    if not callable(loss_fn):
        raise InputError(
            f"loss_fn must be a function of params and a batch, but got a {type(loss_fn).__name__}; pass it uncalled"
        )


def _make_step(
    jax: ModuleType, optax: ModuleType, loss_fn: "Callable[..., Array]", optimizer: "GradientTransformation"
) -> JaxStep:
    """Make the step that is to be compiled."""
    update = optax.with_extra_args_support(optimizer).update

    def step(params: _Params, opt_state: _State, *batch: object) -> "tuple[_Params, _State, Array]":
        def of_batch(params: _Params) -> "Array":
            return _check_loss(jax, loss_fn(params, *batch))

        _check_trainable(jax, params)
        loss, grads = jax.value_and_grad(of_batch)(params)
        offered = {"value": loss, "grad": grads, "value_fn": of_batch}
        asked_for = _select_update_arguments(update, offered, grad_fn=lambda params, _: jax.grad(of_batch)(params))
        try:
            updates, opt_state = update(grads, opt_state, params, **asked_for)
        except Exception:  # optax's own would not say what to do
            _check_optimizer_state(jax, optimizer, params, opt_state)
            raise
        return optax.apply_updates(params, updates), opt_state, loss

    return step


def _check_loss(jax: ModuleType, loss: object) -> "Array":
    """Return the loss, or refuse one that cannot be differentiated."""
    array: type[Array] = jax.Array
    if not isinstance(loss, array):
        raise InputError(
            "the loss must be one number in a JAX array, computed from params, but loss_fn returned a "
            f"{type(loss).__name__}; return the loss alone, without float() or NumPy"
        )
    if loss.shape:
        raise InputError(
            f"the loss must be one number, but loss_fn returned shape {loss.shape}; end it with .mean() or .sum()"
        )
    if not jax.numpy.issubdtype(loss.dtype, jax.numpy.floating):
        raise InputError(
            f"the loss must be real and floating point, but loss_fn returned {loss.dtype}; take abs() of "
            "what is complex, and compute in float32"
        )
    return loss


def _check_trainable(jax: ModuleType, params: object) -> None:
    """Refuse parameters that have no gradient."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(params)
    if not leaves:
        raise InputError("params must hold at least one array to train, but it holds none; pass a pytree of arrays")
    for path, leaf in leaves:
        dtype = jax.numpy.asarray(leaf).dtype
        if not jax.numpy.issubdtype(dtype, jax.numpy.floating):
            raise InputError(
                f"params must be real and floating point to be trained, but params{jax.tree_util.keystr(path)} is "
                f"{dtype}; convert it, make two arrays of a complex one, or pass what is not trained with the batch"
            )


def _check_arrays(jax: ModuleType, params: object) -> None:
    """Refuse a leaf that JAX can make no array of, such as a layer's activation function."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(params)[0]:
        try:
            jax.numpy.asarray(leaf)
        except TypeError:
            raise InputError(
                f"params must hold nothing but arrays, but params{jax.tree_util.keystr(path)} is a "
                f"{type(leaf).__name__}; keep it out of them: of a model of equinox, params, rest = "
                "eqx.partition(model, eqx.is_inexact_array), and eqx.combine(params, rest) inside loss_fn"
            ) from None


def _check_traceable(jax: ModuleType, **trees: object) -> None:
    """Refuse what JAX cannot trace, though NumPy may read it: a tensor that torch's DataLoader has made, or a text."""
    for name, tree in trees.items():
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            try:
                jax.eval_shape(lambda x: x, leaf)
            except TypeError:
                kind = type(leaf)
                raise InputError(
                    f"{name} must hold nothing but arrays and numbers, but {name}{jax.tree_util.keystr(path)} is a "
                    f"{kind.__module__}.{kind.__name__}; convert it, as torch's tensors with .numpy(), or leave it out"
                ) from None


def _check_optimizer_state(
    jax: ModuleType, optimizer: "GradientTransformation", params: object, opt_state: object
) -> None:
    """Refuse a state that is not the optimizer's for these parameters."""
    ours = jax.tree.structure(jax.eval_shape(optimizer.init, params))
    if (theirs := jax.tree.structure(opt_state)) != ours:
        raise InputError(
            f"opt_state must be what this optimizer's init(params) returned, or a step of it, but it is "
            f"{theirs!s:.200}; begin with opt_state = optimizer.init(params)"
        ) from None


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
