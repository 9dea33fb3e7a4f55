"""Run a step, and pass each operation of torch in it to a function."""

from collections.abc import Callable
from typing import Any

from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["check_step", "each_operation"]


def each_operation(call: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a context in which ``call(op, args, kwargs)`` runs in place of each operation, and returns its result."""
    mode = load("torch.utils._python_dispatch", extra="torch").TorchDispatchMode

    class Each(mode):  # type: ignore[misc, valid-type] # loaded late
        supports_higher_order_operators = True

        def __torch_dispatch__(self, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return call(op, args, kwargs or {})

    return Each()


def check_step(step: Any) -> None:
    """Refuse what cannot be called, such as the result of a step that was called already."""
    if not callable(step):
        raise InputError(
            f"step must be a function that runs one step, but got a {type(step).__name__}. Pass it uncalled."
        )
