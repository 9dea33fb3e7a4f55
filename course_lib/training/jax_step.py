"""One step of training as a pure function, for JAX."""

from collections.abc import Callable
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["make_jax_step"]


def make_jax_step(loss_fn: Callable[..., Any], optimizer: Any, *, donate: bool = False) -> Callable[..., Any]:
    r"""Return a jitted ``step(params, opt_state, *batch) -> (params, opt_state, loss)``.

    Nothing is changed in place and nothing is zeroed: each call makes new parameters from old ones,
    :math:`(\theta, s) \mapsto (\theta + u, s')` with :math:`(u, s')` from optax, and the loss at the old ones.

    Parameters
    ----------
    loss_fn : callable
        ``loss_fn(params, *batch)``, one number; pure, so that it can be traced.
    optimizer : optax.GradientTransformation
        Such as ``optax.sgd(0.1)``. One that needs the loss itself (``optax.contrib.reduce_on_plateau``) gets it.
    donate : bool
        Let XLA reuse the memory of ``params`` and ``opt_state``, which must then not be used again: half the memory,
        and no second look at the old parameters.

    Returns
    -------
    callable
        Compiled once for each new shape of a batch, so also for a smaller last one.

    Raises
    ------
    InputError
        If ``optimizer`` is not optax's; when the step is called, if the parameters have no leaves or the loss is not
        one number.
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
    jax: Any = load("jax", extra="jax")
    optax: Any = load("optax", extra="jax")
    if not (callable(getattr(optimizer, "init", None)) and callable(getattr(optimizer, "update", None))):
        raise InputError(
            f"the optimizer must be an optax.GradientTransformation, but a {type(optimizer).__name__} came; use one "
            "such as optax.sgd(0.1) or optax.adamw(1e-3)"
        )
    update = optax.with_extra_args_support(optimizer).update

    def one_number(params: Any, *batch: Any) -> Any:
        loss = loss_fn(params, *batch)
        if isinstance(loss, (tuple, list, dict)):
            raise InputError(
                f"the loss must be one number, but loss_fn returned a {type(loss).__name__}; return the loss alone"
            )
        if jax.numpy.shape(loss):
            raise InputError(
                f"the loss must be one number, but loss_fn returned shape {jax.numpy.shape(loss)}; end it with "
                ".mean() or .sum()"
            )
        return loss

    def step(params: Any, opt_state: Any, *batch: Any) -> tuple[Any, Any, Any]:
        if not jax.tree.leaves(params):
            raise InputError("params must hold at least one array to train, but it holds none; pass a pytree of arrays")
        loss, grads = jax.value_and_grad(one_number)(params, *batch)
        updates, opt_state = update(grads, opt_state, params, value=loss)
        return optax.apply_updates(params, updates), opt_state, loss

    if not donate:
        compiled: Callable[..., Any] = jax.jit(step)
        return compiled
    donating = jax.jit(step, donate_argnums=(0, 1))

    def step_in_place(params: Any, opt_state: Any, *batch: Any) -> Any:
        return donating(*apart(jax, (params, opt_state)), *batch)

    return step_in_place


def apart(jax: Any, tree: Any) -> Any:
    """Return the tree with a copy of each array that is in it already: memory can be given away only once."""
    seen = set[int]()

    def own(leaf: Any) -> Any:
        if id(leaf) in seen and isinstance(leaf, jax.Array):
            return jax.numpy.copy(leaf)
        seen.add(id(leaf))
        return leaf

    return jax.tree.map(own, tree)
