"""A kernel for one submission: nbval's, but in a sandbox, against a clock, and noticed when it dies.

nbval waits out a cell's timeout when the kernel is dead, and by default that is 2000 seconds. Here the process is
looked at while waiting, and the first thing that goes wrong ends the submission.
"""

import shutil
import tempfile
import time
from pathlib import Path
from queue import Empty
from typing import Any, NoReturn

import zmq
from jupyter_client.manager import KernelManager
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager, RunningKernel

from course_lib.grading.limits import Limits
from course_lib.grading.sandbox import BUBBLEWRAP, KernelProvisioner

__all__ = ["Kernel", "Stopped"]

POLL_SECONDS = 0.2


class Stopped(Exception):  # noqa: N818 - it is the name of a state: once stopped, the kernel stays stopped
    """The kernel is gone, and why, in words for the learner."""


class Kernel(RunningKernel):  # type: ignore[misc] # nbval has no type information
    """Start a kernel for untrusted code and speak to it through nbval's interface.

    Parameters
    ----------
    limits : Limits
        What the submission may use.
    sandbox : {"bubblewrap", "none"}
        Where it runs.
    cwd : Path, optional
        Working directory without a sandbox; inside one it is always an empty home.

    Raises
    ------
    Stopped
        From any method that waits for the kernel, once it is dead, late, or has said too much.
    """

    def __init__(self, *, limits: Limits, sandbox: str = BUBBLEWRAP, cwd: Path | None = None) -> None:
        self.limits, self.stopped = limits, ""
        self._deadline = time.monotonic() + limits.total_seconds
        self._heard_bytes = 0
        # Socket paths hold 107 bytes at most, so not under TMPDIR, which can be long.
        self._folder = tempfile.mkdtemp(prefix="k", dir="/tmp")
        self._context = zmq.Context()
        self._context.setsockopt(zmq.MAXMSGSIZE, limits.message_bytes)
        self._context.setsockopt(zmq.LINGER, 0)
        self.km = self._manager(sandbox)
        self.km.start_kernel(cwd=None if cwd is None else str(cwd))
        self.kc = self.km.client()
        self.kc.start_channels(stdin=False, hb=False, control=False)
        try:
            self._await_start()
        except BaseException:
            self.stop()
            raise
        # Once connected nobody needs the paths. A removed directory takes no new files, so from here on the learner's
        # code can write nowhere but in its own memory.
        shutil.rmtree(self._folder, ignore_errors=True)

    def _manager(self, sandbox: str) -> Any:
        manager = KernelManager(
            kernel_name=CURRENT_ENV_KERNEL_NAME,
            kernel_spec_manager=NbvalKernelspecManager(),
            context=self._context,
            transport="ipc",
            ip=f"{self._folder}/s",
            connection_file=f"{self._folder}/c.json",
        )
        provisioner = KernelProvisioner(kernel_spec=manager.kernel_spec, parent=manager)
        provisioner.sandbox, provisioner.limits, provisioner.folder = sandbox, self.limits, self._folder
        manager.provisioner = provisioner
        return manager

    def _await_start(self) -> None:
        give_up = time.monotonic() + self.limits.start_seconds
        while time.monotonic() < give_up:
            msg_id = self.kc.kernel_info()
            try:
                super().await_reply(msg_id, timeout=1)
                super().await_idle(msg_id, timeout=1)
            except Empty:
                self._check_alive()
            else:
                return
        self.fail(f"the kernel did not start within {self.limits.start_seconds:g} s")

    def _check_alive(self) -> None:
        if not self.is_alive():
            self.fail("the kernel died: something ended the Python process (sys.exit, too much memory, a crash)")

    def fail(self, reason: str) -> NoReturn:
        """Kill the kernel for good and say why."""
        self.stopped = self.stopped or reason
        self.stop()
        raise Stopped(self.stopped)

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Send code to run; return the id of the request."""
        if self.stopped:
            raise Stopped(self.stopped)
        self._heard_bytes = 0
        return str(super().execute_cell_input(cell_input, allow_stdin=False))

    def await_reply(self, msg_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the reply to one request, no longer than a cell or the rest of the notebook may take."""
        start, allowed = time.monotonic(), timeout or self.limits.cell_seconds
        while (now := time.monotonic()) < min(start + allowed, self._deadline):
            try:
                message = self.kc.get_shell_msg(timeout=POLL_SECONDS)
            except Empty:
                self._check_alive()
                continue
            except Exception:
                self.fail("the kernel sent a message that cannot be read")
            if message["parent_header"].get("msg_id") == msg_id:
                return dict(message["content"])
        if now >= self._deadline:
            self.fail(f"the notebook as a whole did not finish within {self.limits.total_seconds:g} s")
        self.fail(f"it did not finish within {allowed:g} s")

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message of one stream, counting what the learner's code prints."""
        try:
            message: dict[str, Any] = super().get_message(stream, timeout=timeout)
        except Empty:
            self._check_alive()
            raise
        except Exception:
            self.fail("the kernel sent a message that cannot be read")
        if stream == "iopub" and message["msg_type"] == "stream":
            self._heard_bytes += len(message["content"].get("text", ""))
            if self._heard_bytes > self.limits.output_bytes:
                self.fail(f"it printed more than {self.limits.output_bytes:,} characters")
        return message

    def stop(self) -> None:
        """Kill the kernel and everything it started, and close the connection."""
        self.kc.stop_channels()
        if self.km.has_kernel:
            self.km.shutdown_kernel(now=True)
        self.km.cleanup_resources()
        self._context.destroy(linger=0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self.stopped:
            self.stop()
