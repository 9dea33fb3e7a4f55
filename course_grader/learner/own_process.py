"""Run a notebook's cells, and call its functions, in this very process: to mark oneself, never to grade.

The cells run in a namespace of their own, as after a restart: nothing that was defined in the open notebook is there.
"""

import contextlib
import importlib
import io
import linecache
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from course_grader.grading.exercises.name_analysis import strip_magics
from course_grader.grading.learner_side.handle_request import handle_request
from course_grader.grading.sandbox.by_hand import refuse_imports
from course_grader.grading.sandbox.limits import KernelStopped, Limits, Stop, StopCause

__all__ = ["OwnProcess", "find_shell"]

AGAIN_SECONDS = 1.0  # a loop around `except:` goes on after the first alarm


class _LateError(BaseException):
    """The time is over; what a learner's ``except Exception`` does not catch."""


class OwnProcess:
    """Stand in for the grader's kernel, without its protection.

    Parameters
    ----------
    limits : Limits
        Of which those of time hold, in the main thread of a system that has alarms, and ``by_hand``.

    Attributes
    ----------
    activity : str
        What is run, for messages.
    names : dict
        The notebook's.
    """

    def __init__(self, limits: Limits) -> None:
        self.activity = "its start"
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self._imports = refuse_imports if limits.by_hand else contextlib.nullcontext
        self._limits, self._deadline = limits, time.monotonic() + limits.total_seconds
        self._shell = find_shell()
        if self._shell is not None:
            self.names |= {
                "get_ipython": lambda: self._shell,
                "display": importlib.import_module("IPython.display").display,
            }

    def run_cell(self, name: str, source: str) -> str:
        """Run a cell and return what it printed; raise what it raises, or KernelStopped if it is late."""
        self.activity = f"the cell `{name}`"
        source = self._shell.transform_cell(source) if self._shell is not None else strip_magics(source)
        lines = source.splitlines(keepends=True)
        linecache.cache[name] = (len(source), None, lines, name)  # for who asks for the source of a function
        printed, code = io.StringIO(), compile(source, name, "exec")
        quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO())
        with quiet[0], quiet[1], self._imports(), _no_warnings(), self._time_limit():
            exec(code, self.names)  # noqa: S102 - the learner's own process
        return printed.getvalue()

    def request(self, content: dict[str, Any], /) -> dict[str, Any]:
        """Look up or call a name."""
        with self._imports(), _no_warnings(), self._time_limit():
            reply = handle_request(content, self.names)
        if reply.get("type") == "KeyboardInterrupt":  # whoever waits has had enough
            raise KeyboardInterrupt
        return reply

    @contextlib.contextmanager
    def _time_limit(self) -> Iterator[None]:
        """Raise KernelStopped for what takes longer than a cell, or the rest of the notebook, may take."""
        seconds, left = self._limits.cell_seconds, self._deadline - time.monotonic()
        if left <= 0:
            raise KernelStopped(Stop(StopCause.LATE_NOTEBOOK, self.activity, self._limits), later=True)
        if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
            yield
            return
        late = []

        def stop(number: int, frame: FrameType | None) -> None:
            late.append(number)
            raise _LateError

        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, min(seconds, left), AGAIN_SECONDS)
        try:
            yield
        except _LateError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        if late:
            raise KernelStopped(Stop(StopCause.LATE_CELL, self.activity, self._limits, min(seconds, left)))


def _no_warnings() -> contextlib.AbstractContextManager[object]:
    """Keep warnings quiet: the session may make them errors, which they are not where this is graded."""
    return warnings.catch_warnings(action="ignore")


def find_shell() -> Any:
    """Return IPython's shell if this is the process of a notebook; it knows the magics."""
    return importlib.import_module("IPython").get_ipython() if "IPython" in sys.modules else None
