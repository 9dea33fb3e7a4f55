"""Socket channel between the grader and a learner's process: length-prefixed JSON objects over a Unix socket.

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

from course_grader.grading.protocol.jupyter_messages import check_piece_count

__all__ = ["LENGTH", "SocketChannel", "connect_to_grader", "pack_message"]

LENGTH = struct.Struct(">Q")
SOCKET_NAME = "w"
ACCEPT_SECONDS = 10.0
CHUNK_BYTES = 1 << 18


def pack_message(message: Mapping[str, Any]) -> bytes:
    r"""Encode a message: its length, then JSON.

    Raises
    ------
    ValueError, TypeError
        If it is not what JSON in UTF-8 can hold.

    Examples
    --------
    >>> pack_message({"x": 1})
    b'\x00\x00\x00\x00\x00\x00\x00\x07{"x":1}'
    """
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return LENGTH.pack(len(text)) + text


def connect_to_grader(folder: Path) -> socket.socket:
    """Connect the learner's end to the grader, which listens in the folder."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(folder / SOCKET_NAME))
    except OSError:
        connection.close()
        raise
    return connection


class SocketChannel:
    """The grader's end of the channel; it never waits longer than asked, whatever the other end does.

    Parameters
    ----------
    folder : Path
        Where the other end finds it; only the first to connect is heard.
    most_bytes : int
        Size of the largest message that is accepted.

    Attributes
    ----------
    is_closed : bool
        Whether no message can come any more.
    is_refused : bool
        Whether that is because the other end has announced a message that is too long.
    """

    def __init__(self, folder: Path, *, most_bytes: int) -> None:
        self._listener, self._most_bytes = socket.socket(socket.AF_UNIX), most_bytes
        self.is_closed = self.is_refused = False
        self._connection: socket.socket | None = None
        self._unsent, self._received = memoryview(b""), bytearray()
        self._listener.bind(str(folder / SOCKET_NAME))
        self._listener.listen(1)

    def accept(self) -> None:
        """Accept the connection of the other end, which connects before it answers on Jupyter's channels."""
        self._listener.settimeout(ACCEPT_SECONDS)
        self._connection = self._listener.accept()[0]
        self._connection.setblocking(False)
        self._listener.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Begin to send a message; what does not go at once goes while :meth:`receive` waits."""
        self._unsent = memoryview(pack_message(message))
        self._exchange(0)

    def receive(self, seconds: float) -> dict[str, Any]:
        """Return the next message.

        Raises
        ------
        Empty
            If none has arrived in full within so many seconds, or the channel is closed.
        ValueError, RecursionError
            If one came that is not a JSON object.
        """
        late = time.monotonic() + seconds
        while (text := self._pop_message()) is None:
            left = late - time.monotonic()
            if self.is_closed or left < 0:
                raise Empty
            self._exchange(left)
        check_piece_count([text])
        message = json.loads(text)
        if not isinstance(message, dict):
            raise ValueError(f"a message must be a JSON object, and this is a {type(message).__name__}")
        return message

    def close(self) -> None:
        """Close the connection."""
        self._listener.close()
        if self._connection is not None:
            self._connection.close()

    def _pop_message(self) -> bytes | None:
        """Remove the next message from what was received, if all of it was; else return None."""
        if len(self._received) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack_from(self._received)
        if size > self._most_bytes:
            self.is_closed = self.is_refused = True
        if self.is_refused or len(self._received) < LENGTH.size + size:
            return None
        text = bytes(self._received[LENGTH.size : LENGTH.size + size])
        del self._received[: LENGTH.size + size]
        return text

    def _exchange(self, seconds: float) -> None:
        """Send and receive what can be, after waiting for either as long as told."""
        assert self._connection is not None  # nothing is asked of a kernel that has not started
        poll = select.poll()
        poll.register(self._connection, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        try:
            for _, event in poll.poll(1000 * seconds):
                if event & select.POLLOUT:
                    self._unsent = self._unsent[self._connection.send(self._unsent) :]
                if event & ~select.POLLOUT:
                    self._received += (received := self._connection.recv(CHUNK_BYTES))
                    self.is_closed |= not received
        except OSError:
            self.is_closed = True
