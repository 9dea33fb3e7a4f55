"""One kernel's process, and all that is said to it and by it: Jupyter's channels, and the wire beside them.

Nothing here judges how long something takes or how much is said; that is for
:class:`course_grader.grading.kernel.kernel.Kernel`.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import zmq

from course_grader.grading.kernel.provisioner import kernel_manager
from course_grader.grading.protocol import jupyter_messages
from course_grader.grading.protocol.socket_channel import Wire
from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.limits import Limits
from course_grader.grading.warm_start.zygote_client import Zygote

__all__ = ["Connection"]


class Connection:
    """A process that is being started, and the sockets to it.

    Parameters
    ----------
    limits, sandbox, zygote, cwd
        As for :class:`course_grader.grading.kernel.kernel.Kernel`.

    Attributes
    ----------
    manager, client
        Jupyter's.
    wire : Wire
        For what Jupyter has no message for.
    """

    def __init__(self, *, limits: Limits, sandbox: str, zygote: Zygote | None, cwd: Path | None) -> None:
        self._folder = tempfile.mkdtemp(prefix="k", dir=zygote.folder if zygote else scratch_dirs.short())
        self._home, self._limits = tempfile.mkdtemp(dir=scratch_dirs.own()), limits
        self._context = jupyter_messages.context(limits.message_bytes)
        self.wire = Wire(Path(self._folder), most=limits.message_bytes)
        how = {"sandbox": sandbox, "limits": limits, "zygote": zygote, "home": self._home}
        self.manager = kernel_manager(self._folder, context=self._context, **how)
        self.client = self.manager.client(context=self._context)
        try:
            self.manager.start_kernel(cwd=str(cwd or self._home))
            self.client.load_connection_info(self.manager.get_connection_info())
            self.client.start_channels(stdin=False, hb=False, control=False)
            channels = (self.client.iopub_channel, self.client.shell_channel)
            self._monitors = [channel.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED) for channel in channels]
        except BaseException:
            self.close()
            raise

    def settle(self) -> None:
        """Do what can be done once the kernel has answered.

        Once connected nobody needs the paths. A removed directory takes no new files, so from here on the learner's
        code can write nowhere but in its own memory.
        """
        self.wire.accept()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def warm(self) -> bool:
        """Whether the process was forked from the zygote."""
        return bool(self.manager.provisioner.warm)

    def dropped(self) -> str:
        """Return what the kernel did to lose a connection, in words that follow a subject; or an empty string."""
        if self.wire.refused or any(monitor.poll(0) for monitor in self._monitors):
            return f"put out more than {self._limits.message_bytes >> 20} MiB at once"
        return "closed a connection that is not its own" if self.wire.closed else ""

    def broadcast(self, seconds: float) -> dict[str, Any]:
        """Return the next broadcast; like the others, raise Empty if none comes in time, and anything if malformed."""
        return jupyter_messages.receive(self.client.iopub_channel.socket, self.client.session, seconds)

    def has_broadcast(self) -> bool:
        """Say whether there is a broadcast to be read."""
        return bool(self.client.iopub_channel.msg_ready())

    def reply(self, seconds: float) -> dict[str, Any]:
        """Return the next reply to what was executed: the ``id`` of the request, and the ``content``."""
        message = jupyter_messages.receive(self.client.shell_channel.socket, self.client.session, seconds)
        return {"id": message["parent_header"].get("msg_id"), "content": message["content"]}

    def answer(self, seconds: float) -> dict[str, Any]:
        """Return the next answer over the wire, in the same form."""
        message = self.wire.receive(seconds)
        return {"id": message.get("id"), "content": message}

    def close(self) -> None:
        """Kill the process and everything it started, and close the connections."""
        self.client.stop_channels()
        self.wire.close()
        self.manager.provisioner.end()
        self.manager.cleanup_resources()
        self._context.destroy(linger=0)
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._home, ignore_errors=True)
