"""Whether operations are recorded: ``no_grad``, ``enable_grad``, and the observers of each new node."""

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]

recording = True
observers: list[Callable[[Any], None]] = []  # each is called with every new tensor that has a node


class GradMode(ContextDecorator):
    """A block, or a decorated function, in which operations are recorded or not."""

    mode: bool

    def __new__(cls, func: Any = None, **_: Any) -> Any:
        return cls()(func) if callable(func) else super().__new__(cls)  # ``@no_grad`` is ``@no_grad()``

    def __init__(self) -> None:
        self.outer: list[bool] = []  # one item for each time it was entered: a decorated function may call itself

    def __enter__(self) -> None:
        global recording
        self.outer.append(recording)
        recording = self.mode

    def __exit__(self, *_: object) -> None:
        global recording
        recording = self.outer.pop()


class no_grad(GradMode):  # noqa: N801 - torch's name
    """Record nothing in this block or decorated function: results do not require gradients.

    Examples
    --------
    >>> from course_lib.autograd import no_grad, tensor
    >>> x = tensor(2.0, requires_grad=True)
    >>> with no_grad():
    ...     y = x * x
    >>> y
    tensor(4.)
    """

    mode = False


class enable_grad(GradMode):  # noqa: N801 - torch's name
    """Record again, inside a ``no_grad`` block."""

    mode = True


class set_grad_enabled(GradMode):  # noqa: N801 - torch's name
    """Record or not, as ``mode`` says, from here on or, used with ``with``, until the block ends."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        super().__enter__()

    def __enter__(self) -> None:
        global recording
        recording = self.mode

    def __call__(self, func: Any) -> Any:
        """Decorate a function: nothing changes until it is called."""
        self.__exit__()
        return (enable_grad if self.mode else no_grad)()(func)


def is_grad_enabled() -> bool:
    """Say whether operations are being recorded."""
    return recording
