"""Gradients of one loss by each engine, in float64: a loss and a dict of NumPy arrays."""

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any

import numpy as np

from course_lib import autograd
from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.module_calls import visit_called_modules
from course_lib.instrument.restore import restore_buffers_at_exit
from course_lib.oracle.checks import check_value
from course_lib.oracle.namespaces import Namespace, for_autograd, for_jax, for_torch

__all__ = ["DIFFERENCES", "ENGINES", "Engine"]

DIFFERENCES = "differences"
Arrays = dict[str, np.ndarray[Any, Any]]
MOST, LEAST, BUDGET = 400, 16, 4_000_000  # entries of a tensor that finite differences look at; entries read in all


class Engine:
    """A way to run a loss: on arrays of this engine, with its namespace.

    Parameters
    ----------
    loss : callable
        Takes arrays by name, and ``xp`` if it has a parameter of that name; returns one number.
    """

    name: str

    def __init__(self, loss: Callable[..., Any]) -> None:
        self.loss = loss
        self.wants_xp = "xp" in inspect.signature(loss).parameters
        self.xp = self.namespace()

    def namespace(self) -> Namespace:
        """Return the names a loss may use."""
        raise NotImplementedError

    def call(self, arrays: Mapping[str, Any], probes: Mapping[str, Any]) -> Any:
        """Run the loss, and see that it is one number."""
        self.xp._probes = probes
        value = self.loss(**arrays, **({"xp": self.xp} if self.wants_xp else {}))
        check_value(value)
        return value

    def tracked(self, arrays: Mapping[str, Any], probes: Mapping[str, Any]) -> Any:
        """Run the loss, and see that it can be differentiated."""
        loss = self.call(arrays, probes)
        if not hasattr(loss, "backward"):
            raise InputError(
                f"a loss must be a result of {self.name}'s own operations, but this one is of type "
                f"{type(loss).__name__}, which no graph leads to. Compute it without float(), "
                f".item() and NumPy's functions."
            )
        return loss

    def leave_untouched(self, stack: ExitStack) -> None:
        """Have the stack put back at its end what running the loss changes elsewhere, if that can be seen."""

    def value(self, arrays: Arrays, probes: Arrays) -> float:
        """Run the loss without gradients."""
        raise NotImplementedError

    def grads(self, arrays: Arrays, probes: Arrays) -> Arrays:
        """Differentiate with respect to all floating arrays and probes."""
        raise NotImplementedError

    def watched(self, arrays: Arrays) -> Arrays:
        """Run once, and return zeros shaped like each intermediate result that the loss watches."""
        self.xp._shapes.clear()
        self.value(arrays, {})
        return {name: np.zeros(shape) for name, shape in self.xp._shapes.items()}


def differentiable(arrays: Arrays) -> Arrays:
    """Leave labels and masks out."""
    return {name: a for name, a in arrays.items() if a.dtype.kind == "f"}


