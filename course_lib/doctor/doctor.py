"""Watch a training loop from outside, and report what is wrong with it."""

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from course_lib.doctor.loop.loop_hooks import drop_own_frames
from course_lib.doctor.loop.loop_watcher import LoopWatcher
from course_lib.doctor.report.assemble import assemble_report
from course_lib.doctor.report.report import Report
from course_lib.errors import MonitorError

if TYPE_CHECKING:
    import torch

__all__ = ["Doctor"]

OWN_CODE = str(Path(__file__).parent)


class Doctor:
    """Watcher of a training loop, made by :func:`watch`: a context manager, whose :meth:`report` says what it saw.

    Parameters
    ----------
    loss_fn : callable, optional
        As :func:`watch` takes it.
    write_to : Path, optional
        Where the report is written when the block ends.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.Linear(4, 1)
    >>> with (doctor := Doctor()):
    ...     doctor.add(optimizer := torch.optim.SGD(model.parameters(), lr=0.1), model)
    ...     for _ in range(5):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(2, 4)).square().mean().backward()
    ...         optimizer.step()
    >>> doctor.report().steps
    5
    """

    def __init__(self, loss_fn: Any = None, *, write_to: Path | None = None) -> None:
        self._watcher, self._write_to = LoopWatcher(loss_fn), write_to
        self._report: Report | None = None
        self._entered = False

    def add(self, optimizer: "torch.optim.Optimizer", model: "torch.nn.Module") -> None:
        """Watch an optimizer and the calls of its model, even one that is made inside the block.

        Raises
        ------
        InputError
            If it steps no parameter of the model.
        """
        self._watcher.add(optimizer, model)

    def note(self, name: str, words: str) -> None:
        """Say in the report what could not be seen."""
        self._watcher.notes[name] = words

    def __enter__(self) -> Self:
        if self._entered:
            raise MonitorError("a loop is watched once, but this block was entered before. Call watch(...) again.")
        self._entered = True
        self._watcher.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._watcher.end()
        self._report = assemble_report(self._watcher)
        if error is not None:
            drop_own_frames(error, trace, own=OWN_CODE)
        if self._write_to is not None:
            self._report.write(self._write_to)

    def report(self) -> Report:
        """Return what was seen so far; after the block, of all of it."""
        return self._report if self._report is not None else assemble_report(self._watcher)
