"""How ``jupyter_client`` comes by a kernel here: in a sandbox of its own, warm where that is possible, or beside us."""

import json
import sys
from typing import Any

from jupyter_client.manager import KernelManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

from course_grader.grading.learner_side import bootstrap
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.sandbox.processes import Beside, Inside, Started
from course_grader.grading.warm_start.zygote_client import Unavailable, Zygote

__all__ = ["KernelProvisioner", "kernel_manager"]


class KernelProvisioner(LocalProvisioner):
    """Start :mod:`course_grader.grading.learner_side.bootstrap` in the sandbox, or without one.

    With a ``zygote`` the kernel is forked from that; where it cannot be, it is started as it would be without one.
    """

    sandbox: str
    limits: Limits
    folder: str
    home: str
    zygote: Zygote | None = None
    warm = False
    process: Any = None  # a Started, while there is one

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the process."""
        connection_file = cmd[cmd.index("-f") + 1]
        self.process = self._start(connection_file, cwd=kwargs["cwd"])
        self.pid = self.pgid = self.process.pid
        return self.connection_info

    def _start(self, connection_file: str, *, cwd: str) -> Started:
        if self.sandbox == BUBBLEWRAP and self.zygote is not None:
            try:
                process = self.zygote.fork(connection_file, limits=self.limits, folder=self.folder)
            except Unavailable:
                pass
            else:
                self.warm = True
                return process
        script = [sys.executable, "-I", "-X", "frozen_modules=off", str(bootstrap.__file__)]
        script += [json.dumps(self.limits.rlimits()), connection_file]
        if self.sandbox == BUBBLEWRAP:
            return Inside(script, limits=self.limits, folder=self.folder, home=self.home)
        return Beside(script, home=self.home, cwd=cwd)

    def use(self) -> tuple[int, int]:
        """Return how many processes and bytes of memory the sandbox uses; outside one nobody can tell."""
        return self.process.use(enough=self.limits.held_bytes) if self.process is not None else (0, 0)

    def waited_seconds(self) -> float:
        """Return how long it was ready to run and had no processor; outside a sandbox nobody can tell."""
        return self.process.waited_seconds() if self.process is not None else 0.0

    def end(self) -> None:
        """Kill the kernel and, in a sandbox, everything it started; return when all of it is gone."""
        process, self.process = self.process, None
        if process is not None:
            process.end()


def kernel_manager(folder: str, *, context: Any, **how: Any) -> Any:
    """Return a manager of a kernel whose sockets and connection file lie in ``folder``.

    Parameters
    ----------
    folder : str
        Its path must be short: those of sockets hold 107 bytes at most.
    context : zmq.Context
        Whose sockets connect to it.
    **how
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
    for name, value in {"folder": folder, **how}.items():
        setattr(manager.provisioner, name, value)
    return manager
