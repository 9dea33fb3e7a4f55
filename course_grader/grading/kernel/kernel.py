"""Kernel for untrusted code: nbval's, in a sandbox, with time and resource limits, restarted after a stop.

nbval waits out a cell's timeout when the kernel is dead, and by default that is 2000 seconds. Here the process is
checked while waiting, and stopped when it breaks a limit. The next request gets a new one in which the cells that came
to an end have run again, so that one endless loop costs what depends on it and no more.
"""

import functools
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import Empty
from typing import Any, TypeVar

from nbval.kernel import RunningKernel

from course_grader.grading.kernel.connection import Connection
from course_grader.grading.protocol.jupyter_messages import Message, Reply, count_output_chars
from course_grader.grading.sandbox import resource_usage
from course_grader.grading.sandbox.bubblewrap import BUBBLEWRAP, WARM
from course_grader.grading.sandbox.limits import KernelStopped, Limits, Stop, StopCause
from course_grader.grading.warm_start.zygote_client import Zygote

__all__ = ["Kernel", "KernelStopped"]

T = TypeVar("T")
POLL_SECONDS, CHECK_SECONDS = 0.1, 0.25
IDLE_SECONDS, OUTPUT_SECONDS, DYING_SECONDS = 5.0, 20.0, 3.0
STARVED_SHARE = 0.5  # of its time: who waited so long for a processor was late because of others
MOST_UNREAD = 4  # messages of the largest size that may lie unread
ReceiveReply = Callable[[float], Reply]


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
    KernelStopped
        From any method that waits for the kernel, once it is dead, late, or has said too much.
    """

    def __init__(
        self, *, limits: Limits, sandbox: str = BUBBLEWRAP, zygote: Zygote | None = None, cwd: Path | None = None
    ) -> None:
        self.limits, self._sandbox = limits, sandbox
        self._connect = functools.partial(Connection, limits=limits, sandbox=sandbox, zygote=zygote, cwd=cwd)
        self._deadline = time.monotonic() + limits.total_seconds
        self.stopped_by: Stop | None = None
        self.stops, self._replayed = list[Stop](), list[str]()
        self.activity, self.starved = "its start", False
        self._is_ready, self._started_cold = False, False
        self._broadcasts, self._next_check, self._output_deadline = deque[Message](), 0.0, 0.0
        self._start()

    def _start(self) -> None:
        self._is_ready = False
        self._reset_output()
        self.connection = self._connect()
        self.km, self.kc = self.connection.manager, self.connection.client
        try:
            self._started_cold |= not self.connection.is_warm
            self._await_start()
            self.connection.finish_start()
        except BaseException:
            self.stop()
            raise

    def _await_start(self) -> None:
        """Ask until the answer comes on both sockets; a broadcast is lost if our subscription comes after it."""
        give_up, patience = time.monotonic() + self.limits.start_seconds, 0.01
        while time.monotonic() < give_up:
            msg_id = self.kc.kernel_info()
            try:
                while self._receive(self.connection.receive_reply, 1)["id"] != msg_id:
                    continue
                self.await_idle(msg_id, timeout=(patience := min(2 * patience, IDLE_SECONDS)))
            except Empty:
                self._check_alive()
            else:
                self._is_ready = True
                return
        raise self._stop_late(StopCause.LATE_START, self.limits.start_seconds)

    def _check_alive(self) -> None:
        lost = self.connection.find_lost_connection() if self._is_ready else None
        patience = time.monotonic() + DYING_SECONDS
        while (alive := self.is_alive()) and lost and time.monotonic() < patience:
            time.sleep(POLL_SECONDS)  # a process that dies closes its sockets first
        if not alive:
            raise self.stop_for(StopCause.DIED)
        if lost:
            raise self.stop_for(lost)

    def _check_use(self) -> None:
        """Stop the kernel if all its processes together use too much; each one has its own limits too."""
        if time.monotonic() < self._next_check:
            return
        self._next_check = time.monotonic() + CHECK_SECONDS
        if excess := self.limits.find_excess(*self.connection.provisioner.measure_use()):
            raise self.stop_for(excess)
        # What has been sent and cannot be read yet, because it has no end, say, lies in this process.
        if resource_usage.resident_bytes("/proc/self") > self._own_bytes + MOST_UNREAD * self.limits.message_bytes:
            raise self.stop_for(StopCause.UNREAD)

    def stop_for(self, cause: StopCause, *, seconds: float = 0.0) -> KernelStopped:
        """Kill the kernel and return the exception that says why; ``seconds``: what it was allowed, if it was late."""
        self.stopped_by = Stop(cause, self.activity, self.limits, seconds)
        self.stops.append(self.stopped_by)
        self.stop()
        return KernelStopped(self.stopped_by)

    @property
    def place(self) -> str:
        """Where it ran, and whether every start of it was a warm one."""
        return self._sandbox if self._started_cold else WARM

    def replay_after_stop(self, source: str) -> None:
        """Run this again whenever a new kernel takes the place of one that was stopped."""
        self._replayed.append(source)

    def revive(self) -> None:
        """Start a new kernel if this one was stopped, and run again what ran in the old one, but what stopped it."""
        if self.stopped_by is None:
            return
        if time.monotonic() >= self._deadline:
            raise KernelStopped(self.stopped_by, later=True)
        self._start()
        self.stopped_by, activity = None, self.activity
        for source in list(self._replayed):
            self.activity = "a cell that is run again"
            try:
                self.await_reply(msg_id := self.execute_cell_input(source))
                self.await_idle(msg_id, timeout=IDLE_SECONDS)
            except KernelStopped:
                self._replayed.remove(source)
                raise
        self.activity = activity

    def _reset_output(self) -> None:
        """Forget what was broadcast so far, and the memory it took."""
        self._broadcasts.clear()
        self._output_chars, self._own_bytes = 0, resource_usage.resident_bytes("/proc/self")

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        """Send code to run, to a new kernel if the last one was stopped; return the id of the request."""
        self.revive()
        self._reset_output()
        return str(super().execute_cell_input(cell_input, allow_stdin=False))

    def request(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to :mod:`course_grader.grading.learner_side.rpc_server` and return its reply."""
        self.revive()
        self._reset_output()
        self.connection.channel.send({**content, "id": (number := secrets.token_hex(8))})
        reply = self._await(self.connection.receive_answer, number)
        if reply.get("silent") is not True:  # what it has broadcast is its own, not the next request's
            self.await_idle(number, timeout=IDLE_SECONDS)
        return reply

    def await_reply(self, msg_id: str, timeout: float | None = None) -> dict[str, Any]:
        """Wait for the reply to what was executed, no longer than a cell or the rest of the notebook may take."""
        return self._await(self.connection.receive_reply, msg_id, timeout)

    def _await(self, receive: ReceiveReply, number: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the content of the reply to the request of this number."""
        allowed = min(timeout or self.limits.cell_seconds, self.limits.cell_seconds)
        late = time.monotonic() + allowed
        while (now := time.monotonic()) < min(late, self._deadline):
            self._drain_broadcasts()
            self._check_use()
            try:
                reply = self._receive(receive, POLL_SECONDS)
            except Empty:
                self._check_alive()
                continue
            if reply["id"] == number:
                self._output_deadline = time.monotonic() + OUTPUT_SECONDS
                return dict(reply["content"])
        if now >= self._deadline:
            raise self._stop_late(StopCause.LATE_NOTEBOOK, self.limits.total_seconds)
        raise self._stop_late(StopCause.LATE_CELL, allowed)

    def _stop_late(self, cause: StopCause, allowed: float) -> KernelStopped:
        """Stop the kernel for want of time, and note whether it had a processor for it."""
        self.starved |= self.connection.provisioner.measure_wait_seconds() > STARVED_SHARE * allowed
        return self.stop_for(cause, seconds=allowed)

    def get_message(self, stream: str, timeout: float | None = None) -> Message:
        """Return the next broadcast of the kernel, the only stream nbval asks for."""
        if not self._broadcasts:
            try:
                seconds = IDLE_SECONDS if timeout is None else timeout
                self._store_broadcast(self._receive(self.connection.receive_broadcast, seconds))
            except Empty:
                self._check_alive()
                if not self._is_ready:
                    raise
                raise self.stop_for(StopCause.LOST_OUTPUT) from None
            self._check_use()
            if self._is_ready and time.monotonic() > self._output_deadline:  # each message by itself may come in time
                raise self.stop_for(StopCause.LATE_OUTPUT)
        return self._broadcasts.popleft()

    def _drain_broadcasts(self) -> None:
        """Receive what has been broadcast so far: a flood must be noticed while the cell runs, not piled up."""
        enough = time.monotonic() + CHECK_SECONDS  # more may come than can be read, and the clock must be looked at
        while time.monotonic() < enough and self.connection.has_broadcast():
            self._store_broadcast(self._receive(self.connection.receive_broadcast, 0))

    def _store_broadcast(self, message: Message) -> None:
        self._output_chars += count_output_chars(message)
        if self._output_chars > self.limits.output_chars:
            raise self.stop_for(StopCause.OUTPUT)
        self._broadcasts.append(message)

    def _receive(self, receive: Callable[[float], T], seconds: float) -> T:
        """Receive one message; whatever the other end sent, the only exceptions are Empty and KernelStopped."""
        try:
            return receive(seconds)
        except Empty:
            raise
        except Exception:
            raise self.stop_for(StopCause.UNREADABLE) from None

    def stop(self) -> None:
        """Kill the kernel and everything it started, and close the connection."""
        self.connection.close()

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.stopped_by is None:
            self.stop()
