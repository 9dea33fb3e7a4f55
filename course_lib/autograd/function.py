"""Custom operations: ``Function``, with a forward and a backward."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course_lib.autograd import grad_mode
from course_lib.autograd.graph.node import OUT, Node, Operation, Vjps
from course_lib.autograd.ops.broadcasting import cast_to
from course_lib.autograd.ops.primitive import record
from course_lib.autograd.variable import Shape, Tensor, Variable, as_tensor
from course_lib.errors import AutogradError

__all__ = ["Function", "FunctionCall"]


class Context:
    """Context of a custom function: carries saved tensors, and any attribute, from ``forward`` to ``backward``."""

    needs_input_grad: tuple[bool, ...]
    saved_tensors: tuple[Any, ...] = ()
    constants: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs or outputs; they are freed, and watched for changes, like those of any operation."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self.constants = tensors


class _Cotangents(dict[int, Any]):
    """Cotangents of a function with several outputs, by the number of the output."""

    def __add__(self, other: "_Cotangents") -> "_Cotangents":
        return _Cotangents({**self, **other})


def _link_output(name: str, i: int) -> Operation:
    """Make the operation that links one of several outputs to the node of the function."""
    return Operation(name, (lambda g: _Cotangents({i: g}),))


def _shape_and_dtype(x: object) -> tuple[Shape, np.dtype[Any]] | None:
    """Return the shape and dtype of the cotangent of an argument or a result; None for anything but a tensor."""
    return (x.shape, x.dtype) if isinstance(x, Variable) else None


class FunctionCall(Operation):
    """Call of a custom function, recorded in the graph like an operation."""

    def __init__(self, function: "type[Function]", ctx: Context, args: tuple[Any, ...], outs: tuple[Any, ...]) -> None:
        self.function, self.ctx = function, ctx
        self.input_forms, self.output_forms = [*map(_shape_and_dtype, args)], [*map(_shape_and_dtype, outs)]
        places = [*enumerate(args), *((OUT, out) for out in outs)]
        self.name = f"{function.__name__}Backward"
        self.frees = bool(ctx.saved_tensors)
        self.saves = [f"saved tensor {k}" for k in range(len(ctx.saved_tensors))]
        self.origins = [next((place for place, x in places if x is s), None) for s in ctx.saved_tensors]

    @property
    def vjps(self) -> Vjps:  # type: ignore[override] # read alike
        """The vjps of the arguments, new for each visit: the first one called runs ``backward`` for all."""
        latest: list[Any] = [None]  # a cotangent, and what ``backward`` made of it

        def pull(i: int, g: Any, *saved: Any) -> Any:
            parts = g if isinstance(g, _Cotangents) else {0: g}
            if latest[0] is not g:
                self.ctx.saved_tensors = tuple(map(as_tensor, saved))
                gs = (parts[k] if k in parts else form and np.zeros(*form) for k, form in enumerate(self.output_forms))
                latest[:] = g, *self.check_gradients(self.function.backward(self.ctx, *map(as_tensor, gs)))
                self.ctx.saved_tensors = ()
            x = latest[1 + i]
            return x if x is None or any(isinstance(p, Variable) for p in parts.values()) else x.value

        return tuple(partial(pull, i) for i in range(len(self.input_forms)))

    def check_gradients(self, found: Tensor | tuple[Tensor | None, ...] | None) -> tuple[Any, ...]:
        """Refuse gradients that do not fit the inputs, and convert those of another dtype."""
        results: list[Any] = list(found) if isinstance(found, tuple) else [found]
        if len(results) != len(self.input_forms):
            raise AutogradError(
                f"{self.function.__name__}.backward must return one gradient for each of the {len(self.input_forms)} "
                f"arguments of forward, but it returned {len(results)}. Return None for an argument without a gradient."
            )
        for i, (x, takes) in enumerate(zip(results, self.input_forms, strict=True)):
            if x is None or takes is None:
                continue
            if not isinstance(x, Variable):
                raise AutogradError(
                    f"{self.function.__name__}.backward must return tensors, or None, but for input {i} it returned a "
                    f"{type(x).__name__}. Compute it from the tensors that backward is given."
                )
            shape, dtype = takes
            if x.shape != shape:
                raise AutogradError(
                    f"{self.function.__name__}.backward must return gradients of the shapes of the inputs, but the one "
                    f"for input {i} has {x.shape}, the input has {shape}. Sum over what was broadcast, or transpose."
                )
            results[i] = cast_to(x, dtype)  # type: ignore[arg-type] # Tensor is the only Variable
        return tuple(results)


class Function:
    """Custom operation with its own gradient: subclass it, and call ``apply``.

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
        live = [_shape_and_dtype(x) and x.dtype.kind == "f" and all(x is not c for c in ctx.constants) for x in outs]
        if not (any(parents) and any(live) and grad_mode.is_grad_enabled()):
            return result
        call, saved = FunctionCall(cls, ctx, args, outs), tuple(getattr(s, "value", None) for s in ctx.saved_tensors)
        ctx.saved_tensors = ()  # the node has them, and frees them
        if len(outs) == 1:
            out = record(call, outs[0].value, parents, saved)
            return (out,) if isinstance(result, tuple) else out
        node = Node(call, parents, saved)
        return tuple(
            record(_link_output(call.name, i), x.value, (node,), ()) if live[i] else x for i, x in enumerate(outs)
        )
