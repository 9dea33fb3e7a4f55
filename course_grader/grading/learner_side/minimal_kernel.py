"""IPython kernel reduced to what grading needs: each message takes time here and in the grader.

Loaded where the learner's code runs, by the process that is to become a kernel.
"""

from collections.abc import Callable

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.compilerop import CachingCompiler
from IPython.core.profiledir import ProfileDir
from traitlets import DottedObjectName, Type
from traitlets.config import Config

from course_grader.grading.learner_side.lazy_stream import LazyStream

__all__ = ["MinimalApp", "MinimalKernel", "MinimalShell", "make_shell"]

EXIT_MESSAGE = "`exit()` and `quit()` would end the notebook here: take them out"


class MinimalShell(ZMQInteractiveShell):
    """An IPython shell that transforms a cell once, where ipykernel and IPython each do so before it runs.

    And one that ``exit`` and ``quit`` do not end, since that would be blamed on the cell that comes next.
    """

    transformed: tuple[str, str] | None = None  # the last cell, before and after

    def transform_cell(self, raw_cell: str) -> str:
        """Return the cell as Python, which it already is but for IPython's own syntax."""
        last, self.transformed = self.transformed, None
        if last is not None and last[0] == raw_cell:
            return last[1]
        transformed: str = super().transform_cell(raw_cell)  # type: ignore[no-untyped-call] # IPython has few types
        self.transformed = raw_cell, transformed
        return transformed

    def ask_exit(self) -> None:
        """Raise SystemExit in the cell that calls ``exit``."""
        raise SystemExit(EXIT_MESSAGE)


class MinimalKernel(IPythonKernel):
    """A kernel that neither announces that it is busy nor repeats what it is to run, and counts its broadcasts."""

    shell_class = Type(MinimalShell)
    # ipykernel's own names a cell after a file that a debugger could open, by a hash in plain Python.
    compiler_class = Type(CachingCompiler)  # type: ignore[assignment] # the one it is derived from
    broadcasts = 0
    _execute_sleep = 0  # half a millisecond after each cell, for clients that do not wait for it to be idle
    shell: MinimalShell

    def __init__(self, **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[no-untyped-call]
        self.shell.kernel = self.shell.parent = self  # the shell was there first
        self.shell.profile_dir = self.profile_dir
        self._broadcast: Callable[..., None] = self.iopub_thread.send_multipart
        self.iopub_thread.send_multipart = self._count_and_broadcast  # where everything passes, from whatever thread

    def _count_and_broadcast(self, *args: object, **kwargs: object) -> None:
        self.broadcasts += 1
        self._broadcast(*args, **kwargs)

    def _publish_status(self, status: str, *args: object, **kwargs: object) -> None:
        if status == "busy":  # the next request follows
            self.shell.transformed = None
        else:
            super()._publish_status(status, *args, **kwargs)  # type: ignore[no-untyped-call]

    def _publish_execute_input(self, *args: object, **kwargs: object) -> None:
        pass


def make_shell(config: Config) -> None:
    """Make the kernel's shell, before there is a kernel: it starts nothing and opens nothing.

    Parameters
    ----------
    config : Config
        The kernel's.
    """
    MinimalShell.instance(config=config, profile_dir=ProfileDir(), user_ns={}, compiler_class=CachingCompiler)


class MinimalApp(IPKernelApp):
    """Kernel application configured by its caller alone: a command line and files are four tenths of a start."""

    kernel_class = Type(MinimalKernel)
    outstream_class = DottedObjectName(f"{LazyStream.__module__}.{LazyStream.__qualname__}")

    def parse_command_line(self, argv: object = None) -> None:
        """Read no command line."""

    def load_config_file(self, *args: object, **kwargs: object) -> None:
        """Read no configuration file."""

    def init_heartbeat(self) -> None:
        """Start no heartbeat: the grader holds the process itself."""
