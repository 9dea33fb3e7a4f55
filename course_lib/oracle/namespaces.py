"""The names a loss may use as ``xp.name``: torch's, whatever engine runs it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.oracle.checks import numbers
from course_lib.oracle.torch_in_jax import called_otherwise, cross_entropy, meant_otherwise, reduced

__all__ = ["Namespace", "for_autograd", "for_jax", "for_torch"]


class Namespace:
    """Functions of an engine under torch's names, and :meth:`watch` to see the gradient of an intermediate result.

    Parameters
    ----------
    engine : str
        What the engine is called in messages.
    sources : sequence of module
        Where to look a name up, in this order.
    special : mapping of str to callable
        Names that stand for these functions instead.
    renamed : mapping of str to str
        What to call keyword arguments instead.
    """

    def __init__(
        self, engine: str, sources: list[Any], special: Mapping[str, Any], renamed: Mapping[str, str] | None = None
    ) -> None:
        self._engine, self._sources, self._special, self._renamed = engine, sources, special, renamed or {}
        self._probes: Mapping[str, Any] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        found = self._special.get(name)
        for source in self._sources:
            found = getattr(source, name, None) if found is None else found
        if found is None:
            raise InputError(
                f"xp.{name} is missing from {self._engine}. Use torch's names, or give this engine a loss of its own: "
                f'compare({{"autograd": f, "torch": g, "jax": h}}, ...).'
            )
        return found if name in self._special or not self._renamed or not callable(found) else self._translated(found)

    def _translated(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            return function(*args, **{self._renamed.get(key, key): value for key, value in options.items()})

        return call

    def watch(self, name: str, value: Any) -> Any:
        """Return a value unchanged, and list its gradient under a name: it adds a leaf of zeros in every engine."""
        self._shapes[name] = tuple(value.shape)
        return value + self._probes[name] if name in self._probes else value


def for_autograd() -> Namespace:
    """Names of ``course_lib.autograd``."""
    return Namespace("course_lib.autograd", [autograd, getattr(autograd.nn, "functional", None)], {})


def for_torch() -> Namespace:
    """Names of torch, those of ``nn.functional`` first, as readers call them; ``xp.tensor`` passes tensors through."""
    torch = load("torch", extra="torch")
    special = {"tensor": lambda x, **options: x if isinstance(x, torch.Tensor) else torch.tensor(x, **options)}
    # torch.embedding, torch.layer_norm and others are the kernels below, with other arguments or another order of them.
    return Namespace("torch", [torch.nn.functional, torch], special)


def for_jax() -> Namespace:
    """Names of ``jax.numpy`` and ``jax.nn``, and torch's names that they lack or that mean something else there."""
    jax = load("jax", extra="jax")
    jnp, nn = jax.numpy, jax.nn

    special = {
        **meant_otherwise(jnp),
        **called_otherwise(jnp),
        "cross_entropy": partial(cross_entropy, jnp, nn.log_softmax),
        "mse_loss": lambda x, y, reduction="mean": reduced(jnp, (x - y) ** 2, reduction),
        "gelu": lambda x, approximate="none": nn.gelu(x, approximate=approximate == "tanh"),
        "softmax": lambda x, dim: nn.softmax(x, axis=dim),
        "log_softmax": lambda x, dim: nn.log_softmax(x, axis=dim),
        "logsumexp": lambda x, dim, keepdim=False: nn.logsumexp(x, axis=dim, keepdims=keepdim),
        "linear": lambda x, w, b=None: x @ w.T if b is None else x @ w.T + b,
        "clamp": lambda x, min=None, max=None: jnp.clip(x, min, max),
        "cat": lambda xs, dim=0: jnp.concatenate(xs, axis=dim),
        "tensor": jnp.asarray,
        "erf": jax.scipy.special.erf,
        "rsqrt": jax.lax.rsqrt,
    }
    return Namespace("jax", [jnp, nn], special, {"dim": "axis", "keepdim": "keepdims", "dtype": "dtype"})


def as_float64(arrays: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Copy arrays of any library to NumPy: floating ones to float64, others (labels, masks) as they are."""
    copies = {}
    for name, array in arrays.items():
        array = array.detach() if hasattr(array, "detach") else array
        if hasattr(array, "is_floating_point"):  # a torch tensor: NumPy knows no bfloat16, and no GPU
            array = on_the_host(name, array)
        copy = numbers(name, array)
        copies[name] = copy.astype(np.float64) if copy.dtype.kind not in "biu" else copy
    return copies


def on_the_host(name: str, tensor: Any) -> np.ndarray[Any, Any]:
    """Copy a tensor of torch to NumPy, in float64 if it is floating, or say why it cannot be had."""
    try:
        found: np.ndarray[Any, Any] = (tensor.double() if tensor.is_floating_point() else tensor).cpu().numpy()
    except (TypeError, RuntimeError) as why:  # sparse, or on the meta device
        raise InputError(f"{name} must be dense, with numbers that NumPy can hold, but torch says: {why}") from why
    return found
