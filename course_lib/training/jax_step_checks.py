"""Check what a training step for JAX is given, and what its loss function returns."""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError

if TYPE_CHECKING:
    from jax import Array
    from optax import GradientTransformation

__all__ = [
    "check_arguments",
    "check_arrays",
    "check_loss",
    "check_optimizer_state",
    "check_pair",
    "check_traceable",
    "check_trainable",
]


def check_arguments(loss_fn: object, optimizer: object) -> None:
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


def check_loss(jax: ModuleType, loss: object) -> "Array":
    """Return the loss, or refuse one that cannot be differentiated."""
    array: type[Array] = jax.Array
    if not isinstance(loss, array):
        raise InputError(
            "the loss must be one number in a JAX array, computed from params, but loss_fn returned a "
            f"{type(loss).__name__}; return the loss alone, without float() or NumPy, or a pair with has_aux=True"
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


def check_pair(returned: Any) -> tuple[Any, Any]:
    """Return the loss and what came beside it, or refuse what is no pair."""
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned
    what = f"a tuple of {len(returned)}" if isinstance(returned, tuple) else f"a {type(returned).__name__}"
    raise InputError(
        f"with has_aux=True, loss_fn must return the pair (loss, aux), but it returned {what}; put all that is not the "
        "loss into one pytree, such as a dict, or leave has_aux out"
    )


def check_trainable(jax: ModuleType, params: object) -> None:
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


def check_arrays(jax: ModuleType, params: object) -> None:
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


def check_traceable(jax: ModuleType, **trees: object) -> None:
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


def check_optimizer_state(
    jax: ModuleType, optimizer: "GradientTransformation", params: object, opt_state: object
) -> None:
    """Refuse a state that is not the optimizer's for these parameters."""
    ours = jax.tree.structure(jax.eval_shape(optimizer.init, params))
    if (theirs := jax.tree.structure(opt_state)) != ours:
        raise InputError(
            f"opt_state must be what this optimizer's init(params) returned, or a step of it, but it is "
            f"{theirs!s:.200}; begin with opt_state = optimizer.init(params)"
        ) from None
