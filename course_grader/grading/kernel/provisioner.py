"""Provisioner for ``jupyter_client``: start a kernel in a sandbox, forked from a zygote where that is possible."""

import json
import sys
from typing import Any

import zmq
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from course_grader.grading.learner_side import bootstrap
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.sandbox.processes import KernelProcess, Sandboxed, Unsandboxed
from course_grader.grading.warm_start.zygote_client import Zygote, ZygoteUnavailable

__all__ = ["KernelProvisioner", "make_kernel_manager"]


class KernelProvisioner(LocalProvisioner):
    """Start :mod:`course_grader.grading.learner_side.bootstrap` in the sandbox, or without one.

    With a ``zygote`` the kernel is forked from that; where it cannot be, it is started as it would be without one.
    """

    sandbox: str
    limits: Limits
    folder: str
    home: str
    zygote: Zygote | None = None
    is_warm = False
    process: KernelProcess | None = None  # type: ignore[assignment] # not always a Popen

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start the process."""
        connection_file = cmd[cmd.index("-f") + 1]
        self.process = process = self._start(connection_file, cwd=kwargs["cwd"])
        self.pid = self.pgid = process.pid
        return self.connection_info

    def _start(self, connection_file: str, *, cwd: str) -> KernelProcess:
        if self.sandbox == BUBBLEWRAP and self.zygote is not None:
            try:
                process = self.zygote.fork(connection_file, limits=self.limits, folder=self.folder)
            except ZygoteUnavailable:
                pass
            else:
                self.is_warm = True
                return process
        script = [sys.executable, "-I", "-X", "frozen_modules=off", str(bootstrap.__file__)]
        script += [json.dumps(self.limits.rlimits()), connection_file]
        if self.sandbox == BUBBLEWRAP:
            return Sandboxed(script, limits=self.limits, folder=self.folder, home=self.home)
        return Unsandboxed(script, home=self.home, cwd=cwd)

    def measure_use(self) -> tuple[int, int]:
        """Return how many processes and bytes of memory the sandbox uses; without one, zeros."""
        return self.process.measure_use(enough=self.limits.held_bytes) if self.process is not None else (0, 0)

    def measure_wait_seconds(self) -> float:
        """Return how long it was ready to run and had no processor; without a sandbox, zero."""
        return self.process.measure_wait_seconds() if self.process is not None else 0.0

    def end(self) -> None:
        """Kill the kernel and, in a sandbox, everything it started; return when all of it is gone."""
        process, self.process = self.process, None
        if process is not None:
            process.end()


def make_kernel_manager(folder: str, *, context: zmq.Context[Any], **settings: object) -> KernelManager:
    """Return a manager of a kernel whose sockets and connection file lie in ``folder``.

    Parameters
    ----------
    folder : str
        Its path must be short: those of sockets hold 107 bytes at most.
    context : zmq.Context
        Whose sockets connect to it.
    **settings
        The attributes of its :class:`KernelProvisioner`.
    """
    manager = KernelManager(
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_spec_manager=NbvalKernelspecManager(),
        context=context,
        transport="ipc",
        ip=f"{folder}/s",
        connection_file=f"{folder}/c.json",
    )
    manager.provisioner = KernelProvisioner(kernel_spec=manager.kernel_spec, parent=manager)
    for name, value in {"folder": folder, **settings}.items():
        setattr(manager.provisioner, name, value)
    return manager
