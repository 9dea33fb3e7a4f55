"""Run and differentiate a loss in float64, by the course's autograd, PyTorch or JAX."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.module_calls import visit_called_modules
from course_lib.instrument.restore_model import restore_buffers_at_exit
from course_lib.oracle.arguments import check_value
from course_lib.oracle.arrays import Arrays, is_floating, select_floating
from course_lib.oracle.engines.torch_names_in_jax import make_torch_functions
from course_lib.oracle.engines.xp import Namespace
from course_lib.types import AnyArray, AnyTensor, Array

__all__ = ["AutogradEngine", "Engine", "JaxEngine", "Loss", "TorchEngine"]

Loss: TypeAlias = Callable[..., Any]
"""Takes arrays by name, and ``xp`` if it has a parameter of that name; returns one number."""


class Engine(ABC):
    """Runs a loss on arrays of one library, with its namespace.

    Parameters
    ----------
    loss : callable
        Takes arrays by name, and ``xp`` if it has a parameter of that name; returns one number.
    """

    name: str

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.wants_xp = "xp" in inspect.signature(loss).parameters
        self.xp = self.make_namespace()

    @abstractmethod
    def make_namespace(self) -> Namespace:
        """Return the functions that a loss may use as ``xp``."""

    @abstractmethod
    def evaluate(self, arrays: Arrays, probes: Arrays) -> float:
        """Run the loss without gradients."""

    @abstractmethod
    def differentiate(self, arrays: Arrays, probes: Arrays) -> Arrays:
        """Differentiate with respect to all floating arrays and probes."""

    def restore_buffers(self, stack: ExitStack) -> None:  # noqa: B027 - most engines have none
        """Restore the buffers that running the loss changes, at the end of the stack."""

    def run_loss(self, arrays: Mapping[str, AnyArray], probes: Mapping[str, AnyArray]) -> Any:
        """Run the loss on arrays of this engine, and check that it is one number."""
        self.xp._probes = probes
        value = self.loss(**arrays, **({"xp": self.xp} if self.wants_xp else {}))
        check_value(value)
        return value

    def make_probes(self, arrays: Arrays) -> Arrays:
        """Run the loss once, and return zeros shaped like each intermediate result that it watches."""
        self.xp._shapes.clear()
        self.evaluate(arrays, {})
        return {name: np.zeros(shape) for name, shape in self.xp._shapes.items()}


class _TapeEngine(Engine):
    """Engine whose results are tensors that record a graph."""

    @abstractmethod
    def make_leaves(self, arrays: Arrays) -> dict[str, AnyTensor]:
        """Copy arrays to tensors; floating ones require grad."""

    def run_and_differentiate(self, grad: Callable[..., Any], arrays: Arrays, probes: Arrays) -> Arrays:
        """Run the loss, check that it can be differentiated, and differentiate it by the library's ``grad``."""
        leaves, watched = self.make_leaves(arrays), self.make_leaves(probes)
        loss, wanted = self.run_loss(leaves, watched), {**select_floating(arrays), **probes}
        if not hasattr(loss, "backward"):
            raise InputError(
                f"a loss must be a result of {self.name}'s own operations, but this one is of type "
                f"{type(loss).__name__}, which no graph leads to. Compute it without float(), "
                f".item() and NumPy's functions."
            )
        found = grad(loss, [{**leaves, **watched}[n] for n in wanted], allow_unused=True)
        return {n: _convert_grad(g, a) for (n, a), g in zip(wanted.items(), found, strict=True)}


def _convert_grad(g: AnyTensor | None, like: Array) -> Array:
    """Convert the gradient of a leaf to an array; the loss may not use the leaf."""
    return np.zeros(like.shape) if g is None else np.array(g.detach().numpy())


