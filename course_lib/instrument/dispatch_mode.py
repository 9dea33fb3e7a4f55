"""Intercept every operation of torch with a dispatch mode."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from inspect import signature
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.extras import load
from course_lib.instrument.module_calls import PROCESS_LOCK

if TYPE_CHECKING:
    from torch._ops import OpOverload

__all__ = ["check_step", "intercept_operations"]


@contextmanager
def intercept_operations(call: "Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], object]") -> Iterator[None]:
    """Intercept each operation inside: ``call(op, args, kwargs)`` runs in its place, and returns its result.

    What torch.compile has made would not pass through here, and what it met here first it would never compile again: so
    all runs as it is written, and what is compiled runs compiled again afterwards.
    """
    torch = load("torch", extra="torch")
    mode = load("torch.utils._python_dispatch", extra="torch").TorchDispatchMode

    class Intercept(mode):  # type: ignore[misc, valid-type] # loaded late
        supports_higher_order_operators = True

        def __torch_dispatch__(
            self, op: "OpOverload", types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> object:
            return call(op, args, kwargs or {})

    compiles = "torch._dynamo" in sys.modules  # else nothing is compiled yet, and its import takes a second
    with PROCESS_LOCK, torch.compiler.set_stance("force_eager") if compiles else nullcontext(), Intercept():
        yield


def check_step(step: Any) -> None:
    """Refuse a step that cannot be called without arguments, such as the result of one that was called already."""
    if not callable(step):
        raise InputError(
            f"step must be a function that runs one step, but got a {type(step).__name__}. Pass it uncalled."
        )
    module = hasattr(step, "named_parameters") and not isinstance(step, type)
    if needed := _required_arguments(step.forward if module else step):  # a module's own __call__ takes anything
        name = getattr(step, "__name__", type(step).__name__)
        raise InputError(
            f"step must run without arguments, but {name} needs {', '.join(needed)}. Pass a function that gives it "
            "what it needs, and goes on to backward(): def step(): ..."
        )


def _required_arguments(function: Callable[..., object]) -> list[str]:
    """List the arguments without which a function cannot be called; none where that cannot be told."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
