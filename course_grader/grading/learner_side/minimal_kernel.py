"""ipykernel's kernel, without what nobody here asks it for: each message takes time here and in the grader.

Loaded where the learner's code runs, by the process that is to become a kernel.
"""

from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.compilerop import CachingCompiler
from IPython.core.profiledir import ProfileDir
from traitlets import DottedObjectName, Type

from course_grader.grading.learner_side.lazy_stream import Stream

__all__ = ["App", "Kernel", "Shell", "prepare"]

EXIT = "`exit()` and `quit()` would end the notebook here: take them out"


class Shell(ZMQInteractiveShell):
    """An IPython shell that transforms a cell once, where ipykernel and IPython each do so before it runs.

    And one that ``exit`` and ``quit`` do not end, since that would be blamed on the cell that comes next.
    """

    known: tuple[str, str] | None = None

    def transform_cell(self, raw_cell: str) -> str:
        """Return the cell as Python, which it already is but for IPython's own syntax."""
        known, self.known = self.known, None
        if known is not None and known[0] == raw_cell:
            return known[1]
        transformed: str = super().transform_cell(raw_cell)  # type: ignore[no-untyped-call] # IPython has few types
        self.known = raw_cell, transformed
        return transformed

    def ask_exit(self) -> None:
        """Fail in the cell that asks for it."""
        raise SystemExit(EXIT)


class Kernel(IPythonKernel):
    """A kernel that does not say that it is busy, nor repeats what it is to run; it counts what else it says."""

    shell_class = Type(Shell)
    # ipykernel's own names a cell after a file that a debugger could open, by a hash in plain Python.
    compiler_class = Type(CachingCompiler)  # type: ignore[assignment] # the one it is derived from
    broadcasts = 0
    _execute_sleep = 0  # half a millisecond after each cell, for clients that do not wait for it to be idle
    shell: Shell

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self.shell.kernel = self.shell.parent = self  # the shell was there first
        self.shell.profile_dir = self.profile_dir
        self._broadcast = self.iopub_thread.send_multipart
        self.iopub_thread.send_multipart = self._count  # where everything passes, from whatever thread

    def _count(self, *args: Any, **kwargs: Any) -> Any:
        self.broadcasts += 1
        return self._broadcast(*args, **kwargs)

    def _publish_status(self, status: str, *args: Any, **kwargs: Any) -> None:
        if status == "busy":  # whatever was asked comes next
            self.shell.known = None
        else:
            super()._publish_status(status, *args, **kwargs)  # type: ignore[no-untyped-call]

    def _publish_execute_input(self, *args: Any, **kwargs: Any) -> None:
        pass


def prepare(config: Any) -> None:
    """Make the shell, before there is a kernel to give it to: it starts nothing and opens nothing.

    Parameters
    ----------
    config : traitlets.config.Config
        The one that the kernel is to have.
    """
    Shell.instance(config=config, profile_dir=ProfileDir(), user_ns={}, compiler_class=CachingCompiler)


class App(IPKernelApp):
    """Configured by its caller alone: command line and files take four tenths of the time a kernel takes to start."""

    kernel_class = Type(Kernel)
    outstream_class = DottedObjectName(f"{Stream.__module__}.{Stream.__qualname__}")

    def parse_command_line(self, argv: Any = None) -> None:
        """Read none."""

    def load_config_file(self, *args: Any, **kwargs: Any) -> None:
        """Read none."""

    def init_heartbeat(self) -> None:
        """Start none: the grader holds the process itself."""
