"""One JSON object after another over a Unix socket: how the grader asks a learner's process for values.

Over Jupyter's own channel each question costs either side two milliseconds, for signatures, threads and event loops.
Here a message is its length in eight bytes, and then JSON in UTF-8.
"""

import json
import select
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from queue import Empty
from typing import Any

from course_grader.grading.protocol.jupyter_messages import refuse_pieces

__all__ = ["HEAD", "Wire", "connect", "pack"]

HEAD = struct.Struct(">Q")
NAME = "w"
ACCEPT_SECONDS = 10.0
CHUNK_BYTES = 1 << 18


def pack(message: Mapping[str, Any]) -> bytes:
    r"""Return a message as it goes over the wire.

    Raises
    ------
    ValueError, TypeError
        If it is not what JSON in UTF-8 can hold.

    Examples
    --------
    >>> pack({"x": 1})
    b'\x00\x00\x00\x00\x00\x00\x00\x07{"x":1}'
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return HEAD.pack(len(text)) + text


def connect(folder: Path) -> socket.socket:
    """Return the learner's end, connected to the grader that listens in the folder."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(folder / NAME))
    except OSError:
        connection.close()
        raise
    return connection


class Wire:
    """The grader's end. It never waits for longer than it is told to, whatever the other end does.

    Parameters
    ----------
    folder : Path
        Where the other end finds it; only the first to connect is heard.
    most : int
        Bytes that a message may have.

    Attributes
    ----------
    closed : bool
        Whether nothing will come any more.
    refused : bool
        Whether that is because the other end has announced a message that is too long.
    """

    def __init__(self, folder: Path, *, most: int) -> None:
        self._listener, self._most = socket.socket(socket.AF_UNIX), most
        self.closed = self.refused = False
        self._connection: socket.socket | None = None
        self._out, self._in = memoryview(b""), bytearray()
        self._listener.bind(str(folder / NAME))
        self._listener.listen(1)

    def accept(self) -> None:
        """Accept the connection of the other end, which has made it by the time it answers elsewhere."""
        self._listener.settimeout(ACCEPT_SECONDS)
        self._connection = self._listener.accept()[0]
        self._connection.setblocking(False)
        self._listener.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Begin to send a message; what does not go at once goes while :meth:`receive` waits."""
        self._out = memoryview(pack(message))
        self._exchange(0)

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message.

        Raises
        ------
        Empty
            If none has arrived in full within so many seconds, or none can come any more.
        ValueError, RecursionError
            If one came that is not a JSON object.
        """
        late = time.monotonic() + seconds
        while (text := self._whole()) is None:
            left = late - time.monotonic()
            if self.closed or left < 0:
                raise Empty
            self._exchange(left)
        refuse_pieces([text])
        message = json.loads(text)
        if not isinstance(message, dict):
            raise ValueError(f"a message must be a JSON object, and this is a {type(message).__name__}")
        return message

    def close(self) -> None:
        """Hang up."""
        self._listener.close()
        if self._connection is not None:
            self._connection.close()

    def _whole(self) -> bytes | None:
        """Take the next message off what has come, if all of it has."""
        if len(self._in) < HEAD.size:
            return None
        (size,) = HEAD.unpack_from(self._in)
        if size > self._most:
            self.closed = self.refused = True
        if self.refused or len(self._in) < HEAD.size + size:
            return None
        text = bytes(self._in[HEAD.size : HEAD.size + size])
        del self._in[: HEAD.size + size]
        return text

    def _exchange(self, seconds: float) -> None:
        """Send and take in what can be, after waiting for either as long as told."""
        assert self._connection is not None  # nothing is asked of a kernel that has not started
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | (select.POLLOUT if self._out else 0))
        try:
            for _, event in poll.poll(1000 * seconds):
                if event & select.POLLOUT:
                    self._out = self._out[self._connection.send(self._out) :]
                if event & ~select.POLLOUT:
                    self._in += (came := self._connection.recv(CHUNK_BYTES))
                    self.closed |= not came
        except OSError:
            self.closed = True
