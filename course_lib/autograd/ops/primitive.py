"""Define a differentiable operation: a forward function on arrays, and a vjp for each tensor it takes.

A vjp answers "given the cotangent ``g`` of the output, what is the cotangent of this input?". Its other parameters
say by their names what the node must save: parameters of the forward function, ``out`` for its result, ``x_shape``
for the shape of ``x``. Ops called on bare arrays compute and record nothing, so one and the same vjp runs on
arrays (fast) and, for ``create_graph=True``, on tensors (recorded, hence differentiable again).
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph import write_clock
from course_lib.autograd.graph.node import OUT, Node, Operation
from course_lib.autograd.numpy_errors import quiet_context
from course_lib.autograd.variable import Parents, Shape, Tensor, Variable, new_tensor, tensor_class
from course_lib.errors import AutogradError, AutogradIndexError
from course_lib.types import Array

__all__ = ["Op", "Primitive", "no_tensor_error", "record", "wrap_result"]

Op = Callable[..., Tensor]
_ndarray, _new = np.ndarray, object.__new__


class Primitive(Operation):
    """Differentiable operation: call it on tensors (first) and settings (after them).

    Parameters
    ----------
    name : str
        torch's name of the function; the node is called after it.
    forward : callable
        Takes arrays and settings, returns an array; None for an operation that a function of its own computes.
    *vjps : callable
        One for each tensor argument; all take the same parameters, ``g`` and what is to be saved. A parameter that a
        vjp does not read has an underscore before its name, and is not saved for this vjp.
    takes : str
        The parameters of ``forward``, if it is a NumPy ufunc, which does not name them.
    saves : tuple of str
        What is to be saved, if the parameters of the vjps do not say.
    frees : bool
        Whether it saves an array, even if none is the value of a tensor in the graph.
    """

    def __init__(
        self,
        name: str,
        forward: Any,
        *vjps: Callable[..., Any],
        takes: str = "",
        saves: tuple[str, ...] = (),
        frees: bool = False,
    ) -> None:
        self.torch_name, self.forward = name, forward
        names = [saves or tuple(signature(vjp).parameters)[1:] for vjp in vjps]
        slots = list(zip(*names, strict=True))
        reads = tuple(max(slot, key=lambda s: not s.startswith("_")) for slot in slots)
        self.readers = [[i for i, s in enumerate(slot) if not s.startswith("_")] for slot in slots]
        known = [*(takes.split() or signature(forward).parameters), "out"]
        self.sources = [(known.index(s.removesuffix("_shape")), s.endswith("_shape")) for s in reads]
        origins = [
            i if i < len(vjps) and not shape else OUT if s == "out" else None
            for s, (i, shape) in zip(reads, self.sources, strict=True)
        ]
        name = "".join(word.capitalize() for word in name.split("_")) + "Backward0"
        super().__init__(name, vjps, reads, origins)
        self.frees = frees or any(origin is not None for origin in origins)

    def __call__(self, *args: Any) -> Tensor:
        """Compute, and record if an argument requires grad; on arrays alone, compute."""
        tensors = args[: len(self.vjps)]
        for a in tensors:
            if isinstance(a, Variable):
                break
        else:  # a vjp at work on arrays
            return self.forward(*args)  # type: ignore[no-any-return] # any operation
        values = [a.value if isinstance(a, Variable) else a.item() if isinstance(a, np.generic) else a for a in args]
        out = self.compute(values)
        parents = tuple(getattr(a, "node", None) for a in tensors)
        if any(parents) and grad_mode.is_grad_enabled():
            values.append(out)
            saved = tuple(np.shape(values[i]) if shape else values[i] for i, shape in self.sources)
            tensor = record(self, out, parents, saved if all(parents) else self.drop_unread(parents, saved))
        else:
            tensor = new_tensor(out)
        if tensor.value.base is not None:
            write_clock.record_view(tensor, args[0])
        return tensor

    def compute(self, values: list[Any]) -> Array:
        """Run the forward function on arrays and settings, without NumPy's warnings."""
        try:
            return quiet_context.copy().run(self.forward, *values)
        except (IndexError, ValueError) as error:
            shapes = " and ".join(str(np.shape(x)) for x in values[: len(self.vjps)])
            kind = AutogradIndexError if isinstance(error, IndexError) else AutogradError
            raise kind(
                f"the arguments of {self.torch_name}() must fit the shape {shapes}, but {error}. Look at .shape."
            ) from None

    def drop_unread(self, parents: Parents, saved: tuple[Any, ...]) -> tuple[Any, ...]:
        """Drop saved values that only the vjps of inputs without gradient would read."""
        return tuple(s if any(parents[i] for i in who) else None for s, who in zip(saved, self.readers, strict=True))


def no_tensor_error(name: str, *given: object) -> AutogradError:
    """Build the error that says which argument should be a tensor."""
    kind = next(type(x).__name__ for x in given if not isinstance(x, Variable))
    return AutogradError(f"{name}() takes tensors, but got a {kind}. Make a tensor of it first: tensor(...).")


def wrap_result(op: Operation, out: Array, parents: Parents, saved: tuple[Any, ...]) -> Tensor:
    """Wrap the result of ``op`` in a tensor, recorded if an input requires grad."""
    if any(parents) and grad_mode.is_grad_enabled():
        return record(op, out, parents, saved)
    return new_tensor(out)


def record(op: Operation, out: Array, parents: Parents, saved: tuple[Any, ...], dims: Shape | None = None) -> Tensor:
    """Record ``op``: wrap its result in a tensor with a new node; ``dims`` is the shape, if known."""
    tensor: Tensor = _new(tensor_class())
    tensor.value = out if type(out) is _ndarray else np.asarray(out)
    tensor.dims = tensor.value.shape if dims is None else dims
    tensor.stored_grad = None
    tensor.node = node = _new(Node)
    node.seq = write_clock.next_seq()
    node.op = op
    node.parents = parents
    node.saved = saved
    node.grad = node.hooks = None
    if grad_mode.unusual_modes:
        for observe in grad_mode.here.mode.observers:
            observe(tensor)
    return tensor
