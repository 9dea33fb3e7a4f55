"""A kernel for one submission: nbval's, but in a sandbox, against a clock, and noticed when it dies.

nbval waits out a cell's timeout when the kernel is dead, and by default that is 2000 seconds. Here the process is
looked at while waiting, and what goes wrong ends it. The next thing asked of it gets a new one in which the cells that
came to an end have run again, so that one endless loop costs what depends on it and no more.
"""

import functools
import secrets
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty
from typing import Any

from nbval.kernel import RunningKernel

from course_grader.grading.kernel.connection import Connection
from course_grader.grading.protocol import jupyter_messages
from course_grader.grading.sandbox import resource_usage
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, WARM
from course_grader.grading.sandbox.limits import Limits, Stopped
from course_grader.grading.warm_start.zygote_client import Zygote

__all__ = ["Kernel", "Stopped"]

POLL_SECONDS, LOOK_SECONDS = 0.1, 0.25
IDLE_SECONDS, OUTPUT_SECONDS, DYING_SECONDS = 5.0, 20.0, 3.0
STARVED = 0.5  # of its time: who waited so long for a processor was late because of others
PILE = 4  # messages of the largest size that may lie unread
Take = Callable[[float], dict[str, Any]]


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
        self.limits, self._sandbox = limits, sandbox
        self._connect = functools.partial(Connection, limits=limits, sandbox=sandbox, zygote=zygote, cwd=cwd)
        self._deadline = time.monotonic() + limits.total_seconds
        self.stopped, self.stops, self._kept = "", list[str](), list[str]()
        self.doing, self._started, self._cold, self.starved = "its start", False, False, False
        self._heard, self._look_again, self._over = deque[dict[str, Any]](), 0.0, 0.0
        self._start()

    def _start(self) -> None:
        self._started = False
        self._hush()
        self.connection = self._connect()
        self.km, self.kc = self.connection.manager, self.connection.client
        try:
            self._cold |= not self.connection.warm
            self._await_start()
            self.connection.settle()
        except BaseException:
            self.stop()
            raise

    def _await_start(self) -> None:
        """Ask until the answer comes on both sockets; a broadcast is lost if our subscription comes after it."""
        give_up, patience = time.monotonic() + self.limits.start_seconds, 0.01
        while time.monotonic() < give_up:
            msg_id = self.kc.kernel_info()
            try:
                while self._take(self.connection.reply, 1)["id"] != msg_id:
                    continue
                self.await_idle(msg_id, timeout=(patience := min(2 * patience, IDLE_SECONDS)))
            except Empty:
                self._check_alive()
            else:
                self._started = True
                return
        raise self._late("the kernel", "start", self.limits.start_seconds)

    def _check_alive(self) -> None:
        dropped = self._started and self.connection.dropped()
        patience = time.monotonic() + DYING_SECONDS
        while (alive := self.is_alive()) and dropped and time.monotonic() < patience:
            time.sleep(POLL_SECONDS)  # a process that dies closes its sockets first
        if not alive:
            raise self.end(f"the Python process died in {self.doing}: out of memory, a crash, or told to exit")
        if dropped:
            raise self.end(f"{self.doing} {dropped}")

    def _check_use(self) -> None:
        """End the kernel if all its processes together use too much; each one has its own limits too."""
        if time.monotonic() < self._look_again:
            return
        self._look_again = time.monotonic() + LOOK_SECONDS
        if too_much := self.limits.excess(*self.km.provisioner.use()):
            raise self.end(f"{self.doing} {too_much}")
        # What has been sent and cannot be read yet, because it has no end, say, lies in this process.
        if resource_usage.resident_bytes("/proc/self") > self._own_bytes + PILE * self.limits.message_bytes:
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
        self._heard_chars, self._own_bytes = 0, resource_usage.resident_bytes("/proc/self")

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Send code to run, to a new kernel if the last one was stopped; return the id of the request."""
        self.revive()
        self._hush()
        return str(super().execute_cell_input(cell_input, allow_stdin=False))

    def request(self, content: dict[str, Any]) -> dict[str, Any]:
        """Ask :mod:`course_grader.grading.learner_side.rpc_server` for something and return its reply."""
        self.revive()
        self._hush()
        self.connection.wire.send(content | {"id": (number := secrets.token_hex(8))})
        reply = self._await(self.connection.answer, number)
        if reply.get("silent") is not True:  # what it has broadcast is its own, not the next request's
            self.await_idle(number, timeout=IDLE_SECONDS)
        return reply

    def await_reply(self, msg_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the reply to what was executed, no longer than a cell or the rest of the notebook may take."""
        return self._await(self.connection.reply, msg_id, timeout)

    def _await(self, take: Take, number: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the content of the reply to the request of this number."""
        allowed = min(timeout or self.limits.cell_seconds, self.limits.cell_seconds)
        late = time.monotonic() + allowed
        while (now := time.monotonic()) < min(late, self._deadline):
            self._listen()
            self._check_use()
            try:
                reply = self._take(take, POLL_SECONDS)
            except Empty:
                self._check_alive()
                continue
            if reply["id"] == number:
                self._over = time.monotonic() + OUTPUT_SECONDS
                return dict(reply["content"])
        if now >= self._deadline:
            raise self._late("the notebook as a whole", "finish", self.limits.total_seconds)
        raise self._late(self.doing, "finish", allowed)

    def _late(self, what: str, did_not: str, allowed: float) -> Stopped:
        """End the kernel for want of time, and note whether it had a processor for it."""
        self.starved |= self.km.provisioner.waited_seconds() > STARVED * allowed
        return self.end(f"{what} did not {did_not} within {allowed:g} s")

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next broadcast of the kernel, the only stream nbval asks for."""
        if not self._heard:
            try:
                self._hear(self._take(self.connection.broadcast, IDLE_SECONDS if timeout is None else timeout))
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
        while time.monotonic() < enough and self.connection.has_broadcast():
            self._hear(self._take(self.connection.broadcast, 0))

    def _hear(self, message: dict[str, Any]) -> None:
        self._heard_chars += jupyter_messages.weight(message)
        if self._heard_chars > self.limits.output_chars:
            raise self.end(f"{self.doing} put out more than {self.limits.output_chars:,} characters")
        self._heard.append(message)

    def _take(self, take: Take, seconds: float) -> dict[str, Any]:
        """Receive one message; whatever the other end sent, the only exceptions are Empty and Stopped."""
        try:
            return take(seconds)
        except Empty:
            raise
        except Exception:
            raise self.end(f"{self.doing} made the kernel send a message that cannot be read") from None

    def stop(self) -> None:
        """Kill the kernel and everything it started, and close the connection."""
        self.connection.close()

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if not self.stopped:
            self.stop()
