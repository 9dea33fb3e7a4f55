"""Ops of the reader's own: ``Function``, with a forward and a backward."""

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.node import OUT, Node, Operation
from course_lib.autograd.ops.primitive import record
from course_lib.autograd.variable import Variable, new_tensor
from course_lib.errors import AutogradError

__all__ = ["Function"]


class Context:
    """What ``forward`` leaves for ``backward``: saved tensors, and any attribute it likes to set."""

    needs_input_grad: tuple[bool, ...]

    def __init__(self) -> None:
        self.saved_tensors: tuple[Any, ...] = ()
        self.constants: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Save inputs or outputs; they are freed, and watched for changes, like those of any operation."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient."""
        self.constants = tensors


class Cotangents:
    """The cotangents of a function with several outputs, None where none has arrived."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __add__(self, other: "Cotangents") -> "Cotangents":
        pairs = zip(self.parts, other.parts, strict=True)
        return Cotangents(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


def output(name: str, i: int, n: int) -> Operation:
    """Make what stands between one of several outputs and the node of the function."""
    return Operation(name, (lambda g: Cotangents(tuple(g if j == i else None for j in range(n))),))


class Call(Operation):
    """One call of a function: in the graph it takes the place of a primitive."""

    def __init__(self, function: "type[Function]", ctx: Context, args: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
        self.function, self.ctx = function, ctx
        self.shapes = [a.shape if isinstance(a, Variable) else None for a in args]
        self.like = [(out.shape, out.dtype) for out in outs]
        self.latest: tuple[Any, tuple[Any, ...]] = (None, ())
        places = [*enumerate(args), *((OUT, out) for out in outs)]
        super().__init__(
            name=f"{function.__name__}Backward",
            vjps=tuple(lambda g, *saved, i=i: self.pull(i, g, saved) for i in range(len(args))),
            saves=tuple(f"saved tensor {k}" for k in range(len(ctx.saved_tensors))),
            origins=[next((place for place, x in places if x is s), None) for s in ctx.saved_tensors],
        )

    @property
    def vjps(self) -> tuple[Callable[..., Any], ...]:
        """One for each argument. They are asked for at each visit, so what the last one computed is forgotten here."""
        self.latest = None, ()
        return self.rules

    @vjps.setter
    def vjps(self, rules: tuple[Callable[..., Any], ...]) -> None:
        self.rules = rules

    def pull(self, i: int, g: Any, saved: tuple[Any, ...]) -> Any:
        """Give the cotangent of input ``i``; ``backward``, which computes all of them, runs once."""
        if self.latest[0] is not g:
            self.ctx.saved_tensors = tuple(s if s is None or isinstance(s, Variable) else new_tensor(s) for s in saved)
            self.latest = g, self.checked(self.function.backward(self.ctx, *self.seen(g)))
        x = self.latest[1][i]
        if i == len(self.shapes) - 1:
            self.latest = None, ()
        first = next(p for p in g.parts if p is not None) if isinstance(g, Cotangents) else g
        return x if x is None or isinstance(first, Variable) else x.value

    def seen(self, g: Any) -> list[Any]:
        """Show ``backward`` one tensor for each output, zeros where no cotangent has arrived."""
        parts = g.parts if isinstance(g, Cotangents) else (g,)
        filled = [np.zeros(*like) if p is None else p for p, like in zip(parts, self.like, strict=True)]
        return [p if isinstance(p, Variable) else new_tensor(p) for p in filled]

    def checked(self, found: Any) -> tuple[Any, ...]:
        """Refuse gradients that do not fit the inputs."""
        results: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)
        if len(results) != len(self.shapes):
            raise AutogradError(
                f"{self.function.__name__}.backward must return one gradient for each of the {len(self.shapes)} "
                f"arguments of forward, but it returned {len(results)}. Return None for an argument without gradient."
            )
        for i, (x, shape) in enumerate(zip(results, self.shapes, strict=True)):
            if x is not None and shape is not None and x.shape != shape:
                raise AutogradError(
                    f"{self.function.__name__}.backward must return gradients of the shapes of the inputs, but that of "
                    f"input {i} has {x.shape} and the input {shape}. Sum over what was broadcast, or transpose."
                )
        return results


class Function:
    """An operation with a gradient of its own: subclass it, and call ``apply``.

    ``forward(ctx, *args)`` computes, unrecorded; ``backward(ctx, *grad_outputs)`` returns one gradient for each
    argument of ``forward``, or None. If ``backward`` is made of differentiable operations, it can be differentiated
    again.

    Examples
    --------
    >>> from course_lib.autograd import Function, tensor
    >>> class Cube(Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x**3
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return grad_output * 3 * x**2
    >>> x = tensor(2.0, requires_grad=True)
    >>> y = Cube.apply(x)
    >>> y.backward()
    >>> y, x.grad
    (tensor(8., grad_fn=<CubeBackward>), tensor(12.))
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Compute, and record if an argument requires grad."""
        ctx = Context()
        parents = tuple(getattr(a, "node", None) for a in args)
        ctx.needs_input_grad = tuple(p is not None for p in parents)
        with grad_mode.no_grad():
            result = cls.forward(ctx, *args)
        outs = result if isinstance(result, tuple) else (result,)
        if not grad_mode.recording or not any(parents):
            return result
        constants = [x for x in outs if any(x is c for c in ctx.constants) or x.dtype.kind != "f"]
        if len(constants) == len(outs):
            return result
        call, saved = Call(cls, ctx, args, outs), tuple(getattr(s, "value", None) for s in ctx.saved_tensors)
        ctx.saved_tensors = ()  # the node has them, and frees them
        if len(outs) == 1:
            return record(call, outs[0].value, parents, saved)
        node = Node(call, parents, saved)
        return tuple(
            x if any(x is c for c in constants) else record(output(call.name, i, len(outs)), x.value, (node,), ())
            for i, x in enumerate(outs)
        )
