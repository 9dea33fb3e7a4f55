"""Connection to one kernel process: Jupyter's channels, and a socket channel for values.

Limits of time and output are checked by :class:`course_grader.grading.kernel.kernel.Kernel`.
"""

import shutil
import tempfile
from pathlib import Path

import zmq

from course_grader.grading.kernel.provisioner import KernelProvisioner, make_kernel_manager
from course_grader.grading.protocol.jupyter_messages import Message, Reply, make_context, receive_message
from course_grader.grading.protocol.socket_channel import SocketChannel
from course_grader.grading.sandbox import scratch_dirs
from course_grader.grading.sandbox.limits import Limits, StopCause
from course_grader.grading.warm_start.zygote_client import Zygote

__all__ = ["Connection"]


class Connection:
    """Start a kernel process and open the sockets to it.

    Parameters
    ----------
    limits, sandbox, zygote, cwd
        As for :class:`course_grader.grading.kernel.kernel.Kernel`.

    Attributes
    ----------
    manager, client
        Jupyter's.
    provisioner : KernelProvisioner
        The manager's, which holds the process.
    channel : SocketChannel
        For requests that Jupyter has no message for.
    """

    def __init__(self, *, limits: Limits, sandbox: str, zygote: Zygote | None, cwd: Path | None) -> None:
        self._folder = tempfile.mkdtemp(prefix="k", dir=zygote.folder if zygote else scratch_dirs.short_folder())
        self._home, self._limits = tempfile.mkdtemp(dir=scratch_dirs.own_folder()), limits
        self._context = make_context(limits.message_bytes)
        self.channel = SocketChannel(Path(self._folder), most_bytes=limits.message_bytes)
        settings = {"sandbox": sandbox, "limits": limits, "zygote": zygote, "home": self._home}
        self.manager = make_kernel_manager(self._folder, context=self._context, **settings)
        assert isinstance(self.manager.provisioner, KernelProvisioner)
        self.provisioner = self.manager.provisioner
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

    def finish_start(self) -> None:
        """Accept the socket channel and remove the folder of sockets, once the kernel has answered.

        Nobody needs the paths after that. A removed directory takes no new files, so from here on the learner's
        code can write nowhere but in its own memory.
        """
        self.channel.accept()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def is_warm(self) -> bool:
        """Whether the process was forked from the zygote."""
        return self.provisioner.is_warm

    def find_lost_connection(self) -> StopCause | None:
        """Return what the kernel did to lose a connection, or None if it has them all."""
        if self.channel.is_refused or any(monitor.poll(0) for monitor in self._monitors):
            return StopCause.MESSAGE
        return StopCause.CLOSED_CONNECTION if self.channel.is_closed else None

    def receive_broadcast(self, seconds: float) -> Message:
        """Return the next broadcast; like the others, raise Empty if none comes in time, and anything if malformed."""
        return receive_message(self.client.iopub_channel.socket, self.client.session, seconds)

    def has_broadcast(self) -> bool:
        """Return whether there is a broadcast to be read."""
        return bool(self.client.iopub_channel.msg_ready())

    def receive_reply(self, seconds: float) -> Reply:
        """Return the next reply to what was executed."""
        message = receive_message(self.client.shell_channel.socket, self.client.session, seconds)
        return {"id": message["parent_header"].get("msg_id"), "content": message["content"]}

    def receive_answer(self, seconds: float) -> Reply:
        """Return the next answer of the socket channel, in the same form."""
        message = self.channel.receive(seconds)
        return {"id": message.get("id"), "content": message}

    def close(self) -> None:
        """Kill the process and everything it started, and close the connections."""
        self.client.stop_channels()
        self.channel.close()
        self.provisioner.end()
        self.manager.cleanup_resources()
        self._context.destroy(linger=0)
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._home, ignore_errors=True)
