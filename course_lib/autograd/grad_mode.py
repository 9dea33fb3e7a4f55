"""Switch recording on and off: ``no_grad``, ``enable_grad``, thread by thread, and the observers of new nodes."""

from collections.abc import Callable, Generator
from functools import wraps
from inspect import isgeneratorfunction
from threading import local
from typing import Any, ParamSpec, TypeVar

__all__ = ["enable_grad", "here", "is_grad_enabled", "no_grad", "set_grad_enabled", "unusual_modes"]

P = ParamSpec("P")
R = TypeVar("R")
Observer = Callable[[Any], None]


class _Mode:
    """Recording state of one thread, observers of new nodes, and the number of backward passes under way."""

    __slots__ = ("observers", "recording", "walks")

    def __init__(self) -> None:
        self.recording, self.walks = True, 0
        self.observers: tuple[Observer, ...] = ()

    def change(self, recording: bool, observers: tuple[Observer, ...]) -> None:
        """Set both, and note whether operations must look at the mode."""
        self.recording, self.observers = recording, observers
        if recording and not observers:
            unusual_modes.discard(self)
        else:
            unusual_modes.add(self)


class _Here(local):
    """The mode of the current thread."""

    def __init__(self) -> None:
        self.mode = _Mode()


here = _Here()
# while no thread's mode is in it, an operation need not ask for its own, which takes 50 ns
unusual_modes: set[_Mode] = set()


def is_grad_enabled() -> bool:
    """Return whether operations are recorded in this thread.

    Examples
    --------
    >>> from course_lib.autograd import is_grad_enabled, no_grad
    >>> with no_grad():
    ...     print(is_grad_enabled())
    False
    """
    return not unusual_modes or here.mode.recording


class _GradMode:
    """A block, or a decorated function, in which operations are recorded or not."""

    mode: bool

    def __new__(cls, func: Callable[..., Any] | None = None, **_: Any) -> Any:
        return cls()(func) if callable(func) else super().__new__(cls)  # ``@no_grad`` is ``@no_grad()``

    def __init__(self) -> None:
        self.outer: list[bool] = []  # one item for each time it was entered

    def __enter__(self) -> None:
        self.outer.append(here.mode.recording)
        _set_recording(self.mode)

    def __exit__(self, *_: object) -> None:
        _set_recording(self.outer.pop())

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function: each call has a block of its own, and a generator one for each step of its body."""
        block = type(self)

        @wraps(func)
        def steps(*args: P.args, **kwargs: P.kwargs) -> Any:
            return (yield from _run_generator(block, func(*args, **kwargs)))  # type: ignore[arg-type] # it is one

        @wraps(func)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            with block():
                return func(*args, **kwargs)

        return steps if isgeneratorfunction(func) else call


def _set_recording(recording: bool) -> None:
    """Record or not, in this thread."""
    here.mode.change(recording, here.mode.observers)


def _run_generator(block: type[_GradMode], generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a generator with each step in a block, so that the loop over it goes on as it would without."""
    resume, sent = generator.send, None
    while True:
        try:
            with block():
                item = resume(sent)
        except StopIteration as end:
            return end.value
        try:
            resume, sent = generator.send, (yield item)
        except BaseException as error:
            resume, sent = generator.throw, error


class no_grad(_GradMode):  # noqa: N801 - torch's name
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


class enable_grad(_GradMode):  # noqa: N801 - torch's name
    """Record again, inside a ``no_grad`` block.

    Examples
    --------
    >>> from course_lib.autograd import enable_grad, no_grad, tensor
    >>> x = tensor(1.0, requires_grad=True)
    >>> with no_grad(), enable_grad():
    ...     y = 2 * x
    >>> y.requires_grad
    True
    """

    mode = True


class set_grad_enabled(_GradMode):  # noqa: N801 - torch's name
    """Record or not, as ``mode`` says, from here on or, used with ``with``, until the block ends.

    Examples
    --------
    >>> from course_lib.autograd import set_grad_enabled, tensor
    >>> x = tensor(1.0, requires_grad=True)
    >>> with set_grad_enabled(False):
    ...     y = 2 * x
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode = mode
        super().__enter__()

    def __enter__(self) -> None:
        _set_recording(self.mode)

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function: nothing changes until it is called."""
        self.__exit__()
        return (enable_grad if self.mode else no_grad)()(func)