class AutogradEngine(_TapeEngine):
    """``course_lib.autograd``."""

    name = "autograd"

    def make_namespace(self) -> Namespace:
        """Find names in the course's autograd."""
        return Namespace("course_lib.autograd", [autograd, getattr(autograd.nn, "functional", None)], {})

    def make_leaves(self, arrays: Arrays) -> dict[str, Any]:
        """Copy arrays to tensors of the course's autograd."""
        return {n: autograd.Tensor(a.copy(), requires_grad=is_floating(a)) for n, a in arrays.items()}

    def evaluate(self, arrays: Arrays, probes: Arrays) -> float:
        """Run the loss under ``no_grad``."""
        with autograd.no_grad():
            return float(self.run_loss(self.make_leaves(arrays), self.make_leaves(probes)))

    def differentiate(self, arrays: Arrays, probes: Arrays) -> Arrays:
        """Run the loss and the backward pass of the course's autograd."""
        with autograd.enable_grad():  # even where the caller has switched it off
            return self.run_and_differentiate(autograd.grad, arrays, probes)


class TorchEngine(_TapeEngine):
    """PyTorch on the CPU."""

    name = "torch"

    def make_namespace(self) -> Namespace:
        """Find names in ``nn.functional`` first, as readers call it; ``xp.tensor`` takes tensors, too."""
        torch = load("torch", extra="torch")
        special = {"tensor": lambda x, **options: x if isinstance(x, torch.Tensor) else torch.tensor(x, **options)}
        # torch.embedding, torch.layer_norm and others are kernels, with other arguments or another order of them.
        return Namespace("torch", [torch.nn.functional, torch], special)

    def make_leaves(self, arrays: Arrays) -> dict[str, AnyTensor]:
        """Copy arrays to tensors of PyTorch."""
        tensor = load("torch", extra="torch").tensor
        return {n: tensor(a, requires_grad=is_floating(a)) for n, a in arrays.items()}

    def restore_buffers(self, stack: ExitStack) -> None:
        """Restore the buffers of modules that the loss calls, at the end of the stack."""
        stack.enter_context(visit_called_modules(partial(restore_buffers_at_exit, stack)))

    def evaluate(self, arrays: Arrays, probes: Arrays) -> float:
        """Run the loss under ``no_grad``."""
        with load("torch", extra="torch").no_grad():
            return float(self.run_loss(self.make_leaves(arrays), self.make_leaves(probes)))

    def differentiate(self, arrays: Arrays, probes: Arrays) -> Arrays:
        """Run the loss and PyTorch's backward pass."""
        torch = load("torch", extra="torch")
        with torch.inference_mode(False):  # records even where the caller has switched it off, by no_grad() too
            return self.run_and_differentiate(torch.autograd.grad, arrays, probes)


class JaxEngine(Engine):
    """JAX on its default device, with 64 bits for the duration of the call."""

    name = "jax"

    def make_namespace(self) -> Namespace:
        """Find names in ``jax.numpy`` and ``jax.nn``, and torch's names that they lack or mean otherwise."""
        jax = load("jax", extra="jax")
        renamed = {"dim": "axis", "keepdim": "keepdims", "dtype": "dtype"}
        return Namespace("jax", [jax.numpy, jax.nn], make_torch_functions(jax), renamed)

    def evaluate(self, arrays: Arrays, probes: Arrays) -> float:
        """Run the loss in float64."""
        with _enable_float64():
            as_jax = load("jax.numpy", extra="jax").asarray
            on_jax = [{n: as_jax(a) for n, a in some.items()} for some in (arrays, probes)]
            return float(self.run_loss(*on_jax))

    def differentiate(self, arrays: Arrays, probes: Arrays) -> Arrays:
        """Differentiate by ``jax.grad`` in float64."""
        as_jax = load("jax.numpy", extra="jax").asarray

        def loss(free: Mapping[str, AnyArray], watched: Mapping[str, AnyArray]) -> Any:
            fixed = {n: as_jax(a) for n, a in arrays.items() if n not in free}
            return self.run_loss({**free, **fixed}, watched)

        with _enable_float64():
            found = load("jax", extra="jax").grad(loss, (0, 1))(select_floating(arrays), probes)
            return {n: np.asarray(g) for part in found for n, g in part.items()}


def _enable_float64() -> AbstractContextManager[object]:
    """Enable float64 in JAX; the switch moved in 0.8."""
    jax = load("jax", extra="jax")
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)  # type: ignore[no-any-return] # jax is untyped here
    return load("jax.experimental", extra="jax").enable_x64()  # type: ignore[no-any-return] # jax is untyped here