def filled(g: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Turn the gradient of a leaf into an array; the loss may not use the leaf."""
    return np.zeros(like.shape) if g is None else np.array(g.detach().numpy())


class Autograd(Engine):
    """``course_lib.autograd``."""

    name = "autograd"

    def namespace(self) -> Namespace:
        return for_autograd()

    def leaves(self, arrays: Arrays) -> dict[str, Any]:
        """Wrap arrays; floating ones require grad."""
        return {n: autograd.Tensor(a.copy(), requires_grad=a.dtype.kind == "f") for n, a in arrays.items()}

    def value(self, arrays: Arrays, probes: Arrays) -> float:
        with autograd.no_grad():
            return float(self.call(self.leaves(arrays), self.leaves(probes)))

    def grads(self, arrays: Arrays, probes: Arrays) -> Arrays:
        with autograd.enable_grad():  # even where the caller has switched it off
            leaves, watched = self.leaves(arrays), self.leaves(probes)
            loss, wanted = self.tracked(leaves, watched), floats(arrays, probes)
            found = autograd.grad(loss, [{**leaves, **watched}[n] for n, _ in wanted], allow_unused=True)
        return {n: filled(g, a) for (n, a), g in zip(wanted, found, strict=True)}


class Torch(Engine):
    """PyTorch on the CPU."""

    name = "torch"

    def namespace(self) -> Namespace:
        return for_torch()

    def leaves(self, arrays: Arrays) -> dict[str, Any]:
        """Copy arrays; floating ones require grad."""
        tensor = load("torch", extra="torch").tensor
        return {n: tensor(a, requires_grad=a.dtype.kind == "f") for n, a in arrays.items()}

    def leave_untouched(self, stack: ExitStack) -> None:
        stack.enter_context(visit_called_modules(partial(restore_buffers_at_exit, stack)))

    def value(self, arrays: Arrays, probes: Arrays) -> float:
        with load("torch", extra="torch").no_grad():
            return float(self.call(self.leaves(arrays), self.leaves(probes)))

    def grads(self, arrays: Arrays, probes: Arrays) -> Arrays:
        torch = load("torch", extra="torch")
        with torch.inference_mode(False):  # records even where the caller has switched it off, by no_grad() too
            leaves, watched = self.leaves(arrays), self.leaves(probes)
            loss, wanted = self.tracked(leaves, watched), floats(arrays, probes)
            found = torch.autograd.grad(loss, [{**leaves, **watched}[n] for n, _ in wanted], allow_unused=True)
        return {n: filled(g, a) for (n, a), g in zip(wanted, found, strict=True)}


class Jax(Engine):
    """JAX on its default device, with 64 bits for the duration of the call."""

    name = "jax"

    def namespace(self) -> Namespace:
        return for_jax()

    def wide(self) -> AbstractContextManager[Any]:
        """Enable float64; the switch moved in 0.8."""
        jax = load("jax", extra="jax")
        if hasattr(jax, "enable_x64"):
            return jax.enable_x64(True)  # type: ignore[no-any-return] # jax is untyped here
        return load("jax.experimental", extra="jax").enable_x64()  # type: ignore[no-any-return] # jax is untyped here

    def value(self, arrays: Arrays, probes: Arrays) -> float:
        with self.wide():
            as_jax = load("jax.numpy", extra="jax").asarray
            on = [{n: as_jax(a) for n, a in some.items()} for some in (arrays, probes)]
            return float(self.call(on[0], on[1]))

    def grads(self, arrays: Arrays, probes: Arrays) -> Arrays:
        as_jax = load("jax.numpy", extra="jax").asarray

        def loss(free: Any, watched: Any) -> Any:
            fixed = {n: as_jax(a) for n, a in arrays.items() if n not in free}
            return self.call({**free, **fixed}, watched)

        with self.wide():
            found = load("jax", extra="jax").grad(loss, (0, 1))(differentiable(arrays), probes)
            return {n: np.asarray(g) for part in found for n, g in part.items()}


def floats(arrays: Arrays, probes: Arrays) -> list[tuple[str, np.ndarray[Any, Any]]]:
    """List what is differentiated: inputs, then what is watched."""
    return [*differentiable(arrays).items(), *probes.items()]


def by_differences(engine: Engine, arrays: Arrays, probes: Arrays) -> Arrays:
    r"""Estimate :math:`(L(x + h) - L(x - h)) / 2h`; for large tensors at a regular sample of entries, NaN elsewhere."""
    grads = {}
    most = max(LEAST, min(MOST, BUDGET // max(1, sum(a.size for _, a in floats(arrays, probes)))))
    step = float(np.cbrt(np.finfo(np.float64).eps))
    for name, array in floats(arrays, probes):
        g = np.full(array.shape, np.nan)
        for k in np.unique(np.linspace(0, array.size - 1, min(array.size, most)).astype(int)):
            index = np.unravel_index(k, array.shape)
            h = step * max(1.0, abs(float(array[index])))
            sides = [moved(engine, arrays, probes, name, index, sign * h) for sign in (1, -1)]
            g[index] = (sides[0] - sides[1]) / (2 * h)
        grads[name] = g
    return grads


def moved(engine: Engine, arrays: Arrays, probes: Arrays, name: str, index: Any, h: float) -> float:
    """Evaluate the loss with one entry moved."""
    here, there = ({n: a.copy() if n == name else a for n, a in some.items()} for some in (arrays, probes))
    (here if name in here else there)[name][index] += h
    return engine.value(here, there)


ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Autograd, Torch, Jax)}
