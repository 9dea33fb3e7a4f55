"""A kernel for one submission: nbval's, but in a sandbox, against a clock, and noticed when it dies.

nbval waits out a cell's timeout when the kernel is dead, and by default that is 2000 seconds. Here the process is
looked at while waiting, and what goes wrong ends it. The next thing asked of it gets a new one in which the cells that
came to an end have run again, so that one endless loop costs what depends on it and no more.
"""

import shutil
import tempfile
import time
from collections import deque
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from nbval.kernel import RunningKernel

from course_lib.grading import messages, watch
from course_lib.grading.child import REQUEST
from course_lib.grading.limits import Limits, Stopped
from course_lib.grading.provisioner import kernel_manager
from course_lib.grading.sandbox import BUBBLEWRAP, WARM
from course_lib.grading.warm import Zygote

__all__ = ["Kernel", "Stopped"]

POLL_SECONDS, LOOK_SECONDS = 0.1, 0.25
IDLE_SECONDS, OUTPUT_SECONDS, DYING_SECONDS = 5.0, 20.0, 3.0
PILE = 4  # messages of the largest size that may lie unread
SHORT = "/tmp"  # noqa: S108 - mkdtemp makes a folder there that nobody else may enter


class Kernel(RunningKernel):  # type: ignore[misc] # nbval has no type information
    """A kernel for untrusted code, with nbval's interface.

    Parameters
    ----------
    limits : Limits
        What the submission may use.
    sandbox : {"bubblewrap", "none"}
        Where it runs.
    zygote : Zygote, optional
        What to fork it from in a sandbox, rather than start a new interpreter.
    cwd : Path, optional
        Working directory without a sandbox, by default an empty home; inside one it is always that.

    Raises
    ------
    Stopped
        From any method that waits for the kernel, once it is dead, late, or has said too much.
    """

    def __init__(
        self, *, limits: Limits, sandbox: str = BUBBLEWRAP, zygote: Zygote | None = None, cwd: Path | None = None
    ) -> None:
        self.limits, self._sandbox, self._zygote, self._cwd = limits, sandbox, zygote, cwd
        self._deadline = time.monotonic() + limits.total_seconds
        self.stopped, self.stops, self._kept = "", list[str](), list[str]()
        self.doing, self._started, self._cold = "its start", False, False
        self._heard, self._look_again, self._over = deque[dict[str, Any]](), 0.0, 0.0
        self._start()

    def _start(self) -> None:
        self._started = False
        self._hush()
        # Socket paths hold 107 bytes at most, so not under TMPDIR, which can be long.
        self._folder = tempfile.mkdtemp(prefix="k", dir=self._zygote.folder if self._zygote else SHORT)
        self._home = tempfile.mkdtemp()
        self._context = messages.context(self.limits.message_bytes)
        how = {"sandbox": self._sandbox, "limits": self.limits, "zygote": self._zygote, "home": self._home}
        self.km = kernel_manager(self._folder, context=self._context, **how)
        self.kc = self.km.client(context=self._context)
        try:
            self.km.start_kernel(cwd=str(self._cwd or self._home))
            self._cold |= not self.km.provisioner.warm
            self.kc.load_connection_info(self.km.get_connection_info())
            self.kc.start_channels(stdin=False, hb=False, control=False)
            channels = (self.kc.iopub_channel, self.kc.shell_channel)
            self._monitors = [channel.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED) for channel in channels]
            self._await_start()
        except BaseException:
            self.stop()
            raise
        # Once connected nobody needs the paths. A removed directory takes no new files, so from here on the learner's
        # code can write nowhere but in its own memory.
        shutil.rmtree(self._folder, ignore_errors=True)

    def _await_start(self) -> None:
        """Ask until the answer comes on both sockets; a broadcast is lost if our subscription comes after it."""
        give_up, patience = time.monotonic() + self.limits.start_seconds, 0.01
        while time.monotonic() < give_up:
            msg_id = self.kc.kernel_info()
            try:
                while self._read(self.kc.shell_channel, 1)["parent_header"].get("msg_id") != msg_id:
                    continue
                self.await_idle(msg_id, timeout=(patience := min(2 * patience, IDLE_SECONDS)))
            except Empty:
                self._check_alive()
            else:
                self._started = True
                return
        raise self.end(f"the kernel did not start within {self.limits.start_seconds:g} s")

    def _check_alive(self) -> None:
        dropped = self._started and any(monitor.poll(0) for monitor in self._monitors)
        patience = time.monotonic() + DYING_SECONDS
        while (alive := self.is_alive()) and dropped and time.monotonic() < patience:
            time.sleep(POLL_SECONDS)  # a process that dies closes its sockets first
        if not alive:
            raise self.end(f"the Python process died in {self.doing}: out of memory, a crash, or told to exit")
        if dropped:
            raise self.end(f"{self.doing} put out more than {self.limits.message_bytes >> 20} MiB at once")

    def _check_use(self) -> None:
        """End what all processes together use too much of; each one has its own limits besides."""
        if time.monotonic() < self._look_again:
            return
        self._look_again = time.monotonic() + LOOK_SECONDS
        if too_much := self.limits.excess(*self.km.provisioner.use()):
            raise self.end(f"{self.doing} {too_much}")
        # What has been sent and cannot be read yet, because it has no end, say, lies in this process.
        if watch.resident_bytes("/proc/self") > self._own_bytes + PILE * self.limits.message_bytes:
            raise self.end(f"{self.doing} sent more than can be read")

    def end(self, reason: str) -> Stopped:
        """Kill the kernel and return the exception that says why."""
        self.stopped = reason
        self.stops.append(reason)
        self.stop()
        return Stopped(reason)

    @property
    def where(self) -> str:
        """Where it ran, and whether every start of it was a warm one."""
        return self._sandbox if self._cold else WARM

    def keep(self, source: str) -> None:
        """Run this again whenever a new kernel takes the place of one that was stopped."""
        self._kept.append(source)

    def revive(self) -> None:
        """If the kernel was stopped, start a new one and bring it to where the old one was, but for what stopped it."""
        if not self.stopped:
            return
        if time.monotonic() >= self._deadline:
            raise Stopped(self.stopped, later=True)
        self._start()
        self.stopped, doing = "", self.doing
        for source in list(self._kept):
            self.doing = "a cell that is run again"
            try:
                self.await_reply(msg_id := self.execute_cell_input(source))
                self.await_idle(msg_id, timeout=IDLE_SECONDS)
            except Stopped:
                self._kept.remove(source)
                raise
        self.doing = doing

    def _hush(self) -> None:
        """Forget what was heard so far, and what it took."""
        self._heard.clear()
        self._heard_chars, self._own_bytes = 0, watch.resident_bytes("/proc/self")

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Send code to run, to a new kernel if the last one was stopped; return the id of the request."""
        self.revive()
        self._hush()
        return str(super().execute_cell_input(cell_input, allow_stdin=False))

    def request(self, content: dict[str, Any]) -> dict[str, Any]:
        """Ask the other end of the wire (:mod:`course_lib.grading.child`) for something and return its reply."""
        self.revive()
        self._hush()
        self.kc.shell_channel.send(message := self.kc.session.msg(REQUEST, content))
        reply = self.await_reply(msg_id := message["header"]["msg_id"])
        if reply.get("silent") is not True:  # what it has broadcast is its own, not the next request's
            self.await_idle(msg_id, timeout=IDLE_SECONDS)
        return reply

    def await_reply(self, msg_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the reply to one request, no longer than a cell or the rest of the notebook may take."""
        allowed = min(timeout or self.limits.cell_seconds, self.limits.cell_seconds)
        late = time.monotonic() + allowed
        while (now := time.monotonic()) < min(late, self._deadline):
            self._listen()
            self._check_use()
            try:
                message = self._read(self.kc.shell_channel, POLL_SECONDS)
            except Empty:
                self._check_alive()
                continue
            if message["parent_header"].get("msg_id") == msg_id:
                self._over = time.monotonic() + OUTPUT_SECONDS
                return dict(message["content"])
        if now >= self._deadline:
            raise self.end(f"the notebook as a whole did not finish within {self.limits.total_seconds:g} s")
        raise self.end(f"{self.doing} did not finish within {allowed:g} s")

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next broadcast of the kernel, the only stream nbval asks for."""
        if not self._heard:
            try:
                self._hear(self._read(self.kc.iopub_channel, timeout))
            except Empty:
                self._check_alive()
                if not self._started:
                    raise
                raise self.end(f"{self.doing} ended, but its output did not arrive") from None
            self._check_use()
            if self._started and time.monotonic() > self._over:  # each message by itself may come in time
                raise self.end(f"{self.doing} ended, but its output did not")
        return self._heard.popleft()

    def _listen(self) -> None:
        """Take in what has been broadcast so far: a flood must be noticed while the cell runs, not piled up."""
        enough = time.monotonic() + LOOK_SECONDS  # more may come than can be read, and the clock must be looked at
        while time.monotonic() < enough and self.kc.iopub_channel.msg_ready():
            self._hear(self._read(self.kc.iopub_channel, 0))

    def _hear(self, message: dict[str, Any]) -> None:
        self._heard_chars += messages.weight(message)
        if self._heard_chars > self.limits.output_chars:
            raise self.end(f"{self.doing} put out more than {self.limits.output_chars:,} characters")
        self._heard.append(message)

    def _read(self, channel: Any, timeout: float | None) -> dict[str, Any]:
        """Receive one message; whatever the other end sent, the only exceptions are Empty and Stopped."""
        if not channel.socket.poll(1000 * (IDLE_SECONDS if timeout is None else timeout)):
            raise Empty
        try:
            return messages.receive(channel.socket, self.kc.session)
        except Exception:
            raise self.end(f"{self.doing} made the kernel send a message that cannot be read") from None

    def stop(self) -> None:
        """Kill the kernel and everything it started, and close the connection."""
        self.kc.stop_channels()
        self.km.provisioner.end()
        self.km.cleanup_resources()
        self._context.destroy(linger=0)
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self.stopped:
            self.stop()
